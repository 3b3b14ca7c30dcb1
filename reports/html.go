package reports

import (
	_ "embed" // the parts of the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"

	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/sim/metric"
)

// The page is one file: style, script and data stand in it, and its security
// policy forbids it to ask for anything else. uPlot draws the time series,
// since panning, zooming and cursors of curves are what it is for and it is
// small; the Gantt is drawn by page.js.
//
//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.js
var pageJS string

//go:embed assets/uplot/uPlot.iife.min.js
var uplotJS string

//go:embed assets/uplot/uPlot.min.css
var uplotCSS string

//go:embed assets/uplot/LICENSE
var uplotLicence string

var pageTemplate = page.Template("page", pageHTML)

// pageContent is what assets/page.html shows.
type pageContent struct {
	Policy      string // of security
	Title       string
	Style       template.CSS
	Made        page.Made
	Unheeded    []string
	Verdict     string
	Good        bool
	VerdictSays string
	Summary     []string
	Warnings    []string
	Tiles       []page.Tile
	Metrics     page.Table
	Figures     []page.Figure
	Gantt       *page.Figure
	Folds       bool // the drain is not shown at first
	Series      *page.Figure
	Site        []page.Figure
	SiteTables  []page.Section
	Sections    []page.Section
	Glossary    []metric.Definition
	Legend      string
	Meta        template.JS
	SeriesData  template.JS
	GanttData   template.JS
	GanttNote   string
	Script      template.JS
}

// writeHTML writes report.html.
func (r *run) writeHTML(w io.Writer, o Options, figures []*plot.Figure) error {
	p := pageContent{
		Title: o.Title, Made: madeOf(r.Files.Dir()), Folds: r.shown().Folds(), Style: template.CSS(uplotCSS + page.CSS), // our own files
		Unheeded: r.unheeded(), Verdict: string(r.Table.Verdict), Good: r.Table.Verdict == metric.Stable, VerdictSays: VerdictWords(r.Table.Verdict),
		Summary: page.Unbroken(r.summary()), Warnings: r.warnings(), Tiles: r.tiles(),
		Metrics: page.TableOf(metricTable(&r.Table)), Glossary: metric.Definitions(), Legend: metric.Legend,
	}
	for _, f := range figures {
		h, err := page.Inline(f)
		if err != nil {
			return err
		}
		switch f.Name {
		case "utilisation":
			p.Series = &h
		case "gantt":
			p.Gantt = &h
		default:
			if siteFigure[f.Name] {
				p.Site = append(p.Site, h)
				continue
			}
			p.Figures = append(p.Figures, h)
		}
	}
	for _, s := range r.siteTables() {
		p.SiteTables = append(p.SiteTables, page.Section{ID: s.id, Title: s.title, Table: page.TableOf(s.table)})
	}
	if r.site != nil {
		p.Glossary = append(p.Glossary, metric.SiteDefinitions()...)
		if _, supplied := r.Table.Get("energy_beyond_supply", metric.All); supplied {
			p.Glossary = append(p.Glossary, metric.SupplyDefinitions()...)
		}
		if _, services := r.Table.Get("service_missed", metric.All); services {
			p.Glossary = append(p.Glossary, metric.ServiceDefinitions()...)
		}
	}
	for _, s := range []struct {
		id, title string
		table     *table.Table
	}{
		{"policy", "Policy and cluster", r.policyTable()},
		{"states", "Jobs by final state", r.stateTable()},
		{"awkward", "Rows that needed special handling", r.awkwardTable()},
		{"provenance", "Provenance", r.provenanceTable()},
	} {
		if s.table.Len() > 0 {
			p.Sections = append(p.Sections, page.Section{ID: s.id, Title: s.title, Table: page.TableOf(s.table)})
		}
	}
	if err := r.addData(&p); err != nil {
		return err
	}
	script := "/*\n" + uplotLicence + "*/\n" + uplotJS + "\n" + pageJS
	p.Script = template.JS(script) // our own files
	p.Policy = page.ScriptPolicy(script)
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("filling the page: %w", err)
	}
	return nil
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

// addData puts the series and the Gantt into the page.
func (r *run) addData(p *pageContent) error {
	const us = 1e6
	meta := pageMeta{Epoch: float64(r.Files.Epoch()) / us, Known: r.About.EpochKnown, Unit: r.About.UnitWord()}
	meta.Shown = float64(r.shown().ToUS) / us
	meta.Gantt = ganttMeta{T0: float64(r.span.FromUS) / us, T1: float64(r.span.ToUS) / us, Nodes: int32(len(r.About.Units)), Names: r.About.NameList}
	var raw []byte
	if r.detail != nil {
		if cols, ok := r.detail.columns(); ok {
			meta.Gantt.Layout, meta.Gantt.Users, raw = cols, r.Files.Users(), planes(cols)
			p.GanttNote = "Times are rounded to whole seconds."
			if first := r.detail.first; first != nil {
				meta.Gantt.Nodes, meta.Gantt.GPUs = first[len(first)-1], runsOf(r.About.Units)
				p.GanttNote += " A row is a GPU; a job has the lowest of its nodes that are free, for which it had is not recorded. A job without GPUs has what is free of its nodes, and jobs that share a node with it may be drawn over it."
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
		p.GanttNote = "There are too many allocations (" + plot.Count(r.attempts) + ") to embed each; they are summed up."
	}
	head, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	series, err := json.Marshal(r.pageSeries())
	if err != nil {
		return err
	}
	p.Meta = template.JS(head) // made by encoding/json, which escapes < and >
	for _, part := range []struct {
		to  *template.JS
		raw []byte
	}{{&p.SeriesData, series}, {&p.GanttData, raw}} {
		s, err := page.Packed(part.raw)
		if err != nil {
			return err
		}
		*part.to = template.JS(`"` + s + `"`) // base64
	}
	return nil
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
