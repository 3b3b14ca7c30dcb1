package agent

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"orrery/capture"
	"orrery/capture/host"
	"orrery/scheduler/model"
	"orrery/traces"
)

// bulk is a run of samples that no series has.
type bulk struct {
	from   model.Time
	n      int64
	reason string
}

// missed is a sample that one series lacks.
type missed struct {
	series int
	reason string
}

// tick is all that belongs to one instant at which samples were due.
type tick struct {
	at       model.Time
	readings []capture.Reading
	series   []int // of each reading
	missed   []missed
	xids     []xids             // of answers that were of no use otherwise
	bulks    []bulk             // of before this instant
	anew     bool               // the wall clock was set: at no longer follows from the tick before
	mode     Mode               // from here on; "" for as before
	node     *capture.Inventory // taken anew; nil for as before
}

func (t *tick) clear() {
	t.readings, t.series, t.missed, t.xids, t.bulks = t.readings[:0], t.series[:0], t.missed[:0], t.xids[:0], t.bulks[:0]
	t.anew, t.mode, t.node = false, "", nil
}

// xids are errors that the driver has reported of a GPU.
type xids struct {
	gpu   int32
	codes []uint64
}

// keeper turns ticks into bundles. It is used by one goroutine.
type keeper struct {
	o        *Options
	store    *store
	journal  *journal
	host     *host.Node
	pods     *holders // nil where no kubelet is asked
	log      *slog.Logger
	stats    *stats
	interval model.Duration
	gpus     []int32 // by series
	node     *capture.Inventory

	mode    Mode
	windows []window        // by series
	parts   [][]partWindow  // by series: its GPU instances
	left    []traces.Counts // by series: values that were left out since the bundle began; the last is of the source
	since   model.Time
	upto    model.Time // the windows end here; 0 when none is open
	gaps    *ledger
	watch   *watcher
	entry   entry
	carried []bulk         // gaps for the next bundle: what a kill or a disk has taken
	records []pending      // that are in no finished bundle
	beyond  int64          // such records for which there was no room
	tell    func() timings // the clocks now
	live    *live
}

// pending is a record that is in no finished bundle.
type pending struct {
	at      model.Time
	subject string
	record  capture.Record
}

// timings are the clocks at one moment.
type timings struct {
	wall, monotonic, step int64 // µs; step is the wall clock less the time that samples have
	synced                string
}

// mostRecords bounds the records that wait for a bundle: a disk that stays full must not fill the memory.
const mostRecords = 1024

// record keeps a record until a bundle that has it is on the disk.
func (k *keeper) record(at model.Time, gpu int32, r capture.Record) {
	if len(k.records) < mostRecords {
		k.records = append(k.records, pending{at, capture.Subject(k.o.Node, gpu), r})
	} else {
		k.beyond++
	}
	k.event(at, gpu, r)
}

// event puts a record into the bundle that is open, if one is.
func (k *keeper) event(at model.Time, gpu int32, r capture.Record) {
	k.store.event(r.Event(at, capture.Subject(k.o.Node, gpu)))
}

// take does all that a tick asks for.
func (k *keeper) take(t *tick) {
	if t.node != nil {
		k.drifted(t.at, t.node)
	}
	if t.anew || k.store.cur != nil && (t.at.Sub(k.store.cur.begun) >= model.Duration(k.o.Rotate/time.Microsecond) && (k.upto == 0 || t.at >= k.upto) || k.store.full()) {
		k.finish()
	}
	if t.mode != "" && t.mode != k.mode {
		k.flush(t.at)
		k.mode = t.mode
		k.stats.mode(k.mode)
		k.event(t.at, capture.NodeSeries, k.modeRecord())
	}
	if k.upto > 0 && t.at >= k.upto {
		k.flush(k.upto)
	}
	k.look(t) // whether or not there is a bundle to write to
	if k.store.cur == nil && !k.begin(t) {
		k.unwritten(t)
		return
	}
	for _, b := range t.bulks {
		k.bulk(b)
	}
	if err := k.samples(t); err != nil {
		k.failed(t.at, err)
		return
	}
	k.entry.Last, k.entry.Rows = t.at, k.store.cur.rows
	if k.clockDue(t.at) {
		k.clock(t.at)
	}
	if err := k.journal.put(&k.entry); err != nil {
		k.log.Error("the journal cannot be written", "error", err)
	}
	k.show(t.at)
}

