package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the printed parts of the documents")

// TestDocuments keeps the parts of docs/*.md that are printed from the tables
// equal to the tables.
func TestDocuments(t *testing.T) {
	names, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	all := ""
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		want, err := reprint(string(text))
		require.NoError(t, err, name)
		if *update && want != string(text) {
			require.NoError(t, os.WriteFile(name, []byte(want), 0o600))
			continue
		}
		assert.Equal(t, want, string(text), "%s lags behind the tables: run go generate ./tools/detlint", name)
		all += want
	}
	for _, part := range []string{"rules", "exemptions", "layers"} {
		assert.True(t, *update || strings.Contains(all, beginMarker(part)), "no document prints the %s", part)
	}
}

func TestReprint(t *testing.T) {
	got, err := reprint("a\n" + beginMarker("rules") + "\nold\n" + endMarker + "\nb\n")
	require.NoError(t, err)
	assert.Equal(t, "a\n"+beginMarker("rules")+"\n\n"+printRules()+"\n"+endMarker+"\nb\n", got)
	again, err := reprint(got)
	require.NoError(t, err)
	assert.Equal(t, got, again)

	_, err = reprint(beginMarker("rules"))
	assert.ErrorContains(t, err, `"rules" has no`)
}
