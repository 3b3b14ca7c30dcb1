package calibrate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
)

// Merge says what to put into a cluster file.
type Merge struct {
	File     string // that errors name
	Text     []byte
	Cluster  *profiles.Cluster // that Text holds
	Bundles  string            // as provenance calls them
	Failures bool              // failures and repairs are put in too
}

// Outcome is what became of a finding.
type Outcome struct {
	Finding *Finding
	Key     string // of the cluster file, with names in brackets
	Value   string // as the file writes it, "" where it is refused
	Low     string
	High    string
	Applied bool
	Why     string  // not
	unit    float64 // of a ratio: the value of the base in the file
}

// Into puts findings into a cluster file and returns its text. Keys that are not fitted stay as
// they are. The text passes profiles.ParseCluster. Where it would not with failures in it, it goes
// without them.
func (r *Result) Into(m Merge) ([]byte, []Outcome, error) {
	text, outcomes, err := r.into(m, nil)
	if err == nil || !m.Failures {
		return text, outcomes, err
	}
	return r.into(m, err)
}

// into is Into, without failures where these have made the file invalid.
func (r *Result) into(m Merge, without error) ([]byte, []Outcome, error) {
	w := &merger{Merge: m, at: map[string]int{}}
	for i := range r.Findings {
		o := w.outcome(&r.Findings[i])
		if without != nil && o.Applied && strings.HasPrefix(o.Key, "failures.") {
			o.Applied, o.Why = false, without.Error()
		}
		w.outcomes = append(w.outcomes, o)
	}
	w.consistent()
	w.relative()
	for i := range w.outcomes {
		if w.outcomes[i].Applied {
			w.put(&w.outcomes[i])
		}
	}
	w.rows()
	w.provenance()
	text, err := profiles.Rewrite(m.File, m.Text, w.edits)
	if err != nil {
		return nil, nil, err
	}
	if _, err := profiles.ParseCluster(m.File, text); err != nil {
		return nil, nil, fmt.Errorf("what was fitted does not fit %s: %w", m.File, err)
	}
	return text, w.outcomes, nil
}

type merger struct {
	Merge
	outcomes []Outcome
	edits    []profiles.Edit
	at       map[string]int // place of the edit of a mapping
}

// outcome says how a finding would stand in the file.
func (w *merger) outcome(f *Finding) Outcome {
	o := Outcome{Finding: f, Key: w.key(&f.Target), unit: 1}
	if f.Figure.Refused != nil {
		o.Why = f.Figure.Refused.Error()
		return o
	}
	low, high := f.Ends()
	o.Value, o.Low, o.High = Written(f.Figure.Value, f.Unit), Written(low, f.Unit), Written(high, f.Unit)
	o.Applied = true
	switch f.Key {
	case Alpha:
		o.Applied, o.Why = false, "no replay goes by activity: a trace does not say that of a job"
	case NodeBase, NodeFactor:
		o.Applied, o.Why = false, "a replay adds what GPUs draw beyond idle to idle_power as it is: idle_power and busy_power are of this line where no better is known"
	case OwnSensor:
		o.Applied, o.Why = false, "it is of one node; its figures are of the meter"
	case MTBF, Shape, RepairMedian, RepairSigma:
		if o.Applied = w.Failures; !o.Applied {
			o.Why = "without --failures: replays of a trace with events down would meet those and drawn ones"
		}
	}
	switch {
	case f.Apart != "":
		o.Applied, o.Why = false, f.Apart
	case f.Figure.Value <= 0 || !finite(f.Figure.Value):
		o.Applied, o.Why = false, "it is not above 0"
	}
	return o
}

// consistent holds draws of one GPU and one node against each other.
func (w *merger) consistent() {
	find := func(typ int, key string) *Outcome {
		for i := range w.outcomes {
			if f := w.outcomes[i].Finding; f.Type == typ && f.Key == key && w.outcomes[i].Applied {
				return &w.outcomes[i]
			}
		}
		return nil
	}
	for i := range w.Cluster.NodeTypes {
		t := &w.Cluster.NodeTypes[i]
		idle, held := float64(t.GPUIdlePower), find(i, GPUHeld)
		if o := find(i, GPUIdle); o != nil {
			idle = o.Finding.Figure.Value
		}
		switch {
		case held == nil:
		case idle == 0:
			held.Applied, held.Why = false, "the idle draw of the GPU, which it is beyond, is not known"
		case math.Round(held.Finding.Figure.Value) < math.Round(idle):
			held.Applied, held.Why = false, "it is below the idle draw of the GPU"
		}
		least, most := find(i, NodeIdle), find(i, NodeBusy)
		from, to := float64(t.IdlePower), float64(t.BusyPower)
		if least != nil {
			from = least.Finding.Figure.Value
		}
		if most != nil {
			to = most.Finding.Figure.Value
		}
		if (least != nil || most != nil) && math.Round(to) < math.Round(from) {
			for _, o := range []*Outcome{least, most} {
				if o != nil {
					o.Applied, o.Why = false, fmt.Sprintf("busy_power would be %.0fW, below idle_power, %.0fW: measure nodes with all GPUs at work too", to, from)
				}
			}
		}
	}
	for i := range w.outcomes { // what a class draws on a GPU is beyond what the GPU draws idle
		o := &w.outcomes[i]
		if o.Finding.Key != ClassPower || !o.Applied {
			continue
		}
		for t := range w.Cluster.NodeTypes {
			n := &w.Cluster.NodeTypes[t]
			if cmp.Or(n.GPUModel, n.GPU) == o.Finding.GPU && n.GPUIdlePower == 0 && find(t, GPUIdle) == nil {
				o.Applied, o.Why = false, "the idle draw of the GPU, which idle_power of its nodes has in it, is not known"
			}
		}
	}
}

