package page

import (
	"regexp"
	"slices"
	"strings"

	"orrery/internal/doc"
)

// laidTable is a table with the class of each cell, which aligns or colours it.
type laidTable struct {
	Heads []laidCell
	Rows  [][]laidCell
	Rest  *laidTable // behind a click
}

type laidCell struct{ Text, Class string }

// lay decides how the table of a part looks: columns of numbers stand to the right, and verdicts
// are coloured.
func lay(p doc.Part) *laidTable {
	out := &laidTable{}
	for k, name := range p.Columns {
		class := ""
		if numeric(p.Rows, k) {
			class = "n"
		}
		out.Heads = append(out.Heads, laidCell{name, class})
	}
	for _, row := range p.Rows {
		cells := make([]laidCell, len(row))
		for k, c := range row {
			cells[k] = laidCell{c.Text, classOf(c, out.Heads[k].Class)}
		}
		out.Rows = append(out.Rows, cells)
	}
	if p.Most > 0 && len(out.Rows) > p.Most+2 {
		out.Rest = &laidTable{Heads: out.Heads, Rows: out.Rows[p.Most:]}
		out.Rows = out.Rows[:p.Most]
	}
	return out
}

// classOf is the class of a cell, by that of its column.
func classOf(c doc.Cell, column string) string {
	word, _, _ := strings.Cut(c.Text, ":")
	switch {
	case c.Tone == doc.Good, word == "better":
		return "good"
	case c.Tone == doc.Bad, word == "worse":
		return "bad"
	case strings.Contains(c.Text, " → "):
		return strings.TrimSpace(column + " pair")
	}
	return column
}

// numeric says that all that a column has are numbers, ranges or pairs of them.
func numeric(rows [][]doc.Cell, k int) bool {
	some := false
	for _, row := range rows {
		switch c := row[k]; {
		case c.Number, beginsNumber(c.Text):
			some = true
		case c.Text != "" && c.Text != "–" && c.Text != "-":
			return false
		}
	}
	return some
}

// beginsNumber says that a text is a number, a range or a pair of them: 18 windows is not, nor is
// a date.
func beginsNumber(text string) bool {
	bare := strings.TrimLeft(text, "+-−")
	if bare == "" || bare[0] < '0' || bare[0] > '9' || date.MatchString(bare) {
		return false
	}
	return !slices.ContainsFunc(letters.FindAllString(text, -1), func(w string) bool { return !slices.Contains(besideNumbers, w) })
}

var letters, date = regexp.MustCompile(`\pL+`), regexp.MustCompile(`^\d{4}-\d\d-\d\d`)

// besideNumbers are what stands between or behind numbers.
var besideNumbers = []string{"to", "s", "m", "min", "h", "d", "e", "W", "kW", "MW", "kWh", "MWh", "MB", "GB", "TB", "MiB", "GiB", "TiB"}
