package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFilePrefixes(t *testing.T) {
	fail(t, theRepository(t).prefixes(), "a package has a comment, an import list and unexported names; a prefix of file names has none")
}

func TestFilePrefixesFire(t *testing.T) {
	texts := map[string]string{}
	for _, name := range []string{
		"a/run", "a/run_one", "a/runtwo", "a/runthree", "a/runfour", // too many
		"b/run", "b/runone", "b/runtwo", "b/runthree", "b/runfour_test", // three and a test
	} {
		texts[name+".go"] = "package p\n"
	}
	assert.Equal(t, []string{
		"a/run.go: [prefix] 4 files begin with the name of this one, 3 at most: make them a package",
	}, func() (said []string) {
		for _, f := range inMemory(t, texts).prefixes() {
			said = append(said, f.String())
		}
		return said
	}())
}