// show lets be seen what was sampled, once a second at most.
func (k *keeper) show(at model.Time) {
	if at >= k.live.now.At && at.Sub(k.live.now.At) < model.Second {
		return
	}
	l := &k.live.now
	l.At, l.Mode, l.Bundle, l.Samples = at, string(k.mode), k.entry.Bundle, k.entry.Samples
	if err := k.live.put(); err != nil && !k.live.failed {
		k.live.failed = true
		k.log.Error("what is sampled cannot be shown", "error", err)
	}
}

// begin opens a bundle and puts into it what every bundle has.
func (k *keeper) begin(t *tick) bool {
	if err := k.store.open(t.at); err != nil {
		k.log.Error("no bundle can be begun", "error", err)
		return false
	}
	k.entry = entry{Bundle: k.store.cur.name, Interval: k.interval, From: t.at, Last: t.at.Add(-k.interval), Series: len(k.gpus)}
	for _, b := range slices.Concat(k.carried, t.bulks) {
		k.entry.From = min(k.entry.From, b.from)
	}
	r := capture.Record{Record: capture.RecordInventory, Fingerprint: capture.Fingerprint(k.node), Inventory: k.node}
	k.event(t.at, capture.NodeSeries, r)
	k.event(t.at, capture.NodeSeries, k.modeRecord())
	k.clock(t.at)
	for _, p := range k.records {
		k.store.event(p.record.Event(p.at, p.subject))
	}
	if k.beyond > 0 {
		why := fmt.Sprintf("%d records of alerts had no room in memory while no bundle could be written", k.beyond)
		k.log.Error(why)
		k.stats.alert("records")
		k.event(t.at, capture.NodeSeries, capture.Record{Record: capture.RecordAlert, Alert: "records", Reason: why, Value: float64(k.beyond)})
	}
	for _, b := range k.carried {
		k.bulk(b)
	}
	if err := k.journal.begin(&k.entry); err != nil {
		k.log.Error("the journal cannot be written", "error", err)
	}
	return true
}

func (k *keeper) modeRecord() capture.Record {
	return capture.Record{Record: capture.RecordMode, Mode: string(k.mode), Interval: k.interval, Jitter: model.Duration(k.o.Jitter * float64(k.interval)), Window: model.Duration(k.o.window(k.mode) / time.Microsecond)}
}

func (k *keeper) bulk(b bulk) {
	for i := range k.gpus {
		k.miss(i, b.from, b.n, b.reason)
	}
}

func (k *keeper) miss(series int, at model.Time, n int64, reason string) {
	k.stats.gap(reason, n)
	if g := k.gaps.miss(series, at, n, reason); g.n > 0 {
		k.store.event(g.event(k.interval, capture.Subject(k.o.Node, k.gpus[series])))
	}
}

// look raises alerts of what a tick says, and shows it.
func (k *keeper) look(t *tick) {
	for _, m := range t.missed {
		k.live.now.GPUs[m.series].Silent = m.reason
		if raised := k.watch.silence(m.series, k.gpus[m.series], t.at, m.reason); len(raised) > 0 {
			k.stats.silent(k.gpus[m.series])
			k.raise(t.at, raised)
		}
	}
	for _, x := range t.xids {
		k.raise(t.at, alertsOf(x.gpu, x.codes))
	}
	for i := range t.readings {
		r, series := &t.readings[i], t.series[i]
		r.Node, r.Time = k.o.Node, t.at
		for p := range r.Parts {
			r.Parts[p].Node, r.Parts[p].Time = k.o.Node, t.at
		}
		k.leaveOut(r, series)
		k.raise(t.at, k.watch.reading(series, r))
		k.stats.reading(r)
		k.live.now.GPUs[series].Show(r)
	}
}

// leaveOut takes out of a reading what is no measurement, before anything looks at it, and counts that and what the source left out.
func (k *keeper) leaveOut(r *capture.Reading, series int) {
	r.LeaveOut(func(column, why string, v float64) {
		if len(k.left[series]) == 0 {
			k.log.Warn("a value that cannot be was left out", "gpu", k.gpus[series], "column", column, "why", why, "value", v)
		}
		k.left[series].Values(column, why, v)
		k.stats.leftOut(column, 1)
	})
	for i := range r.Parts {
		part := &r.Parts[i]
		part.LeaveOut(func(column, why string, v float64) {
			k.left[series].Values(fmt.Sprintf("GPU instance %d, %s", part.GPUInstance, column), why, v)
			k.stats.leftOut(column, 1)
		})
	}
	for _, c := range r.Left {
		k.left[len(k.gpus)].Add(c.Rule, c.Example, c.Count)
		k.stats.leftOut("of the source", c.Count)
	}
}

