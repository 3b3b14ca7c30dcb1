// Package join gives jobs what was measured of the GPUs that they ran on: power, utilisation and I/O. A sample belongs to the jobs whose
// processes were on the GPU, by the id that their cgroups name and the time at which it ran; without any, to the only job that is recorded
// on the node at that time. It must not know files.
package join

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/hostlist"
)

// Measured is what was measured of one row of the jobs: a job, or one attempt of one that was requeued.
type Measured struct {
	start, end  model.Time // when it ran, absolute; start is Never where that is not recorded
	row         int
	First, Last model.Time // of its samples, the end of the last one
	GPUSeconds  float64    // measured, split where GPUs were shared
	Shared      float64    // part of GPUSeconds on GPUs with processes of other jobs
	Joules      float64    // of the GPUs; of a shared GPU an equal part
	Bytes       int64      // read from and written to storage by its processes
	BytesKnown  bool
	sms, active sums
}

type sums struct{ sum, weight float64 }

func (s *sums) add(v traces.Opt[float64], weight float64) {
	if v.OK {
		s.sum += float64(v.V * weight)
		s.weight += weight
	}
}

func (s *sums) mean() traces.Opt[float64] {
	return traces.Opt[float64]{V: s.sum / max(s.weight, 1e-9), OK: s.weight > 0}
}

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
	Seconds     float64 // of all rows
}

// Joiner collects what was measured. Jobs have instants relative to Epoch.
type Joiner struct {
	Account Account
	epoch   model.Time
	jobs    map[string][]*Measured // by id, in the order of the rows
	onNode  map[string]*timetable  // by node
	io      map[process]traces.Opt[int64]
	widths  widths
	strange map[string]bool
	rows    int
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

// New takes the jobs of a trace and the records of the telemetry. A list of nodes that cannot be read is an error.
func New(epoch model.Time, jobs iter.Seq2[*traces.Job, error], events []traces.Event) (*Joiner, error) {
	j := &Joiner{epoch: epoch, jobs: map[string][]*Measured{}, onNode: map[string]*timetable{}, io: map[process]traces.Opt[int64]{}, widths: newWidths(events), strange: map[string]bool{}}
	for job, err := range jobs {
		if err != nil {
			return nil, err
		}
		id := strconv.FormatInt(job.ID, 10)
		m := &Measured{start: model.Never, end: model.Never, row: j.rows}
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
		for _, term := range hostlist.Terms(job.RecordedNodes, ",; ") {
			nodes, err := hostlist.Expand(term, mostNodes)
			if err != nil {
				return nil, &traces.DataError{Column: "recorded_nodes", Found: job.RecordedNodes, Expected: "a list of nodes like n[1-8]"}
			}
			for _, node := range nodes {
				if j.onNode[node] == nil {
					j.onNode[node] = &timetable{}
				}
				j.onNode[node].later = append(j.onNode[node].later, m)
			}
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
	width := j.widths.of(t)
	a := &j.Account
	a.Rows++
	a.Seconds += width.Seconds()
	owners, other := j.owners(procs, t.Time, width)
	j.bytes(t, procs, width)
	if !t.GPU.OK {
		return nil // of the node as a whole
	}
	if other {
		a.OtherTime++
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
	for _, m := range owners {
		m.add(t, width, len(owners))
	}
	return nil
}

func (m *Measured) add(t *traces.Telemetry, width model.Duration, sharing int) {
	if m.GPUSeconds == 0 {
		m.First = t.Time
	}
	m.Last = max(m.Last, t.Time.Add(width))
	part := width.Seconds() / float64(sharing)
	m.GPUSeconds += part
	if sharing > 1 {
		m.Shared += part
	}
	m.Joules += float64(t.Power.V * part)
	m.sms.add(t.SMUtil, part)
	m.active.add(t.SMActive, part)
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
	rows := j.jobs[strconv.FormatInt(id, 10)]
	if row >= len(rows) || rows[row].GPUSeconds == 0 {
		return nil
	}
	return rows[row]
}

// Apply writes into a job what was measured: power (mean W of its GPUs from its first to its last sample), io_demand (B/s over the
// same time), and in extra the means of utilisation and SM activity, the GPU time, and which part of it was on shared GPUs. What the job had in
// these columns is replaced. An extra that is no JSON object is an error.
func (m *Measured) Apply(job *traces.Job) error {
	seconds := m.Last.Sub(m.First).Seconds()
	if seconds <= 0 {
		return nil
	}
	job.Power = traces.Some(int64(math.Round(m.Joules / seconds)))
	if m.BytesKnown {
		job.IODemand = traces.Some(int64(math.Round(float64(m.Bytes) / seconds)))
	}
	extra := map[string]json.RawMessage{}
	if job.Extra != "" {
		if err := json.Unmarshal([]byte(job.Extra), &extra); err != nil {
			return &traces.DataError{Column: "extra", Found: job.Extra, Expected: "a JSON object"}
		}
	}
	put := func(name string, v traces.Opt[float64]) {
		delete(extra, name)
		if v.OK {
			extra[name] = strconv.AppendFloat(nil, v.V, 'g', 6, 64)
		}
	}
	put("measured_gpu_seconds", traces.Some(m.GPUSeconds))
	put("measured_shared", traces.Some(m.Shared/m.GPUSeconds))
	put("measured_sm_util", m.sms.mean())
	put("measured_sm_active", m.active.mean())
	text, err := json.Marshal(extra) // keys ascend
	if err != nil {
		return err
	}
	job.Extra = string(text)
	return nil
}

// Jobs counts the rows of which something was measured.
func (j *Joiner) Jobs() (n int) {
	for _, id := range slices.Sorted(maps.Keys(j.jobs)) {
		for _, m := range j.jobs[id] {
			if m.GPUSeconds > 0 {
				n++
			}
		}
	}
	return n
}
