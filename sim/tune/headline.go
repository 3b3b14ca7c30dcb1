package tune

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/sim/metric"
)

// Headlines are the few figures that decide: the gain on the whole log and how sure it is,
// the jobs that pay for it, the longest wait, and what it costs the scheduler. They are of
// the candidate in About; none where nothing was compared.
func (r *Report) Headlines() []doc.Tile {
	f := r.about()
	if f == nil {
		return nil
	}
	var out []doc.Tile
	if w, where := r.whole(f, r.Goal.Objectives[0].Metric); w != nil {
		out = append(out, doc.Tile{
			Value: percent(w.Relative), Label: fmt.Sprintf("%s under %s instead of %s, on the whole log%s: %s, now %s", w.Metric, f.Name, r.Current, where, said(w.Then, w.Metric), said(w.Now, w.Metric)),
			Good: r.Verdict == Change,
		})
	}
	if f.P.Defined() {
		out = append(out, doc.Tile{Value: "p " + chance(f.P), Label: fmt.Sprintf("that chance does as much, for %d candidates at once; with jittered arrivals the gain is %s to %s", r.Tested, portion(f.Replicas.Low), portion(f.Replicas.High))})
	}
	if len(r.Losers) > 0 {
		l := &r.Losers[0]
		out = append(out, doc.Tile{
			Value: "+" + figure(l.Hours) + " h", Label: fmt.Sprintf("of waiting in all for %s: %s each, now %s", r.words(l), said(metric.Number(l.WaitThen), "wait_mean"), said(metric.Number(l.WaitNow), "wait_mean")), Bad: true,
		})
	}
	if w, where := r.whole(f, "wait_max"); w != nil {
		out = append(out, doc.Tile{Value: said(w.Then, "wait_max"), Label: "longest wait" + where + ", now " + said(w.Now, "wait_max")})
	}
	if now, then := r.Work[0].Examined, r.Work[1].Examined; now > 0 && then > 0 {
		out = append(out, doc.Tile{Value: percent(metric.Number(float64(then)/float64(now) - 1)), Label: "waiting jobs that the scheduler looks at, on the whole log"})
	}
	return out
}
