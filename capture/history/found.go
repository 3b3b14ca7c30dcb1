package history

import (
	"cmp"
	"maps"
	"slices"

	"orrery/capture"
	"orrery/capture/recorded"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Found is what a history holds besides its rows.
type Found struct {
	Requests, Rows int64
	Account        recorded.Account // of the samples that are no part of rows
	series         map[seriesKey]*series
	models         map[string]string // by node
	interval       map[string]model.Duration
}

type seriesKey struct {
	node string
	gpu  int32
}

// series is one GPU, or a node as a whole.
type series struct {
	first, last model.Time
	rows        int64
	often       map[model.Duration]int64 // distances to the row before, in whole seconds
	common      model.Duration           // the most frequent one so far
	far         []distance               // longer ones, in which something may be missing
}

// settled is the number of rows from which on the most frequent distance is believed.
const settled = 20

type distance struct {
	from model.Time
	long model.Duration
}

// New is empty.
func New() *Found {
	return &Found{series: map[seriesKey]*series{}, models: map[string]string{}, interval: map[string]model.Duration{}}
}

func (f *Found) model(node, name string) { f.models[node] = name }

func (f *Found) row(t *traces.Telemetry) {
	f.Rows++
	of := seriesKey{t.Node, capture.NodeSeries}
	if t.GPU.OK {
		of.gpu = t.GPU.V
	}
	s := f.series[of]
	if s == nil {
		s = &series{first: t.Time, last: t.Time, often: map[model.Duration]int64{}}
		f.series[of] = s
	}
	if s.rows++; s.rows > 1 {
		d := t.Time.Sub(s.last)
		rounded := max((d+model.Second/2)/model.Second*model.Second, model.Second)
		if len(s.often) < 1000 || s.often[rounded] > 0 {
			s.often[rounded]++
		}
		if s.often[rounded] > s.often[s.common] {
			s.common = rounded
		}
		if d > s.common+s.common/2 || s.rows < settled {
			s.far = append(s.far, distance{s.last, d})
		}
	}
	s.last = t.Time
}

// end tells the interval of each node: the step, or the most frequent distance of two samples.
func (f *Found) end(q *Query) {
	counts := map[string]map[model.Duration]int64{}
	for _, of := range f.keys() {
		if counts[of.node] == nil {
			counts[of.node] = map[model.Duration]int64{}
		}
		often := f.series[of].often
		for _, d := range slices.Sorted(maps.Keys(often)) {
			counts[of.node][d] += often[d]
		}
	}
	for _, node := range slices.Sorted(maps.Keys(counts)) {
		best, all := q.Step, counts[node]
		if q.Step == 0 {
			for _, d := range slices.Sorted(maps.Keys(all)) {
				if best == 0 || all[d] > all[best] {
					best = d
				}
			}
		}
		f.interval[node] = best
	}
}

// keys are the series by node and GPU.
func (f *Found) keys() []seriesKey {
	return slices.SortedStableFunc(maps.Keys(f.series), func(a, b seriesKey) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.gpu, b.gpu)) })
}

// Nodes are the rows of the table nodes, by name.
func (f *Found) Nodes() (nodes []traces.Node) {
	gpus := map[string]int32{}
	for _, of := range f.keys() {
		gpus[of.node] += 0
		if of.gpu != capture.NodeSeries {
			gpus[of.node]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gpus)) {
		nodes = append(nodes, traces.Node{Name: name, GPUs: gpus[name], GPUModel: f.models[name], Up: true})
	}
	return nodes
}

// Events are the records of a history, with absolute instants ascending: the interval of each node, and for each of its series the time
// of which Prometheus has nothing, the beginning and the end of what was asked for among them.
func (f *Found) Events(q *Query) (events []traces.Event) {
	for _, node := range slices.Sorted(maps.Keys(f.interval)) {
		if every := f.interval[node]; every > 0 {
			r := capture.Record{Record: capture.RecordMode, Mode: "history", Interval: every}
			events = append(events, r.Event(q.From, node))
		}
	}
	for _, of := range f.keys() {
		s, every := f.series[of], f.interval[of.node]
		if every == 0 {
			continue
		}
		gap := func(from model.Time, long model.Duration, n int64) {
			if n > 0 {
				r := capture.Record{Record: capture.RecordGap, Samples: n, Span: long, Reason: capture.GapUnscraped}
				events = append(events, r.Event(from, capture.Subject(of.node, of.gpu)))
			}
		}
		before, after := int64(s.first.Sub(q.From)/every), int64((q.To.Sub(s.last)-1)/every)
		gap(s.first.Add(-model.Duration(before)*every), model.Duration(before)*every, before)
		for _, d := range s.far {
			if d.long > every+every/2 {
				gap(d.from.Add(every), d.long-every, int64((d.long+every/2)/every)-1)
			}
		}
		gap(s.last.Add(every), model.Duration(after)*every, after)
	}
	slices.SortStableFunc(events, func(a, b traces.Event) int { return cmp.Compare(a.Time, b.Time) })
	return events
}

// Missing is how many samples a record says are not there.
func Missing(e *traces.Event) int64 {
	r, err := capture.ReadRecord(e)
	if err != nil || r.Record != capture.RecordGap {
		return 0
	}
	return r.Samples
}
