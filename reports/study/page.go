package study

import (
	_ "embed" // the parts of the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/stat"
)

// fileName is the data of a study's report, beside the page.
const fileName = "report.json"

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageJS string

//go:embed assets/draw.js
var drawJS string

var pageTemplate = page.Template("study", pageHTML)

// Write draws a study into dir, which is made when it is missing:
// report.html (one page that opens without a network), report.json (the study
// itself) and figures/*.svg and *.png, replacing older ones. The bytes depend
// on the study alone (and, for figures, on the architecture), but for one line of
// the page that says what made it; made.json keeps that. A front that
// no one has marked is marked in s. A study that
// contradicts itself is refused before anything is written. Cost is linear in
// the rows; 5,000 make a page of 1 MB.
func Write(dir string, s *Study, made page.Made) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("drawing study %q: %w", s.Name, err)
	}
	if !s.frontKnown() {
		s.markFront()
	}
	figures := s.figures()
	raw, err := s.json()
	if err != nil {
		return err
	}
	err = page.Write(dir, figures,
		page.File{Name: fileName, Fill: func(w io.Writer) error { _, err := w.Write(raw); return err }},
		page.File{Name: page.FileHTML, Fill: func(w io.Writer) error { return s.writeHTML(w, figures, made) }})
	if err != nil {
		return err
	}
	return writeMade(dir, made)
}

// In is the path of the study to draw when path names one: the file
// itself, or report.json of a folder that holds no run. Otherwise it is empty.
func In(path string) string {
	if i, err := os.Stat(path); err != nil || !i.IsDir() {
		if err == nil && strings.HasSuffix(path, ".json") {
			return path
		}
		return ""
	}
	if _, err := os.Stat(filepath.Join(path, record.FileRun)); err == nil {
		return ""
	}
	inside := filepath.Join(path, fileName)
	if _, err := os.Stat(inside); err != nil {
		return ""
	}
	return inside
}

// pageContent is what assets/page.html shows.
type pageContent struct {
	*Study
	Policy  string
	Style   template.CSS
	Made    page.Made
	Tiles   []page.Tile
	Lead    string   // the first sentence, before the tiles
	After   []string // the others
	Opening []htmlOpening
	// Commanded says that there are commands.
	Commanded bool
	Best      page.Table
	More      int // rows that Best leaves out
	Figures   []page.Figure
	Explored  []page.Figure // that the page draws itself when scripts run
	Parts     []page.Section
	Data      template.JS
	Script    template.JS
}

// htmlOpening is a section before the candidates.
type htmlOpening struct {
	ID, Title string
	Parts     []htmlPart
}

// htmlPart is a paragraph, or a table.
type htmlPart struct {
	Text  string
	Table *page.Table
	Rest  *page.Table // behind a click
}

// opening are the sections of the study.
func (s *Study) opening() []htmlOpening {
	var out []htmlOpening
	for i, part := range s.Sections {
		o := htmlOpening{ID: fmt.Sprintf("section-%d", i+1), Title: part.Title}
		for _, p := range part.Parts {
			if p.Head == nil {
				o.Parts = append(o.Parts, htmlPart{Text: p.Text})
				continue
			}
			t := plainTable(p.Head, p.Cells)
			part := htmlPart{Table: &t}
			if len(t.Rows) > mostOpen+2 {
				part.Rest = &page.Table{Heads: t.Heads, Rows: t.Rows[mostOpen:]}
				t.Rows = t.Rows[:mostOpen]
			}
			o.Parts = append(o.Parts, part)
		}
		out = append(out, o)
	}
	return out
}

// mostOpen are the rows of a table that are shown at once.
const mostOpen = 12

