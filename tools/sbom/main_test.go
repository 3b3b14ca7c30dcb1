package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBill(t *testing.T) {
	b := billOf("orrery", &debug.BuildInfo{
		GoVersion: "go1.26.1", Main: debug.Module{Path: "orrery", Version: "v1.2.3"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:abc="},
			{Path: "example.org/b", Version: "v2.0.0", Replace: &debug.Module{Path: "./third_party/b"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "-s"}},
	})
	require.Equal(t, "orrery", b.Metadata.Component.Name)
	require.Equal(t, []property{{"go:build:GOOS", "linux"}}, b.Metadata.Component.Properties)
	require.Equal(t, []string{"pkg:golang/std@1.26.1", "pkg:golang/example.org/a@v1.0.0", "example.org/b => ./third_party/b"}, b.Depends[0].On)
	require.Empty(t, b.Components[2].PURL, "it is not the module of that name")
}

// TestBillOfThisBinary reads the test binary, which is one of Go.
func TestBillOfThisBinary(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "binary")
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o755))
	require.NoError(t, write(path, "v9"))
	out, err := os.ReadFile(path + ".cdx.json")
	require.NoError(t, err)
	var b bill
	require.NoError(t, json.Unmarshal(out, &b))
	require.Equal(t, "CycloneDX", b.Format)
	require.NotEmpty(t, b.Components)
	require.Equal(t, "v9", b.Metadata.Component.Version)
	require.Error(t, write(path+".cdx.json", ""), "no binary")
}
