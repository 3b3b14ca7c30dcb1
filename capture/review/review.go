// Package review says what a set of telemetry holds: for each GPU what was measured, what is missing and why, and
// whether anything is unaccounted for. It must not know files or pictures.
package review

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orrery/capture"
	"orrery/capture/energy"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Source is what a review reads: rows ascending by time, and events.
type Source struct {
	Nodes     []traces.Node
	Events    []traces.Event
	Telemetry func() iter.Seq2[*traces.Telemetry, error]
	Instances func() iter.Seq2[*traces.Instance, error] // of MIG; nil for none
}

// Summary is a review.
type Summary struct {
	Nodes  []Node   `json:"nodes"`
	Series []Series `json:"series"` // by node and GPU
	// Instances are parts of GPUs of Series, which have what they have, too.
	Instances []Instance `json:"-"`
	Alerts    []Alert    `json:"alerts,omitempty"`
	// LeftOut counts by subject what agents have left out when they measured.
	LeftOut traces.Counts `json:"left_out,omitempty"`
}

// Node is one with what its bundles say of it.
type Node struct {
	Name        string             `json:"node"`
	GPUModel    string             `json:"gpu_model,omitempty"`
	GPUs        int32              `json:"gpus"`
	Fingerprint string             `json:"fingerprint,omitempty"`
	Drifts      int                `json:"fingerprint_changes"`
	ClockSteps  int                `json:"clock_steps"` // how often the wall clock was off by more than half a second
	Inventory   *capture.Inventory `json:"-"`           // the last one
}

// Alert is one that an agent raised.
type Alert struct {
	Time    model.Time `json:"time_us"` // since 1970
	Subject string     `json:"subject"`
	Kind    string     `json:"alert"`
	Text    string     `json:"text,omitempty"`
}

// Gap sums up the samples that are missing for one reason.
type Gap struct {
	Reason  string `json:"reason"`
	Samples int64  `json:"samples"`
	Times   int64  `json:"times"`
}

// Series is what is known of a GPU, or with GPU -1 of a node as a whole. Means are weighted by time. What no row has is
// null.
type Series struct {
	Node        string              `json:"node"`
	GPU         int32               `json:"gpu"`
	Rows        int64               `json:"rows"`
	Due         model.Time          `json:"due_us"`   // since 1970: the first row or gap
	First       model.Time          `json:"first_us"` // the first row
	Last        model.Time          `json:"last_us"`
	End         model.Time          `json:"end_us"`     // of the last row, with its window
	Until       model.Time          `json:"until_us"`   // the end of the last row or gap
	Covered     model.Duration      `json:"covered_us"` // by rows
	Gaps        []Gap               `json:"gaps,omitempty"`
	Missing     int64               `json:"missing_samples"`
	Unaccounted model.Duration      `json:"unaccounted_us"` // neither rows nor a gap
	Holes       int64               `json:"holes"`
	SMUtil      traces.Opt[float64] `json:"-"`
	SMActive    traces.Opt[float64] `json:"-"`
	Power       traces.Opt[float64] `json:"-"` // mean, W
	PowerMax    traces.Opt[float64] `json:"-"`
	Energy      traces.Opt[float64] `json:"-"` // J, as package energy has it
	ByPower     float64             `json:"-"` // s of it in which power stands for the counter
	NoEnergy    float64             `json:"-"` // s of which neither says anything
	Doubts      energy.Doubts       `json:"-"` // differences of the counter that power cannot explain
	MemMax      traces.Opt[int64]   `json:"-"`
	TempMax     traces.Opt[float64] `json:"-"`
	Throttled   traces.Opt[float64] `json:"-"`                // share of time with a reason of Throttling
	Restarts    int64               `json:"counter_restarts"` // how often the energy counter went back

	until    model.Time // accounted for up to here
	gaps     []span     // ascending
	interval model.Duration
	sums     [4]weighted // sm_util, sm_active, power, throttled
	energy   energy.Meter[struct{}]
}

type span struct {
	from model.Time
	long model.Duration
}

// weighted is a mean by time. Without any time, as of a single sample of no agent, it is the plain one.
type weighted struct{ sum, weight, plain, n float64 }

