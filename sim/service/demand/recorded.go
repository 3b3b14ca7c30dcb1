package demand

import (
	"fmt"

	"orrery/scheduler/model"
	"orrery/traces"
)

// FromLoad makes a demand of the samples of one service, in order of time. Where samples
// tell how many are present at once, lifetime is how long one stays, and the arrivals are
// those that keep so many present.
//
// Between samples the one before holds on; how often is in the notes.
func FromLoad(rows []traces.Load, lifetime model.Duration) (*Demand, error) {
	d := &Demand{}
	held, present := 0, 0
	for i := range rows {
		r := &rows[i]
		what := Request{Work: r.Work.V, WorkCV: r.WorkCV.V, In: r.TokensIn.V, Out: r.TokensOut.V}
		end := r.Time.Add(r.Width)
		if d.End > 0 && r.Time > d.End && r.Width > 0 {
			held++
		}
		d.End = max(d.End, end)
		switch {
		case r.Width == 0 && r.Arrivals.OK:
			d.Singles = append(d.Singles, Single{r.Time, int64(r.Arrivals.V), what})
		case r.Arrivals.OK:
			d.Segments = append(d.Segments, Segment{r.Time, r.Arrivals.V / r.Width.Seconds(), what})
		case r.Width == 0:
			return nil, fmt.Errorf("sample %d at %v has no width and says how many are present: want a width", i, r.Time)
		case lifetime <= 0:
			return nil, fmt.Errorf("sample %d at %v says how many are present: want a lifetime, to tell how many arrive", i, r.Time)
		default:
			if present == 0 {
				d.Initial = r.Concurrent.V
			}
			present++
			d.Segments = append(d.Segments, Segment{r.Time, r.Concurrent.V, what})
		}
	}
	switch {
	case len(rows) == 0:
		return nil, fmt.Errorf("no samples")
	case present > 0 && present < len(d.Segments):
		return nil, fmt.Errorf("%d of %d samples tell how many are present, the others how many arrive: want one of both", present, len(d.Segments))
	case present > 0:
		arriving(d, lifetime)
	}
	if held > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d gaps between samples: the sample before each holds on", held))
	}
	if n := len(d.Singles); n > 0 && d.Singles[n-1].At >= d.End {
		d.End = d.Singles[n-1].At + 1
	}
	return d, d.validate()
}

// arriving turns numbers present into rates: what leaves after a lifetime is replaced, and
// the number changes to that of the next sample.
func arriving(d *Demand, lifetime model.Duration) {
	clipped := 0
	for i := range d.Segments {
		s := &d.Segments[i]
		now, next, end := s.Rate, s.Rate, d.End
		if i+1 < len(d.Segments) {
			next, end = d.Segments[i+1].Rate, d.Segments[i+1].At
		}
		s.Rate = (now+next)/2/lifetime.Seconds() + (next-now)/end.Sub(s.At).Seconds()
		s.Work, s.WorkCV = lifetime, 1
		if s.Rate < 0 {
			s.Rate = 0
			clipped++
		}
	}
	d.Notes = append(d.Notes, fmt.Sprintf("numbers present are turned into arrivals that stay for %v in the mean", lifetime))
	if clipped > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("in %d samples the number falls faster than those present leave: no arrivals there", clipped))
	}
}

// Use is one recorded utilisation, of so many units together.
type Use struct {
	At    model.Time
	Share float64 // of them in use, 0 to 1
	Units float64 // at the recording
}

// Inverted makes a demand of recorded utilisations: what was in use is share times units,
// which is what was demanded unless all of them were. work is what one arrival keeps a
// unit busy for. The notes say that the demand is inverted, and how many samples are at
// their limit: of those the demand was this much or more.
func Inverted(rows []Use, width, work model.Duration) (*Demand, error) {
	if width <= 0 || work <= 0 {
		return nil, fmt.Errorf("width %v and work %v: want more than 0", width, work)
	}
	const full = 0.995 // utilisations are rounded where they are recorded
	d, limit := &Demand{}, 0
	for i := range rows {
		r := &rows[i]
		if !(r.Share >= 0 && r.Share <= 1 && r.Units > 0) {
			return nil, fmt.Errorf("sample %d at %v: utilisation %v of %v units: want 0 to 1 of more than 0", i, r.At, r.Share, r.Units)
		}
		if r.Share >= full {
			limit++
		}
		d.Segments = append(d.Segments, Segment{r.At, float64(r.Share*r.Units) / work.Seconds(), Request{Work: work, WorkCV: 1}})
		d.End = r.At.Add(width)
	}
	d.Notes = append(d.Notes, fmt.Sprintf("demand is inverted from recorded utilisation: use times what there was at the recording; %d of %d samples are at their limit, and their demand may have been higher", limit, len(rows)))
	return d, d.validate()
}
