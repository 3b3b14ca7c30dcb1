package batch

import (
	"slices"
	"strings"

	"orrery/traces/importer/format"
)

// ruleLeftOut counts rows that ask for something of which no column is made. What it is called is named among the columns left
// out, and its text stays in extra.
const ruleLeftOut = "request-left-out"

// mostName bounds the name of a request, in bytes.
const mostName = 60

// leftOut counts a row that asks for things of which no column is made, once, and names them.
func leftOut(c *format.Cells, a *format.Account, column string, names []string) {
	if len(names) == 0 {
		return
	}
	if !slices.Contains(c.Repaired, ruleLeftOut) {
		c.Repair(ruleLeftOut)
	}
	for _, name := range names {
		a.LeftOut(column + " " + strings.ToValidUTF8(name[:min(len(name), mostName)], ""))
	}
}

// sameNode says whether two names are of one node, with its domain or without.
func sameNode(a, b string) bool {
	short, _, _ := strings.Cut(a, ".")
	other, _, _ := strings.Cut(b, ".")
	return a == b || short == other && (short == a || other == b)
}