// tellLeft puts into the bundle what was left out of it.
func (k *keeper) tellLeft() {
	for series := range k.left {
		gpu := capture.NodeSeries
		if series < len(k.gpus) {
			gpu = k.gpus[series]
		}
		for _, c := range k.left[series] {
			k.event(k.entry.Last, gpu, capture.Record{Record: capture.RecordLeftOut, Reason: c.Rule, Samples: c.Count})
		}
		k.left[series] = nil
	}
}

// samples writes the readings of a tick, or adds them to the windows.
func (k *keeper) samples(t *tick) error {
	for _, m := range t.missed {
		k.miss(m.series, t.at, 1, m.reason)
	}
	width := model.Duration(k.o.window(k.mode) / time.Microsecond)
	if width > 0 && k.upto == 0 {
		k.since = t.at
		k.upto = model.Time((int64(t.at)/int64(width) + 1) * int64(width))
	}
	// The files of processes are read for each row: with windows, that is for the last sample of one.
	afresh := width == 0 || t.at.Add(k.interval) >= k.upto
	for i := range t.readings {
		r, series := &t.readings[i], t.series[i]
		if g := k.gaps.end(series); g.n > 0 {
			k.store.event(g.event(k.interval, capture.Subject(k.o.Node, k.gpus[series])))
		}
		k.name(r, k.gpus[series], afresh)
		k.entry.Samples++
		if width > 0 {
			k.windows[series].add(r)
			k.parts[series] = addParts(k.parts[series], r.Parts)
			continue
		}
		r.Processes = capture.Encode(r.Procs)
		if err := k.store.row(&r.Telemetry); err != nil {
			return err
		}
		if err := k.store.parts(samplesOf(r.Parts)); err != nil {
			return err
		}
	}
	k.host.Round()
	return nil
}

// name says what the node knows of the processes of a GPU and of its GPU instances.
func (k *keeper) name(r *capture.Reading, gpu int32, afresh bool) {
	for p := range r.Procs {
		k.host.Process(&r.Procs[p], afresh)
	}
	for i := range r.Parts {
		for p := range r.Parts[i].Procs {
			k.host.Process(&r.Parts[i].Procs[p], afresh)
		}
	}
	if k.pods == nil {
		return
	}
	if len(r.Procs) > 0 {
		k.pods.name(uuidOf(k.node, gpu), r.Procs, false)
	}
	for i := range r.Parts {
		if part := &r.Parts[i]; len(part.Procs) > 0 {
			k.pods.name(part.UUID, part.Procs, true)
		}
	}
}

// raise tells of alerts: in the log, in the bundle and in the counters.
func (k *keeper) raise(at model.Time, alerts []Alert) {
	for _, a := range alerts {
		switch a.Kind {
		case capture.RecordRestart:
			k.record(at, a.GPU, capture.Record{Record: capture.RecordRestart, Reason: "energy", Value: a.Value})
		case capture.RecordXID:
			k.record(at, a.GPU, capture.Record{Record: capture.RecordXID, Code: uint64(a.Value)})
		default:
			k.record(at, a.GPU, capture.Record{Record: capture.RecordAlert, Alert: a.Kind, Reason: a.Text, Value: a.Value})
		}
		k.stats.alert(a.Kind)
		k.log.Warn(a.Text, "alert", a.Kind, "gpu", a.GPU)
	}
}

// flush writes the windows, which end at an instant.
func (k *keeper) flush(end model.Time) {
	if k.upto == 0 || k.store.cur == nil {
		k.upto = 0
		return
	}
	for i := range k.windows {
		for _, row := range k.windows[i].rows(k.since, end.Sub(k.since)) {
			if err := k.store.row(&row); err != nil {
				k.failed(k.since, err)
				return
			}
		}
	}
	for i := range k.parts {
		for p := range k.parts[i] {
			if err := k.store.parts(k.parts[i][p].rows(k.since, end.Sub(k.since))); err != nil {
				k.failed(k.since, err)
				return
			}
		}
		k.parts[i] = nil
	}
	k.upto = 0
	k.entry.Rows = k.store.cur.rows
}