// relative brings ratios to the unit of the rows that the file has: where these have a row of the
// base, its value; where they have none, nothing says how the two go together.
func (w *merger) relative() {
	for i := range w.outcomes {
		base := w.outcomes[i].Finding
		if !base.Base {
			continue
		}
		unit, known := w.unitOf(base)
		for j := range w.outcomes {
			o := &w.outcomes[j]
			if f := o.Finding; f.Class != base.Class || f.Key != base.Key || !o.Applied {
				continue
			}
			if o.unit = unit; !known {
				o.Applied, o.Why = false, "the rows of the file have none of "+base.way()+", to which what was measured is relative: add it, or take the rows out"
			}
		}
	}
}

// unitOf is what the file has for the base of its class, 1 where it has no rows; false where they
// are of others alone.
func (w *merger) unitOf(base *Finding) (unit float64, known bool) {
	k := &w.Cluster.Workloads[base.Class]
	if base.Key == Throughput {
		at := slices.IndexFunc(k.Throughput, func(r profiles.GPUThroughput) bool { return w.same(r.GPU, base.GPU) })
		if at >= 0 {
			return k.Throughput[at].Value, true
		}
		return 1, len(k.Throughput) == 0
	}
	at := slices.IndexFunc(k.Steps, func(r profiles.StepTime) bool { return plainStep(r, base.Nodes) })
	if at >= 0 {
		return k.Steps[at].Time, true
	}
	return 1, len(k.Steps) == 0
}

// way is how the runs of a ratio were run.
func (t *Target) way() string {
	if t.Key == Throughput {
		return t.GPU
	}
	return fmt.Sprintf("%d nodes", t.Nodes)
}

// plainStep says whether a row is about a number of nodes alone.
func plainStep(r profiles.StepTime, nodes int32) bool {
	return max(r.Nodes, 1) == nodes && r.GPUs == 0 && r.Groups == 0
}

// key is how people find the key of a target.
func (w *merger) key(t *Target) string {
	switch {
	case t.Key == OwnSensor:
		return t.Node + ": " + t.Key
	case t.Key == Alpha:
		return t.GPU + ": " + t.Key
	case t.Type >= 0:
		return fmt.Sprintf("node_types[%s].%s", w.Cluster.NodeTypes[t.Type].Name, t.Key)
	case t.Class < 0:
		return t.Key
	}
	class := fmt.Sprintf("workloads[%s].%s", w.Cluster.Workloads[t.Class].Name, t.Key)
	switch t.Key {
	case ClassPower, Throughput:
		if t.GPU != "" {
			return fmt.Sprintf("%s[%s].value", class, t.GPU)
		}
	case Caps:
		if t.Draw > 0 {
			return fmt.Sprintf("%s[draw %g].throughput", class, t.Draw)
		}
	case Clocks:
		if t.Clock > 0 {
			class = fmt.Sprintf("%s[%s, clock %g]", class, t.GPU, t.Clock)
		}
		return strings.TrimSuffix(class+"."+t.Part, ".")
	case Steps:
		return fmt.Sprintf("%s[nodes %d, gpus 0, groups 0].time", class, t.Nodes)
	}
	return class
}

// put adds a key that stands alone to the edits; those of lists follow by rows.
func (w *merger) put(o *Outcome) {
	t := &o.Finding.Target
	switch {
	case t.Type >= 0:
		w.set(fmt.Sprintf("node_types[%d]", t.Type), t.Key, o.Value)
	case t.Class >= 0 && t.Key == CheckpointBytes:
		w.set(fmt.Sprintf("workloads[%d]", t.Class), t.Key, o.Value)
	case t.Class >= 0:
	default:
		block, key, _ := strings.Cut(t.Key, ".")
		w.set(block, key, o.Value)
		switch t.Key {
		case Shape:
			w.set(block, "law", "weibull")
		case MTBF:
			if !slices.ContainsFunc(w.outcomes, func(x Outcome) bool { return x.Finding.Key == Shape && x.Applied }) && w.Cluster.Failures.Law != "exponential" {
				w.set(block, "law", "exponential")
			}
		case RepairMedian:
			w.set(block, "repair", "log-normal")
		}
	}
}

