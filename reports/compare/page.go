package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/internal/rundata"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
	"orrery/sim/paired"
	"orrery/sim/record"
	"orrery/sim/stat"
)

// metricWaitMax is the metric that a comparison speaks of, beside those of package page.
const metricWaitMax = "wait_max"

// Write draws both runs into dir, which is made when it is missing:
// report.html (one page that opens without a network) and figures/*.svg and *.png,
// replacing older ones. The bytes depend on the runs, on the names of their
// directories and, for figures, on the architecture. It reads the runs once more.
// Complaints about content are *record.DataError.
func Write(dir string, c *Comparison, made page.Made) error {
	figures, err := c.allFigures()
	if err != nil {
		return err
	}
	p, err := c.page(figures)
	if err != nil {
		return err
	}
	p.Made = made
	return p.Write(dir)
}

// allFigures draws the state of both runs over time, beside each other, and their
// waits, and which jobs moved. It reads the runs once more.
func (c *Comparison) allFigures() ([]*plot.Figure, error) {
	var loads [2][]plot.Load
	var drawn [2][]plot.Drawn
	var clock plot.Clock
	unit := ""
	for i, dir := range [2]string{c.A.Dir, c.B.Dir} {
		var err error
		if loads[i], drawn[i], unit, clock, err = loadsOf(dir); err != nil {
			return nil, err
		}
	}
	moves, shown, err := c.ganttOfMoves()
	if err != nil {
		return nil, err
	}
	out := []*plot.Figure{plot.StatePair(c.names(), loads, unit, clock, shown)}
	if len(drawn[0]) > 0 && len(drawn[1]) > 0 {
		out = append(out, plot.PowerPair(c.names(), drawn, clock, shown))
	}
	return append(append(out, c.ownFigures()...), moves), nil
}

// loadsOf is the state of a run over time, what its nodes drew, and what is allocated in it.
func loadsOf(dir string) ([]plot.Load, []plot.Drawn, string, plot.Clock, error) {
	f, err := record.Open(dir)
	if err != nil {
		return nil, nil, "", plot.Clock{}, err
	}
	defer f.Close()
	r := rundata.Run{Files: f}
	if r.About, err = rundata.ReadAbout(f); err != nil {
		return nil, nil, "", plot.Clock{}, err
	}
	if r.About.Units == nil {
		if err := r.GuessNodes(); err != nil {
			return nil, nil, "", plot.Clock{}, err
		}
	}
	if r.Bins, err = f.Series(); err != nil {
		return nil, nil, "", plot.Clock{}, err
	}
	drawn, err := r.Drawn()
	return r.Loads(), drawn, r.About.UnitWord(), r.Clock(), err
}

// names say what the runs are: by their directories, and by their policies where
// these tell them apart.
func (c *Comparison) names() (out [2]string) {
	for i, s := range c.says() {
		out[i] = fmt.Sprintf("%c: %s", 'A'+rune(i), s)
	}
	return out
}

// says is names without the letters.
func (c *Comparison) says() (out [2]string) {
	for i, s := range [2]Side{c.A, c.B} {
		out[i] = filepath.Base(s.Dir)
		if c.A.Policy != c.B.Policy {
			out[i] += ", " + s.Policy
		}
	}
	return out
}

// headlines are the metrics that the page begins with, after those by windows.
var headlines = []struct{ name, label string }{
	{page.MetricWaitP95, "p95 wait"}, {metricWaitMax, "longest wait"}, {page.MetricUtilisation, "utilisation"},
}

// byWindows are the names of the figures by windows.
var byWindows = map[string]string{
	page.MetricWaitMean: "mean wait", page.MetricSlowdown: "mean bounded slowdown", "turnaround_mean": "mean turnaround",
}

// headline is a metric over the steady window, or over all where that has none; the
// longest wait is over all, for the job that waited it may lie outside that window.
func (c *Comparison) headline(name string) (d MetricDiff, ok bool) {
	windows := []string{metric.Steady, metric.All}
	if name == metricWaitMax {
		windows = windows[1:]
	}
	for _, window := range windows {
		for _, d := range c.Metrics {
			if d.Name == name && d.Window == window && d.Diff != nil {
				return d, true
			}
		}
	}
	return d, false
}