// finish ends the bundle and puts it in its place.
func (k *keeper) finish() {
	if k.store.cur == nil {
		return
	}
	k.flush(min(cmp.Or(k.upto, k.entry.Last.Add(k.interval)), k.entry.Last.Add(k.interval)))
	if k.store.cur == nil {
		return
	}
	for i := range k.gpus {
		if g := k.gaps.end(i); g.n > 0 {
			k.store.event(g.event(k.interval, capture.Subject(k.o.Node, k.gpus[i])))
		}
	}
	k.tellLeft()
	rows := k.store.cur.rows
	if err := k.store.finish(nodeRow(k.o.Node, k.node)); err != nil {
		k.failed(k.entry.Last, err)
		return
	}
	k.stats.bundle(rows)
	k.carried, k.records, k.beyond = nil, nil, 0
	gone, err := k.store.bound()
	if err != nil {
		k.log.Error("old bundles cannot be removed", "error", err)
	}
	for _, g := range gone {
		k.log.Warn("a bundle was removed, the folder is full", "bundle", g.name, "rows", g.rows)
		k.record(k.entry.Last, capture.NodeSeries, capture.Record{Record: capture.RecordRemoved, Bundle: g.name, Samples: g.rows, Reason: "disk"})
	}
}

// leave tells of XIDs that came after the last tick, and ends the bundle.
func (k *keeper) leave(told []xids) {
	for _, x := range told {
		k.raise(k.entry.Last, alertsOf(x.gpu, x.codes))
	}
	k.finish()
}

// failed gives the bundle up: what it held becomes a gap of the next one, which has its alerts as well.
func (k *keeper) failed(at model.Time, err error) {
	k.log.Error("the bundle cannot be written, its rows are lost", "bundle", k.entry.Bundle, "rows", k.entry.Rows, "error", err)
	if k.store.cur != nil {
		k.store.cur.w.Abort()
		k.store.cur = nil
	}
	for i := range k.windows {
		k.windows[i].rows(0, 1)
		k.parts[i] = nil
	}
	k.upto = 0
	k.gaps = newLedger(len(k.gpus), k.interval)
	last := max(k.entry.Last, at)
	k.carried = []bulk{{k.entry.From, int64(last.Sub(k.entry.From)/k.interval) + 1, capture.GapUnwritten}}
}

// unwritten counts a tick for which there was no bundle.
func (k *keeper) unwritten(t *tick) {
	from := t.at
	for _, b := range slices.Concat(k.carried, t.bulks) {
		from = min(from, b.from)
	}
	k.carried = []bulk{{from, int64(t.at.Sub(from)/k.interval) + 1, capture.GapUnwritten}}
}

// drifted compares the fingerprint with the one before.
func (k *keeper) drifted(at model.Time, v *capture.Inventory) {
	if changed := capture.Drift(k.node, v); len(changed) > 0 {
		k.log.Warn("the fingerprint of the node has changed", "changed", fmt.Sprint(changed))
		k.stats.alert("drift")
		k.record(at, capture.NodeSeries, capture.Record{Record: capture.RecordFingerprint, Fingerprint: capture.Fingerprint(v), Changed: changed})
	}
	k.node = v
	k.stats.fingerprint(capture.Fingerprint(v))
}

// clockDue is once a minute.
func (k *keeper) clockDue(at model.Time) bool {
	return int64(at)/int64(model.Minute) != int64(at.Add(-k.interval))/int64(model.Minute)
}

func (k *keeper) clock(at model.Time) {
	c := k.tell()
	k.event(at, capture.NodeSeries, capture.Record{Record: capture.RecordClock, Wall: c.wall, Monotonic: c.monotonic, Step: c.step, Synced: c.synced})
}

// restore makes gaps of what the run before has lost, and of the time in which none ran.
func (k *keeper) restore(l *lost, first model.Time, before model.Duration) {
	if l.until == 0 {
		return
	}
	from := l.from
	if l.last >= l.from {
		from = l.until.Add(before)
		n := int64(l.last.Sub(l.from)/before) + 1
		k.log.Warn("the run before was killed: rows of the file that it was writing are lost", "rows", l.rows, "samples", l.samples, "bundle", l.bundle)
		k.carried = append(k.carried, bulk{l.from, n, capture.GapKilled})
		k.stats.lost(l.rows)
	}
	if n := int64((first.Sub(from) + before/2) / before); n > 0 {
		k.carried = append(k.carried, bulk{from, n, capture.GapStopped})
	}
}
