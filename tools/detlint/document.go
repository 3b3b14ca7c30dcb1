package main

import (
	"fmt"
	"strings"
)

//go:generate go test -run ^TestDocuments$ -update .

// printedParts are the parts of documents that come from the tables of this
// package, by the name in their markers:
//
//	<!-- printed: NAME, by go generate ./tools/detlint -->
//	<!-- end -->
var printedParts = map[string]func() string{
	"rules":      printRules,
	"exemptions": printExemptions,
	"layers":     printLayers,
}

const endMarker = "<!-- end -->"

func beginMarker(name string) string {
	return "<!-- printed: " + name + ", by go generate ./tools/detlint -->"
}

// reprint replaces the printed parts of a document by what the tables say now.
func reprint(document string) (string, error) {
	for name, print := range printedParts { //detlint:ordered the parts do not overlap
		before, rest, found := strings.Cut(document, beginMarker(name))
		if !found {
			continue
		}
		_, after, found := strings.Cut(rest, endMarker)
		if !found {
			return "", fmt.Errorf("the part %q has no %s", name, endMarker)
		}
		document = before + beginMarker(name) + "\n\n" + print() + "\n" + endMarker + after
	}
	return document, nil
}

func printRules() string {
	var b strings.Builder
	b.WriteString("| rule | not allowed | why | silenced by |\n|---|---|---|---|\n")
	for _, r := range rules {
		hatch := "nothing"
		if r.hatch != "" {
			hatch = "`" + annotationPrefix + r.hatch + "` and a reason"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.name, r.bans, r.reason, hatch)
	}
	return b.String()
}

func printExemptions() string {
	var b strings.Builder
	b.WriteString("| package | free of | because |\n|---|---|---|\n")
	for _, own := range packageTable {
		for _, e := range own.free {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", own.dir, strings.Join(e.rules, ", "), e.reason)
		}
	}
	return b.String()
}

func printLayers() string {
	var b strings.Builder
	b.WriteString("| package | files | upward, at most |\n|---|---:|---:|\n")
	for _, l := range layerTable {
		fmt.Fprintf(&b, "| `%s` | %d | %d |\n", l.dir, len(l.order()), l.upward)
	}
	return b.String()
}
