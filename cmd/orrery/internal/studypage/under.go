package studypage

import (
	"cmp"
	"strings"

	"orrery/reports/study"
	"orrery/reports/table"
	"orrery/sim/experiment"
)

// Under is what came of each point under each scenario file, nil where there are not several: the
// order of the rows, and under each the files as the experiment lists them.
func Under(p *experiment.Plan, rows []experiment.Row) *table.Table {
	if len(p.Files()) < 2 {
		return nil
	}
	columns := p.Columns()
	heads := []string{"point", "name", "scenario"}
	for j := range columns {
		heads = append(heads, columns[j].Name())
	}
	t := table.New(heads...)
	for i := range rows {
		q := &p.Points[rows[i].Point]
		for _, u := range rows[i].Under {
			cells := []any{q.ID, cmp.Or(q.Name, settingsOf(p, q)), u.File}
			for j := range columns {
				cells = append(cells, underCell(&columns[j], &u, j))
			}
			t.Row(cells...)
		}
	}
	return t
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

func underCell(c *experiment.Column, u *experiment.UnderFile, j int) table.Cell {
	if !u.Have[j] {
		return table.Cell{}
	}
	return cellOf(c, u.Values[j])
}

// mostUnder points have their lines on the page: those that the table of candidates begins with.
const mostUnder = 20

// underSection is Under on the page.
func underSection(p *experiment.Plan, rows []experiment.Row) []study.Section {
	if len(p.Files()) < 2 {
		return nil
	}
	columns := p.Columns()
	of := study.SectionPart{Head: []string{"point", "scenario"}}
	for j := range columns {
		of.Head = append(of.Head, columns[j].Name())
	}
	for i := range rows[:min(len(rows), mostUnder)] {
		q := &p.Points[rows[i].Point]
		for _, u := range rows[i].Under {
			cells := []string{cmp.Or(q.Name, settingsOf(p, q), q.ID), u.File}
			for j := range columns {
				cells = append(cells, cmp.Or(underCell(&columns[j], &u, j).Text, "–"))
			}
			of.Cells = append(of.Cells, cells)
		}
	}
	return []study.Section{{Title: "By scenario", Parts: []study.SectionPart{
		{Text: "Means over the windows and seeds under each scenario file, of a constraint the worst. The candidates below are ranked by the means over all of them."}, of,
	}}}
}