func (w *weighted) add(v traces.Opt[float64], weight float64) {
	if v.OK {
		w.sum += float64(v.V * weight)
		w.weight += weight
		w.plain += v.V
		w.n++
	}
}

func (w *weighted) mean() traces.Opt[float64] {
	if w.weight > 0 {
		return traces.Some(w.sum / w.weight)
	}
	return traces.Opt[float64]{V: w.plain / max(w.n, 1), OK: w.n > 0}
}

// Throttling are the reasons of NVML that hold clocks down against the will of the work: power cap, slowdown of the
// hardware, heat, power brake. Idle clocks and clocks that were set are none.
const Throttling = 0x4 | 0x8 | 0x20 | 0x40 | 0x80

// Of reads a source once.
func Of(src Source) (*Summary, error) {
	r := &reader{series: map[key]*Series{}, stretches: energy.NewStretches(src.Events)}
	if err := r.events(src); err != nil {
		return nil, err
	}
	for t, err := range src.Telemetry() {
		if err != nil {
			return nil, err
		}
		r.row(t)
	}
	out := r.summary()
	var err error
	out.Instances, err = instances(src)
	return out, err
}

type key struct {
	node string
	gpu  int32
}

// reader collects a summary.
type reader struct {
	out       Summary
	series    map[key]*Series
	stretches *energy.Stretches
}

func (r *reader) of(node string, gpu int32) *Series {
	k := key{node, gpu}
	if r.series[k] == nil {
		s := &Series{Node: node, GPU: gpu}
		s.energy.Settle = s.consumed
		r.series[k] = s
	}
	return r.series[k]
}

func split(subject string) (node string, gpu int32) {
	node, index, found := strings.Cut(subject, "/")
	n, err := strconv.Atoi(index)
	if !found || err != nil {
		return node, capture.NodeSeries
	}
	return node, int32(n)
}

func (r *reader) events(src Source) error {
	nodes := map[string]*Node{}
	for _, n := range src.Nodes {
		r.out.Nodes = append(r.out.Nodes, Node{Name: n.Name, GPUModel: n.GPUModel, GPUs: n.GPUs, Fingerprint: n.Fingerprint})
	}
	for i := range r.out.Nodes {
		nodes[r.out.Nodes[i].Name] = &r.out.Nodes[i]
	}
	for i := range src.Events {
		e := &src.Events[i]
		if e.Kind != capture.EventKind {
			continue
		}
		rec, err := capture.ReadRecord(e)
		if err != nil {
			return err
		}
		name, gpu := split(e.Subject)
		n := nodes[name]
		switch rec.Record {
		case capture.RecordGap:
			s := r.of(name, gpu)
			s.gaps = append(s.gaps, span{e.Time, rec.Span})
			s.count(rec)
		case capture.RecordLeftOut:
			r.out.LeftOut.Add(e.Subject+", "+rec.Reason, "", rec.Samples)
		case capture.RecordAlert, capture.RecordXID, capture.RecordRemoved:
			r.out.Alerts = append(r.out.Alerts, Alert{e.Time, e.Subject, cmp.Or(rec.Alert, rec.Record), cmp.Or(rec.Reason+rec.Bundle, "XID "+strconv.FormatUint(rec.Code, 10))})
		case capture.RecordInventory:
			if n != nil {
				n.Inventory = rec.Inventory
			}
		case capture.RecordFingerprint:
			if n != nil {
				n.Drifts++
			}
		case capture.RecordClock:
			if n != nil && (rec.Step > 500_000 || rec.Step < -500_000) {
				n.ClockSteps++
			}
		}
	}
	return nil
}

func (s *Series) count(rec *capture.Record) {
	at := slices.IndexFunc(s.Gaps, func(g Gap) bool { return g.Reason == rec.Reason })
	if at < 0 {
		s.Gaps, at = append(s.Gaps, Gap{Reason: rec.Reason}), len(s.Gaps)
	}
	s.Gaps[at].Samples += rec.Samples
	s.Gaps[at].Times++
	s.Missing += rec.Samples
}

