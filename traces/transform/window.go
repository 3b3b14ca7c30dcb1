package transform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
)

// window keeps the jobs submitted from begin on and before end, with warm those that
// ran or waited at begin, and those that had left by then less than history ago.
type window struct {
	begin, end model.Time
	warm       bool
	history    model.Duration
}

func newWindow(p *params) step {
	w := window{begin: model.Time(p.span("begin", 0)), warm: p.truth("warm", false), history: p.span("history", 0)}
	if w.history > 0 && !w.warm {
		p.fail("history is of a warm start: give warm=true as well")
	}
	w.end = model.Never
	if d := p.span("length", -1); d >= 0 {
		w.end = w.begin.Add(d)
	}
	if d := p.span("end", -1); d >= 0 {
		if w.end != model.Never {
			p.fail("both end and length are given")
		}
		w.end = model.Time(d)
	}
	if w.end <= w.begin {
		p.fail("the window is empty: it begins at %s and ends at %s", w.begin, w.end)
	}
	return w
}

// Rules of windows.
const (
	ruleBefore   = "submitted before the window"
	ruleLeft     = "left before the window"
	ruleUnknown  = "submitted before the window, and when it started is not known"
	ruleAfter    = "submitted after the window"
	ruleRunning  = "ran when the window began"
	ruleWaiting  = "waited when the window began"
	ruleHistory  = "left before the window, and counts in ledgers"
	ruleReleased = "dependency on a job that left before the window"
)

func (w window) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	if in.Meta.WarmStart.OK && w.begin < in.Meta.WarmStart.V {
		return nil, fmt.Errorf("the trace has its own warm start at %s, after the beginning of the window, %s: begin the window there or later", in.Meta.WarmStart.V, w.begin)
	}
	if w.warm {
		if err := in.needsJobs("a warm start"); err != nil {
			return nil, err
		}
	}
	out := *in
	if out.Meta.WarmStart = (traces.Opt[model.Time]{}); w.warm {
		out.Meta.WarmStart = traces.Some(w.begin)
	}
	out.Meta.History = w.history
	if known := in.Meta.WarmStart; known.OK { // and nothing of before its own history
		out.Meta.History = min(w.history, w.begin.Sub(known.V)+in.Meta.History)
	}
	out.size = 0 // most often few are left
	out.Rows = in.edit(a, func(j *traces.Job) bool { return w.keep(j, a) })
	out.Events = w.events(in.Events)
	out.Prices = w.prices(in.Prices)
	w.samples(&out, a)
	if len(in.Events) > 0 {
		a.note(fmt.Sprintf("events: %d of %d kept", len(out.Events), len(in.Events)))
	}
	if len(in.Prices) > 0 {
		a.note(fmt.Sprintf("prices: %d of %d kept", len(out.Prices), len(in.Prices)))
	}
	return &out, nil
}

// keep says whether a job is in the window, and counts it otherwise.
func (w window) keep(j *traces.Job, a *Account) bool {
	id := j.ID
	switch {
	case j.Submit >= w.end:
		a.drop(ruleAfter, id)
		return false
	case j.Submit >= w.begin:
		return true
	case !w.warm:
		a.drop(ruleBefore, id)
		return false
	}
	switch placeAt(j, w.begin) {
	case running:
		a.change(ruleRunning, id)
		return true
	case waiting:
		a.change(ruleWaiting, id)
		return true
	case left:
		if w.history > 0 && j.Start.OK && j.Runtime.OK && j.Start.V.Add(j.Runtime.V) > w.begin.Add(-w.history) {
			a.change(ruleHistory, id)
			return true
		}
		a.drop(ruleLeft, id)
	default:
		a.drop(ruleUnknown, id)
	}
	return false
}

// place is where a job was at an instant after its submission.
type place uint8

const (
	unknown place = iota
	left
	waiting
	running
)

// placeAt says where the log has j at t. A job that ends at t has left, and one
// that starts at t waits.
func placeAt(j *traces.Job, t model.Time) place {
	if !j.Start.OK {
		switch {
		case j.CancelledAt.OK && j.CancelledAt.V > t:
			return waiting
		case j.CancelledAt.OK, j.End.OK && j.End.V <= t:
			return left
		}
		return unknown
	}
	if j.Start.V >= t {
		return waiting
	}
	end := j.End
	if j.Runtime.OK { // it is what a replay goes by
		end = traces.Some(j.Start.V.Add(j.Runtime.V))
	}
	switch {
	case !end.OK:
		return unknown
	case end.V > t:
		return running
	}
	return left
}

