package calibrate

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"orrery/capture"
	"orrery/capture/energy"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
	"orrery/traces"
)

// What a node draws beside its GPUs is compared by the minute: rows of both are then of one time.

const (
	leastCovered = 30 * model.Second // of a minute by the rows of each GPU
	mostMinutes  = 1 << 13           // that are kept of a node type: beyond it each second one is dropped, as often as it takes
	lateMinutes  = 5                 // for how long rows of a minute may come
)

// minute is what a node drew in one.
type minute struct {
	node        int // number
	at          model.Time
	gpus, watts float64   // W as read: all GPUs together, the node
	metered     bool      // the node by a meter
	own         float64   // W by its own sensor beside a meter, 0 for none
	state       fit.State // of all its GPUs; StateHeld where they are not all idle or all at work
}

// minuting gathers the minutes of a node that may still have rows.
type minuting struct {
	typ    int
	number int
	open   map[int64]*gathering
	newest int64
}

// gathering is one minute of a node.
type gathering struct {
	gpus              map[int32]*averaged
	bySensor, byMeter averaged
	states            [fit.StateActive + 1]int32
}

// averaged is a mean over time.
type averaged struct{ sum, weight float64 }

func (a *averaged) add(watts, weight float64) { a.sum, a.weight = a.sum+watts*weight, a.weight+weight }

func (a *averaged) mean() float64 { return a.sum / a.weight }

// gathered is the minute of a node that a row is of, nil where that is past or it has no GPUs.
func (o *observer) gathered(node string, typ int, at model.Time) *gathering {
	if o.src.Types[typ].GPUs == 0 {
		return nil
	}
	m := o.minutes[node]
	if m == nil {
		m = &minuting{typ: typ, number: o.names.of(capture.Subject(node, capture.NodeSeries)), open: map[int64]*gathering{}}
		o.minutes[node] = m
	}
	of := int64(at) / int64(model.Minute)
	if of > m.newest {
		m.newest = of
		o.finish(m, of-lateMinutes)
	}
	if of <= m.newest-lateMinutes {
		return nil
	}
	g := m.open[of]
	if g == nil {
		g = &gathering{gpus: map[int32]*averaged{}}
		m.open[of] = g
	}
	return g
}

// inMinute takes a row of a GPU into its minute.
func (o *observer) inMinute(t *traces.Telemetry, typ int, state fit.State, stands energy.Stretch) {
	g := o.gathered(t.Node, typ, t.Time) // as rows of the node, which say no more
	if g == nil {
		return
	}
	if g.gpus[t.GPU.V] == nil {
		g.gpus[t.GPU.V] = &averaged{}
	}
	g.gpus[t.GPU.V].add(t.Power.V, stands.Width().Seconds())
	g.states[state]++
}

// finish makes minutes of those before one that have rows of all GPUs and of the node.
func (o *observer) finish(m *minuting, before int64) {
	for _, of := range slices.Sorted(maps.Keys(m.open)) {
		if of >= before {
			return
		}
		g := m.open[of]
		delete(m.open, of)
		out := minute{node: m.number, at: model.Time(of) * model.Time(model.Minute), state: fit.StateHeld}
		switch {
		case g.byMeter.weight > 0:
			out.metered, out.watts = true, g.byMeter.mean()
			if g.bySensor.weight > 0 {
				out.own = g.bySensor.mean()
			}
		case g.bySensor.weight > 0:
			out.watts = g.bySensor.mean()
		default:
			continue
		}
		covered, widest := len(g.gpus) == int(o.src.Types[m.typ].GPUs), 0.0
		for _, gpu := range slices.Sorted(maps.Keys(g.gpus)) {
			a := g.gpus[gpu]
			out.gpus += a.mean()
			covered, widest = covered && a.weight >= leastCovered.Seconds(), max(widest, a.weight)
		}
		if !covered || widest > 2*model.Minute.Seconds() || !(out.gpus > 0) || !(out.watts > 0) {
			o.out.partly++
			continue
		}
		for _, state := range []fit.State{fit.StateIdle, fit.StateActive} {
			if g.states[state] == g.states[fit.StateIdle]+g.states[fit.StateHeld]+g.states[fit.StateActive] {
				out.state = state
			}
		}
		o.out.minutes[m.typ].add(out)
	}
}

// thinned are minutes, of which each keep-th one is kept.
type thinned struct {
	list []minute
	keep int
	seen int
}

