// Package join gives jobs what was measured of the GPUs that they ran on: power, utilisation and I/O. A sample belongs to the jobs whose
// processes were on the GPU, by the id that their cgroups name and the time at which it ran; without any, to the only job that is recorded
// on the node at that time. It must not know files.
package join

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"

	"orrery/capture"
	"orrery/capture/energy"
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/hostlist"
)

// Account says what became of the samples, in GPU time.
type Account struct {
	Rows        int64   // samples and means
	ByProcess   int64   // of a job by its processes
	ByNode      int64   // of the only job that is recorded on the node
	Shared      int64   // of several jobs by their processes: power is split equally, utilisation is counted for each
	Ambiguous   int64   // without processes, and several jobs are recorded on the node: of none
	Idle        int64   // of no job
	UnknownJobs int64   // ids of processes that no job has
	OtherTime   int64   // with processes of a job that had not begun by then, or had ended: as without them
	OfNodes     int64   // of nodes as a whole on which one job was alone
	Doubts      int64   // differences of energy counters that power cannot explain: power stands in
	Between     float64 // s without samples, between those of different jobs: of none
	Seconds     float64 // of all rows
}

// Joiner collects what was measured. Jobs have instants relative to Epoch.
type Joiner struct {
	Account Account
	// Each, where it is set, is handed each row of a GPU with its processes, the time that it
	// stands for and the jobs that it is of.
	Each    func(t *traces.Telemetry, procs []capture.Process, stands energy.Stretch, of []*Measured)
	epoch   model.Time
	jobs    map[string][]*Measured // by id, in the order of the rows
	onNode  map[string]*timetable  // by node
	io      map[process]traces.Opt[int64]
	stands  *energy.Stretches
	meters  map[series]*energy.Meter[[]*Measured]
	lately  map[string]*present // by node: jobs by their processes
	strange map[string]bool
	rows    int
	over    bool // all rows were taken
}

// present are the jobs whose processes were on a node at an instant.
type present struct {
	at   model.Time
	jobs []*Measured
}

// timetable is the jobs of a node as time goes on.
type timetable struct {
	now   []*Measured
	later []*Measured // ascending by start
}

// mostNodes is how many a list may name: more is a mistake.
const mostNodes = 1 << 20

type process struct {
	node string
	pid  int
	job  string
}

// NodesOf are the nodes that a job is recorded on, none where its row does not say.
func NodesOf(job *traces.Job) ([]string, error) {
	nodes, err := hostlist.ExpandList(job.RecordedNodes, ",; ", mostNodes)
	if err != nil {
		return nil, &traces.DataError{Column: "recorded_nodes", Found: job.RecordedNodes, Expected: "a list of nodes like n[1-8]"}
	}
	return nodes, nil
}

// New takes the jobs of a trace and the records of the telemetry. A list of nodes that cannot be read is an error.
func New(epoch model.Time, jobs iter.Seq2[*traces.Job, error], events []traces.Event) (*Joiner, error) {
	j := &Joiner{epoch: epoch, jobs: map[string][]*Measured{}, onNode: map[string]*timetable{}, io: map[process]traces.Opt[int64]{}, strange: map[string]bool{},
		stands: energy.NewStretches(events), meters: map[series]*energy.Meter[[]*Measured]{}, lately: map[string]*present{}}
	for job, err := range jobs {
		if err != nil {
			return nil, err
		}
		id := strconv.FormatInt(job.ID, 10)
		m := &Measured{start: model.Never, end: model.Never, row: j.rows, nodes: int(job.NodesMin.V), draws: map[series]*draw{}}
		j.rows++
		j.jobs[id] = append(j.jobs[id], m)
		if !job.Start.OK {
			continue
		}
		m.start = epoch.Add(model.Duration(job.Start.V))
		switch {
		case job.End.OK:
			m.end = epoch.Add(model.Duration(job.End.V))
		case job.Runtime.OK:
			m.end = m.start.Add(job.Runtime.V)
		}
		if job.RecordedNodes == "" {
			continue
		}
		nodes, err := NodesOf(job)
		if err != nil {
			return nil, err
		}
		m.nodes = len(nodes)
		for _, node := range nodes {
			if j.onNode[node] == nil {
				j.onNode[node] = &timetable{}
			}
			j.onNode[node].later = append(j.onNode[node].later, m)
		}
	}
	for _, node := range slices.Sorted(maps.Keys(j.onNode)) {
		slices.SortStableFunc(j.onNode[node].later, func(a, b *Measured) int { return cmp.Compare(a.start, b.start) })
	}
	return j, nil
}