// tiles are the figures by windows with their intervals, and other metrics of the
// whole runs, which have none.
func (c *Comparison) tiles() (out []doc.Tile) {
	for i := range c.windowRows() {
		row := &c.Windows.Rows[i]
		t := doc.Tile{
			From: windowReading(row, row.First.Estimate), Value: windowReading(row, row.This.Estimate),
			Label: fmt.Sprintf("%s, %d windows, A → B", byWindows[row.Metric], row.Windows), Change: row.Verdict,
			Good: row.Verdict == stat.Better.String(), Bad: row.Verdict == stat.Worse.String(),
		}
		if row.Relative.Low.Defined() {
			t.Change = fmt.Sprintf("%s (%s to %s), %s", percentage(float64(row.Relative.Estimate)), percentage(float64(row.Relative.Low)), percentage(float64(row.Relative.High)), row.Verdict)
		}
		out = append(out, t)
	}
	for _, h := range headlines {
		d, ok := c.headline(h.name)
		if !ok {
			continue
		}
		t := doc.Tile{From: page.Reading(d.of(d.A)), Value: page.Reading(d.of(d.B)), Label: h.label + ", " + d.Window + ", A → B", Change: d.Change}
		if d.Relative != nil && *d.Diff != 0 {
			t.Change = strings.TrimSpace(fmt.Sprintf("%s %s", percentage(*d.Relative), t.Change))
		}
		out = append(out, t)
	}
	return out
}

// windowRows are the rows of the comparison by windows; none where there is none.
func (c *Comparison) windowRows() []paired.Row {
	if c.Windows == nil {
		return nil
	}
	return c.Windows.Rows
}

func windowReading(row *paired.Row, x metric.Number) string {
	if !x.Defined() {
		return "-"
	}
	v := float64(x)
	return page.Reading(metric.Metric{Name: row.Metric, Unit: row.Unit, Value: &v})
}

// of is the metric with one of its values.
func (d *MetricDiff) of(v *float64) metric.Metric {
	return metric.Metric{Name: d.Name, Unit: d.Unit, Window: d.Window, Value: v}
}

// percentage is a share in percent with its sign, and a true minus.
func percentage(share float64) string {
	s := fmt.Sprintf("%.1f %%", math.Abs(100*share))
	if share < 0 {
		return "−" + s
	}
	return "+" + s
}

// verdict is what the figures by windows say.
func (c *Comparison) verdict() (says string, good bool) {
	for _, s := range [2]Side{c.A, c.B} {
		if s.Verdict == metric.Overloaded {
			return "not ranked by waits: " + filepath.Base(s.Dir) + " is overloaded", false
		}
	}
	by := map[string][]string{}
	rows := c.windowRows()
	for i := range rows {
		by[rows[i].Verdict] = append(by[rows[i].Verdict], rows[i].Metric)
	}
	better, worse := by[stat.Better.String()], by[stat.Worse.String()]
	switch {
	case len(better) > 0 && len(worse) > 0:
		return "B is better by " + strings.Join(better, ", ") + ", worse by " + strings.Join(worse, ", "), false
	case len(better) > 0:
		return "B is better" + onlyBy(better, by, len(rows)), true
	case len(worse) > 0:
		return "B is worse" + onlyBy(worse, by, len(rows)), false
	case len(by[paired.Differs]) > 0:
		return "the runs differ; the noise was not measured", false
	case len(by[stat.NoDifference.String()]) == len(rows) && len(rows) > 0:
		return "no difference", true
	}
	return "no evidence of a difference", false
}

