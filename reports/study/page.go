package study

import (
	"cmp"
	_ "embed" // the parts of the page
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// fileName is the data of a study's report, beside the page.
const fileName = "report.json"

//go:embed assets/explore.html
var exploreHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageJS string

//go:embed assets/draw.js
var drawJS string

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
	p, err := s.page(figures)
	if err != nil {
		return err
	}
	p.Made = made
	if err = p.Write(dir, page.File{Name: fileName, Fill: func(w io.Writer) error { _, err := w.Write(raw); return err }}); err != nil {
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

// mostOpen are the rows of a table before the candidates that are shown at once.
const mostOpen = 12

// page is what the page shows.
func (s *Study) page(figures []*plot.Figure) (*page.Page, error) {
	script := drawJS + "\n" + pageJS
	p := &page.Page{Figures: figures, Style: pageCSS, Script: script, Slots: map[string]string{"explore": exploreHTML}}
	word := map[string]string{"tune": "Tuning", "search": "Search"}[s.Kind]
	p.Title, p.By = cmp.Or(word, "Sweep")+": "+s.Name, "orrery from report.json in this directory"
	for _, text := range s.Unheeded {
		p.Head = append(p.Head, doc.Part{Word: "UNHEEDED", Tone: doc.Bad, Text: text + ". Waits and use of the cluster are those of another workload to that extent."})
	}
	verdict := doc.Part{Word: s.Verdict, Tone: doc.Bad}
	if s.Good {
		verdict.Tone = doc.Good
	}
	p.Head = append(p.Head, verdict)
	said := []doc.Part{{Role: doc.Lead}, {Tiles: s.tiles()}}
	for i, text := range s.Summary {
		if i == 0 {
			said[0].Text = text
			continue
		}
		said = append(said, doc.Part{Text: text})
	}
	p.Head = doc.Shown(append(append(p.Head, said...), doc.Part{Notes: s.Warn})...)
	for i, section := range s.Sections {
		section.ID, section.Parts = fmt.Sprintf("section-%d", i+1), slices.Clone(section.Parts)
		for k := range section.Parts {
			section.Parts[k].Most = mostOpen
		}
		p.Sections = append(p.Sections, section)
	}
	s.addCandidates(p)
	s.addTables(p)
	raw, err := json.Marshal(s.pageData())
	if err != nil {
		return nil, err
	}
	return p, p.Pack("data", raw)
}

// addCandidates adds what the script shows of the rows, what stands there without scripts, and the
// other figures.
func (s *Study) addCandidates(p *page.Page) {
	var explored, others []string
	for _, name := range page.Names(p.Figures) {
		if strings.HasPrefix(name, "pareto") || name == "parallel" {
			explored = append(explored, name)
		} else {
			others = append(others, name)
		}
	}
	best, more := s.bestTable()
	still := []doc.Part{{Figures: explored}, doc.Show(best)}
	if best.Len() == 0 {
		still[1] = doc.Say("No candidate has been computed yet.")
	}
	if more > 0 {
		still = append(still, doc.Say("%d more candidates are in report.json.", more))
	}
	parts := []doc.Part{{Slot: "explore"}, {ID: "still", Parts: doc.Shown(still...)}}
	if s.commanded() {
		parts = append(parts, doc.Say("Commands are to be run in the folder of this page."))
	}
	p.Add("candidates", "Candidates", parts...)
	p.Add("figures", "Figures", doc.Part{Figures: others})
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
