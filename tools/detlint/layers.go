package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
)

// minLayeredLines is how long a package may grow, tests aside, before its files have an order.
const minLayeredLines = 3000

// layered is a package whose files have an order, from the entry at the top to the bottom.
type layered struct {
	dir    string
	upward int    // at most so many arrows go from a file to one above it
	files  string // names without .go, from the top
}

func (l layered) order() []string { return strings.Fields(l.files) }

// arrow goes from a file to another file of the package that declares what it uses:
// functions, methods, types, constants and variables. Fields of a struct are part of its type.
type arrow struct {
	from, to string
	names    []string // what is used, in order
}

// layersOf lists the package of a folder in the table; ok is false where it has no row.
func layersOf(dir string, table []layered) (l layered, ok bool) {
	i := slices.IndexFunc(table, func(l layered) bool { return l.dir == dir })
	if i < 0 {
		return layered{dir: dir}, false
	}
	return table[i], true
}

// layers reports long packages without an order, files that an order lacks or that are
// gone, and packages with more upward arrows than their limit. The packages are checked.
func (r *repository) layers(table []layered) []Finding {
	var found []Finding
	report := func(place, format string, args ...any) {
		found = append(found, Finding{token.Position{Filename: place}, "layers", fmt.Sprintf(format, args...)})
	}
	for _, dir := range r.packages() {
		own, listed := layersOf(dir, table)
		if n := r.length(dir); !listed && n > minLayeredLines {
			report(dir, "%d lines, and no order of its files from %d on: add its row to tools/detlint/layertable.go, "+
				"which go run ./tools/detlint -layers -suggest ./%s prints", n, minLayeredLines, dir)
		}
		if !listed {
			continue
		}
		order, names := own.order(), r.names(dir)
		for i, name := range order {
			if !slices.Contains(names, name) {
				report(dir, "lists %s.go, which is no file of it: remove it from tools/detlint/layertable.go", name)
			} else if slices.Contains(order[:i], name) {
				report(dir, "lists %s.go twice in tools/detlint/layertable.go: keep one", name)
			}
		}
		complete := true
		for _, name := range names {
			if !slices.Contains(order, name) {
				complete = false
				report(path.Join(dir, name+".go"), "not in the order of the files of %s: add it to tools/detlint/layertable.go "+
					"above the files that it uses and below those that use it", dir)
			}
		}
		if up := upward(r.arrows(dir), order); complete && len(up) > own.upward {
			report(dir, "%d arrows go from a file to one above it, %d at most: go run ./tools/detlint -layers ./%s names them", len(up), own.upward, dir)
		}
	}
	for _, own := range table {
		if !slices.Contains(r.packages(), own.dir) {
			report(own.dir, "no such package: remove its row from tools/detlint/layertable.go")
		}
	}
	return found
}

// length is how many lines the files of a package have, tests aside.
func (r *repository) length(dir string) (n int) {
	for _, s := range r.folders[dir] {
		if !s.test {
			n += s.lines
		}
	}
	return n
}

// names lists the files of a package without .go, tests aside, those for other systems
// included, in alphabetical order.
func (r *repository) names(dir string) (names []string) {
	for _, s := range r.folders[dir] {
		if !s.test {
			names = append(names, fileName(s.path))
		}
	}
	slices.Sort(names)
	return names
}

func fileName(file string) string { return strings.TrimSuffix(path.Base(file), ".go") }

// upward lists the arrows that go from a file to one above it in the order.
func upward(arrows []arrow, order []string) (up []arrow) {
	for _, a := range arrows {
		if slices.Index(order, a.from) > slices.Index(order, a.to) {
			up = append(up, a)
		}
	}
	return up
}

// arrows lists the arrows between the files of a package that are built here, by the
// names of both files. The package is checked.
func (r *repository) arrows(dir string) []arrow {
	p := r.checked[dir]
	uses := map[[2]string]map[string]bool{}
	for _, file := range p.files {
		from := fileName(p.fset.Position(file.Package).Filename)
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			name, place := p.topLevel(p.info.Uses[id])
			if to := fileName(place.Filename); name != "" && to != from {
				if uses[[2]string{from, to}] == nil {
					uses[[2]string{from, to}] = map[string]bool{}
				}
				uses[[2]string{from, to}][name] = true
			}
			return true
		})
	}
	var out []arrow
	for ends, names := range uses { //detlint:ordered they are sorted below
		out = append(out, arrow{ends[0], ends[1], slices.Sorted(maps.Keys(names))})
	}
	//detlint:total no two arrows have both ends in common
	slices.SortFunc(out, func(a, b arrow) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return out
}

// topLevel is the name and place of what a declaration of the package declares, with the
// type before that of a method; no name for anything else.
func (p *pass) topLevel(obj types.Object) (name string, place token.Position) {
	if obj == nil || obj.Pkg() != p.types {
		return "", token.Position{}
	}
	if fn, ok := obj.(*types.Func); ok && fn.Signature().Recv() != nil {
		fn = fn.Origin()
		if types.IsInterface(fn.Signature().Recv().Type()) {
			return "", token.Position{} // part of its interface, as a field is of its struct
		}
		return methodName(fn), p.fset.Position(fn.Pos())
	}
	if obj.Parent() != p.types.Scope() {
		return "", token.Position{}
	}
	return obj.Name(), p.fset.Position(obj.Pos())
}

// methodName is Type.Method.
func methodName(fn *types.Func) string {
	t := fn.Signature().Recv().Type()
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name() + "." + fn.Name()
	}
	return fn.Name()
}
