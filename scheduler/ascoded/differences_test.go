package ascoded_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orrery/scheduler/ascoded"

	"github.com/stretchr/testify/require"
)

// Whatever the code does for the as-coded mode alone is in the list.
func TestDifferencesNameEverySwitch(t *testing.T) {
	var sources strings.Builder
	topics := map[string]bool{}
	for _, d := range ascoded.Differences() {
		require.NotEmpty(t, d.Documented, d.Topic)
		require.NotEmpty(t, d.AsCoded, d.Topic)
		require.NotEmpty(t, d.Source, d.Topic)
		require.False(t, topics[d.Topic], d.Topic)
		topics[d.Topic] = true
		sources.WriteString(d.Source + " ")
	}
	coded := regexp.MustCompile(`AsCoded$|^Coded.|^ConformanceFirst$`)
	found := 0
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var names []*ast.Ident
			switch d := n.(type) {
			case *ast.FuncDecl:
				names = []*ast.Ident{d.Name}
			case *ast.Field:
				names = d.Names
			case *ast.ValueSpec:
				names = d.Names
			}
			for _, name := range names {
				if coded.MatchString(name.Name) {
					require.Regexp(t, `\b`+name.Name+`\b`, sources.String(), path)
					found++
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, found, 12)
}

// What a difference names as its source exists.
func TestDifferencesNameWhatExists(t *testing.T) {
	var code strings.Builder
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "differences.go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				code.WriteString(id.Name + " ")
			}
			return true
		})
		return nil
	}))
	for _, d := range ascoded.Differences() {
		if d.Source == "both" {
			continue
		}
		for _, name := range strings.Split(d.Source, ", ") {
			last := name[strings.LastIndexByte(name, '.')+1:]
			require.Regexp(t, `\b`+last+`\b`, code.String(), d.Topic)
		}
	}
}