// opposites are the kinds of events of which the last one about a subject says
// how it is.
var opposites = map[string]string{
	"down": "health", "up": "health", "degraded": "health", "drain": "drain", "undrain": "drain",
	"power_cap": "power", "storage_bandwidth": "bandwidth", "sensitive_pool": "pool", "price": "price", demandKind: "demand",
}

// restores are the kinds that end what began in the window.
var restores = map[string]string{"up": "health", "undrain": "drain"}

// events are those in the window, before them at its beginning those that still
// count then, and after it the first that brings back each node.
func (w window) events(in []traces.Event) []traces.Event {
	type key struct{ family, subject string }
	var out []traces.Event
	last, bad := map[key]int{}, map[key]bool{}
	for i, e := range in {
		if f := opposites[e.Kind]; f != "" && e.Time < w.begin {
			last[key{f, e.Subject}] = i
		}
	}
	for i, e := range in {
		f := opposites[e.Kind]
		k := key{f, e.Subject}
		switch {
		case e.Time < w.begin:
			if f != "" && last[k] != i {
				continue
			}
			if !w.carried(&e) {
				continue
			}
		case e.Time >= w.end:
			if restores[e.Kind] == "" || !bad[k] {
				continue
			}
		}
		bad[k] = (f == "health" || f == "drain") && restores[e.Kind] == ""
		out = append(out, e)
	}
	return out
}

// carried moves an event of before the window to its beginning; false when it
// is over by then.
func (w window) carried(e *traces.Event) bool {
	switch e.Kind {
	case "quorum_outage", "metric_gap":
		n, err := strconv.ParseInt(e.Value, 10, 64)
		if end := e.Time.Add(model.Duration(n)); err == nil {
			if end <= w.begin {
				return false
			}
			e.Value = strconv.FormatInt(int64(end.Sub(w.begin)), 10)
		}
	case "reservation":
		var r struct{ End *model.Time }
		if json.Unmarshal([]byte(e.Value), &r) == nil && r.End != nil && *r.End <= w.begin {
			return false
		}
	}
	e.Time = w.begin
	return true
}

// prices are those in the window, and the one that holds at its beginning.
func (w window) prices(in []traces.Price) []traces.Price {
	from, _ := slices.BinarySearchFunc(in, w.begin, func(p traces.Price, t model.Time) int { return cmp.Compare(p.Time, t) })
	to, _ := slices.BinarySearchFunc(in, w.end, func(p traces.Price, t model.Time) int { return cmp.Compare(p.Time, t) })
	var out []traces.Price
	if from > 0 && (from == len(in) || in[from].Time > w.begin) {
		p := in[from-1]
		p.Time = w.begin
		out = append(out, p)
	}
	return append(out, in[from:to]...)
}

// Span is a part of a trace; what is at End is not in it.
type Span struct{ Begin, End model.Time }

// Spans places count disjoint windows of one length in the trace, with equal gaps
// before, between and after them, in order of time. What is left over is never
// less than nothing: a trace that is too short is an error. It costs a pass over
// the rows.
func (s *Set) Spans(length model.Duration, count int) ([]Span, error) {
	if length <= 0 || count < 1 {
		return nil, fmt.Errorf("%d windows of %s: want at least one, of a positive length", count, length)
	}
	first, last, ok, err := s.Bounds()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errEmpty
	case int64(length) > int64(last.Sub(first)+1)/int64(count):
		return nil, fmt.Errorf("%d windows of %s do not fit into the %s between the first and the last submission: take fewer or shorter ones", count, length, last.Sub(first))
	}
	gap := (last.Sub(first) + 1 - model.Duration(count)*length) / model.Duration(count+1)
	out := make([]Span, count)
	for i := range out {
		begin := first.Add(gap + model.Duration(i)*(gap+length))
		out[i] = Span{begin, begin.Add(length)}
	}
	return out, nil
}

// Window is the step of that name; an end of Never cuts nothing off.
func (s *Set) Window(begin, end model.Time, warm bool, history model.Duration) (*Set, error) {
	args := []Arg{{"begin", "=", spanText(begin.Sub(0))}}
	if end != model.Never {
		args = append(args, Arg{"end", "=", spanText(end.Sub(0))})
	}
	args = append(args, Arg{"warm", "=", strconv.FormatBool(warm)})
	if warm && history > 0 {
		args = append(args, Arg{"history", "=", spanText(history)})
	}
	return s.Apply(Recipe{{Name: "window", Args: args}}, nil)
}

// spanText is a span as recipes write it.
func spanText(d model.Duration) string {
	if d < 0 {
		return d.String()
	}
	if d%model.Second == 0 {
		return strconv.FormatInt(int64(d/model.Second), 10) + "s"
	}
	return strconv.FormatInt(int64(d), 10) + "us"
}