// consumed adds what the meter says of a piece of time.
func (s *Series) consumed(p energy.Part[struct{}]) {
	switch {
	case !p.Joules.OK:
		s.NoEnergy += p.Seconds
	default:
		s.Energy = traces.Some(s.Energy.V + p.Joules.V)
		if p.Power {
			s.ByPower += p.Seconds
		}
	}
}

func (r *reader) row(t *traces.Telemetry) {
	s := r.of(t.Node, Index(t))
	if t.Stat == "" || t.Stat == "mean" {
		r.measured(s, t)
	}
	s.Rows++
	if t.Stat == "" || t.Stat == "max" {
		s.PowerMax = larger(s.PowerMax, t.Power)
		s.TempMax = larger(s.TempMax, t.Temperature)
		s.MemMax = larger(s.MemMax, t.MemUsed)
	}
}

// Index is that of the GPU of a row, NodeSeries for the node as a whole.
func Index(t *traces.Telemetry) int32 {
	if !t.GPU.OK {
		return capture.NodeSeries
	}
	return t.GPU.V
}

func larger[T int64 | float64](a, b traces.Opt[T]) traces.Opt[T] {
	if !a.OK || b.OK && b.V > a.V {
		return b
	}
	return a
}

// measured adds a sample, or the mean of a window.
func (r *reader) measured(s *Series, t *traces.Telemetry) {
	s.interval = r.stretches.Interval(t.Node, t.Time)
	stands := r.stretches.Of(t)
	width := stands.Width()
	if s.Rows == 0 {
		s.First, s.until = t.Time, t.Time
		if len(s.gaps) > 0 {
			s.until = min(s.until, s.gaps[0].from)
		}
		s.Due = s.until
	}
	s.upTo(t.Time)
	if s.interval > 0 && t.Time.Sub(s.until) > s.interval/2 {
		s.Unaccounted += t.Time.Sub(s.until)
		s.Holes++
	}
	s.until = max(s.until, stands.To)
	s.Last, s.End = t.Time, stands.To
	s.Covered += width
	seconds := width.Seconds()
	for i, v := range []traces.Opt[float64]{t.SMUtil, t.SMActive, t.Power, Throttled(t)} {
		s.sums[i].add(v, seconds)
	}
	s.energy.Row(stands, struct{}{}, t)
}

// upTo accounts for the gaps that begin by an instant.
func (s *Series) upTo(at model.Time) {
	for len(s.gaps) > 0 && s.gaps[0].from <= at {
		g := s.gaps[0]
		s.gaps = s.gaps[1:]
		if s.interval > 0 && g.from.Sub(s.until) > s.interval/2 {
			s.Unaccounted += g.from.Sub(s.until)
			s.Holes++
		}
		s.until = max(s.until, g.from.Add(g.long))
	}
}

// Throttled is 1 where clocks were held down, null where that is not known.
func Throttled(t *traces.Telemetry) traces.Opt[float64] {
	v := 0.0
	if t.Throttle.V&Throttling != 0 {
		v = 1
	}
	return traces.Opt[float64]{V: v, OK: t.Throttle.OK}
}

func (r *reader) summary() *Summary {
	keys := slices.SortedStableFunc(maps.Keys(r.series), func(a, b key) int { return cmp.Or(strings.Compare(a.node, b.node), cmp.Compare(a.gpu, b.gpu)) })
	named := map[string]bool{}
	for i := range r.out.Nodes {
		named[r.out.Nodes[i].Name] = true
	}
	for _, k := range keys {
		s := r.series[k]
		s.upTo(model.Never)
		s.Until = s.until
		s.SMUtil, s.SMActive, s.Power, s.Throttled = s.sums[0].mean(), s.sums[1].mean(), s.sums[2].mean(), s.sums[3].mean()
		s.energy.End()
		s.Doubts, s.Restarts = s.energy.Doubts, s.energy.Doubts.Back
		slices.SortStableFunc(s.Gaps, func(a, b Gap) int { return strings.Compare(a.Reason, b.Reason) })
		r.out.Series = append(r.out.Series, *s)
		if !named[k.node] { // the bundle has no nodes table, as one that was converted
			named[k.node], r.out.Nodes = true, append(r.out.Nodes, Node{Name: k.node})
		}
	}
	return &r.out
}
