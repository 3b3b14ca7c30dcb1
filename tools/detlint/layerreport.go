package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// layerReport is the order of the files of a package with their arrows, the arrows that
// go upward with the names that they are for, and the methods of its types. A package
// without a row of the table is shown in the order that suggest finds.
func (r *repository) layerReport(dir string) string {
	own, listed := layersOf(dir, layerTable)
	arrows, order := r.arrows(dir), own.order()
	limit := fmt.Sprintf("at most %d", own.upward)
	if !listed {
		order, limit = suggest(r.names(dir), arrows), "no row in tools/detlint/layertable.go"
	}
	for _, name := range r.names(dir) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	up := upward(arrows, order)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d files, %d lines, %d arrows, %d upward (%s)\n", dir, len(order), r.length(dir), len(arrows), len(up), limit)
	b.WriteString("  lines   out    in    up  file, from the top\n")
	for _, name := range order {
		count := func(arrows []arrow, end func(arrow) string) (n int) {
			for _, a := range arrows {
				if end(a) == name {
					n++
				}
			}
			return n
		}
		from, to := func(a arrow) string { return a.from }, func(a arrow) string { return a.to }
		fmt.Fprintf(&b, "%7d %5d %5d %5d  %s\n", r.fileLines(dir, name), count(arrows, from), count(arrows, to), count(up, from), name)
	}
	if len(up) > 0 {
		b.WriteString("upward:\n")
	}
	slices.SortStableFunc(up, func(a, b arrow) int { return slices.Index(order, a.from) - slices.Index(order, b.from) })
	for _, a := range up {
		fmt.Fprintf(&b, "  %s → %s: %s\n", a.from, a.to, strings.Join(a.names, ", "))
	}
	if methods := r.methods(dir); len(methods) > 0 {
		fmt.Fprintf(&b, "methods: %s\n", strings.Join(methods, ", "))
	}
	return b.String()
}

// fileLines is how long a file of a package is.
func (r *repository) fileLines(dir, name string) int {
	for _, s := range r.folders[dir] {
		if !s.test && fileName(s.path) == name {
			return s.lines
		}
	}
	return 0
}

// methods lists the types of a package that have methods and how many, most first.
func (r *repository) methods(dir string) (out []string) {
	count := map[string]int{}
	for _, file := range r.checked[dir].files {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				count[receiver(fn)]++
			}
		}
	}
	types := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(types, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	for _, t := range types {
		out = append(out, fmt.Sprintf("%s %d", t, count[t]))
	}
	return out
}

// receiver is the name of the type that a method is of.
func receiver(fn *ast.FuncDecl) string {
	t := ast.Unparen(fn.Recv.List[0].Type)
	if p, ok := t.(*ast.StarExpr); ok {
		t = ast.Unparen(p.X)
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	return types.ExprString(t)
}

// suggested is a row for the table, with as few upward arrows as suggest finds.
func (r *repository) suggested(dir string) string {
	own, _ := layersOf(dir, layerTable)
	names, arrows := r.names(dir), r.arrows(dir)
	order := slices.DeleteFunc(own.order(), func(name string) bool { return !slices.Contains(names, name) })
	for _, name := range names {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	order = suggest(order, arrows)
	var b strings.Builder
	fmt.Fprintf(&b, "\t{%q, %d, `", dir, len(upward(arrows, order)))
	const width = 120
	column := width
	for _, name := range order {
		if column += 1 + len(name); column > width {
			b.WriteString("\n\t\t" + name)
			column = len(name)
			continue
		}
		b.WriteString(" " + name)
	}
	b.WriteString("`},\n")
	return b.String()
}

// chain is the longest chain of functions of a package from the named one, each of which
// uses the next. Functions that use each other are one step, on a line of their own.
func (r *repository) chain(dir, from string) (string, error) {
	p := r.checked[dir]
	var names []string
	used := map[string][]string{}
	for _, file := range p.files {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Name.Name == "_" || fn.Name.Name == "init" {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = receiver(fn) + "." + name
			}
			names = append(names, name)
			ast.Inspect(fn, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if f, ok := p.info.Uses[id].(*types.Func); ok {
						to, _ := p.topLevel(f)
						used[name] = append(used[name], to)
					}
				}
				return true
			})
		}
	}
	slices.Sort(names)
	start := slices.Index(names, from)
	if start < 0 {
		return "", fmt.Errorf("%w: %s has no function %s; a method is written Type.Method", errUsage, dir, from)
	}
	g := graph{make([][]int, len(names))}
	for i, name := range names {
		for _, to := range used[name] {
			if j, ok := slices.BinarySearch(names, to); ok {
				g.to[i] = append(g.to[i], j)
			}
		}
	}
	var b strings.Builder
	steps := g.longest(start)
	fmt.Fprintf(&b, "%s: %d steps from %s\n", dir, len(steps), from)
	for _, members := range steps {
		line := make([]string, len(members))
		for i, m := range members {
			line[i] = names[m]
		}
		fmt.Fprintf(&b, "  %s\n", strings.Join(line, ", "))
	}
	return b.String(), nil
}
