package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/sim/stat"
)

// row is a method against random search at one point of the budget.
type row struct {
	value      float64 // mean over the seeds
	difference stat.Interval
	wins, lost int
}

// against compares by seed; both are values of which less is better.
func against(method, random []float64) (row, error) {
	var r row
	differences := make([]float64, len(method))
	for i := range method {
		differences[i] = method[i]/random[i] - 1
		switch {
		case method[i] < random[i]:
			r.wins++
		case method[i] > random[i]:
			r.lost++
		}
	}
	r.value = stat.Mean(method)
	var err error
	r.difference, err = interval(differences)
	return r, err
}

// interval is the 95 % interval of a mean over seeds.
func interval(values []float64) (stat.Interval, error) {
	return stat.Defaults().Independent(values)
}

// after is what each seed of a method had found after some trials.
func after(trials int, curves [][]float64) []float64 {
	out := make([]float64, len(curves))
	for i, curve := range curves {
		out[i] = curve[trials-1]
	}
	return out
}

func (c *contest) show(w io.Writer, name string) error {
	_, _ = fmt.Fprintf(w, "**%s**, %d windows of %d days. What the site begins with has a mean bounded slowdown of %s, the best point of all searches %s; "+
		"shaken arrivals move the first by %.1f %% (standard deviation).\n\n", name, len(c.bench.windows), int64(c.options.length.Seconds())/86400,
		number(c.start.slowdown), number(c.best), 100*c.noise)
	t, err := compared(methods, c.curves, c.options.trials, number)
	if err != nil {
		return err
	}
	r, err := against(c.races, after(c.options.trials, c.curves["random"]))
	if err != nil {
		return err
	}
	t.Row("random, halving", "", "", number(r.value), percent(r.difference), fmt.Sprintf("%d, %d", r.wins, r.lost))
	if err := t.Write(w, table.Markdown, table.Options{}); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "\nSlowdown and %s together: the part that is missed of what the points of all searches dominate.\n\n", byArea)
	if t, err = compared(ofTwo, c.missed, c.options.fronts, func(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }); err != nil {
		return err
	}
	if err := t.Write(w, table.Markdown, table.Options{}); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w)
	return c.draw(name)
}

// compared is a table of methods, the first of which is random search, after a
// quarter, a half and all of the trials.
func compared(methods []string, curves map[string][][]float64, trials int, text func(float64) string) (*table.Table, error) {
	t := table.New("method", fmt.Sprintf("%d trials", trials/4), fmt.Sprint(trials/2), fmt.Sprint(trials), "to random search", "seeds better, worse")
	for _, m := range methods {
		cells := []any{m}
		var last row
		for _, part := range []int{4, 2, 1} {
			r, err := against(after(trials/part, curves[m]), after(trials/part, curves[methods[0]]))
			if err != nil {
				return nil, err
			}
			cell := text(r.value)
			if m != methods[0] && part > 1 {
				cell += fmt.Sprintf(" (%s)", percent(r.difference))
			}
			cells, last = append(cells, cell), r
		}
		if m == methods[0] {
			cells = append(cells, "", "")
		} else {
			cells = append(cells, percent(last.difference), fmt.Sprintf("%d, %d", last.wins, last.lost))
		}
		t.Row(cells...)
	}
	return t, nil
}

// percent is an interval of a fraction.
func percent(i stat.Interval) string {
	text := func(x float64) string { return strings.ReplaceAll(fmt.Sprintf("%+.1f", 100*x), "-", "−") }
	return fmt.Sprintf("%s %% [%s, %s]", text(i.Estimate), text(i.Low), text(i.High))
}

func number(x float64) string { return fmt.Sprintf("%.4g", x) }

// settled is the part of the trials that is left out of the figure at its
// beginning, where all methods come down fast.
const settled = 12

// draw writes the figures.
func (c *contest) draw(name string) error {
	if c.options.out == "" {
		return nil
	}
	curves, err := progress(methods, c.curves, func(v float64) float64 { return v/c.best - 1 })
	if err != nil {
		return err
	}
	base := "search-" + strings.ToLower(name)
	f := plot.SearchHistory(base, plot.Measure{Name: "excess", Share: true, Better: -1}, curves, nil)
	f.Title = name + ": mean bounded slowdown of the best point so far, above the best known"
	f.Note = fmt.Sprintf("mean of %d seeds with its 95 %% interval; the best known point has %s, what the site begins with %+.0f %%",
		c.options.seeds, number(c.best), 100*(c.start.slowdown/c.best-1))
	if err := c.write(f); err != nil {
		return err
	}
	if curves, err = progress(ofTwo, c.missed, func(v float64) float64 { return v }); err != nil {
		return err
	}
	f = plot.SearchHistory(base+"-two", plot.Measure{Name: "missed", Share: true, Better: -1}, curves, nil)
	f.Title = name + ": slowdown and area-weighted wait together, part of the volume missed so far"
	f.Note = fmt.Sprintf("mean of %d seeds with its 95 %% interval; the volume is what the points of all searches dominate", c.options.seeds)
	return c.write(f)
}

// progress is a curve of each method with its interval.
func progress(methods []string, curves map[string][][]float64, of func(float64) float64) ([]plot.Progress, error) {
	var out []plot.Progress
	for _, m := range methods {
		p := plot.Progress{Name: m}
		trials := len(curves[m][0])
		for i := range trials {
			v := stat.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
			if i+1 >= trials/settled {
				var values []float64
				for _, x := range after(i+1, curves[m]) {
					values = append(values, of(x))
				}
				var err error
				if v, err = interval(values); err != nil {
					return nil, err
				}
			}
			p.Best, p.Low, p.High = append(p.Best, v.Estimate), append(p.Low, max(v.Low, 0)), append(p.High, v.High)
		}
		out = append(out, p)
	}
	return out, nil
}

func (c *contest) write(f *plot.Figure) error {
	for _, kind := range []string{".svg", ".png"} {
		file, err := os.Create(filepath.Join(c.options.out, f.Name+kind))
		if err != nil {
			return err
		}
		write := f.WriteSVG
		if kind == ".png" {
			write = f.WritePNG
		}
		if err := write(file); err != nil {
			_ = file.Close()
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
