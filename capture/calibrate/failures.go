package calibrate

import (
	"cmp"
	"math"

	"orrery/hwmodel/fit"
	"orrery/internal/libm"
	"orrery/scheduler/model"
)

// breakdowns are how long nodes work before they go down, and how long they are down.
func breakdowns(src *Source, jobs *jobTable, seen *observed) ([]Finding, error) {
	from, to := window(src, jobs, seen)
	if from == model.Never {
		return []Finding{refused(whole(MTBF), "no rows, jobs or events that say how long was recorded", "a record of some length", "give a bundle with telemetry, jobs or events")}, nil
	}
	down := map[string]model.Time{} // since when a node is down
	up := map[string]model.Time{}   // since when it works, where not from the beginning on
	var works, repairs []fit.Watched
	known := map[string]bool{}
	for _, n := range src.Nodes {
		known[n] = true
	}
	failures := 0
	for i := range src.Events {
		e := &src.Events[i]
		if e.Kind != "down" && e.Kind != "up" || !known[e.Subject] {
			continue
		}
		since, isDown := down[e.Subject]
		switch {
		case e.Kind == "down" && !isDown:
			failures++
			down[e.Subject] = e.Time
			if d := e.Time.Sub(cmp.Or(up[e.Subject], from)); d > 0 {
				works = append(works, fit.Watched{For: d, Ended: true})
			}
		case e.Kind == "up" && isDown:
			if d := e.Time.Sub(since); d > 0 {
				repairs = append(repairs, fit.Watched{For: d, Ended: true})
			}
			delete(down, e.Subject)
			up[e.Subject] = e.Time
		}
	}
	if failures == 0 {
		return []Finding{refused(whole(MTBF), "no event down of a node of the cluster file", "the events of the site, with down and up", "give a bundle with them, such as orrery capture slurm writes")}, nil
	}
	for _, n := range src.Nodes {
		if since, isDown := down[n]; isDown {
			if d := to.Sub(since); d > 0 {
				repairs = append(repairs, fit.Watched{For: d})
			}
		} else if d := to.Sub(cmp.Or(up[n], from)); d > 0 {
			works = append(works, fit.Watched{For: d})
		}
	}
	return lifetimes(works, repairs, Finding{From: from, To: to, Unit: "µs"})
}

func lifetimes(works, repairs []fit.Watched, about Finding) ([]Finding, error) {
	life, err := fit.Censored(works)
	if err != nil {
		return nil, err
	}
	add := func(out []Finding, key, unit string, f fit.Figure, sample []fit.Watched, valid string) []Finding {
		found := about
		found.Target, found.Figure, found.Unit, found.Valid, found.Rows = whole(key), f, unit, valid, int64(len(sample))
		for _, w := range sample {
			if w.Ended {
				found.Points = append(found.Points, float64(w.For))
			}
		}
		return append(out, found)
	}
	var out []Finding
	const alike = "all nodes alike; times that had not ended with the record count as longer than it"
	if k := life.Weibull.Shape; k.Known() && (k.High < 1 || k.Low > 1) {
		out = add(out, MTBF, "µs", weibullMean(life.Weibull.Figure, k), works, "mean of the Weibull law; "+alike)
		out = add(out, Shape, "number", k, works, "of the Weibull law, which fits better than the exponential")
	} else {
		out = add(out, MTBF, "µs", life.Exponential.Figure, works, alike)
	}
	if len(repairs) == 0 {
		return append(out, refused(whole(RepairMedian), "no repair", "events up after down", "record for longer")), nil
	}
	fixed, err := fit.Censored(repairs)
	if err != nil {
		return nil, err
	}
	out = add(out, RepairMedian, "µs", fixed.LogNormal.Figure, repairs, "log-normal; it is light in the far tail, see docs/FAILURES.md")
	return add(out, RepairSigma, "number", fixed.LogNormal.Shape, repairs, "of the logarithm of the time"), nil
}

// weibullMean is the mean of a Weibull law of a scale and a shape, with a range that holds it for
// all scales and shapes of theirs.
func weibullMean(scale, shape fit.Figure) fit.Figure {
	out := scale
	at := func(k float64) float64 {
		log, _ := math.Lgamma(1 + 1/k)
		return libm.Exp(log)
	}
	out.Value = scale.Value * at(shape.Value)
	out.Low = scale.Low * min(at(shape.Low), at(shape.High), at(shape.Value))
	out.High = scale.High * max(at(shape.Low), at(shape.High), at(shape.Value))
	return out
}

// window is from when to when the source tells of the site.
func window(src *Source, jobs *jobTable, seen *observed) (from, to model.Time) {
	from, to = model.Never, 0
	take := func(a, b model.Time) {
		if b > a {
			from, to = min(from, a), max(to, b)
		}
	}
	take(seen.from, seen.to)
	take(jobs.from, jobs.to)
	if n := len(src.Events); n > 0 {
		take(src.Events[0].Time, src.Events[n-1].Time)
	}
	return from, to
}
