package main

import (
	"fmt"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// requirement is one line of a go.mod file.
type requirement struct {
	version  string
	indirect bool // marked so: nothing in the repository imports it
}

// requirements reads the require lines of a go.mod file.
func requirements(text string) map[string]requirement {
	out := map[string]requirement{}
	for line := range strings.Lines(text) {
		line, comment, _ := strings.Cut(line, "//")
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") {
			out[fields[0]] = requirement{fields[1], strings.TrimSpace(comment) == "indirect"}
		}
	}
	return out
}

// directModules lists the required modules that a Go file of the repository
// imports, tests and files for other systems included.
func (r *repository) directModules(required map[string]requirement) []string {
	direct := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(r.folders)) {
		for _, s := range r.folders[dir] {
			for _, spec := range s.file.Imports {
				if module := moduleOf(importPath(spec), required); module != "" {
					direct[module] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(direct))
}

// moduleOf is the longest required module path that holds the import path.
func moduleOf(path string, required map[string]requirement) string {
	best := ""
	for module := range required { //detlint:ordered the longest of several prefixes of one path is unique
		if (path == module || strings.HasPrefix(path, module+"/")) && len(module) > len(best) {
			best = module
		}
	}
	return best
}

// documented is one row of the tables in docs/DEPENDENCIES.md.
type documented struct {
	line    int
	version string
	blank   bool // a cell was left empty
}

// documentedRow matches | `name` | version | ...
var documentedRow = regexp.MustCompile("^\\| `([^`]+)` \\| (v?[0-9][^ |]*) \\|(.*)\\|$")

func documentedModules(text string) map[string]documented {
	out := map[string]documented{}
	for i, line := range strings.Split(text, "\n") {
		m := documentedRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		blank := slices.ContainsFunc(strings.Split(m[3], "|"), func(cell string) bool { return strings.TrimSpace(cell) == "" })
		out[m[1]] = documented{i + 1, m[2], blank}
	}
	return out
}

// dependencies compares what is imported, what go.mod requires and what the
// document explains. tools names further rows that the document must have,
// with their versions.
func dependencies(direct []string, required map[string]requirement, document map[string]documented, tools map[string]string) []Finding {
	var found []Finding
	report := func(file string, line int, format string, args ...any) {
		found = append(found, Finding{token.Position{Filename: file, Line: line}, "dependencies", fmt.Sprintf(format, args...)})
	}
	const page = "docs/DEPENDENCIES.md"
	want := maps.Clone(tools)
	for _, module := range direct {
		want[module] = required[module].version
	}
	for _, module := range slices.Sorted(maps.Keys(want)) {
		row, ok := document[module]
		switch {
		case !ok:
			report(page, 0, "no row for %s %s: say what it is for and why the standard library does not do", module, want[module])
		case row.version != want[module]:
			report(page, row.line, "%s is documented at %s and used at %s: read what changed, then write it", module, row.version, want[module])
		case row.blank:
			report(page, row.line, "%s has an empty cell", module)
		}
	}
	for _, module := range slices.Sorted(maps.Keys(document)) {
		if _, ok := want[module]; !ok {
			report(page, document[module].line, "nothing imports %s: remove its row", module)
		}
	}
	for _, module := range slices.Sorted(maps.Keys(required)) {
		switch imported := slices.Contains(direct, module); {
		case imported && required[module].indirect:
			report("go.mod", 0, "%s is imported and marked // indirect: move its line to the direct ones, as go mod tidy does", module)
		case !imported && !required[module].indirect:
			report("go.mod", 0, "%s is not imported and not marked // indirect: mark or remove it, as go mod tidy does", module)
		}
	}
	return found
}