func (t *thinned) add(m minute) {
	t.keep = max(t.keep, 1)
	if t.seen++; t.seen%t.keep != 0 {
		return
	}
	t.list = append(t.list, m)
	if len(t.list) < mostMinutes {
		return
	}
	half := t.list[:0]
	for i := 1; i < mostMinutes; i += 2 {
		half = append(half, t.list[i])
	}
	t.list, t.keep = half, t.keep*2
}

// finishAll ends all minutes, and puts those of a type in the order of their nodes and times.
func (o *observer) finishAll() {
	for _, node := range slices.Sorted(maps.Keys(o.minutes)) {
		m := o.minutes[node]
		o.out.numberOf[node] = m.number
		o.finish(m, m.newest+1)
	}
	for i := range o.out.minutes {
		slices.SortStableFunc(o.out.minutes[i].list, func(a, b minute) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.at, b.at)) })
	}
}

// node takes a row of a node as a whole, by its own sensor or by a meter: idle where all its GPUs
// are, at work where all are. What a meter measures is not read by the sensor of the node.
func (o *observer) node(t *traces.Telemetry, metered bool) {
	typ, known := o.typeOf(t)
	if !known || !t.Power.OK {
		return
	}
	stands := energy.Stretch{From: t.Time, To: t.Time.Add(max(t.Width.V, model.Second))}
	if g := o.gathered(t.Node, typ, t.Time); g != nil {
		if metered {
			g.byMeter.add(t.Power.V, 1)
		} else {
			g.bySensor.add(t.Power.V, 1)
		}
	}
	k := series{t.Node, capture.NodeSeries}
	if metered {
		k.gpu = meterSeries
	} else if m := o.meterOf[t.Node]; m != nil && m.holds(t.Time) {
		o.out.metered++
		o.close(o.tracks[k])
		return
	}
	var gpus [fit.StateActive + 1]int32  // by state, of those that are not silent
	for _, g := range o.states[t.Node] { //detlint:ordered they are counted
		if stands.To.Sub(g.until) <= stands.Width()+lately {
			gpus[g.state]++
		}
	}
	for _, state := range []fit.State{fit.StateIdle, fit.StateActive} {
		if all := o.src.Types[typ].GPUs; all > 0 && gpus[state] == all {
			o.track(k, typ).take(o, state, -1, fit.Sample{At: int64(sampled(t, stands)), Watts: t.Power.V}, stands)
			return
		}
	}
	o.close(o.tracks[k])
}

// Meter is a series of a meter at a node.
type Meter struct {
	Node  string
	Name  string       // that errors name
	Times []model.Time // ascending, each once
	Watts []float64
}

// meterSeries stands for a meter in the place of the index of a GPU.
const meterSeries int32 = -2

func (m *Meter) holds(at model.Time) bool {
	return at >= m.Times[0] && at <= m.Times[len(m.Times)-1]
}

// rows are the means of seconds that have readings.
func (m *Meter) rows() iter.Seq[*traces.Telemetry] {
	return func(yield func(*traces.Telemetry) bool) {
		for i := 0; i < len(m.Times); {
			second := secondOf(m.Times[i])
			var mean averaged
			for ; i < len(m.Times) && secondOf(m.Times[i]) == second; i++ {
				mean.add(m.Watts[i], 1)
			}
			if !yield(&traces.Telemetry{Node: m.Node, Time: second, Width: traces.Some(model.Second), Power: traces.Some(mean.mean())}) {
				return
			}
		}
	}
}

func secondOf(at model.Time) model.Time { return at - at%model.Time(model.Second) }

// metersUntil takes what meters said up to an instant.
func (o *observer) metersUntil(at model.Time) {
	for i := range o.meters {
		m := &o.meters[i]
		for m.next != nil && m.next.Time <= at {
			o.node(m.next, true)
			m.next, _ = m.pull()
		}
	}
}

// metering is a meter whose rows are taken with the others as time goes on.
type metering struct {
	pull func() (*traces.Telemetry, bool)
	stop func()
	next *traces.Telemetry
}

func (o *observer) beginMeters() {
	for i := range o.src.Meters {
		m := &o.src.Meters[i]
		o.meterOf[m.Node] = m
		pull, stop := iter.Pull(m.rows())
		next, _ := pull()
		o.meters = append(o.meters, metering{pull, stop, next})
	}
}
