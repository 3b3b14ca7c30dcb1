package join

import (
	"strings"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// widths says for how long a row stands: its window, the interval of the agent, or without one the time since the row before
// of the same GPU, a minute at most.
type widths struct {
	modes map[string][]mode // by node, ascending
	last  map[series]model.Time
}

type mode struct {
	at       model.Time
	interval model.Duration
}

type series struct {
	node string
	gpu  traces.Opt[int32]
}

func newWidths(events []traces.Event) widths {
	w := widths{map[string][]mode{}, map[series]model.Time{}}
	for i := range events {
		e := &events[i]
		if e.Kind != capture.EventKind {
			continue
		}
		if r, err := capture.ReadRecord(e); err == nil && r.Record == capture.RecordMode {
			node, _, _ := strings.Cut(e.Subject, "/")
			w.modes[node] = append(w.modes[node], mode{e.Time, r.Interval})
		}
	}
	return w
}

func (w *widths) of(t *traces.Telemetry) model.Duration {
	of := series{t.Node, t.GPU}
	before, known := w.last[of]
	w.last[of] = t.Time
	if t.Width.OK {
		return t.Width.V
	}
	modes := w.modes[t.Node]
	for len(modes) > 1 && modes[1].at <= t.Time {
		modes = modes[1:]
	}
	w.modes[t.Node] = modes
	switch {
	case len(modes) > 0 && modes[0].at <= t.Time:
		return modes[0].interval
	case known:
		return min(t.Time.Sub(before), model.Minute)
	}
	return 0
}
