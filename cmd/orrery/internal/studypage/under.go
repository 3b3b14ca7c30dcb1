package studypage

import (
	"cmp"
	"strings"

	"orrery/internal/doc"
	"orrery/sim/experiment"
)

// Under is what came of each point under each scenario file, nil where there are not several: the
// order of the rows, and under each the files as the experiment lists them.
func Under(p *experiment.Plan, rows []experiment.Row) *doc.Table {
	if len(p.Files()) < 2 {
		return nil
	}
	t := doc.New(append([]string{"point", "name", "scenario"}, columnNames(p)...)...)
	for i := range rows {
		q := &p.Points[rows[i].Point]
		for k := range rows[i].Under {
			u := &rows[i].Under[k]
			line := []any{q.ID, cmp.Or(q.Name, settingsOf(p, q)), u.File}
			for _, c := range underCells(p, u) {
				line = append(line, c)
			}
			t.Row(line...)
		}
	}
	return t
}

func columnNames(p *experiment.Plan) (names []string) {
	columns := p.Columns()
	for j := range columns {
		names = append(names, columns[j].Name())
	}
	return names
}

// underCells are the values under a file, by column.
func underCells(p *experiment.Plan, u *experiment.UnderFile) (cells []doc.Cell) {
	columns := p.Columns()
	for j := range columns {
		c := doc.Cell{}
		if u.Have[j] {
			c = cellOf(&columns[j], u.Values[j])
		}
		cells = append(cells, c)
	}
	return cells
}

// settingsOf names a point by what it sets.
func settingsOf(p *experiment.Plan, q *experiment.Point) string {
	var words []string
	for j, v := range q.Values {
		switch name := p.Parameters[j].Name; {
		case v == "":
		case p.Parameters[j].Numeric:
			words = append(words, name[strings.LastIndexByte(name, '.')+1:]+" "+v)
		default:
			words = append(words, v)
		}
	}
	return strings.Join(words, ", ")
}

// mostUnder points have their lines on the page: those that the table of candidates begins with.
const mostUnder = 20

// underSection is Under on the page.
func underSection(p *experiment.Plan, rows []experiment.Row) []doc.Section {
	if len(p.Files()) < 2 {
		return nil
	}
	of := doc.New(append([]string{"point", "scenario"}, columnNames(p)...)...)
	for i := range rows[:min(len(rows), mostUnder)] {
		q := &p.Points[rows[i].Point]
		for k := range rows[i].Under {
			u := &rows[i].Under[k]
			line := []any{cmp.Or(q.Name, settingsOf(p, q), q.ID), u.File}
			for _, c := range underCells(p, u) {
				line = append(line, cmp.Or(c.Text, "–"))
			}
			of.Row(line...)
		}
	}
	return []doc.Section{{Title: "By scenario", Parts: []doc.Part{
		doc.Say("Means over the windows and seeds under each scenario file, of a constraint the worst. The candidates below are ranked by the means over all of them."), doc.Show(of),
	}}}
}