// Row takes a row of telemetry with an absolute instant; rows ascend by time. Of windows the mean counts.
func (j *Joiner) Row(t *traces.Telemetry) error {
	if t.Stat != "" && t.Stat != "mean" {
		return nil
	}
	procs, err := capture.Decode(t.Processes)
	if err != nil {
		return &traces.DataError{Column: "processes", Found: t.Processes, Expected: "an array of processes"}
	}
	stands := j.stands.Of(t)
	width := stands.Width()
	a := &j.Account
	a.Rows++
	a.Seconds += width.Seconds()
	owners, other := j.owners(procs, t.Time, width)
	j.bytes(t, procs, width)
	if t.GPU.OK {
		owners = j.ofGPU(t, owners, other)
		for _, m := range owners {
			m.add(t, stands, len(owners))
		}
		if j.Each != nil {
			j.Each(t, procs, stands, owners)
		}
	} else {
		owners = j.ofNode(t, width)
	}
	j.meter(t).Row(stands, owners, t)
	return nil
}

// ofGPU are the jobs that a sample of a GPU belongs to: those of its processes, else the only one on the node.
func (j *Joiner) ofGPU(t *traces.Telemetry, owners []*Measured, other bool) []*Measured {
	a := &j.Account
	if other {
		a.OtherTime++
	}
	if len(owners) > 0 {
		p := j.lately[t.Node]
		if p == nil || p.at != t.Time {
			p = &present{at: t.Time}
			j.lately[t.Node] = p
		}
		p.jobs = append(p.jobs, owners...)
	}
	switch {
	case len(owners) > 1:
		a.Shared++
	case len(owners) == 1:
		a.ByProcess++
	default:
		if owners = j.there(t.Node, t.Time); len(owners) > 1 {
			a.Ambiguous++
			return nil
		}
		if len(owners) == 0 {
			a.Idle++
			return nil
		}
		a.ByNode++
	}
	return owners
}

// ofNode is the job that was alone on a node: the only one recorded there, or where none is the only one with processes there.
func (j *Joiner) ofNode(t *traces.Telemetry, width model.Duration) []*Measured {
	all := j.there(t.Node, t.Time)
	if p := j.lately[t.Node]; p != nil && t.Time.Sub(p.at) <= max(width, slack) && len(all) == 0 {
		all = append(all, p.jobs...)
		slices.SortStableFunc(all, func(a, b *Measured) int { return cmp.Compare(a.row, b.row) })
		all = slices.Compact(all)
	}
	if len(all) > 1 {
		for _, m := range all {
			m.beside = true
		}
		return nil
	}
	j.Account.OfNodes += int64(len(all))
	return all
}

// meter is that of the GPU or node of a row.
func (j *Joiner) meter(t *traces.Telemetry) *energy.Meter[[]*Measured] {
	of := series{t.Node, capture.NodeSeries}
	if t.GPU.OK {
		of.gpu = t.GPU.V
	}
	m := j.meters[of]
	if m == nil {
		m = &energy.Meter[[]*Measured]{Settle: func(p energy.Part[[]*Measured]) { j.consumed(of, p) }}
		j.meters[of] = m
	}
	return m
}

// consumed gives the jobs of a piece of time what was consumed in it. Time without samples is of those that have the samples on both sides.
func (j *Joiner) consumed(of series, p energy.Part[[]*Measured]) {
	if p.Gap && !slices.Equal(p.Of, p.Then) {
		j.Account.Between += p.Seconds
		return
	}
	for _, m := range p.Of {
		d := m.draws[of]
		if d == nil {
			d = &draw{}
			m.draws[of] = d
		}
		if p.Joules.OK {
			d.joules += p.Joules.V / float64(len(p.Of))
			d.known += p.Seconds
		} else {
			d.unknown += p.Seconds
		}
	}
}

