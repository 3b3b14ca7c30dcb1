package sim

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/world"
	"orrery/sim/world/translate"
)

// PowerWriter takes what the nodes of a site draw: a row from the first instant on, and one
// whenever any part of it changes, in order of time.
type PowerWriter interface {
	Power(*record.PowerRow)
}

// powerLog tells a writer what the nodes draw. A nil one tells nothing.
type powerLog struct {
	out  PowerWriter
	caps []translate.Change // of the power cap, that are still ahead
	now  record.PowerRow    // in force, not told yet
	told record.PowerRow
	any  bool       // now is of an instant
	seen model.Time // the last instant
}

// newPowerLog is nil where out is.
func newPowerLog(out PowerWriter, w *world.SiteConfig) *powerLog {
	if out == nil {
		return nil
	}
	l := &powerLog{out: out, now: record.PowerRow{Price: record.Absent, Carbon: record.Absent, Supply: record.Absent}, told: record.PowerRow{Time: model.AbsentTime, Low: -1}, seen: model.AbsentTime}
	l.now.Cap = capOf(w.Power.Cap)
	for _, c := range w.Changes {
		if c.Kind == translate.PowerChange {
			l.caps = append(l.caps, c)
		}
	}
	return l
}

// capOf is a cap in W for a row, where 0 is none.
func capOf(w int64) int64 {
	if w == 0 {
		return record.Absent
	}
	return w
}

// reprice says what energy costs and emits from at on, but not before the last instant.
func (l *powerLog) reprice(at model.Time, t *hwmodel.Tariff) {
	if l == nil {
		return
	}
	row := l.now
	row.Price, row.Carbon, row.Supply = record.Absent, record.Absent, record.Absent
	if t.Price.OK {
		row.Price = t.Price.V
	}
	if t.Carbon.OK {
		row.Carbon = t.Carbon.V
	}
	if t.Supply.OK {
		row.Supply = t.Supply.V
	}
	l.set(max(at, l.seen), row)
}

// observe says what the nodes draw at the end of the instant now. A draw below zero is none,
// as for metrics.
func (l *powerLog) observe(now model.Time, p *metric.Power) {
	if l == nil {
		return
	}
	row := l.now
	row.Low, row.Value, row.High = max(p.Low, 0), max(p.Value, 0), max(p.High, 0)
	for len(l.caps) > 0 && l.caps[0].At <= now {
		row.Cap = capOf(l.caps[0].Value)
		l.caps = l.caps[1:]
	}
	l.set(now, row)
	l.any, l.seen = true, now
}

// set puts row in force at an instant, and tells the one before.
func (l *powerLog) set(at model.Time, row record.PowerRow) {
	if row.Time = at; at > l.now.Time {
		l.tell()
	}
	l.now = row
}

// tell writes the row in force unless it says what the one before does.
func (l *powerLog) tell() {
	same := l.now
	if same.Time = l.told.Time; l.any && same != l.told {
		l.out.Power(&l.now)
		l.told = l.now
	}
}

// finish tells the last row.
func (l *powerLog) finish() {
	if l != nil {
		l.tell()
	}
}
