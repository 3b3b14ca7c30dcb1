package agent

import (
	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// gap is a run of samples of one series that were due and are not there.
type gap struct {
	from, last model.Time
	n          int64
	reason     string
}

// ledger keeps the gap that is open, by series. What it holds is bounded by the number of series.
type ledger struct {
	interval model.Duration
	open     []gap // by series; n 0 for none
}

func newLedger(series int, interval model.Duration) *ledger {
	return &ledger{interval, make([]gap, series)}
}

// miss adds n samples that were due from at on. It returns the gap that ended with that, if one did.
func (l *ledger) miss(series int, at model.Time, n int64, reason string) (ended gap) {
	last := at.Add(l.interval * model.Duration(n-1))
	g := &l.open[series]
	if g.n > 0 && g.reason == reason && at == g.last.Add(l.interval) {
		g.last, g.n = last, g.n+n
		return gap{}
	}
	ended, *g = *g, gap{at, last, n, reason}
	return ended
}

// end closes the gap of a series: it is n 0 when there was none.
func (l *ledger) end(series int) (ended gap) {
	ended, l.open[series] = l.open[series], gap{}
	return ended
}

// event is the gap as a record.
func (g *gap) event(interval model.Duration, subject string) traces.Event {
	r := capture.Record{Record: capture.RecordGap, Samples: g.n, Span: g.last.Sub(g.from) + interval, Reason: g.reason}
	return r.Event(g.from, subject)
}
