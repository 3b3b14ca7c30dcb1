package main

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
)

// person finds words for people that comments once used of jobs and programs, and of the
// naive implementation. Names are checked by retiredWords.
var person = regexp.MustCompile(`(?i)\b(?:nobody|everybody|somebody|anybody|whoever|twins?)\b`)

// retiredComments reports the comments that hold one of these words, tests included.
func (r *repository) retiredComments() []Finding {
	var found []Finding
	for _, dir := range slices.Sorted(maps.Keys(r.folders)) {
		for _, s := range r.folders[dir] {
			for _, group := range s.file.Comments {
				for _, c := range group.List {
					if word := person.FindString(c.Text); word != "" {
						found = append(found, Finding{r.fset.Position(c.Pos()), "words",
							fmt.Sprintf("the comment has the retired word %q: jobs and nodes are things, and there is a naive implementation", word)})
					}
				}
			}
		}
	}
	return found
}

// spelled finds the first word of a comment where it is spelled like a name of the code,
// with a capital or an underscore inside, and what comes before it in Type.Method.
var spelled = regexp.MustCompile(`^(?:[A-Za-z]\w*\.)?([A-Za-z]\w*(?:[a-z0-9][A-Z]|_)\w*)`)

// ordinary are first words that are spelled like names and are terms.
var ordinary = []string{"vCluster", "vClusters"}

// misnamed reports the comments of declarations that begin with another name than
// the one they document.
func (r *repository) misnamed() []Finding {
	var found []Finding
	check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		if doc == nil {
			return
		}
		m := spelled.FindStringSubmatch(doc.Text())
		if m == nil || slices.Contains(ordinary, m[1]) || slices.ContainsFunc(names, func(id *ast.Ident) bool { return id.Name == m[1] }) {
			return
		}
		found = append(found, Finding{r.fset.Position(doc.Pos()), "comment",
			fmt.Sprintf("the comment of %s begins with %s: name what it documents", names[0].Name, m[1])})
	}
	for _, dir := range slices.Sorted(maps.Keys(r.folders)) {
		for _, s := range r.folders[dir] {
			for _, decl := range s.file.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					check(d.Doc, d.Name)
				case *ast.GenDecl:
					if names := named(d.Specs...); len(names) > 0 {
						check(d.Doc, names...)
					}
					for _, spec := range d.Specs {
						check(docOf(spec), named(spec)...)
					}
				}
			}
		}
	}
	return found
}

// named lists the names that specs declare.
func named(specs ...ast.Spec) (names []*ast.Ident) {
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name)
		case *ast.ValueSpec:
			names = append(names, s.Names...)
		}
	}
	return names
}

func docOf(spec ast.Spec) *ast.CommentGroup {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Doc
	case *ast.ValueSpec:
		return s.Doc
	}
	return nil
}
