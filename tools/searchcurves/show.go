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
	r.value = stat.Mean.Of(method)
	var err error
	r.difference, err = interval(differences)
	return r, err
}

// interval is the 95 % interval of a mean over seeds.
func interval(values []float64) (stat.Interval, error) {
	s := stat.Defaults()
	s.Block = 1
	return s.Interval(values)
}

// at is what each seed of a method had found after a part of the trials.
func (c *contest) at(method string, trials int) []float64 {
	out := make([]float64, len(c.curves[method]))
	for i, curve := range c.curves[method] {
		out[i] = curve[trials-1]
	}
	return out
}

func (c *contest) show(w io.Writer, name string) error {
	_, _ = fmt.Fprintf(w, "**%s**, %d windows of %d days. What the site begins with has a mean bounded slowdown of %s, the best point of all searches %s; "+
		"shaken arrivals move the first by %.1f %% (standard deviation).\n\n", name, len(c.bench.windows), int64(c.options.length.Seconds())/86400,
		number(c.start.slowdown), number(c.best), 100*c.noise)
	t := table.New("method", "25 % of the trials", "50 %", fmt.Sprintf("all %d", c.options.trials), "to random search", "seeds better, worse")
	for _, m := range methods {
		cells := []any{m}
		var last row
		for _, part := range []int{4, 2, 1} {
			n := c.options.trials / part
			r, err := against(c.at(m, n), c.at("random", n))
			if err != nil {
				return err
			}
			text := number(r.value)
			if m != methods[0] && part > 1 {
				text += fmt.Sprintf(" (%s)", percent(r.difference))
			}
			cells, last = append(cells, text), r
		}
		if m == methods[0] {
			cells = append(cells, "", "")
		} else {
			cells = append(cells, percent(last.difference), fmt.Sprintf("%d, %d", last.wins, last.lost))
		}
		t.Row(cells...)
	}
	r, err := against(c.races, c.at("random", c.options.trials))
	if err != nil {
		return err
	}
	t.Row("random, halving", "", "", number(r.value), percent(r.difference), fmt.Sprintf("%d, %d", r.wins, r.lost))
	if err := t.Write(w, table.Markdown, table.Options{}); err != nil {
		return err
	}
	if err := c.front(w); err != nil {
		return err
	}
	return c.draw(name)
}

// front says how NSGA-II does with two objectives.
func (c *contest) front(w io.Writer) error {
	missed, err := c.missed()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "\nSlowdown and %s together: of what the points of all searches dominate, random search misses %.1f %%", byArea, 100*stat.Mean.Of(missed[0]))
	for _, batch := range batches[1:] {
		r, err := against(missed[batch], missed[0])
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "; nsga2 in batches of %d %.1f %%: %s, %d seeds better, %d worse", batch, 100*r.value, percent(r.difference), r.wins, r.lost)
	}
	_, err = fmt.Fprintln(w, ".")
	return err
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

// draw writes the figure.
func (c *contest) draw(name string) error {
	if c.options.out == "" {
		return nil
	}
	var curves []plot.Progress
	for _, m := range methods {
		p := plot.Progress{Name: m}
		for i := range c.options.trials {
			v := stat.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
			if i+1 >= c.options.trials/settled {
				var excess []float64
				for _, x := range c.at(m, i+1) {
					excess = append(excess, x/c.best-1)
				}
				var err error
				if v, err = interval(excess); err != nil {
					return err
				}
			}
			p.Best, p.Low, p.High = append(p.Best, v.Estimate), append(p.Low, max(v.Low, 0)), append(p.High, v.High)
		}
		curves = append(curves, p)
	}
	f := plot.SearchHistory("search-"+strings.ToLower(name), plot.Measure{Name: "excess", Share: true, Better: -1}, curves, nil)
	f.Title = name + ": mean bounded slowdown of the best point so far, above the best known"
	f.Note = fmt.Sprintf("mean of %d seeds with its 95 %% interval; the best known point has %s, what the site begins with %+.0f %%",
		c.options.seeds, number(c.best), 100*(c.start.slowdown/c.best-1))
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
