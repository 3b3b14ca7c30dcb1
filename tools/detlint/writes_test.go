package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrites keeps what is written to the ways of internal/disk.
func TestWrites(t *testing.T) {
	fail(t, theRepository(t).strayWrites(), "a file that was cut short is believed, and a link in a folder of results leads out of it")
}

// TestWritesAreFound holds that the check finds both kinds.
func TestWritesAreFound(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", "package record\nfunc f() { os.WriteFile(\"x\", nil, 0); disk.WriteFile(\"y\", nil); disk.ReadFile(\"y\") }", 0)
	require.NoError(t, err)
	r := &repository{fset: fset, folders: map[string][]*source{"sim/record": {{path: "sim/record/x.go", file: file}}}}
	found := r.strayWrites()
	require.Len(t, found, 2+len(mayWrite))
	require.Contains(t, found[0].What, "os.WriteFile")
	require.Contains(t, found[1].What, "disk.WriteFile follows links")
}
