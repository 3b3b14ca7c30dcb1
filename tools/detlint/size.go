package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// Limits of length. A file or function that wants to be longer holds a second
// idea.
const (
	maxFileLines     = 500
	maxTestFileLines = 800
	maxFuncLines     = 70
)

// sizes reports the files and functions that have grown too long. Test
// functions have no limit of their own: a table of cases is not complexity.
func (r *repository) sizes() []Finding {
	var found []Finding
	for _, dir := range r.packages() {
		for _, s := range r.folders[dir] {
			limit := maxFileLines
			if s.test {
				limit = maxTestFileLines
			}
			if s.lines > limit {
				found = append(found, Finding{token.Position{Filename: s.path, Line: limit}, "size",
					fmt.Sprintf("%d lines, %d at most: split the file where its second idea begins", s.lines, limit)})
			}
			if !s.test && !ast.IsGenerated(s.file) {
				found = append(found, r.longFunctions(s)...)
			}
		}
	}
	return found
}

func (r *repository) longFunctions(s *source) []Finding {
	var found []Finding
	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := r.fset.Position(fn.Pos()), r.fset.Position(fn.End())
		if n := to.Line - from.Line + 1; n > maxFuncLines {
			found = append(found, Finding{from, "size",
				fmt.Sprintf("%s has %d lines, %d at most: name its parts", fn.Name.Name, n, maxFuncLines)})
		}
	}
	return found
}

// undocumented reports the packages whose comment is missing.
func (r *repository) undocumented() []Finding {
	var found []Finding
	for _, dir := range r.packages() {
		doc := ""
		for _, s := range r.folders[dir] {
			if !s.test && s.file.Doc != nil {
				doc += s.file.Doc.Text()
			}
		}
		if strings.TrimSpace(doc) == "" {
			found = append(found, Finding{token.Position{Filename: dir}, "comment",
				"no package comment: say what the package is for and what it must not know"})
		}
	}
	return found
}
