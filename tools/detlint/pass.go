package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// pass is one package under check.
type pass struct {
	fset  *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info

	rule  *rule // the one that is running
	notes annotations
	found []Finding
}

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
	}
}

// run applies the rules that skip does not name and returns what it found,
// ordered by place.
func (p *pass) run(skip func(rule string) bool) []Finding {
	p.notes, p.found = readAnnotations(p.fset, p.files, hatchWords())
	for i := range rules {
		if p.rule = &rules[i]; !skip(p.rule.name) {
			p.rule.check(p)
		}
	}
	p.found = append(p.found, p.notes.unused()...)
	//detlint:total findings that agree in all four are one finding twice
	slices.SortFunc(p.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Offset, b.Pos.Offset),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.What, b.What))
	})
	return p.found
}

func (p *pass) report(n ast.Node, format string, args ...any) {
	pos := p.fset.Position(n.Pos())
	if !p.notes.silences(pos, p.rule.hatch) {
		p.found = append(p.found, Finding{pos, p.rule.name, fmt.Sprintf(format, args...)})
	}
}

// each visits every node of the package with its ancestors, outermost first.
func (p *pass) each(visit func(n ast.Node, stack []ast.Node)) {
	for _, file := range p.files {
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			visit(n, stack)
			stack = append(stack, n)
			return true
		})
	}
}

// underlying is the underlying type of e, nil when e has none.
func (p *pass) underlying(e ast.Expr) types.Type {
	if t := p.info.TypeOf(e); t != nil {
		return t.Underlying()
	}
	return nil
}

// callee is the function or method that a call names, nil for conversions,
// builtins and function values.
func (p *pass) callee(call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	fn, _ := p.info.Uses[id].(*types.Func)
	return fn
}