// end settles what is open.
func (j *Joiner) end() {
	if j.over {
		return
	}
	j.over = true
	for _, of := range slices.SortedStableFunc(maps.Keys(j.meters), ascending) {
		j.meters[of].End()
		j.Account.Doubts += j.meters[of].Doubts.Sum()
	}
}

func ascending(a, b series) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.gpu, b.gpu))
}

// owners are the jobs of processes, each once, in the order of the rows. other says that some have an id that a job had at another time.
func (j *Joiner) owners(procs []capture.Process, at model.Time, width model.Duration) (found []*Measured, other bool) {
	for _, p := range procs {
		if p.Job == "" {
			continue
		}
		rows := j.jobs[p.Job]
		if len(rows) == 0 && !j.strange[p.Job] {
			j.strange[p.Job] = true
			j.Account.UnknownJobs++
		}
		if m := running(rows, at, width); m != nil {
			found = append(found, m)
		} else {
			other = other || len(rows) > 0
		}
	}
	slices.SortStableFunc(found, func(a, b *Measured) int { return cmp.Compare(a.row, b.row) })
	return slices.Compact(found), other
}

// slack is for how long after its end, and before its start, a sample is of a job whose process it names: clocks differ, and processes are
// cleaned up after the end.
const slack = model.Minute

// running is the row, of those with one id, that ran during a sample: attempts of a job have the same id at different times, and an id comes
// again when a cluster has counted to its last one. A row that does not say when it ran stands for any time, if there is no other.
func running(rows []*Measured, at model.Time, width model.Duration) (best *Measured) {
	until := at.Add(max(width, 1))
	least := slack + 1
	var timeless *Measured
	for _, m := range rows {
		if m.start == model.Never {
			timeless = cmp.Or(timeless, m)
			continue
		}
		if d := max(m.start.Sub(until), at.Sub(m.end), -1); d < least {
			best, least = m, d
		}
	}
	return cmp.Or(best, timeless)
}

// there are the jobs that are recorded on a node at an instant.
func (j *Joiner) there(node string, at model.Time) []*Measured {
	t := j.onNode[node]
	if t == nil {
		return nil
	}
	for len(t.later) > 0 && t.later[0].start <= at {
		t.now, t.later = append(t.now, t.later[0]), t.later[1:]
	}
	t.now = slices.DeleteFunc(t.now, func(m *Measured) bool { return m.end <= at })
	return slices.Clone(t.now)
}

// bytes adds what processes read and wrote since their sample before. The first sample of a process counts from 0: it has
// begun with the job.
func (j *Joiner) bytes(t *traces.Telemetry, procs []capture.Process, width model.Duration) {
	for _, p := range procs {
		m := running(j.jobs[p.Job], t.Time, width)
		if m == nil || p.Read == nil || p.Written == nil {
			continue
		}
		of := process{t.Node, p.PID, p.Job}
		now, before := *p.Read+*p.Written, j.io[of]
		if now > before.V {
			m.Bytes += now - before.V
			j.io[of] = traces.Some(now)
		}
		m.BytesKnown = true
	}
}

// Job is what was measured of a row of the jobs, the one that New took as the number row of those with its id; nil when nothing was.
func (j *Joiner) Job(id int64, row int) *Measured {
	j.end()
	rows := j.jobs[strconv.FormatInt(id, 10)]
	if row >= len(rows) || !rows[row].measured() {
		return nil
	}
	return rows[row]
}

// Found says of how many rows of the jobs something was measured.
type Found struct {
	Jobs       int64
	NodePower  int64 // the power of all their nodes: column power
	GPUPower   int64 // the power of all their GPUs: measured_gpu_power
	NoGPUPower int64 // of those with GPUs: the power of any is not known
}

// Found counts them.
func (j *Joiner) Found() (f Found) {
	j.end()
	for _, id := range slices.Sorted(maps.Keys(j.jobs)) {
		for _, m := range j.jobs[id] {
			if !m.measured() {
				continue
			}
			f.Jobs++
			if m.NodePower().OK {
				f.NodePower++
			}
			switch {
			case m.GPUPower().OK:
				f.GPUPower++
			case m.GPUSeconds > 0:
				f.NoGPUPower++
			}
		}
	}
	return f
}
