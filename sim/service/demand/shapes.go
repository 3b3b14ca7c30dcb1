package demand

import (
	"fmt"
	"math"
	"slices"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// Kind of a generated demand.
type Kind uint8

// The kinds.
const (
	Constant Kind = iota
	Step          // from Base to Peak at At, and back after Over unless that is 0
	Ramp          // from Base to Peak over Over, from At on
	Sine          // between Base and Peak with Period
	Diurnal       // a day of two humps and a quiet night between Base and Peak; weekends lower
	Flash         // a flash crowd: Peak is reached from Base within a tenth of Over from At on, and fades by half in each Over
)

// Shape describes a generated demand.
type Shape struct {
	Kind       Kind
	Base, Peak float64 // arrivals per second
	At, Over   model.Duration
	Period     model.Duration
	Noise      float64 // coefficient of variation of each grain, around the shape
	Grain      model.Duration
	Length     model.Duration
	Seed       uint64 // of the noise
}

func (s *Shape) validate() error {
	switch {
	case !(s.Base >= 0 && s.Peak >= 0) || math.IsInf(s.Base, 0) || math.IsInf(s.Peak, 0):
		return fmt.Errorf("rates %v and %v: want 0 or more", s.Base, s.Peak)
	case s.Grain <= 0 || s.Length <= 0:
		return fmt.Errorf("grain %v and length %v: want more than 0", s.Grain, s.Length)
	case s.Length/s.Grain > 10_000_000:
		return fmt.Errorf("length %v in grains of %v: want 10,000,000 of them at most", s.Length, s.Grain)
	case s.At < 0 || s.Over < 0 || !(s.Noise >= 0):
		return fmt.Errorf("at %v, over %v and noise %v: want none negative", s.At, s.Over, s.Noise)
	case s.Kind == Sine && s.Period <= 0:
		return fmt.Errorf("period %v: want more than 0", s.Period)
	case (s.Kind == Ramp || s.Kind == Flash) && s.Over <= 0:
		return fmt.Errorf("over %v: want more than 0", s.Over)
	}
	return nil
}

var noiseStream = draw.StreamOf("service demand noise")

// Generate makes the demand of a shape. Grains of one rate become one segment.
func Generate(s Shape) (*Demand, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	d := &Demand{End: model.Time(s.Length)}
	for at := model.Duration(0); at < s.Length; at += s.Grain {
		rate := s.rate(at)
		if s.Noise > 0 {
			source := draw.New(s.Seed, noiseStream, uint64(at/s.Grain), 0)
			rate = float64(rate * source.Gamma(1/float64(s.Noise*s.Noise), float64(s.Noise*s.Noise)))
		}
		if n := len(d.Segments); n == 0 || d.Segments[n-1].Rate != rate {
			d.Segments = append(d.Segments, Segment{At: model.Time(at), Rate: rate})
		}
	}
	return d, nil
}

// Noisy is the demand with each segment multiplied by a gamma variate of mean 1 and the
// coefficient of variation cv, drawn with the seed. Single arrivals stay.
func (d *Demand) Noisy(cv float64, seed uint64) *Demand {
	out := *d
	out.Segments = slices.Clone(d.Segments)
	for i := range out.Segments {
		source := draw.New(seed, noiseStream, uint64(i), 0)
		out.Segments[i].Rate = float64(out.Segments[i].Rate * source.Gamma(1/float64(cv*cv), float64(cv*cv)))
	}
	return &out
}

// rate of the shape without noise.
func (s *Shape) rate(at model.Duration) float64 {
	span, since := s.Peak-s.Base, (at - s.At).Seconds()
	switch s.Kind {
	case Step:
		if since >= 0 && (s.Over == 0 || at < s.At+s.Over) {
			return s.Peak
		}
	case Ramp:
		return s.Base + float64(span*min(max(since/s.Over.Seconds(), 0), 1))
	case Sine:
		return s.Base + float64(span/2*(1-math.Cos(2*math.Pi*at.Seconds()/s.Period.Seconds())))
	case Diurnal:
		return s.Base + float64(span*day(at))
	case Flash:
		rise := s.Over.Seconds() / 10
		switch {
		case since < 0:
		case since < rise:
			return s.Base + float64(span*since/rise)
		default:
			return s.Base + float64(span*math.Exp2(-(since-rise)/s.Over.Seconds()))
		}
	}
	return s.Base
}

// day is the share of the peak at a time of the week: humps at 11 and 20 h, least at 4 h,
// and seven tenths of it on the sixth and seventh day.
func day(at model.Duration) float64 {
	hour := math.Mod(at.Seconds()/3600, 24)
	hump := func(centre, width float64) float64 {
		apart := math.Abs(hour - centre)
		apart = min(apart, 24-apart)
		return libm.Exp(-apart * apart / (2 * width * width))
	}
	v := min(1, float64(0.8*hump(11, 3))+hump(20, 2.6))
	if int64(at/model.Day)%7 >= 5 {
		v = float64(0.7 * v)
	}
	return v
}
