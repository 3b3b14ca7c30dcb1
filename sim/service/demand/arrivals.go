package demand

import (
	"fmt"
	"math"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// Streams of the draws.
var (
	gapStream    = draw.StreamOf("service arrival gap")
	workStream   = draw.StreamOf("service request work")
	tokenStream  = draw.StreamOf("service request tokens")
	jitterStream = draw.StreamOf("service arrival jitter")
	extraStream  = draw.StreamOf("service initial work")
)

// Arrival is one request that arrives.
type Arrival struct {
	At      model.Time
	Number  uint64 // in the order of the demand; draws about the request go by it
	Work    model.Duration
	In, Out int64 // tokens
}

// Draws say how the requests of a demand are drawn. Two runs with equal draws meet the
// same requests, whatever their policies.
type Draws struct {
	Seed    uint64
	GapCV   float64        // coefficient of variation between arrivals at a constant rate; 1 is Poisson, 0 even
	Jitter  model.Duration // most that a single arrival is moved by, to either side
	Default Request        // where the demand does not say
	TokenCV float64        // of tokens, where the demand has means
}

func (d *Draws) validate() error {
	if !(d.GapCV >= 0) || !(d.TokenCV >= 0) || d.Jitter < 0 || d.Default.Work < 0 || !(d.Default.WorkCV >= 0) {
		return fmt.Errorf("variations %v and %v, jitter %v and work %v: want none negative", d.GapCV, d.TokenCV, d.Jitter, d.Default.Work)
	}
	return nil
}

// Arrivals hands out the requests of a demand in order of time.
type Arrivals struct {
	d *Demand
	w Draws

	initial int64 // left of those that are present at the start
	segment int
	at      float64 // s since the zero of the demand
	drawn   uint64  // arrivals of segments
	next    Arrival // of the segments
	has     bool

	single int
	left   int64     // of the current single
	held   []Arrival // jittered singles, by time
}

// NewArrivals begins at the start of a demand.
func NewArrivals(d *Demand, w Draws) (*Arrivals, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	if err := w.validate(); err != nil {
		return nil, err
	}
	a := &Arrivals{d: d, w: w, initial: int64(math.Round(d.Initial))}
	if len(d.Segments) > 0 {
		a.at = seconds(d.Segments[0].At)
	}
	if len(d.Singles) > 0 {
		a.left = d.Singles[0].N
	}
	a.advance()
	return a, nil
}

// Next is the next request; false at the end of the demand.
func (a *Arrivals) Next() (Arrival, bool) {
	if a.initial > 0 {
		a.initial--
		return a.request(Arrival{Number: 1<<63 | uint64(a.initial)}, a.first(), extraStream), true
	}
	a.fill()
	switch {
	case len(a.held) > 0 && (!a.has || a.held[0].At <= a.next.At):
		out := a.held[0]
		copy(a.held, a.held[1:])
		a.held = a.held[:len(a.held)-1]
		return out, true
	case a.has:
		out := a.next
		a.advance()
		return out, true
	}
	return Arrival{}, false
}

// first is what is known of requests at the start.
func (a *Arrivals) first() *Request {
	if len(a.d.Segments) > 0 {
		return &a.d.Segments[0].Request
	}
	return &a.w.Default
}

// advance finds the next arrival of the segments: gaps are drawn as amounts of expected
// arrivals, so that a change of the rate changes those that follow and not their draws.
func (a *Arrivals) advance() {
	a.has = false
	if a.segment >= len(a.d.Segments) {
		return
	}
	left := a.gap()
	for a.segment < len(a.d.Segments) {
		s := &a.d.Segments[a.segment]
		end := seconds(a.d.End)
		if a.segment+1 < len(a.d.Segments) {
			end = seconds(a.d.Segments[a.segment+1].At)
		}
		if mass := float64(s.Rate * (end - a.at)); mass < left || s.Rate == 0 {
			left -= mass
			a.at = end
			a.segment++
			continue
		}
		a.at += left / s.Rate
		n := a.drawn
		a.drawn++
		a.next, a.has = a.request(Arrival{At: model.Time(a.at * float64(model.Second)), Number: n}, &s.Request, workStream), true
		return
	}
}

// seconds of an instant.
func seconds(t model.Time) float64 { return model.Duration(t).Seconds() }

// gap draws the expected number of arrivals until the next one.
func (a *Arrivals) gap() float64 {
	switch cv := a.w.GapCV; cv {
	case 0:
		return 1
	default:
		source := draw.New(a.w.Seed, gapStream, a.drawn, 0)
		if cv == 1 {
			return source.Exponential()
		}
		return source.Gamma(1/float64(cv*cv), float64(cv*cv))
	}
}

// fill takes singles until none of those behind can come before the first one held.
func (a *Arrivals) fill() {
	for a.single < len(a.d.Singles) {
		s := &a.d.Singles[a.single]
		if len(a.held) > 0 && s.At.Add(-a.w.Jitter) > a.held[0].At {
			return
		}
		if a.left <= 0 {
			if a.single++; a.single < len(a.d.Singles) {
				a.left = a.d.Singles[a.single].N
			}
			continue
		}
		a.left--
		number := 1<<62 | uint64(a.single)<<20 | uint64(a.left)
		x := a.request(Arrival{At: s.At, Number: number}, &s.Request, workStream)
		if a.w.Jitter > 0 {
			source := draw.New(a.w.Seed, jitterStream, number, 0)
			x.At = max(0, x.At.Add(model.Duration(source.Uniform(-1, 1)*float64(a.w.Jitter))))
		}
		i := len(a.held)
		for i > 0 && a.held[i-1].At > x.At {
			i--
		}
		a.held = append(a.held, Arrival{})
		copy(a.held[i+1:], a.held[i:])
		a.held[i] = x
	}
}

// request draws what one arrival is.
func (a *Arrivals) request(x Arrival, mean *Request, stream draw.Stream) Arrival {
	work, cv := mean.Work, mean.WorkCV
	if work == 0 {
		work, cv = a.w.Default.Work, a.w.Default.WorkCV
	}
	x.Work = model.Duration(a.amount(float64(work), cv, stream, x.Number, 0))
	in, out, tokenCV := mean.In, mean.Out, 0.0
	if x.Number < 1<<62 || in == 0 && out == 0 { // means, not what was recorded of this request
		tokenCV = a.w.TokenCV
	}
	if in == 0 && out == 0 {
		in, out = a.w.Default.In, a.w.Default.Out
	}
	x.In, x.Out = int64(a.amount(in, tokenCV, tokenStream, x.Number, 0)), int64(a.amount(out, tokenCV, tokenStream, x.Number, 1))
	return x
}

// amount draws a positive amount of a mean and a coefficient of variation: from a gamma
// distribution, which is the exponential one for 1.
func (a *Arrivals) amount(mean, cv float64, stream draw.Stream, number, attempt uint64) float64 {
	if cv == 0 || mean == 0 {
		return math.Round(mean)
	}
	source := draw.New(a.w.Seed, stream, number, attempt)
	v := 0.0
	if cv == 1 {
		v = float64(mean * source.Exponential())
	} else {
		v = source.Gamma(1/float64(cv*cv), float64(mean*float64(cv*cv)))
	}
	return max(1, math.Round(v))
}
