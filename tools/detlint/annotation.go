package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

const annotationPrefix = "//detlint:"

// ruleAnnotation is the name under which misuse of the annotations themselves
// is reported. It has no escape hatch.
const ruleAnnotation = "annotation"

// minReasonWords is how many words make a reason: fewer say "ok", not why.
const minReasonWords = 3

// annotation is one //detlint:word reason comment.
type annotation struct {
	pos  token.Position
	word string
	used bool
}

// annotations indexes the annotations of a package by file and by the line
// that their comment ends on; a reason may run over several lines.
type annotations map[string]map[int]*annotation

func (a annotations) add(note *annotation, lastLine int) {
	if a[note.pos.Filename] == nil {
		a[note.pos.Filename] = map[int]*annotation{}
	}
	a[note.pos.Filename][lastLine] = note
}

// readAnnotations collects the annotations of the files and reports those
// whose word is no rule's or whose reason is missing.
func readAnnotations(fset *token.FileSet, files []*ast.File, words []string) (annotations, []Finding) {
	found, bad := annotations{}, []Finding(nil)
	for _, file := range files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				text, ok := strings.CutPrefix(comment.Text, annotationPrefix)
				if !ok {
					continue
				}
				pos := fset.Position(comment.Pos())
				word, reason, _ := strings.Cut(text, " ")
				reason, _, _ = strings.Cut(reason, "//")
				if what := misuse(word, reason, words); what != "" {
					bad = append(bad, Finding{pos, ruleAnnotation, what})
					continue
				}
				found.add(&annotation{pos: pos, word: word}, fset.Position(group.End()).Line)
			}
		}
	}
	return found, bad
}

func misuse(word, reason string, words []string) string {
	switch {
	case !slices.Contains(words, word):
		return "unknown word " + annotationPrefix + word + ": the words are " + strings.Join(words, ", ")
	case len(strings.Fields(reason)) < minReasonWords:
		return annotationPrefix + word + " needs a reason after it: say why the order or the bits do not matter here"
	}
	return ""
}

// silences says whether a comment with this word ends on the line or on the one
// above it, and remembers that it was needed.
func (a annotations) silences(pos token.Position, word string) bool {
	if word == "" {
		return false
	}
	for _, line := range []int{pos.Line, pos.Line - 1} {
		if note := a[pos.Filename][line]; note != nil && note.word == word {
			note.used = true
			return true
		}
	}
	return false
}

// unused reports the annotations that silenced nothing.
func (a annotations) unused() []Finding {
	var idle []Finding
	for _, lines := range a { //detlint:ordered the caller sorts all findings by place
		for _, note := range lines { //detlint:ordered the caller sorts all findings by place
			if !note.used {
				what := annotationPrefix + note.word + " silences nothing: remove it, or move it to the line it is about"
				idle = append(idle, Finding{note.pos, ruleAnnotation, what})
			}
		}
	}
	return idle
}
