package fit

import (
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
	"orrery/scheduler/model"
)

// LifetimeFit are the laws of one sample, each by its largest likelihood.
type LifetimeFit struct {
	Exponential hwmodel.Exponential
	Weibull     hwmodel.Weibull
	LogNormal   hwmodel.LogNormal
	// Tail has the body of LogNormal and the sample above its 99 % quantile. It is the law to
	// draw from: the body alone loses the longest times, which hold much of the sum.
	Tail hwmodel.LogNormalTail
}

const leastLifetimes = 30

// Lifetimes fits laws to times between failures, or to repairs. Times of 0 are those of a coarse
// clock: the caller drops and counts them.
func Lifetimes(sample []model.Duration) (LifetimeFit, error) {
	if len(sample) < leastLifetimes {
		return LifetimeFit{}, tooFew("times", len(sample), leastLifetimes)
	}
	if i := slices.IndexFunc(sample, func(d model.Duration) bool { return d <= 0 || d == model.Forever }); i >= 0 {
		return LifetimeFit{}, fmt.Errorf("time %d: found %v, want positive times: drop and count those of 0", i, sample[i])
	}
	logs := make([]float64, len(sample))
	mean, middle := 0.0, 0.0
	n := float64(len(sample))
	for i, d := range sample {
		logs[i] = math.Log(float64(d))
		mean += float64(d) / n
		middle += logs[i] / n
	}
	square := 0.0
	for _, l := range logs {
		square += (l - middle) * (l - middle) / n
	}
	out := LifetimeFit{Exponential: hwmodel.Exponential{Expected: rounded(mean)}, Weibull: weibull(logs, middle)}
	out.LogNormal = hwmodel.LogNormal{Median: rounded(libm.Exp(middle)), Sigma: math.Sqrt(square)}
	out.Tail = hwmodel.LogNormalTail{Body: out.LogNormal, From: out.LogNormal.Quantile99()}
	for _, d := range sample {
		if d > out.Tail.From {
			out.Tail.Tail = append(out.Tail.Tail, d)
		}
	}
	slices.Sort(out.Tail.Tail)
	out.Tail.Share = float64(len(out.Tail.Tail)) / n
	return out, out.Tail.Validate()
}

func rounded(us float64) model.Duration {
	return max(1, model.Duration(math.Round(min(us, float64(model.Forever/2)))))
}

// weibull finds the shape where the derivative of the likelihood is 0; it falls with the shape,
// so halving an interval finds it.
func weibull(logs []float64, middle float64) hwmodel.Weibull {
	largest := slices.Max(logs)
	powers := func(k float64) (sum, weighted float64) { // of the times ÷ the largest one
		for _, l := range logs {
			p := libm.Exp(k * (l - largest))
			sum, weighted = sum+p, weighted+p*l
		}
		return sum, weighted
	}
	low, high := 0.05, 20.0
	for range 40 {
		k := math.Sqrt(low * high)
		if sum, weighted := powers(k); weighted/sum-1/k-middle > 0 {
			high = k
		} else {
			low = k
		}
	}
	sum, _ := powers(low)
	scale := libm.Exp(largest + math.Log(sum/float64(len(logs)))/low)
	return hwmodel.Weibull{Shape: low, Scale: rounded(scale)}
}

// LogDensity is the logarithm of the density of a law at a time, per µs. Laws that hold
// single times have none.
func LogDensity(law hwmodel.Lifetime, at model.Duration) (float64, bool) {
	x := float64(at)
	if !(x > 0) {
		return 0, false
	}
	switch l := law.(type) {
	case hwmodel.Exponential:
		return -math.Log(float64(l.Expected)) - x/float64(l.Expected), true
	case hwmodel.Weibull:
		u := math.Log(x / float64(l.Scale))
		return math.Log(l.Shape) - math.Log(float64(l.Scale)) + (l.Shape-1)*u - libm.Exp(l.Shape*u), true
	case hwmodel.LogNormal:
		if l.Sigma == 0 {
			return 0, false
		}
		z := math.Log(x/float64(l.Median)) / l.Sigma
		return -math.Log(x*l.Sigma*math.Sqrt(2*math.Pi)) - z*z/2, true
	}
	return 0, false
}

// Rate is how many events a part has in a unit of time, from events in a time that all parts
// together were watched, with the range that holds it in 90 % of such records. Events are
// independent of one another: the caller merges those that are one failure, such as the errors
// of a GPU within a day.
func Rate(events int, watched float64) (hwmodel.Band, error) {
	if events < 0 || !(watched > 0) || !finite(watched) {
		return hwmodel.Band{}, fmt.Errorf("found %d events in %v, want a positive time", events, watched)
	}
	n := float64(events)
	out := hwmodel.Band{Value: n / watched, High: libm.ChiSquaredQuantile((1+coverage)/2, 2*n+2) / 2 / watched}
	if events > 0 {
		out.Low = libm.ChiSquaredQuantile((1-coverage)/2, 2*n) / 2 / watched
	}
	return out, out.Validate("rate")
}
