package reports

import (
	_ "embed" // the parts of the page
	"encoding/json"
	"html/template"
	"math"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
)

// uPlot draws the time series, since panning, zooming and cursors of curves are what it is for
// and it is small; the Gantt is drawn by page.js.
//
//go:embed assets/series.html
var seriesHTML string

//go:embed assets/gantt.html
var ganttHTML string

//go:embed assets/page.js
var pageJS string

//go:embed assets/uplot/uPlot.iife.min.js
var uplotJS string

//go:embed assets/uplot/uPlot.min.css
var uplotCSS string

//go:embed assets/uplot/LICENSE
var uplotLicence string

// document is what the page and summary.md show of a run.
func (r *run) document(title string, figures []*plot.Figure) *doc.Document {
	d := &doc.Document{Title: "Replay of " + title, By: "orrery report from the tables in this directory"}
	for _, text := range r.unheeded() {
		d.Head = append(d.Head, doc.Part{Word: "UNHEEDED", Tone: doc.Bad, Text: text})
	}
	d.Head = append([]doc.Part{{Text: strings.Join(r.summary(), " "), Role: doc.Lead}}, d.Head...)
	if v := r.Table.Verdict; v != "" {
		tone := doc.Bad
		if v == metric.Stable {
			tone = doc.Good
		}
		d.Head = append(d.Head, doc.Part{Word: string(v), Tone: tone, Text: VerdictWords(v) + "."})
	}
	d.Head = append(d.Head, doc.Shown(doc.Part{Notes: r.warnings()}, doc.Part{Tiles: r.tiles()})...)

	of := func(wanted func(name string) bool) doc.Part {
		return doc.Part{Figures: slices.DeleteFunc(page.Names(figures), func(name string) bool { return !wanted(name) })}
	}
	named := func(name string) doc.Part { return of(func(f string) bool { return f == name }) }
	d.Add("time", "Over time", doc.Part{Slot: "series"}, doc.Part{Fold: "Figure", ID: "series-static", Open: true, Parts: []doc.Part{named("utilisation")}})
	if r.site != nil {
		parts := []doc.Part{of(func(name string) bool { return siteFigure[name] })}
		for _, s := range r.siteTables() {
			parts = append(parts, doc.Part{Text: s.title, ID: s.id, Role: doc.Heading}, doc.Show(s.table))
		}
		d.Add("site", "The site", parts...).Link = "Site"
	}
	d.Add("gantt", "Nodes over time", doc.Part{Slot: "gantt"}, doc.Part{Fold: "Figure", ID: "gantt-static", Open: true, Parts: []doc.Part{named("gantt")}}).Link = "Nodes"
	d.Add("jobs", "Jobs", of(func(name string) bool { return name != "utilisation" && name != "gantt" && !siteFigure[name] }))
	d.Add("metrics", "Metrics", doc.Say("The steady window leaves out the warm-up at the start and what comes after the last submission; the glossary of the page has every formula."), doc.Show(metricTable(&r.Table)))
	d.Add("policy", "Policy and cluster", doc.Show(r.policyTable()))
	d.Add("states", "Jobs by final state", doc.Show(r.stateTable()))
	d.Add("awkward", "Rows that needed special handling", doc.Show(r.awkwardTable()))
	d.Add("provenance", "Provenance", doc.Show(r.provenanceTable()))
	return d
}

// page is the document with what its script reads, and the glossary.
func (r *run) page(d *doc.Document, figures []*plot.Figure) (*page.Page, error) {
	script, folds := "/*\n"+uplotLicence+"*/\n"+uplotJS+"\n"+pageJS, ""
	if r.shown().Folds() {
		folds = " and its drain"
	}
	p := &page.Page{Document: *d, Made: madeOf(r.Files.Dir()), Figures: figures, Style: uplotCSS, Script: script}
	definitions := metric.Definitions()
	if r.site != nil {
		definitions = append(definitions, metric.SiteDefinitions()...)
		if _, supplied := r.Table.Get("energy_beyond_supply", metric.All); supplied {
			definitions = append(definitions, metric.SupplyDefinitions()...)
		}
		if _, services := r.Table.Get("service_missed", metric.All); services {
			definitions = append(definitions, metric.ServiceDefinitions()...)
		}
	}
	var facts []doc.Fact
	for _, m := range definitions {
		f := doc.Fact{Name: m.Name, Value: m.Formula}
		if m.Unit != "" {
			f.Name += " (" + m.Unit + ")"
		}
		if m.Edge != "" {
			f.More = append(f.More, m.Edge)
		}
		if m.Source != "" {
			f.More = append(f.More, "Source: "+m.Source)
		}
		facts = append(facts, f)
	}
	p.Add("glossary", "Glossary", doc.Say("The symbols in the formulas:"), doc.Part{Text: metric.Legend, Role: doc.Verbatim}, doc.Part{Facts: facts})
	note, err := r.addData(p)
	p.Slots = map[string]string{"series": strings.Replace(seriesHTML, "FOLDS", folds, 1), "gantt": strings.Replace(ganttHTML, "NOTE", note, 1)}
	return p, err
}

// pageMeta is the head of the page's data.
type pageMeta struct {
	Epoch float64   `json:"epoch"` // seconds since 1970
	Known bool      `json:"known"` // whether that is a date
	Shown float64   `json:"shown"` // where the axes of time end at first, seconds since the epoch
	Unit  string    `json:"unit"`  // what the cluster is measured in, in the plural
	Gantt ganttMeta `json:"gantt"`
}

