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

// declared lists the functions, constants and struct fields of a package's files.
func declared(t *testing.T, pattern string) (names []string) {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				names = append(names, d.Name.Name)
			case *ast.ValueSpec:
				for _, id := range d.Names {
					names = append(names, id.Name)
				}
			case *ast.TypeSpec:
				if x, ok := d.Type.(*ast.StructType); ok {
					for _, f := range x.Fields.List {
						for _, id := range f.Names {
							names = append(names, d.Name.Name+"."+id.Name)
						}
					}
				}
			}
			return true
		})
	}
	return names
}

// Each factor of the mode, and each property that a policy has by it, is in the list.
func TestDifferencesNameEveryRule(t *testing.T) {
	var sources strings.Builder
	topics := map[string]bool{}
	for _, d := range ascoded.Differences() {
		require.NotEmpty(t, d.Documented, d.Topic)
		require.NotEmpty(t, d.AsCoded, d.Topic)
		require.NotEmpty(t, d.Source, d.Topic)
		require.False(t, topics[d.Topic], d.Topic)
		topics[d.Topic] = true
		sources.WriteString(d.Source + ", ")
	}
	rules := 0
	for _, name := range declared(t, "factors.go") {
		if name != "highest" { // a bound that is not of the sources
			require.Contains(t, sources.String(), "ascoded."+name+",")
			rules++
		}
	}
	for _, name := range declared(t, "../site/mode.go") {
		if strings.HasPrefix(name, "mode.") && name != "mode.coded" {
			require.Contains(t, sources.String(), "site."+name+",")
			rules++
		}
	}
	require.Greater(t, rules, 9)
}

// The mode is asked for in one place, and nothing else of the scheduler has its name:
// what it changes there is an option with a name of its effect.
func TestModeIsAskedForInOnePlace(t *testing.T) {
	asked := 0
	for _, dir := range []string{"..", "../../sim"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && e.Name() == "ascoded":
				return fs.SkipDir
			}
			if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			hand := path == filepath.Join("..", "site", "mode.go") || path == filepath.Join("..", "site", "ascoded.go") // ask for the mode, and make its rule
			ast.Inspect(file, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.SelectorExpr:
					if x.Sel.Name == "AsCoded" {
						require.True(t, hand, path)
						asked++
					}
				case *ast.FuncDecl:
					require.False(t, !hand && dir == ".." && modeName.MatchString(x.Name.Name), "%s: %s", path, x.Name.Name)
				case *ast.Field:
					for _, id := range x.Names {
						require.False(t, !hand && modeName.MatchString(id.Name) && path != filepath.Join("..", "site", "config.go"), "%s: %s", path, id.Name)
					}
				}
				return true
			})
			return nil
		}))
	}
	require.Equal(t, 1, asked)
}

var modeName = regexp.MustCompile(`AsCoded|^[cC]oded[A-Z]`)

// What a difference names as its source exists.
func TestDifferencesNameWhatExists(t *testing.T) {
	exists := map[string]bool{}
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
				exists[id.Name] = true
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
			require.True(t, exists[last], "%s: %s", d.Topic, name)
		}
	}
}
