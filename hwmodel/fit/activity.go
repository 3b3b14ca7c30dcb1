package fit

import (
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
)

// ActivitySource is what a series of activity counts.
type ActivitySource uint8

// Sources of activity.
const (
	// Residency is utilization.gpu: the share of time in which any kernel was resident. It says
	// nothing of how much of the GPU worked.
	Residency    ActivitySource = iota
	SMActive                    // share of time that streaming multiprocessors had work, mean over them
	TensorActive                // share of time that tensor units worked
	MemoryActive                // share of time that memory moved data
)

// ActivityJob is a job at work on a GPU with its activity.
type ActivityJob struct {
	Class   int
	Samples []ActivitySample
}

// ActivitySample are means over the same time, longer than the window of the sensor, and of power
// that is corrected for it.
type ActivitySample struct{ Activity, Watts float64 }

// ActivityFit is P(u) = rest + (Active - rest) · u^Alpha for an activity u from 0 to 1.
type ActivityFit struct {
	Rest   hwmodel.Band // as given, W
	Active Figure       // at an activity of 1, W
	Alpha  Figure
	// Error and StateError are the mean errors of the mean draw of a job that was held back, as
	// parts of it, by this form and by the mean draw of the other jobs of its class.
	Error, StateError float64
}

const (
	activityMargin    = 0.8 // of StateError that Error must not pass
	leastActivity     = 8   // jobs
	activityBins      = 20
	leastInBin        = 3   // samples
	leastBins         = 4   // of all jobs
	leastActivitySpan = 0.3 // of the bins
)

// Activity fits power by activity to jobs of a type of GPU. rest is what the GPU draws without
// activity while a job holds it, by States. Only an activity that predicts jobs that were held back
// better than their class does, by a fifth at least, gives a figure.
func Activity(source ActivitySource, jobs []ActivityJob, rest hwmodel.Band) (ActivityFit, error) {
	out := ActivityFit{Rest: rest}
	if err := rest.Validate("draw at rest"); err != nil {
		return out, err
	}
	refuse := func(r *Refusal) (ActivityFit, error) {
		out.Active, out.Alpha = Figure{Refused: r}, Figure{Refused: r}
		return out, nil
	}
	const what, obtain = "power by activity", "record SM activity (DCGM field 1002 or GPM) with the power"
	if source == Residency {
		return refuse(&Refusal{What: what, Found: "utilization.gpu alone, which says that a kernel was resident", Want: "how much of the GPU worked", Obtain: obtain})
	}
	points, classes, err := activityPoints(jobs)
	if err != nil {
		return out, err
	}
	if len(classes) < leastActivity {
		return refuse(fewer(what, len(classes), leastActivity, "jobs with activity", "record more jobs with SM activity"))
	}
	var seen [activityBins]bool
	low, high, bins := 1.0, 0.0, 0
	for _, p := range points {
		low, high = min(low, p.u), max(high, p.u)
		if b := binOf(p.u); !seen[b] {
			seen[b] = true
			bins++
		}
	}
	if bins < leastBins || high-low < leastActivitySpan {
		return refuse(&Refusal{What: what, Found: fmt.Sprintf("activity from %.2f to %.2f in %d steps of %.2f", low, high, bins, 1.0/activityBins),
			Want: fmt.Sprintf("at least %d steps over a range of %v", leastBins, leastActivitySpan), Obtain: "record jobs of different activity; one that is always 0 or 1 is residency"})
	}
	all := fitActivity(points, rest.Value, -1, activityStart(points, rest.Value), 50)
	if !all.known {
		return refuse(&Refusal{What: what, Found: "power that does not grow with the activity", Want: "an activity that drives the draw", Obtain: "try another activity (tensor, memory)"})
	}
	left := make([]curve, len(classes))
	for j := range classes {
		left[j] = fitActivity(points, rest.Value, j, all, 5)
	}
	out.Error, out.StateError = heldBack(points, classes, rest.Value, left)
	if !(out.Error <= activityMargin*out.StateError) {
		return refuse(&Refusal{What: what, Found: fmt.Sprintf("a mean error of %.1f %% of held-back jobs, against %.1f %% by their class alone", 100*out.Error, 100*out.StateError),
			Want: fmt.Sprintf("at most %v of that of the class", activityMargin), Obtain: "use the draw by class, or try another activity (tensor, memory)"})
	}
	out.Active.Estimate = jackknifed(all, left, points, rest, func(c curve) float64 { return rest.Value + c.reach })
	out.Alpha.Estimate = jackknifed(all, left, points, rest, func(c curve) float64 { return c.alpha })
	for _, f := range []*Figure{&out.Active, &out.Alpha} {
		f.Valid, f.Residual = Range{low, high}, out.Error
	}
	return out, nil
}

// activityPoint are the samples of a job in a step of activity.
type activityPoint struct {
	job      int
	u, watts float64 // medians
	weight   float64 // samples
}

func binOf(u float64) int { return min(activityBins-1, int(u*activityBins)) }

// activityPoints are the medians of each job by step of activity, and the classes of the jobs that
// have some.
func activityPoints(jobs []ActivityJob) (points []activityPoint, classes []int, err error) {
	for i, j := range jobs {
		var u, watts [activityBins][]float64
		for k, s := range j.Samples {
			if !(s.Activity >= 0 && s.Activity <= 1) || !(s.Watts >= 0) || !finite(s.Watts) {
				return nil, nil, fmt.Errorf("job %d, sample %d: found activity %v and %v W, want an activity from 0 to 1 and a power from 0", i, k, s.Activity, s.Watts)
			}
			b := binOf(s.Activity)
			u[b], watts[b] = append(u[b], s.Activity), append(watts[b], s.Watts)
		}
		some := false
		for b := range u {
			if len(u[b]) >= leastInBin {
				points = append(points, activityPoint{len(classes), Median(u[b]), Median(watts[b]), float64(len(u[b]))})
				some = true
			}
		}
		if some {
			classes = append(classes, j.Class)
		}
	}
	return points, classes, nil
}

// curve is P(u) = rest + reach · u^alpha.
type curve struct {
	reach, alpha float64
	known        bool
}

func (c curve) at(rest, u float64) float64 { return rest + c.reach*libm.Pow(u, c.alpha) }

const leastAlpha, mostAlpha = 0.1, 5.0

// activityStart is the nearest curve of a grid of exponents.
func activityStart(points []activityPoint, rest float64) curve {
	best, least := curve{}, math.Inf(1)
	for alpha := leastAlpha; alpha <= mostAlpha; alpha *= 1.25 {
		var xy, xx, square float64
		for _, p := range points {
			x := libm.Pow(p.u, alpha)
			xy, xx = xy+p.weight*x*(p.watts-rest), xx+p.weight*x*x
		}
		if !(xx > 0) {
			continue
		}
		c := curve{xy / xx, alpha, true}
		for _, p := range points {
			d := p.watts - c.at(rest, p.u)
			square += p.weight * d * d
		}
		if square < least {
			best, least = c, square
		}
	}
	return best
}

// fitActivity is the curve of least squares over the points of all jobs but one (-1 for none), by
// steps of Gauss and Newton.
func fitActivity(points []activityPoint, rest float64, without int, from curve, steps int) curve {
	c := from
	for range steps {
		var aa, ab, bb, ra, rb float64
		for _, p := range points {
			if p.job == without || p.u == 0 {
				continue
			}
			power := libm.Pow(p.u, c.alpha)
			a, b := power, c.reach*power*math.Log(p.u)
			left := p.watts - rest - c.reach*power
			aa, ab, bb = aa+p.weight*a*a, ab+p.weight*a*b, bb+p.weight*b*b
			ra, rb = ra+p.weight*a*left, rb+p.weight*b*left
		}
		determinant := aa*bb - ab*ab
		if !(determinant > 1e-12*aa*bb) {
			c.known = false
			return c
		}
		da, db := (bb*ra-ab*rb)/determinant, (aa*rb-ab*ra)/determinant
		c.reach, c.alpha = c.reach+da, min(mostAlpha, max(leastAlpha, c.alpha+min(0.5, max(-0.5, db))))
		if math.Abs(da) < 1e-9*math.Abs(c.reach) && math.Abs(db) < 1e-9 {
			break
		}
	}
	c.known = c.reach > 0 && c.alpha > leastAlpha && c.alpha < mostAlpha
	return c
}

// heldBack are the mean errors of the mean draw of jobs by a curve without them, and by the mean
// of the other jobs of their class, or of all others where there are none.
func heldBack(points []activityPoint, classes []int, rest float64, left []curve) (byCurve, byClass float64) {
	n := len(classes)
	measured, predicted, weight := make([]float64, n), make([]float64, n), make([]float64, n)
	for _, p := range points {
		measured[p.job] += p.weight * p.watts
		predicted[p.job] += p.weight * left[p.job].at(rest, p.u)
		weight[p.job] += p.weight
	}
	for j := range measured {
		measured[j], predicted[j] = measured[j]/weight[j], predicted[j]/weight[j]
	}
	for j := range measured {
		var same, others []float64
		for k := range measured {
			if k == j {
				continue
			}
			others = append(others, measured[k])
			if classes[k] == classes[j] {
				same = append(same, measured[k])
			}
		}
		if len(same) == 0 {
			same = others
		}
		byCurve += math.Abs(predicted[j]/measured[j]-1) / float64(n)
		byClass += math.Abs(Median(same)/measured[j]-1) / float64(n)
	}
	return byCurve, byClass
}

// jackknifed is a parameter with the interval of a jackknife over jobs, and what the doubt of the
// draw at rest adds. Few jobs at the ends of the activity may decide it, so the number of jobs that its
// law counts is by how far each moves it when it draws 1 % more.
func jackknifed(all curve, left []curve, points []activityPoint, rest hwmodel.Band, of func(curve) float64) Estimate {
	n := float64(len(left))
	value, square := of(all), 0.0
	var moved, movedSquare float64
	more := slices.Clone(points)
	for j, c := range left {
		d := of(c) - value
		square += d * d
		for i, p := range points {
			more[i].watts = p.watts
			if p.job == j {
				more[i].watts *= 1.01
			}
		}
		d = of(fitActivity(more, rest.Value, -1, all, 3)) - value
		moved, movedSquare = moved+d*d, movedSquare+d*d*d*d
	}
	freedom := 1.0
	if movedSquare > 0 {
		freedom = max(1, moved*moved/movedSquare-1)
	}
	half := libm.StudentQuantile((1+Confidence)/2, freedom) * math.Sqrt(square*(n-1)/n)
	low := of(fitActivity(points, rest.Low, -1, all, 20)) - value
	high := of(fitActivity(points, rest.High, -1, all, 20)) - value
	half = math.Hypot(half, (math.Abs(low)+math.Abs(high))/2)
	return Estimate{Band: hwmodel.Band{Value: value, Low: value - half, High: value + half}, N: len(left), Units: "jobs"}
}
