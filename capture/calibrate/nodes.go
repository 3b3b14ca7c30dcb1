package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"orrery/hwmodel"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
	"orrery/traces"
)

// What a node draws idle and with all GPUs at work is known in two ways: from spans in which all
// its GPUs are in one state, and from the line of its draw by that of its GPUs, which needs no such
// spans. Where both are known the one counts that is nearer to minutes which were held back.

// nodeSensor is what is known of what measured nodes as wholes.
func nodeSensor(window model.Duration, metered bool) fit.Sensor {
	s := fit.Unmetered(0, max(model.Second, window))
	if metered {
		s.Gain, s.Metered = hwmodel.Band{Value: 1, Low: 1, High: 1}, true
	}
	return s
}

// nodeDraws are what nodes draw as wholes, where that was measured.
func nodeDraws(src *Source, _ *jobTable, seen *observed) (out []Finding, err error) {
	if out, err = besideMeters(src, seen); err != nil {
		return nil, err
	}
	for i, t := range src.Types {
		list, spans, metered := seen.minutes[i].list, seen.nodes[i], false
		if byMeter := slices.DeleteFunc(slices.Clone(list), func(m minute) bool { return !m.metered }); len(byMeter) > 0 || len(seen.byMeter[i]) > 0 {
			list, spans, metered = byMeter, seen.byMeter[i], true // its own sensors are worse
		}
		idle := Target{Type: i, Class: -1, Key: NodeIdle}
		if len(list) == 0 && len(spans) == 0 {
			if t.GPUs > 0 && len(seen.spans[i]) > 0 {
				out = append(out, refused(idle, "no rows of nodes of type "+t.Name+" as wholes", "power of nodes by their BMC or a meter, in rows without gpu or by --meter",
					"name what a meter has written by --meter NODE=FILE, or merge the power of node_exporter (node_hwmon_power_average_watt) by orrery capture convert and merge; until then idle_power is what the file says"))
			}
			continue
		}
		found, err := nodeDrawsOf(src, seen, i, list, spans, metered)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// nodeDrawsOf are those of a node type.
func nodeDrawsOf(src *Source, seen *observed, typ int, list []minute, spans []fit.Span, metered bool) ([]Finding, error) {
	sensor := nodeSensor(seen.window, metered)
	direct, err := fit.States(spans, sensor)
	if err != nil {
		return nil, err
	}
	for f, state := range map[*fit.Figure]string{&direct.Idle: "idle", &direct.Active: "at work"} { //detlint:ordered each on its own
		if f.Units == "GPUs" {
			f.Units = "nodes"
		} else {
			f.Units = "spans"
		}
		if !f.Known() {
			f.Refused = &fit.Refusal{What: "draw of a node with all GPUs " + state, Found: plural(f.N, "spans"), Want: "at least 6", Obtain: "record some minutes with all GPUs of a node " + state + ", six times or on six nodes"}
		}
	}
	gpu := src.SensorOf(typ)
	l, err := lineOf(list, src.Types[typ].GPUs, &gpu)
	if err != nil {
		return nil, err
	}
	about := Finding{Unit: "W", Valid: "power of whole nodes as their own sensors say it, ±6 % for these"}
	if metered {
		about.Valid = fmt.Sprintf("power of %s by a meter, whose own error is not in it; other nodes may differ", many(l.nodes, "node", "nodes"))
	}
	held := l.heldBack()
	var out []Finding
	for _, of := range []struct {
		key    string
		state  fit.State
		direct fit.Figure
	}{{NodeIdle, fit.StateIdle, direct.Idle}, {NodeBusy, fit.StateActive, direct.Active}} {
		line := sensor.Corrected(l.draw(l.at(of.state, seen.ofGPU[typ])))
		f := about.of(Target{Type: typ, Class: -1, Key: of.key}, of.direct, seen.read[what{typ, -1, true, metered, of.state}])
		byLine := about.ofMinutes(f.Target, line, list)
		byLine.Valid += "; by the line of its draw by that of its GPUs"
		switch {
		case of.direct.Known() && line.Known():
			d := held[of.state]
			says := fmt.Sprintf(": of %d minutes held back spans are off by %.1f %%, the line by %.1f %%", d.n, 100*d.own, 100*d.line)
			if d.n > 0 && d.line < clearly*d.own {
				f, f.Valid = byLine, byLine.Valid+says
			} else if d.n > 0 {
				f.Valid += "; by spans" + says
			}
		case line.Known():
			byLine.Valid += ", as " + of.direct.Refused.Found + " are too few"
			f = byLine
		case !of.direct.Known() && len(list) > 0:
			f.Figure.Refused = &fit.Refusal{What: of.key, Found: of.direct.Refused.Found + "; and for a line by its GPUs " + line.Refused.Found, Want: of.direct.Refused.Want + ", or " + line.Refused.Want, Obtain: of.direct.Refused.Obtain}
		}
		out = append(out, f)
	}
	if l.base.Known() {
		base := about.ofMinutes(Target{Type: typ, Class: -1, Key: NodeBase}, sensor.Corrected(l.base), list)
		factor := about.ofMinutes(Target{Type: typ, Class: -1, Key: NodeFactor}, l.factorOf(&sensor, &gpu), list)
		factor.Unit = "factor"
		out = append(out, base, factor)
	}
	return out, nil
}

// ofMinutes is a finding like f that rests on minutes.
func (f Finding) ofMinutes(to Target, figure fit.Figure, list []minute) Finding {
	f.Target, f.Figure, f.Rows, f.From = to, figure, int64(len(list)), model.Never
	for i := range list {
		f.From, f.To = min(f.From, list[i].at), max(f.To, list[i].at.Add(model.Minute))
	}
	return f
}

func many(n int, one, more string) string {
	if n == 1 {
		return "one " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// line is the draw of the nodes of a type by that of their GPUs.
type line struct {
	rows    []fit.NodeRow
	minutes []minute // of the rows
	gpus    int32
	nodes   int
	all     fit.NodeFit   // of all nodes together
	each    []fit.NodeFit // of each of them where these are enough
	base    fit.Figure
	factor  fit.Figure
}

// leastNodes is from how many nodes on the node is the unit.
const leastNodes = 6

func lineOf(list []minute, gpus int32, sensor *fit.Sensor) (*line, error) {
	l := &line{minutes: list, gpus: gpus}
	for i := range list {
		l.rows = append(l.rows, fit.NodeRow{GPUs: max(1, (list[i].gpus-float64(gpus)*sensor.Offset.Value)/sensor.Gain.Value), Node: list[i].watts})
	}
	var err error
	if l.all, err = fit.Node(l.rows); err != nil {
		return nil, err
	}
	l.base, l.factor = l.all.Base, l.all.PerWatt
	for i := 0; i < len(list); l.nodes++ {
		first := i
		for i < len(list) && list[i].node == list[first].node {
			i++
		}
		own, err := fit.Node(l.rows[first:i])
		if err != nil {
			return nil, err
		}
		if own.Base.Known() {
			l.each = append(l.each, own)
		}
	}
	if len(l.each) < leastNodes {
		l.each = nil
		return l, nil
	}
	l.base = l.middle(func(f *fit.NodeFit) fit.Figure { return f.Base })
	l.factor = l.middle(func(f *fit.NodeFit) fit.Figure { return f.PerWatt })
	return l, nil
}

// middle is a figure over nodes; refused where too few of them have it.
func (l *line) middle(of func(*fit.NodeFit) fit.Figure) fit.Figure {
	var values []float64
	var why *fit.Refusal
	for i := range l.each {
		f := of(&l.each[i])
		if f.Known() {
			values = append(values, f.Value)
		} else {
			why = f.Refused
		}
	}
	if len(values) < leastNodes {
		return fit.Figure{Refused: why}
	}
	return fit.Figure{Estimate: fit.MedianOf(values, "nodes")}
}

// draw is that of a node while its GPUs draw so much; NaN is that it is not known how much.
func (l *line) draw(gpus float64) fit.Figure {
	switch {
	case !l.all.Base.Known():
		return l.all.Base
	case math.IsNaN(gpus):
		return fit.Figure{Refused: &fit.Refusal{What: "draw of a node", Found: "no draw of its GPUs in that state", Want: "it", Obtain: "see gpu_idle_power"}}
	case l.each != nil:
		return l.middle(func(f *fit.NodeFit) fit.Figure { return f.Draw(gpus) })
	}
	return l.all.Draw(gpus)
}

// at is what all GPUs of a node draw in a state: as in the minutes in which all are in it, else as
// one of them does.
func (l *line) at(state fit.State, ofGPU [2]fit.Figure) float64 {
	var watts []float64
	for i := range l.minutes {
		if l.minutes[i].state == state {
			watts = append(watts, l.rows[i].GPUs)
		}
	}
	one := ofGPU[0]
	if state == fit.StateActive {
		one = ofGPU[1]
	}
	switch {
	case len(watts) > 0:
		return fit.Median(watts)
	case one.Known() && one.N > 0:
		return float64(l.gpus) * one.Value
	}
	return math.NaN()
}

// factorOf has the errors of both sensors in it: the whole range of a gain that no meter told.
func (l *line) factorOf(node, gpu *fit.Sensor) fit.Figure {
	f := l.factor
	for _, x := range []*float64{&f.Band.Value, &f.Band.Low, &f.Band.High} {
		*x /= node.Gain.Value
	}
	f.Band.Low *= gpu.Gain.Low / gpu.Gain.Value * node.Gain.Value / node.Gain.High
	f.Band.High *= gpu.Gain.High / gpu.Gain.Value * node.Gain.Value / node.Gain.Low
	return f
}

const (
	mostCompared = 1024 // minutes
	parts        = 5    // of the time, each held back in turn
	leastHeld    = 5    // minutes in a state that a comparison rests on
	clearly      = 0.9  // of the distance of spans, within which the line is taken: these suppose none
)

// distances are how far minutes in a state usually are from what others say of them, as parts of
// them: from the median of others in the state, and from the line at the draw of their GPUs.
type distances struct {
	own, line float64
	n         int // minutes that were held back
}

// heldBack are distances by state. Of many minutes each so-many-th one is compared.
func (l *line) heldBack() (out [fit.StateActive + 1]distances) {
	var order []int
	for i := 0; i < len(l.minutes); i += 1 + len(l.minutes)/mostCompared {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.minutes[a].at, l.minutes[b].at) })
	var own, line [len(out)][]float64
	for p := range parts {
		from, to := len(order)*p/parts, len(order)*(p+1)/parts
		var rows []fit.NodeRow
		var watts, gpus [len(out)][]float64
		for k, i := range order {
			if k >= from && k < to {
				continue
			}
			state := l.minutes[i].state
			rows = append(rows, l.rows[i])
			watts[state], gpus[state] = append(watts[state], l.rows[i].Node), append(gpus[state], l.rows[i].GPUs)
		}
		f, err := fit.Node(rows)
		if err != nil || !f.Base.Known() {
			continue
		}
		var direct, byLine [len(out)]float64
		for state := range out {
			direct[state], byLine[state] = fit.Median(watts[state]), f.Base.Value+f.PerWatt.Value*fit.Median(gpus[state])
		}
		for _, i := range order[from:to] {
			state, y := l.minutes[i].state, l.rows[i].Node
			if len(watts[state]) > 0 {
				own[state], line[state] = append(own[state], math.Abs(direct[state]-y)/y), append(line[state], math.Abs(byLine[state]-y)/y)
			}
		}
	}
	for state := range out {
		if len(own[state]) >= leastHeld {
			out[state] = distances{fit.Median(own[state]), fit.Median(line[state]), len(own[state])}
		}
	}
	return out
}

const (
	follows     = 0.6 // correlation of a meter with the GPUs of its node, below which it is not at that node, or of another time
	leastFollow = 20  // minutes
	leastSwing  = 1.5 // of the draw of the GPUs, for the meter to be seen to follow
	leastBeside = 6   // minutes of a meter beside the sensor of the node
)

// besideMeters holds meters against the GPUs of their nodes, and says how far the sensors of these
// nodes are from them.
func besideMeters(src *Source, seen *observed) (out []Finding, err error) {
	for i := range src.Meters {
		m := &src.Meters[i]
		typ := src.TypeOf(m.Node)
		var gpus, watts, ratio []float64
		about := Finding{Unit: "factor", From: model.Never, Valid: "minutes in which both have readings"}
		for _, x := range seen.minutes[typ].list {
			if !x.metered || x.node != seen.numberOf[m.Node] {
				continue
			}
			gpus, watts = append(gpus, x.gpus), append(watts, x.watts)
			if x.own > 0 {
				ratio = append(ratio, x.own/x.watts)
				about.From, about.To = min(about.From, x.at), max(about.To, x.at.Add(model.Minute))
			}
		}
		if len(gpus) == 0 {
			return nil, &traces.DataError{File: m.Name, Found: fmt.Sprintf("a meter of %s from %s to %s, and no minute with rows of all GPUs of the node", m.Node, timeText(m.Times[0]), timeText(m.Times[len(m.Times)-1])),
				Expected: "telemetry of the node from that time", Mend: "check the node that --meter names, and the zone of the meter (--meter-zone)"}
		}
		swings := len(gpus) >= leastFollow && fit.Quantile(0.9, gpus) >= leastSwing*fit.Quantile(0.1, gpus)
		if r := stat.Correlation(gpus, watts, nil); swings && !(r >= follows) {
			return nil, &traces.DataError{File: m.Name, Found: fmt.Sprintf("a meter of %s that does not follow its GPUs: their correlation is %.2f in %d minutes", m.Node, r, len(gpus)), Expected: fmt.Sprintf("at least %.1f", follows),
				Mend: "check the node that --meter names, and the zone of the meter (--meter-zone)"}
		}
		what := "minutes of the meter of " + m.Node
		if !swings {
			what += ", which are too few or too steady to tell that it is at that node"
		}
		seen.fits = append(seen.fits, Count{what, int64(len(gpus))})
		if len(ratio) >= leastBeside {
			about.Target = Target{Type: -1, Class: -1, Node: m.Node, Key: OwnSensor}
			about.Figure, about.Rows = fit.Figure{Estimate: fit.MedianInOrder(ratio, "minutes")}, int64(len(ratio))
			out = append(out, about)
		}
	}
	return out, nil
}

func timeText(t model.Time) string {
	return time.UnixMicro(int64(t)).UTC().Format(time.DateTime)
}
