package site_test

import (
	"testing"

	"orrery/cmd/orrery/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }
