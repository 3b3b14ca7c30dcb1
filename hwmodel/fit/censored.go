package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
	"orrery/scheduler/model"
)

// Watched is a time that was watched until its event, or until the watch ended before the event
// (censored on the right): the lifetime is then longer.
type Watched struct {
	For   model.Duration
	Ended bool // by the event
}

// CensoredFit are laws of lifetimes that were in part watched to their end, each by its largest
// likelihood, with 95 % intervals of the parameters.
type CensoredFit struct {
	Events, Censored int
	Exponential      CensoredLaw // Estimate is the mean, µs
	Weibull          CensoredLaw // Estimate is the scale, µs, Shape that of the law
	LogNormal        CensoredLaw // Estimate is the median, µs, Shape is sigma
	// Best is the law of the largest likelihood; it is the exponential where Weibull is not
	// better with 95 % confidence, and where no other can be fitted. Nil where none can.
	Best hwmodel.Lifetime
	// Survival is the estimate of Kaplan and Meier, which supposes no law.
	Survival []Survived
}

// CensoredLaw is one law.
type CensoredLaw struct {
	Figure
	Shape         Figure
	Law           hwmodel.Lifetime // nil where refused
	LogLikelihood float64          // per µs
	// Gap is the largest distance of its survival from that of Kaplan and Meier, and Reject
	// what chance alone exceeds in 5 % of samples of a law whose parameters are known. Those of
	// a law that was fitted to the sample are smaller.
	Gap, Reject float64
}

// Survived is a step of the survival by Kaplan and Meier: the share that outlives At.
type Survived struct {
	At     model.Duration
	Share  float64
	AtRisk int // just before At
}

const (
	leastEvents      = 5  // of a mean
	leastShapeEvents = 20 // of a law with a shape
)

const moreEvents = "watch more parts, or for longer; until then use the rate with its range"

// Censored fits laws to times between failures, to repairs or to delays of which some had not
// ended when the watch did. Leaving these out, or taking them as ended, makes lifetimes too short.
// Times of 0 are those of a coarse clock: the caller drops and counts them.
func Censored(sample []Watched) (CensoredFit, error) {
	var out CensoredFit
	for i, w := range sample {
		if w.For <= 0 || w.For == model.Forever {
			return out, fmt.Errorf("time %d: found %v, want positive times: drop and count those of 0", i, w.For)
		}
		if w.Ended {
			out.Events++
		} else {
			out.Censored++
		}
	}
	sorted := slices.Clone(sample)
	slices.SortStableFunc(sorted, func(a, b Watched) int { return cmp.Compare(a.For, b.For) })
	out.Survival = KaplanMeier(sorted)
	if out.Events < leastEvents {
		r := fewer("mean lifetime", out.Events, leastEvents, "events", moreEvents)
		out.Exponential.Refused, out.Weibull.Refused, out.LogNormal.Refused = r, r, r
		out.Weibull.Shape.Refused, out.LogNormal.Shape.Refused = r, r
		return out, nil
	}
	out.Exponential = exponential(sorted, out.Events)
	out.Best = out.Exponential.Law
	laws := []*CensoredLaw{&out.Exponential}
	if out.Events < leastShapeEvents {
		r := fewer("law of lifetimes with a shape", out.Events, leastShapeEvents, "events", moreEvents)
		out.Weibull.Refused, out.LogNormal.Refused, out.Weibull.Shape.Refused, out.LogNormal.Shape.Refused = r, r, r, r
	} else {
		out.Weibull = scaled(sorted, out.Events, extremeValue)
		out.LogNormal = scaled(sorted, out.Events, normalLaw)
		laws = append(laws, &out.Weibull, &out.LogNormal)
		out.Best = best(&out)
	}
	for _, l := range laws {
		if l.Law != nil {
			l.Gap, l.Reject = gap(l.Law, out.Survival), 1.358/math.Sqrt(float64(out.Events))
		}
	}
	return out, nil
}

// moreLikely is twice the logarithm of a likelihood that one parameter more reaches in 5 % of
// samples by chance.
const moreLikely = 3.841458820694124

func best(f *CensoredFit) hwmodel.Lifetime {
	most, needs := f.Exponential, moreLikely
	for _, l := range []CensoredLaw{f.Weibull, f.LogNormal} {
		if l.Law != nil && 2*(l.LogLikelihood-most.LogLikelihood) > needs {
			most, needs = l, 0
		}
	}
	return most.Law
}

// exponential has an interval from the law of the events in the time watched (Cox 1953).
func exponential(sorted []Watched, events int) CensoredLaw {
	total := 0.0
	for _, w := range sorted {
		total += float64(w.For)
	}
	d := float64(events)
	mean := total / d
	e := lifetimeEstimate(hwmodel.Band{Value: mean, Low: 2 * total / libm.ChiSquaredQuantile((1+Confidence)/2, 2*d+1),
		High: 2 * total / libm.ChiSquaredQuantile((1-Confidence)/2, 2*d+1)}, sorted, events)
	return CensoredLaw{Figure: Figure{Estimate: e}, Law: hwmodel.Exponential{Expected: rounded(mean)}, LogLikelihood: -d*math.Log(mean) - d}
}

func lifetimeEstimate(b hwmodel.Band, sorted []Watched, events int) Estimate {
	return Estimate{Band: b, N: events, Units: "events", Valid: Range{float64(sorted[0].For), float64(sorted[len(sorted)-1].For)}}
}

// family is a law of (log time - location) ÷ scale.
type family struct {
	// event and watched are the logarithms of density and survival, with two derivatives.
	event, watched func(z float64) (f, d, dd float64)
	law            func(location, scale float64) hwmodel.Lifetime
	start          func(mean, deviation float64) (location, scale float64)
	shape          func(logScale float64) float64
	name           string
}

var extremeValue = family{
	event: func(z float64) (f, d, dd float64) {
		e := libm.Exp(z)
		return z - e, 1 - e, -e
	},
	watched: func(z float64) (f, d, dd float64) {
		e := libm.Exp(z)
		return -e, -e, -e
	},
	law: func(location, scale float64) hwmodel.Lifetime {
		return hwmodel.Weibull{Shape: 1 / scale, Scale: rounded(libm.Exp(location))}
	},
	start: func(mean, deviation float64) (float64, float64) {
		return mean + 0.45*deviation, 0.78*deviation + 1e-3
	},
	shape: func(logScale float64) float64 { return libm.Exp(-logScale) },
	name:  "Weibull",
}

var normalLaw = family{
	event: func(z float64) (f, d, dd float64) { return -z*z/2 - math.Log(2*math.Pi)/2, -z, -1 },
	watched: func(z float64) (f, d, dd float64) {
		h, log := hazard(z)
		return log, -h, -h * (h - z)
	},
	law: func(location, scale float64) hwmodel.Lifetime {
		return hwmodel.LogNormal{Median: rounded(libm.Exp(location)), Sigma: scale}
	},
	start: func(mean, deviation float64) (float64, float64) { return mean, deviation + 1e-3 },
	shape: libm.Exp,
	name:  "log-normal",
}

// hazard of the standard normal law, and the logarithm of its survival.
func hazard(z float64) (h, logSurvival float64) {
	if z > 25 { // where the survival is too small for a float
		h = z + 1/z - 2/(z*z*z)
		return h, -z*z/2 - math.Log(2*math.Pi)/2 - math.Log(h)
	}
	s := libm.NormalCDF(-z)
	return libm.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / s, math.Log(s)
}

// scaled fits a family by Newton's method on location and the logarithm of the scale, halving
// steps that do not climb.
func scaled(sorted []Watched, events int, of family) CensoredLaw {
	logs := make([]float64, len(sorted))
	mean, square := 0.0, 0.0
	for i, w := range sorted {
		logs[i] = math.Log(float64(w.For))
		mean += logs[i] / float64(len(sorted))
	}
	for _, l := range logs {
		square += (l - mean) * (l - mean) / float64(len(sorted))
	}
	location, scale := of.start(mean, math.Sqrt(square))
	at := likelihoodOf(sorted, logs, of, location, math.Log(scale))
	for range 200 {
		next, moved := at.climb(sorted, logs, of)
		if !moved {
			break
		}
		at = next
	}
	determinant := at.aa*at.bb - at.ab*at.ab
	law := of.law(at.location, libm.Exp(at.logScale))
	t := libm.StudentQuantile((1+Confidence)/2, float64(events-1))
	a, b := t*math.Sqrt(-at.bb/determinant), t*math.Sqrt(-at.aa/determinant)
	time := hwmodel.Band{Value: libm.Exp(at.location), Low: libm.Exp(at.location - a), High: libm.Exp(at.location + a)}
	shape := hwmodel.Band{Value: of.shape(at.logScale), Low: of.shape(at.logScale - b), High: of.shape(at.logScale + b)}
	shape.Low, shape.High = min(shape.Low, shape.High), max(shape.Low, shape.High)
	if err := errors.Join(law.Validate(), time.Validate("time"), shape.Validate("shape")); err != nil || !(at.aa < 0) || !(determinant > 0) {
		r := &Refusal{What: of.name + " law of lifetimes", Found: "times that do not tell its parameters", Want: "times of different lengths, with an event among the longest ones", Obtain: moreEvents}
		return CensoredLaw{Figure: Figure{Refused: r}, Shape: Figure{Refused: r}}
	}
	return CensoredLaw{
		Figure:        Figure{Estimate: lifetimeEstimate(time, sorted, events)},
		Shape:         Figure{Estimate: lifetimeEstimate(shape, sorted, events)},
		Law:           law,
		LogLikelihood: at.value,
	}
}

// likelihood is the logarithm of a likelihood with its first and second derivatives by location
// (a) and the logarithm of the scale (b).
type likelihood struct {
	location, logScale float64
	value, a, b        float64
	aa, ab, bb         float64
}

func likelihoodOf(sorted []Watched, logs []float64, of family, location, logScale float64) likelihood {
	out := likelihood{location: location, logScale: logScale}
	scale := libm.Exp(logScale)
	for i, l := range logs {
		z := (l - location) / scale
		g := of.watched
		if sorted[i].Ended {
			g = of.event
			out.value -= logScale + l // of the density per µs
			out.b--
		}
		f, d, dd := g(z)
		out.value += f
		out.a -= d / scale
		out.b -= d * z
		out.aa += dd / scale / scale
		out.ab += (dd*z + d) / scale
		out.bb += dd*z*z + d*z
	}
	return out
}

// climb is a point with a larger likelihood, false where none is near.
func (at *likelihood) climb(sorted []Watched, logs []float64, of family) (likelihood, bool) {
	determinant := at.aa*at.bb - at.ab*at.ab
	da, db := at.a, at.b // the gradient, where the likelihood is not concave
	if at.aa < 0 && determinant > 0 {
		da, db = -(at.bb*at.a-at.ab*at.b)/determinant, -(at.aa*at.b-at.ab*at.a)/determinant
	}
	if long := max(math.Abs(da), math.Abs(db)); long > 2 {
		da, db = da*2/long, db*2/long
	}
	for step := 1.0; step > 1e-10; step /= 2 {
		next := likelihoodOf(sorted, logs, of, at.location+step*da, at.logScale+step*db)
		if next.value > at.value+1e-12*math.Abs(at.value) {
			return next, true
		}
	}
	return *at, false
}

// KaplanMeier is the survival of times in ascending order, a step at each time with an event.
func KaplanMeier(sorted []Watched) (out []Survived) {
	share := 1.0
	for i := 0; i < len(sorted); {
		first, events := i, 0
		for ; i < len(sorted) && sorted[i].For == sorted[first].For; i++ {
			if sorted[i].Ended {
				events++
			}
		}
		if events > 0 {
			atRisk := len(sorted) - first
			share *= 1 - float64(events)/float64(atRisk)
			out = append(out, Survived{sorted[first].For, share, atRisk})
		}
	}
	return out
}

// gap is the largest distance of the survival of a law from the steps, on both sides of each.
func gap(law hwmodel.Lifetime, steps []Survived) float64 {
	most, before := 0.0, 1.0
	for _, s := range steps {
		p := Survival(law, s.At)
		most = max(most, math.Abs(p-before), math.Abs(p-s.Share))
		before = s.Share
	}
	return most
}

// Survival is the share of lifetimes of a law that are longer than a time, NaN of laws that hold
// single times.
func Survival(law hwmodel.Lifetime, at model.Duration) float64 {
	x := float64(at)
	switch l := law.(type) {
	case hwmodel.Exponential:
		return libm.Exp(-x / float64(l.Expected))
	case hwmodel.Weibull:
		return libm.Exp(-libm.Pow(x/float64(l.Scale), l.Shape))
	case hwmodel.LogNormal:
		if l.Sigma == 0 {
			return math.NaN()
		}
		return libm.NormalCDF(-math.Log(x/float64(l.Median)) / l.Sigma)
	}
	return math.NaN()
}
