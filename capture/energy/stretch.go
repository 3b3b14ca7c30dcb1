package energy

import (
	"strings"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Stretch is the time for which a row stands.
type Stretch struct {
	From, To model.Time
	Read     model.Time // when its counters were read
}

// Width is how long it is.
func (s Stretch) Width() model.Duration { return s.To.Sub(s.From) }

// Stretches says for how long rows stand: a window for itself, a sample of an agent for one interval from its time on, and any other
// sample for the time since the one before of the same GPU. Rows of a series ascend by time.
type Stretches struct {
	modes map[string][]mode // by node, ascending
	last  map[series]spacing
}

type mode struct {
	at       model.Time
	interval model.Duration
}

type series struct {
	node string
	gpu  traces.Opt[int32]
}

type spacing struct {
	at   model.Time
	long model.Duration // to the sample before, as it was taken; 0 when there was none
}

// Bounds of what a sample of no agent stands for: it must not stand for the time in which nothing was measured.
const (
	longestFirst = model.Hour   // the first distance of a series
	longestBrief = model.Minute // any
	timesBefore  = 3            // the distance before
)

// NewStretches takes the records of the telemetry, which say intervals.
func NewStretches(events []traces.Event) *Stretches {
	s := &Stretches{map[string][]mode{}, map[series]spacing{}}
	for i := range events {
		e := &events[i]
		if e.Kind != capture.EventKind {
			continue
		}
		if r, err := capture.ReadRecord(e); err == nil && r.Record == capture.RecordMode {
			node, _, _ := strings.Cut(e.Subject, "/")
			s.modes[node] = append(s.modes[node], mode{e.Time, r.Interval})
		}
	}
	return s
}

// Interval is that of the agent of a node at an instant, no earlier than those asked for before; 0 when none says it.
func (s *Stretches) Interval(node string, at model.Time) model.Duration {
	modes := s.modes[node]
	for len(modes) > 1 && modes[1].at <= at {
		modes = modes[1:]
	}
	s.modes[node] = modes
	if len(modes) > 0 && modes[0].at <= at {
		return modes[0].interval
	}
	return 0
}

// Of is the stretch of a row.
func (s *Stretches) Of(t *traces.Telemetry) Stretch {
	of := series{t.Node, t.GPU}
	before, known := s.last[of]
	if t.Width.OK {
		s.last[of] = spacing{t.Time, t.Width.V}
		end := t.Time.Add(t.Width.V)
		return Stretch{t.Time, end, end}
	}
	if interval := s.Interval(t.Node, t.Time); interval > 0 {
		s.last[of] = spacing{t.Time, interval}
		return Stretch{t.Time, t.Time.Add(interval), t.Time}
	}
	long := model.Duration(0)
	if known {
		longest := longestFirst
		if before.long > 0 {
			longest = max(longestBrief, timesBefore*before.long)
		}
		long = max(min(t.Time.Sub(before.at), longest), 0)
	}
	s.last[of] = spacing{t.Time, long}
	return Stretch{t.Time.Add(-long), t.Time, t.Time}
}