// ganttMeta describes the Gantt's data: columns of allocations when Layout is
// there, cells of occupancy from 0 to 255, row by row from node 0, otherwise.
type ganttMeta struct {
	T0       float64      `json:"t0"` // seconds since the epoch
	T1       float64      `json:"t1"`
	Nodes    int32        `json:"nodes"`
	Names    string       `json:"names,omitempty"` // of nodes, in order, as n[1-8],m1
	GPUs     [][2]int32   `json:"gpus,omitempty"`  // rows are GPUs: runs of nodes, and how many each has
	Users    []string     `json:"users,omitempty"`
	Layout   []pageColumn `json:"layout,omitempty"`
	Cols     int          `json:"cols,omitempty"`
	Rows     int          `json:"rows,omitempty"`
	ColSec   float64      `json:"colSec,omitempty"`
	RowNodes int32        `json:"rowNodes,omitempty"`
	Most     float64      `json:"most,omitempty"` // cells are numbers of jobs on a node, 255 being so many
}

// addData puts the series and the Gantt into the page, and says what there is to note of the Gantt.
func (r *run) addData(p *page.Page) (note string, err error) {
	const us = 1e6
	meta := pageMeta{Epoch: float64(r.Files.Epoch()) / us, Known: r.About.EpochKnown, Unit: r.About.UnitWord()}
	meta.Shown = float64(r.shown().ToUS) / us
	meta.Gantt = ganttMeta{T0: float64(r.span.FromUS) / us, T1: float64(r.span.ToUS) / us, Nodes: int32(len(r.About.Units)), Names: r.About.NameList}
	var raw []byte
	if r.detail != nil {
		if cols, ok := r.detail.columns(); ok {
			meta.Gantt.Layout, meta.Gantt.Users, raw = cols, r.Files.Users(), planes(cols)
			note = "Times are rounded to whole seconds."
			if first := r.detail.first; first != nil {
				meta.Gantt.Nodes, meta.Gantt.GPUs = first[len(first)-1], runsOf(r.About.Units)
				note += " A row is a GPU; a job has the lowest of its nodes that are free, for which it had is not recorded. A job without GPUs has what is free of its nodes, and jobs that share a node with it may be drawn over it."
			}
		}
	}
	if raw == nil {
		meta.Gantt.Cols, meta.Gantt.Rows, meta.Gantt.ColSec, meta.Gantt.RowNodes = r.raster.Cols, r.raster.Rows, float64(r.raster.ColUS)/us, r.raster.RowNodes
		meta.Gantt.T1 = meta.Shown // the cells end there
		if r.raster.Jobs {
			meta.Gantt.Most = r.raster.Most()
		}
		raw = cells(r.raster)
		note = "There are too many allocations (" + plot.Count(r.attempts) + ") to embed each; they are summed up."
	}
	head, err := json.Marshal(meta)
	if err != nil {
		return note, err
	}
	series, err := json.Marshal(r.pageSeries())
	if err != nil {
		return note, err
	}
	p.Data = []page.Data{{ID: "meta", JSON: template.JS(head)}} // made by encoding/json, which escapes < and >
	if err := p.Pack("series-data", series); err != nil {
		return note, err
	}
	return note, p.Pack("gantt-data", raw)
}

// runsOf counts equal neighbours.
func runsOf(units []int32) (out [][2]int32) {
	for _, u := range units {
		if n := len(out) - 1; n >= 0 && out[n][1] == u {
			out[n][0]++
			continue
		}
		out = append(out, [2]int32{1, u})
	}
	return out
}

func cells(r *plot.Raster) []byte {
	out, most := make([]byte, 0, r.Rows*r.Cols), 1.0
	if r.Jobs {
		most = r.Most()
	}
	for y := range r.Rows {
		for x := range r.Cols {
			v := r.Occupancy(x, y) / most
			k := byte(min(255, math.Round(v*255)))
			if v > 0 {
				k = max(k, 1)
			}
			out = append(out, k)
		}
	}
	return out
}

// pageSeries are the time bins as the page draws them, rounded to what can be
// seen.
func (r *run) pageSeries() map[string]any {
	loads := r.Loads()
	out := map[string][]float64{}
	for _, l := range loads {
		out["t"] = append(out["t"], float64(l.StartUS)/1e6)
		out["busy"] = append(out["busy"], rounded(100*l.Busy))
		out["queued"] = append(out["queued"], rounded(l.Queued))
		out["queuedMax"] = append(out["queuedMax"], l.QueuedMax)
	}
	for _, key := range []string{"t", "busy", "queued", "queuedMax"} {
		if out[key] == nil {
			out[key] = []float64{}
		}
	}
	series := map[string]any{}
	for key, values := range out { //detlint:ordered encoding/json sorts keys
		series[key] = values
	}
	r.addPower(series)
	return series
}

// addPower adds what the nodes drew in each bin, where that is known, in kW.
func (r *run) addPower(series map[string]any) {
	if len(r.power.drawn) == 0 {
		return
	}
	low, value, high, limit := []float64{}, []float64{}, []float64{}, []*float64{}
	for _, d := range r.power.drawn {
		low, value, high = append(low, rounded(d.Low/1e3)), append(value, rounded(d.Value/1e3)), append(high, rounded(d.High/1e3))
		limit = append(limit, nil)
		if d.Capped {
			x := rounded(d.Cap / 1e3)
			limit[len(limit)-1] = &x
		}
	}
	series["powerLow"], series["power"], series["powerHigh"], series["cap"] = low, value, high, limit
}

func rounded(v float64) float64 { return math.Round(v*100) / 100 }
