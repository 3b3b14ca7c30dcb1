package site

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCoreStaysSmall counts the methods and fields of Core, those of the parts that it
// embeds among them: what does not concern the whole site belongs to a part, to a pass,
// or to a package below. A pass embeds nothing, so its methods are its own.
func TestCoreStaysSmall(t *testing.T) {
	const mostOfCore, mostOfPass, mostFields, mostFieldsOfPart = 85, 105, 16, 20
	methods := map[string]int{}
	structs := map[string]*ast.StructType{}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[named(d.Recv.List[0].Type)]++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						if x, ok := s.Type.(*ast.StructType); ok {
							structs[s.Name.Name] = x
						}
					}
				}
			}
		}
	}
	// ofSet counts the methods that a type has, by itself and by what it embeds.
	var ofSet func(name string) int
	ofSet = func(name string) int {
		n := methods[name]
		if structs[name] == nil {
			return n
		}
		for _, f := range structs[name].Fields.List {
			if len(f.Names) == 0 {
				n += ofSet(named(f.Type))
			}
		}
		return n
	}
	require.Greater(t, ofSet("Core"), methods["Core"], "it embeds parts with methods")
	require.Less(t, ofSet("Core"), mostOfCore)
	require.Equal(t, methods["pass"], ofSet("pass"))
	require.Less(t, ofSet("pass"), mostOfPass)
	core := structs["Core"].Fields.List
	require.LessOrEqual(t, len(core), mostFields)
	for _, f := range core {
		part, ok := f.Type.(*ast.Ident)
		if !ok || structs[part.Name] == nil {
			continue
		}
		n := 0
		for _, x := range structs[part.Name].Fields.List {
			n += max(1, len(x.Names))
		}
		require.LessOrEqual(t, n, mostFieldsOfPart, part.Name)
	}
}

// named is the name of a type of this package or of a pointer to one, "" for others.
func named(x ast.Expr) string {
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
