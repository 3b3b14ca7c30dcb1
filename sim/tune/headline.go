package tune

import (
	"fmt"

	"orrery/sim/metric"
	"orrery/sim/stat"
)

// Headline is a figure to be shown large, with what it is.
type Headline struct {
	Value, Label string
	Good, Bad    bool // significantly as it was asked for, or against it
}

// Headlines are the few figures that decide: the gain on the acceptance windows and
// from end to end, the jobs that pay for it, the longest wait, what it costs the
// scheduler, and how often the same was decided again. They are of the candidate in
// About; none where nothing was compared.
func (r *Report) Headlines() []Headline {
	f := r.about()
	if f == nil {
		return nil
	}
	l := &f.Lines[0]
	out := []Headline{{
		Value: percent(l.Relative.Estimate),
		Label: fmt.Sprintf("%s under %s instead of %s, on %d acceptance windows (%.0f %% interval %s)", l.Metric, f.Name, r.Current, l.Windows,
			100*r.Confidence, percents(l.Relative)),
		Good: l.Verdict == stat.Better, Bad: l.Verdict == stat.Worse,
	}}
	if w, where := r.whole(f, l.Metric); w != nil {
		out = append(out, Headline{Value: percent(w.Relative), Label: fmt.Sprintf("the same from end to end%s: %s, now %s", where, said(w.Then, l.Metric), said(w.Now, l.Metric))})
	}
	if payers, _ := r.payers(); len(payers) > 0 {
		g := payers[0]
		w := g.Of("wait_mean")
		out = append(out, Headline{Value: percent(w.Relative), Label: fmt.Sprintf("mean wait of %s, end to end: %s, now %s", r.words(g), said(w.Then, "wait_mean"), said(w.Now, "wait_mean")), Bad: true})
	}
	if w, where := r.whole(f, "wait_max"); w != nil {
		out = append(out, Headline{Value: said(w.Then, "wait_max"), Label: "longest wait, end to end" + where + ", now " + said(w.Now, "wait_max")})
	}
	if now, then := r.Work[0].Examined, r.Work[1].Examined; now > 0 && then > 0 {
		out = append(out, Headline{Value: percent(metric.Number(float64(then)/float64(now) - 1)), Label: "waiting jobs that the scheduler looks at, on the whole log"})
	}
	if n := len(r.Again); n > 0 {
		same := 0
		for _, a := range r.Again {
			if a.Choice == f.Name {
				same++
			}
		}
		out = append(out, Headline{Value: fmt.Sprintf("%d of %d", same, n), Label: "times the choice was the same over other windows and replicas"})
	}
	return out
}
