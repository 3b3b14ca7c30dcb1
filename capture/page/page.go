// Package page draws what was measured of a node: one HTML file that opens without a network, with a figure for each
// quantity, where clocks were held down marked, and what is missing in words. It must not know how anything was
// measured.
package page

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"orrery/capture"
	"orrery/capture/review"
	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/traces"
)

// steps are those of a curve: more than a figure has pixels would not show.
const steps = 900

// Write draws a node of a summary to w.
func Write(w io.Writer, src review.Source, s *review.Summary, node review.Node) error {
	p := page.Page{Document: doc.Document{Title: node.Name + ": what was measured", By: "orrery capture inspect"}}
	from, to, known := bounds(s, node.Name)
	p.Head = words(&node, from, to, known)
	if known {
		curves, err := review.Curves(src, s, node.Name, from, to, steps)
		if err != nil {
			return err
		}
		p.Figures = figures(curves, from, to)
	}
	addTables(&p, s, &node)
	return p.HTML(w)
}

// words sum the node up.
func words(n *review.Node, from, to model.Time, known bool) (out []doc.Part) {
	say := func(format string, args ...any) { out = append(out, doc.Say(format, args...)) }
	model := ""
	if n.GPUModel != "" {
		model = fmt.Sprintf("%d × %s. ", n.GPUs, n.GPUModel)
	}
	if known {
		say("%sFrom %s to %s UTC, %s.", model, utc(from), utc(to), (time.Duration(to.Sub(from)) * time.Microsecond).Round(time.Second))
	} else {
		say("%sNothing was measured.", model)
	}
	if n.Fingerprint != "" && n.Drifts > 0 {
		say("The conformance fingerprint changed %s.", table.Counted(n.Drifts, "time"))
	}
	if n.ClockSteps > 0 {
		say("The wall clock was set %s.", table.Counted(n.ClockSteps, "time"))
	}
	if n.Fingerprint != "" {
		out = append(out, doc.Part{Text: "Conformance fingerprint", Code: n.Fingerprint})
	}
	return out
}

// addTables adds the sections of the node: tables, and between them the figures.
func addTables(p *page.Page, s *review.Summary, n *review.Node) {
	series := doc.New("series", "rows", "utilisation (%)", "SM activity (%)", "power (W)", "peak (W)", "energy (kWh)", "memory, most (GiB)", "temperature, most (°C)", "held down (% of time)",
		"samples missing", "unaccounted (s)")
	gaps := doc.New("series", "reason", "samples", "times")
	alerts := doc.New("time (UTC)", "subject", "alert", "text")
	gib := func(n traces.Opt[int64]) doc.Cell {
		return shown(traces.Opt[float64]{V: float64(n.V), OK: n.OK}, 1.0/(1<<30), 1)
	}
	for i := range s.Series {
		one := &s.Series[i]
		if one.Node != n.Name {
			continue
		}
		series.Row(gpuName(one.GPU), one.Rows, shown(one.SMUtil, 100, 1), shown(one.SMActive, 100, 1), shown(one.Power, 1, 0), shown(one.PowerMax, 1, 0), shown(one.Energy, 1.0/3.6e6, 3),
			gib(one.MemMax), shown(one.TempMax, 1, 0), shown(one.Throttled, 100, 1), one.Missing, doc.Float(one.Unaccounted.Seconds(), 3))
		for _, g := range one.Gaps {
			gaps.Row(gpuName(one.GPU), g.Reason, g.Samples, g.Times)
		}
	}
	parts := doc.New("GPU", "GPU instance", "profile", "rows", "SM activity (%)", "tensor activity (%)", "bandwidth of the memory (%)", "memory, most (GiB)", "of (GiB)")
	for i := range s.Instances {
		if one := &s.Instances[i]; one.Node == n.Name {
			parts.Row(gpuName(one.GPU), int64(one.GPUInstance), one.Profile, one.Rows, shown(one.SMActive, 100, 1), shown(one.TensorActive, 100, 1), shown(one.DRAMActive, 100, 1), gib(one.MemMax), gib(one.MemTotal))
		}
	}
	for _, a := range s.Alerts {
		if name, _, _ := strings.Cut(a.Subject, "/"); name == n.Name {
			alerts.Row(utc(a.Time), a.Subject, a.Kind, a.Text)
		}
	}
	p.Add("series", "By GPU", doc.Say("Means are weighted by time. Held down: NVML gives a power cap, a slowdown of the hardware, heat or a power brake as the reason; such steps are marked in the figures."), doc.Show(series))
	p.Add("instances", "By GPU instance", doc.Say("Parts of GPUs by MIG. The row of a GPU above has what its instances have together; power, energy, clocks and temperature are of the whole GPU alone."), doc.Show(parts))
	p.Add("figures", "Figures", doc.Part{Figures: page.Names(p.Figures)})
	p.Add("gaps", "What is missing", doc.Show(gaps))
	p.Add("alerts", "Alerts", doc.Show(alerts))
	if v := n.Inventory; v != nil {
		facts, missing := doc.New("fact", "value"), doc.New("missing", "why")
		for _, f := range v.Facts {
			facts.Row(f.Name, f.Value)
		}
		for _, m := range v.Missing {
			missing.Row(m.Name, m.Why)
		}
		p.Add("inventory", "Inventory", doc.Part{Fold: fmt.Sprintf("%d facts, %d missing", len(v.Facts), len(v.Missing)), Parts: doc.Shown(doc.Show(facts), doc.Show(missing))})
	}
}

// figures draws each quantity that was measured, of the GPUs, and of the node by itself: its power and memory are of another size.
func figures(curves []review.Curve, from, to model.Time) (all []*plot.Figure) {
	of := func(node bool, prefix, word string) {
		for q, quantity := range review.Quantities {
			var list []plot.Reading
			for i := range curves {
				if c := &curves[i]; (c.GPU == capture.NodeSeries) == node && slices.ContainsFunc(c.Values[q], func(v traces.Opt[float64]) bool { return v.OK }) {
					list = append(list, plot.Reading{Name: gpuName(c.GPU), Values: numbers(c.Values[q]), Held: c.Throttled})
				}
			}
			if len(list) > 0 {
				title := fmt.Sprintf("%s%s (%s)", quantity.Title, word, quantity.Unit)
				all = append(all, plot.Readings(prefix+quantity.Name, title, quantity.Unit, int64(from), int64(to), list, plot.Clock{Known: true}))
			}
		}
	}
	of(false, "", "")
	of(true, "node-", ", of the node as a whole")
	return all
}

func numbers(values []traces.Opt[float64]) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if out[i] = v.V; !v.OK {
			out[i] = math.NaN()
		}
	}
	return out
}

// bounds are the first and the last instant with a row.
func bounds(s *review.Summary, node string) (from, to model.Time, known bool) {
	for i := range s.Series {
		one := &s.Series[i]
		if one.Node != node || one.Rows == 0 {
			continue
		}
		if !known || one.First < from {
			from = one.First
		}
		if !known || one.End > to {
			to = one.End
		}
		known = true
	}
	return from, to, known
}

func utc(t model.Time) string {
	return time.UnixMicro(int64(t)).UTC().Format("2006-01-02 15:04:05")
}

func gpuName(gpu int32) string {
	if gpu == capture.NodeSeries {
		return "node"
	}
	return fmt.Sprintf("GPU %d", gpu)
}

func shown(v traces.Opt[float64], by float64, digits int) doc.Cell {
	if !v.OK {
		return doc.Cell{Text: "–", Number: true}
	}
	return doc.Float(v.V*by, digits)
}