// set puts a key into the edit of its mapping.
func (w *merger) set(path, key, value string) {
	i, ok := w.at[path]
	if !ok {
		i = len(w.edits)
		w.at[path] = i
		w.edits = append(w.edits, profiles.Edit{Path: path})
	}
	w.edits[i].YAML += key + ": " + value + "\n"
}

// rows puts the lists of classes together: rows of the file, with those that were fitted in
// their place.
func (w *merger) rows() {
	for c := range w.Cluster.Workloads {
		k := w.Cluster.Workloads[c]
		power, throughput, steps, clocks := slices.Clone(k.Power), slices.Clone(k.Throughput), slices.Clone(k.Steps), slices.Clone(k.Clocks)
		var under []profiles.CapThroughput // of one source alone, as it rises with the cap
		changed := map[string]bool{}
		for i := range w.outcomes {
			o := &w.outcomes[i]
			f := o.Finding
			if !o.Applied || f.Class != c {
				continue
			}
			value, low, high := f.Figure.Value, f.Figure.Spread.Low, f.Figure.Spread.High
			switch f.Key {
			case ClassPower:
				row := profiles.GPUPower{GPU: f.GPU, Value: watts(value), Low: min(watts(low), watts(value)), High: max(watts(high), watts(value))}
				power = replaced(power, row, func(r profiles.GPUPower) bool { return w.same(r.GPU, f.GPU) })
			case Throughput:
				row := profiles.GPUThroughput{GPU: f.GPU, Value: round4(o.unit * value), Low: round4(o.unit * min(low, value)), High: round4(o.unit * max(high, value))}
				throughput = replaced(throughput, row, func(r profiles.GPUThroughput) bool { return w.same(r.GPU, f.GPU) })
			case Caps:
				under = append(under, profiles.CapThroughput{Draw: f.Draw, Throughput: round4(min(1, value))})
			case Clocks:
				clocks = w.clockRow(clocks, o, !changed[Clocks+f.GPU])
				changed[Clocks+f.GPU] = true
			case Steps:
				row := profiles.StepTime{Nodes: f.Nodes, Time: round4(o.unit * value), Low: round4(o.unit * min(low, value)), High: round4(o.unit * max(high, value))}
				steps = replaced(steps, row, func(r profiles.StepTime) bool { return plainStep(r, f.Nodes) })
			default:
				continue
			}
			changed[f.Key] = true
		}
		slices.SortStableFunc(steps, func(a, b profiles.StepTime) int {
			return cmp.Or(cmp.Compare(a.Groups, b.Groups), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.GPUs, b.GPUs))
		})
		path := fmt.Sprintf("workloads[%d]", c)
		set := func(key string, rows []string) { // in one line, which any mapping can hold
			if changed[key] {
				w.set(path, key, "["+strings.Join(rows, ", ")+"]")
			}
		}
		set(ClassPower, texts(power, func(r profiles.GPUPower) string {
			return fmt.Sprintf("{gpu: %s, value: %dW, low: %dW, high: %dW}", strconv.Quote(r.GPU), r.Value, cmp.Or(r.Low, r.Value), cmp.Or(r.High, r.Value))
		}))
		set(Throughput, texts(throughput, func(r profiles.GPUThroughput) string {
			return fmt.Sprintf("{gpu: %s, value: %g, low: %g, high: %g}", strconv.Quote(r.GPU), r.Value, cmp.Or(r.Low, r.Value), cmp.Or(r.High, r.Value))
		}))
		set(Caps, texts(under, func(r profiles.CapThroughput) string {
			return fmt.Sprintf("{draw: %g, throughput: %g}", r.Draw, r.Throughput)
		}))
		set(Clocks, texts(clocks, func(r profiles.ClockResponse) string {
			return fmt.Sprintf("{gpu: %s, clock: %g, throughput: %g, power: %g}", strconv.Quote(r.GPU), r.Clock, r.Throughput, r.Power)
		}))
		set(Steps, texts(steps, func(r profiles.StepTime) string {
			return fmt.Sprintf("{nodes: %d, gpus: %d, groups: %d, time: %g, low: %g, high: %g}", max(r.Nodes, 1), r.GPUs, r.Groups, r.Time, cmp.Or(r.Low, r.Time), cmp.Or(r.High, r.Time))
		}))
	}
}

