package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// exactMath lists the functions of package math whose result is the same on
// every port: exactly rounded, or no rounding at all.
var exactMath = []string{
	"Abs", "Ceil", "Copysign", "Dim", "FMA", "Float32bits", "Float32frombits", "Float64bits", "Float64frombits",
	"Floor", "Frexp", "Ilogb", "Inf", "IsInf", "IsNaN", "Ldexp", "Logb", "Max", "Min", "Mod", "Modf", "NaN",
	"Nextafter", "Nextafter32", "Remainder", "Round", "RoundToEven", "Signbit", "Sqrt", "Trunc",
}

func checkFloat(p *pass) {
	p.each(func(n ast.Node, stack []ast.Node) {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.MUL && p.isFloat(n) && !p.roundedAtOnce(stack) {
				p.report(n, "product of floats that a later sum may fuse with: write float64(x*y), or say %sinexact and why", annotationPrefix)
			}
		case *ast.AssignStmt:
			if n.Tok == token.MUL_ASSIGN && p.isFloat(n.Lhs[0]) {
				p.report(n, "product of floats that a later sum may fuse with: write x = float64(x*y), or say %sinexact and why", annotationPrefix)
			}
		case *ast.CallExpr:
			fn := p.callee(n)
			if fn != nil && fn.Pkg() != nil && (fn.Pkg().Path() == "math" && !slices.Contains(exactMath, fn.Name()) || fn.Pkg().Path() == "orrery/internal/libm" && fn.Name() != "Exp") {
				p.report(n, "%s.%s is an approximation that differs between ports: use fixed point, or say %sinexact and why", fn.Pkg().Name(), fn.Name(), annotationPrefix)
			}
		}
	})
}

// isFloat says whether e is computed in floating point when the program runs.
func (p *pass) isFloat(e ast.Expr) bool {
	basic, ok := p.underlying(e).(*types.Basic)
	return ok && basic.Info()&types.IsFloat != 0 && p.info.Types[e].Value == nil
}

// roundedAtOnce says whether the product whose ancestors are given can reach
// no sum unrounded: its parent converts it, compares it, divides it or is a
// product itself, which is then judged in its own right.
func (p *pass) roundedAtOnce(stack []ast.Node) bool {
	for i := len(stack) - 1; i >= 0; i-- {
		switch parent := stack[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.BinaryExpr:
			switch parent.Op {
			case token.MUL, token.QUO, token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
				return true
			}
			return false
		case *ast.CallExpr:
			return p.info.Types[parent.Fun].IsType()
		}
		return false
	}
	return false
}