// plainTable is a table of texts: columns whose cells begin with numbers stand to the
// right, and verdicts are coloured.
func plainTable(head []string, rows [][]string) page.Table {
	out := page.Table{Heads: make([]page.Cell, len(head))}
	for k, text := range head {
		out.Heads[k].Text = text
		rows = sameDecimals(rows, k)
		if slices.ContainsFunc(rows, func(row []string) bool { return beginsNumber(row[k]) }) &&
			!slices.ContainsFunc(rows, func(row []string) bool {
				return row[k] != "" && row[k] != "–" && row[k] != "-" && !beginsNumber(row[k])
			}) {
			out.Heads[k].Class = "n"
		}
	}
	for _, row := range rows {
		cells := make([]page.Cell, len(row))
		for k, text := range row {
			cells[k] = page.Cell{Text: text, Class: out.Heads[k].Class}
			switch {
			case strings.Contains(text, " → "):
				cells[k].Class += " pair"
			case k == 0 && len(text) < 32 || len(text) < 16:
				cells[k].Class += " name"
			}
			switch word, _, _ := strings.Cut(text, ":"); word {
			case stat.Better.String():
				cells[k].Class = "good"
			case stat.Worse.String():
				cells[k].Class = "bad"
			}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// beginsNumber says that a text is a number, a range or a pair of them: 18 windows is not.
func beginsNumber(text string) bool {
	bare := strings.TrimLeft(text, "+-−")
	if bare == "" || bare[0] < '0' || bare[0] > '9' {
		return false
	}
	return !slices.ContainsFunc(letters.FindAllString(text, -1), func(w string) bool { return !slices.Contains(besideNumbers, w) })
}

var letters = regexp.MustCompile(`\pL+`)

// besideNumbers are what stands between or behind numbers.
var besideNumbers = []string{"to", "s", "min", "h", "d", "e"}

// sameDecimals writes 1 as 1.0 in a column that has numbers like 0.9.
func sameDecimals(rows [][]string, k int) [][]string {
	tenths := false
	for _, row := range rows {
		if !tenth.MatchString(row[k]) {
			return rows
		}
		tenths = tenths || strings.Contains(row[k], ".")
	}
	if !tenths {
		return rows
	}
	out := make([][]string, len(rows))
	for i, row := range rows {
		if out[i] = row; !strings.Contains(row[k], ".") {
			out[i] = slices.Clone(row)
			out[i][k] += ".0"
		}
	}
	return out
}

var tenth = regexp.MustCompile(`^[0-9]+(\.[0-9])?$`)

// writeHTML writes the page.
func (s *Study) writeHTML(w io.Writer, figures []*plot.Figure, made page.Made) error {
	p := pageContent{Study: s, Style: template.CSS(page.CSS + pageCSS), Tiles: s.tiles(), Made: made, Opening: s.opening(), Commanded: s.commanded()} // our own files
	if words := page.Unbroken(slices.Clone(s.Summary)); len(words) > 0 {
		p.Lead, p.After = words[0], words[1:]
	}
	for _, f := range figures {
		h, err := page.Inline(f)
		if err != nil {
			return err
		}
		if strings.HasPrefix(f.Name, "pareto") || f.Name == "parallel" {
			p.Explored = append(p.Explored, h)
			continue
		}
		p.Figures = append(p.Figures, h)
	}
	best, more := s.bestTable()
	p.Best, p.More = page.TableOf(best), more
	for _, t := range s.tables() {
		if t.table.Len() > 0 {
			p.Parts = append(p.Parts, page.Section{ID: t.id, Title: t.title, Table: page.Coloured(t.table)})
		}
	}
	raw, err := json.Marshal(s.pageData())
	if err != nil {
		return err
	}
	data, err := page.Packed(raw)
	if err != nil {
		return err
	}
	script := drawJS + "\n" + pageJS
	p.Data, p.Script = template.JS(`"`+data+`"`), template.JS(script) // base64, and our own files
	p.Policy = page.ScriptPolicy(script)
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("filling the page: %w", err)
	}
	return nil
}

// columnData is one parameter or metric as the page's script takes it.
type columnData struct {
	Name    string          `json:"name"`
	Unit    string          `json:"unit,omitempty"`
	Kind    string          `json:"kind"` // of a parameter, or metric
	Log     bool            `json:"log,omitempty"`
	Share   bool            `json:"share,omitempty"`
	Better  int             `json:"better,omitempty"`
	Goal    bool            `json:"goal,omitempty"`
	Bound   string          `json:"bound,omitempty"`
	From    float64         `json:"from"`
	To      float64         `json:"to"`
	Choices []string        `json:"choices,omitempty"`
	Values  []metric.Number `json:"values"`
	Low     []metric.Number `json:"low,omitempty"`
	High    []metric.Number `json:"high,omitempty"`
}

// rowData are the other columns, in the order of the rows.
type rowData struct {
	Columns  []columnData `json:"columns"`
	Label    []string     `json:"label"`
	Standing []int        `json:"standing"`
	Verdict  []string     `json:"verdict"`
	Link     []string     `json:"link"`
	Feasible []bool       `json:"feasible"`
	Front    []bool       `json:"front"`
	Commands [][]string   `json:"commands"`
	Rank     []int        `json:"rank"` // rows in the order in which the table begins
}

func (s *Study) pageData() rowData {
	d := rowData{Columns: []columnData{}, Label: []string{}, Standing: []int{}, Verdict: []string{}, Link: []string{}, Feasible: []bool{}, Front: []bool{}, Commands: [][]string{}, Rank: s.ranked()}
	for i := range s.Parameters {
		p, m := &s.Parameters[i], s.parameterMeasure(i)
		c := columnData{Name: p.Name, Unit: p.Unit, Kind: p.Kind, Log: p.Log, From: m.From, To: m.To, Choices: p.Choices, Values: []metric.Number{}}
		for k := range s.Rows {
			c.Values = append(c.Values, s.Rows[k].Values[i])
		}
		d.Columns = append(d.Columns, c)
	}
	for i := range s.Metrics {
		m := &s.Metrics[i]
		c := columnData{Name: m.Name, Unit: m.Unit, Kind: "metric", Share: m.isShare(), Better: m.sense(), Goal: m.Objective, Bound: m.bound(), Values: []metric.Number{}}
		for k := range s.Rows {
			c.Values = append(c.Values, s.Rows[k].Metrics[i])
		}
		c.Low, c.High = s.ends(i)
		d.Columns = append(d.Columns, c)
	}
	for k := range s.Rows {
		r := &s.Rows[k]
		d.Label, d.Standing = append(d.Label, r.label()), append(d.Standing, int(r.standing()))
		d.Verdict, d.Link = append(d.Verdict, r.says()), append(d.Link, r.Link)
		d.Feasible, d.Front = append(d.Feasible, r.Feasible), append(d.Front, r.Front)
		d.Commands = append(d.Commands, append([]string{}, r.Commands...))
	}
	return d
}

// ends are the intervals of a metric by row; nil where none is known.
func (s *Study) ends(i int) (low, high []metric.Number) {
	known := false
	for k := range s.Rows {
		r := &s.Rows[k]
		lo, hi := metric.Undefined, metric.Undefined
		if len(r.Low) > 0 && r.Low[i].Defined() && r.High[i].Defined() {
			lo, hi, known = r.Low[i], r.High[i], true
		}
		low, high = append(low, lo), append(high, hi)
	}
	if !known {
		return nil, nil
	}
	return low, high
}

// commanded says that there is a row with commands.
func (s *Study) commanded() bool {
	return slices.ContainsFunc(s.Rows, func(r Row) bool { return len(r.Commands) > 0 })
}

// says is the verdict on a row, and what is wrong with its runs.
func (r *Row) says() string {
	switch {
	case r.State != "" && r.Verdict != "":
		return r.State + "; " + r.Verdict
	case r.State != "":
		return r.State
	case r.Verdict == "" && !r.Feasible:
		return "breaks a bound"
	}
	return r.Verdict
}

// bound spells the constraint on the metric.
func (m *Metric) bound() string {
	if m.Bound == nil {
		return ""
	}
	sign := "≤"
	if m.Bound.Relation == ">=" {
		sign = "≥"
	}
	return sign + " " + m.measure().Say(m.Bound.Value)
}
