// Package page draws what was measured of a node: one HTML file that opens without a network, with a figure for each
// quantity, where clocks were held down marked, and what is missing in words. It must not know how anything was
// measured.
package page

import (
	_ "embed" // the template
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"orrery/capture/review"
	"orrery/scheduler/model"
	"orrery/traces"
)

//go:embed page.html.tmpl
var text string

var page = template.Must(template.New("page").Parse(text))

// steps are those of a curve: more than a figure has pixels would not show.
const steps = 900

// content is what the template shows.
type content struct {
	Node     review.Node
	From, To string
	Span     string
	Series   []row
	Figures  []figure
	Gaps     []gapRow
	Alerts   []alertRow
}

type row struct {
	GPU, Rows, SMUtil, SMActive, Power, PowerMax, Energy, Memory, Temperature, Throttled, Missing, Unaccounted string
}

type figure struct {
	Title string
	SVG   template.HTML
}

type gapRow struct {
	GPU, Reason    string
	Samples, Times int64
}

type alertRow struct{ Time, Subject, Kind, Text string }

// Write draws a node of a summary to w.
func Write(w io.Writer, src review.Source, s *review.Summary, node review.Node) error {
	c := content{Node: node}
	from, to, known := bounds(s, node.Name)
	for i := range s.Series {
		if one := &s.Series[i]; one.Node == node.Name {
			c.Series = append(c.Series, rowOf(one))
			for _, g := range one.Gaps {
				c.Gaps = append(c.Gaps, gapRow{gpuName(one.GPU), g.Reason, g.Samples, g.Times})
			}
		}
	}
	for _, a := range s.Alerts {
		if name, _, _ := strings.Cut(a.Subject, "/"); name == node.Name {
			c.Alerts = append(c.Alerts, alertRow{utc(a.Time), a.Subject, a.Kind, a.Text})
		}
	}
	if known {
		c.From, c.To, c.Span = utc(from), utc(to), (time.Duration(to.Sub(from)) * time.Microsecond).Round(time.Second).String()
		curves, err := review.Curves(src, s, node.Name, from, to, steps)
		if err != nil {
			return err
		}
		if c.Figures, err = figures(curves, from, to); err != nil {
			return err
		}
	}
	return page.Execute(w, c)
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
	if gpu < 0 {
		return "node"
	}
	return fmt.Sprintf("GPU %d", gpu)
}

func shown(v traces.Opt[float64], by float64, format string) string {
	if !v.OK {
		return "–"
	}
	return fmt.Sprintf(format, v.V*by)
}

func rowOf(s *review.Series) row {
	memory := "–"
	if s.MemMax.OK {
		memory = fmt.Sprintf("%.1f", float64(s.MemMax.V)/(1<<30))
	}
	return row{
		GPU: gpuName(s.GPU), Rows: fmt.Sprint(s.Rows), SMUtil: shown(s.SMUtil, 100, "%.1f"), SMActive: shown(s.SMActive, 100, "%.1f"),
		Power: shown(s.Power, 1, "%.0f"), PowerMax: shown(s.PowerMax, 1, "%.0f"), Energy: shown(s.Energy, 1.0/3.6e6, "%.3f"), Memory: memory,
		Temperature: shown(s.TempMax, 1, "%.0f"), Throttled: shown(s.Throttled, 100, "%.1f"), Missing: fmt.Sprint(s.Missing),
		Unaccounted: (time.Duration(s.Unaccounted) * time.Microsecond).String(),
	}
}