// clockRow puts a figure of a class at a clock into the rows of its GPU, of which the first takes
// the place of those that the file had: rows of two sources need not ascend.
func (w *merger) clockRow(rows []profiles.ClockResponse, o *Outcome, first bool) []profiles.ClockResponse {
	f := o.Finding
	if first {
		rows = slices.DeleteFunc(rows, func(r profiles.ClockResponse) bool { return w.same(r.GPU, f.GPU) })
	}
	at := slices.IndexFunc(rows, func(r profiles.ClockResponse) bool { return r.GPU == f.GPU && r.Clock == f.Clock })
	if at < 0 {
		at = len(rows)
		rows = append(rows, profiles.ClockResponse{GPU: f.GPU, Clock: f.Clock})
	}
	value := max(0.001, round4(f.Figure.Value))
	if f.Part == ClockPower {
		rows[at].Power = value
	} else {
		rows[at].Throughput = value
	}
	return rows
}

func texts[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = text(x)
	}
	return out
}

// same says whether two names are of one GPU.
func (w *merger) same(a, b string) bool {
	model := func(name string) string {
		for i := range w.Cluster.NodeTypes {
			if t := &w.Cluster.NodeTypes[i]; t.GPU == name {
				return cmp.Or(t.GPUModel, t.GPU)
			}
		}
		return name
	}
	return model(a) == model(b)
}

func replaced[T any](list []T, row T, is func(T) bool) []T {
	if i := slices.IndexFunc(list, is); i >= 0 {
		list[i] = row
		return list
	}
	return append(list, row)
}

// provenance writes where the figures come from, in place of what the file said of the same keys.
func (w *merger) provenance() {
	list := slices.Clone(w.Cluster.Calibration)
	for i := range w.outcomes {
		o := &w.outcomes[i]
		if !o.Applied || o.Finding.Base {
			continue
		}
		f := o.Finding
		p := profiles.Calibrated{Key: o.Key, Value: o.Value, Low: o.Low, High: o.High, Range: f.Range(), N: int64(f.Figure.N), Of: f.Figure.Units, From: w.Bundles, Rows: f.Rows,
			Days: math.Round(f.Days()*1000) / 1000, Quality: fmt.Sprintf("usual distance %.1f %%", 100*f.Figure.Residual), Valid: f.Valid}
		list = replaced(list, p, func(x profiles.Calibrated) bool { return x.Key == o.Key })
	}
	if len(list) == 0 {
		return
	}
	var b bytes.Buffer
	for _, p := range list {
		fmt.Fprintf(&b, "\n  - {key: %s, value: %s, low: %s, high: %s, range: %s, n: %d, of: %s, from: %s, rows: %d, days: %g, quality: %s, valid: %s}",
			quote(p.Key), quote(p.Value), quote(p.Low), quote(p.High), quote(p.Range), p.N, quote(p.Of), quote(p.From), p.Rows, p.Days, quote(p.Quality), quote(p.Valid))
	}
	w.edits = append(w.edits, profiles.Edit{YAML: "calibration:" + b.String() + "\n"})
}

// Ends are those of the range of the figure.
func (f *Finding) Ends() (low, high float64) {
	if f.Spread {
		return f.Figure.Spread.Low, f.Figure.Spread.High
	}
	return f.Figure.Low, f.Figure.High
}

// Days is from the first to the last measurement, 0 where they have no instants.
func (f *Finding) Days() float64 {
	if f.From == model.Never {
		return 0
	}
	return f.To.Sub(f.From).Seconds() / 86400
}

// Measured are the independent measurements that the figure rests on.
func (f *Finding) Measured() []float64 {
	if len(f.Points) > 0 {
		return f.Points
	}
	return f.Figure.Of
}

// Range says what the range of a figure is.
func (f *Finding) Range() string {
	if f.Base {
		return "the others are relative to it"
	}
	if f.Spread {
		return fmt.Sprintf("holds %.0f %% of further %s; the value is %s to %s", 100*f.Figure.Share, f.Figure.Units, Written(f.Figure.Low, f.Unit), Written(f.Figure.High, f.Unit))
	}
	return "95 % interval of the value"
}

// quote is a text as JSON and YAML have it.
func quote(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "?")) }

func watts(x float64) profiles.Power { return profiles.Power(math.Round(x)) }

func round4(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return y
}

// Written is a figure as cluster files write it.
func Written(x float64, unit string) string {
	switch unit {
	case "W":
		return fmt.Sprintf("%.0fW", x)
	case "B":
		return strconv.FormatFloat(math.Round(x/1e6)/1e3, 'f', -1, 64) + "GB"
	case "B/s":
		return fmt.Sprintf("%.0fMB/s", max(1, math.Round(x/1e6)))
	case "µs":
		d := model.Duration(math.Round(x))
		if d > 10*model.Second {
			d = model.Duration(math.Round(d.Seconds())) * model.Second
		}
		return profiles.Span(d)
	}
	return strconv.FormatFloat(round4(x), 'g', -1, 64)
}