// onlyBy says behind a verdict which of all figures have it, and what the others say;
// nothing where all have it.
func onlyBy(those []string, by map[string][]string, all int) string {
	rest := all - len(those)
	if rest == 0 {
		return ""
	}
	out := " by " + strings.Join(those, ", ")
	if n := len(by[stat.NoDifference.String()]); n > 0 {
		out += fmt.Sprintf("; no difference for %d of %d", n, all)
		rest -= n
	}
	if rest > 0 {
		out += fmt.Sprintf("; no evidence for %d of %d", rest, all)
	}
	return out
}

func (c *Comparison) summary() []string {
	j := &c.Jobs
	first := fmt.Sprintf("From A to B %s earlier, %s later, %s at the same time", page.Count(j.Earlier, "job starts", "jobs start"), plot.Count(j.Later), plot.Count(j.Same))
	if d, ok := c.headline(metricWaitMax); ok {
		first += "; " + longestWait(d)
	}
	out := []string{first + "."}
	if len(c.Moved) > 0 {
		m := &c.Moved[0]
		word := "later"
		if m.Moved() < 0 {
			word = "earlier"
		}
		out = append(out, fmt.Sprintf("Most of all, job %d starts %s %s.", m.ID, plot.Span(magnitude(m.Moved()).Seconds()), word))
	}
	if c.BeginsIdle != "" {
		out = append(out, c.BeginsIdle)
	}
	return out
}

// longestWait says what became of it: it may grow while the means fall.
func longestWait(d MetricDiff) string {
	a, b := page.Reading(d.of(d.A)), page.Reading(d.of(d.B))
	switch {
	case *d.Diff > 0:
		return "the longest wait grows from " + a + " to " + b
	case *d.Diff < 0:
		return "the longest wait falls from " + a + " to " + b
	}
	return "the longest wait stays " + a
}

// page is what the page shows.
func (c *Comparison) page(figures []*plot.Figure) (*page.Page, error) {
	p := &page.Page{Figures: figures, Document: doc.Document{Title: filepath.Base(c.A.Dir) + " and " + filepath.Base(c.B.Dir) + ": two runs of one trace", By: "orrery compare"}}
	verdict, good := c.verdict()
	names, tone := c.names(), doc.Bad
	if good {
		tone = doc.Good
	}
	p.Head = []doc.Part{{Text: names[0]}, {Text: names[1]}, {Word: verdict, Tone: tone}, {Text: strings.Join(c.summary(), " "), Role: doc.Lead}}
	if c.Windows == nil || !c.Windows.Measured() {
		p.Head = append(p.Head, doc.Part{Text: "Whether this is more than noise is not known. This measures it:", Code: "orrery compare A B --noise LOG"})
	}
	p.Head = append(p.Head, doc.Part{Tiles: c.tiles()})
	if c.Windows != nil {
		p.Add("windows", "By windows", doc.Part{Text: AboutWindows(c.Windows)}, doc.Show(WindowTable(c.Windows)))
	}
	drawn := page.Names(figures)
	last := len(drawn) - 1 // which jobs moved
	p.Add("figures", "Side by side", doc.Part{Figures: drawn[:last]})
	why, err := c.WhyTable()
	if err != nil {
		return nil, err
	}
	p.Add("moved", "Jobs that moved", doc.Part{Figures: drawn[last:]}, doc.Show(c.CountTable()),
		doc.Titled("Those that moved most"), or(c.MovedTable(), "No job moved."),
		doc.Titled("For what they waited"), or(why, "Not known: replay both with --decisions to have it here."))
	p.Add("power", "Energy, cost and carbon, over the whole run",
		doc.Say("The range of the difference is that of both runs at their least and at their most: what is wrong with a power is wrong in both."), doc.Show(c.PowerTable()))
	p.Add("groups", "Groups, over the whole run", doc.Say("Waits are in seconds."), doc.Show(c.GroupTable()))
	p.Add("metrics", "Metrics", doc.Show(c.MetricTable()))
	return p, nil
}

// or is a table, or what is said where it has no row.
func or(t *doc.Table, otherwise string) doc.Part {
	if t.Len() == 0 {
		return doc.Part{Text: otherwise}
	}
	return doc.Show(t)
}
