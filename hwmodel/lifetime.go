package hwmodel

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// Lifetime is a law of how long something lasts: work until a failure, or a repair. Draws are
// equal to the bit on every processor of an architecture, and rounded to the microsecond.
type Lifetime interface {
	Draw(*draw.Source) model.Duration
	Mean() model.Duration
	Validate() error
}

// Exponential is the law of a constant rate: P(T > t) = exp(-t ÷ Expected). It suits failures
// of many equal parts; repairs it does not suit.
type Exponential struct{ Expected model.Duration }

// Weibull has a rate that falls (Shape < 1) or rises with age: P(T > t) = exp(-(t ÷ Scale)^Shape).
type Weibull struct {
	Shape float64 // 0.05 to 20
	Scale model.Duration
}

// LogNormal is the law of repairs: log T is normal around log Median with the deviation Sigma.
// Source: Schroeder and Gibson, failures of LANL (DSN 2006), where it is the best of the usual
// laws.
type LogNormal struct {
	Median model.Duration
	Sigma  float64 // of the natural logarithm, 0 to 10
}

// LogNormalTail is a log-normal body below From and what was seen above it:
//
//	T is one of Tail, each as likely, with the probability Share; else T is of Body, up to From.
//
// A fitted log-normal has the right body and half of the mean of repairs at LANL, since the
// longest outages are longer than it allows. From is the 99 % quantile of the body that was
// fitted, and Share the part of the sample above it.
type LogNormalTail struct {
	Body  LogNormal
	From  model.Duration
	Share float64 // 0 to 1
	Tail  []model.Duration
}

// span is x µs as a duration, which saturates.
func span(x float64) model.Duration {
	switch {
	case !(x > 0):
		return 0
	case x >= float64(model.Forever):
		return model.Forever
	}
	return model.Duration(math.Round(x))
}

func positive(name string, d model.Duration) error {
	if d <= 0 || d == model.Forever {
		return fmt.Errorf("%s: found %v, want a positive time", name, d)
	}
	return nil
}

// Validate says which parameter is outside its range.
func (e Exponential) Validate() error { return positive("mean of an exponential lifetime", e.Expected) }

// Mean is the mean of the law.
func (e Exponential) Mean() model.Duration { return e.Expected }

// Draw takes one draw.
func (e Exponential) Draw(s *draw.Source) model.Duration {
	return span(float64(float64(e.Expected) * s.Exponential()))
}

// Validate says which parameter is outside its range.
func (w Weibull) Validate() error {
	return errors.Join(number("shape of a Weibull lifetime", w.Shape, 0.05, 20), positive("scale of a Weibull lifetime", w.Scale))
}

// Mean is the mean of the law, Scale · Γ(1 + 1 ÷ Shape).
func (w Weibull) Mean() model.Duration {
	log, _ := math.Lgamma(1 + 1/w.Shape) //detlint:inexact it calls no exponential, and its last bit is that of the architecture
	return span(float64(float64(w.Scale) * libm.Exp(log)))
}

// WeibullOf is the Weibull law of a mean.
func WeibullOf(mean model.Duration, shape float64) Weibull {
	log, _ := math.Lgamma(1 + 1/shape) //detlint:inexact it calls no exponential, and its last bit is that of the architecture
	return Weibull{shape, max(1, span(float64(float64(mean)*libm.Exp(-log))))}
}

// LogNormalOf is the log-normal law of a mean.
func LogNormalOf(mean model.Duration, sigma float64) LogNormal {
	return LogNormal{max(1, span(float64(float64(mean)*libm.Exp(-float64(sigma*sigma)/2)))), sigma}
}

// Draw takes one draw.
func (w Weibull) Draw(s *draw.Source) model.Duration {
	raised := libm.Pow(s.Exponential(), 1/w.Shape) //detlint:inexact its last bit is that of the architecture, as that of draws is
	return span(float64(float64(w.Scale) * raised))
}

// Validate says which parameter is outside its range.
func (l LogNormal) Validate() error {
	return errors.Join(positive("median of a log-normal lifetime", l.Median), number("sigma of a log-normal lifetime", l.Sigma, 0, 10))
}

// Mean is the mean of the law, Median · exp(Sigma² ÷ 2).
func (l LogNormal) Mean() model.Duration {
	return span(float64(float64(l.Median) * libm.Exp(float64(l.Sigma*l.Sigma)/2)))
}

// Draw takes two draws of the source, always.
func (l LogNormal) Draw(s *draw.Source) model.Duration {
	return span(float64(float64(l.Median) * libm.Exp(float64(l.Sigma*s.Normal()))))
}

// Quantile99 is what 99 % of the lifetimes stay below.
func (l LogNormal) Quantile99() model.Duration {
	const z = 2.3263478740408408 // of the standard normal law
	return span(float64(float64(l.Median) * libm.Exp(float64(l.Sigma*z))))
}

// Validate says which parameter is outside its range.
func (l LogNormalTail) Validate() error {
	err := errors.Join(l.Body.Validate(), positive("start of the tail", l.From), number("share of the tail", l.Share, 0, 1))
	if l.From < l.Body.Median {
		err = errors.Join(err, fmt.Errorf("tail: found its start %v below the median of the body, %v", l.From, l.Body.Median))
	}
	if len(l.Tail) == 0 && l.Share > 0 {
		err = errors.Join(err, fmt.Errorf("tail: found no lifetimes for the share %v, want at least one", l.Share))
	}
	if i := slices.IndexFunc(l.Tail, func(d model.Duration) bool { return d < l.From || d == model.Forever }); i >= 0 {
		err = errors.Join(err, fmt.Errorf("tail: found %v at position %d, want finite times from %v on", l.Tail[i], i, l.From))
	}
	return err
}

// Mean is the mean of the law.
func (l LogNormalTail) Mean() model.Duration {
	z := math.Inf(1)
	if l.Body.Sigma > 0 {
		z = math.Log(float64(l.From)/float64(l.Body.Median)) / l.Body.Sigma //detlint:inexact its last bit is that of the architecture
	}
	//detlint:inexact its last bit is that of the architecture, as that of draws is
	kept := libm.NormalCDF(z-l.Body.Sigma) / libm.NormalCDF(z)
	body := float64(float64(l.Body.Median) * libm.Exp(float64(l.Body.Sigma*l.Body.Sigma)/2) * kept)
	tail := 0.0
	for _, d := range l.Tail {
		tail += float64(d) / float64(len(l.Tail))
	}
	return span(float64((1-l.Share)*body) + float64(l.Share*tail))
}

// Draw takes one draw for the choice, then one in the tail, or pairs until one is of the body:
// fewer than two pairs on average, since the tail starts above the median.
func (l LogNormalTail) Draw(s *draw.Source) model.Duration {
	if s.Bool(l.Share) && len(l.Tail) > 0 {
		return l.Tail[s.IntN(int64(len(l.Tail)))]
	}
	for range mostRejections {
		if d := l.Body.Draw(s); d <= l.From {
			return d
		}
	}
	return l.From
}

// mostRejections in a row come about once in 2^64 draws where the tail starts at the median.
const mostRejections = 64
