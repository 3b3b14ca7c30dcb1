//go:build race

package clitest

func init() { UnderRace = true }
