package calibrate

import (
	"cmp"
	"maps"
	"slices"

	"orrery/capture"
	"orrery/capture/energy"
	"orrery/capture/join"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
	"orrery/traces"
)

const (
	// mostSamples is how many readings of one span are kept: beyond it each second one is
	// dropped, as often as it takes.
	mostSamples = 2048
	// pause is for how long a job may show no kernel and still count as at work: steps of
	// training have such pauses, and only longer ones are a checkpoint or a wait.
	pause = 30 * model.Second
	// contextBytes is what a GPU has in use when a process holds memory and none is listed: the
	// driver itself takes up to 0.6 GiB.
	contextBytes = 1 << 30
	// apart is a silence that ends a span.
	apart = 10 * model.Minute
	// lately is for how long behind its row what a GPU does is taken to go on.
	lately = model.Minute
)

// observed is what telemetry says of GPUs and nodes.
type observed struct {
	spans [][]fit.Span // by node type
	nodes [][]fit.Span // of nodes as wholes, by node type
	// byMeter are those by meters, and minutes are of nodes beside their GPUs, by node type.
	byMeter  [][]fit.Span
	minutes  []thinned
	numberOf map[string]int  // of nodes, in minutes
	ofGPU    [][2]fit.Figure // draw of a GPU idle and at work, by node type
	read     map[what]read
	from     model.Time
	to       model.Time
	window   model.Duration // the widest of the rows
	moved    []transfer
	little   int64              // phases that are no transfer
	begun    map[int]model.Time // first kernel of a job, by its row
	ended    map[int]model.Time // the end of its last one
	clocks   map[int]*clocking  // of jobs at work, by their rows
	set      []clockRuns        // runs by the clock that was set
	unset    []Count            // and those without one
	// activity is that of jobs at work alone on a GPU, by node type and row of the job.
	activity []map[int]*fit.ActivityJob

	all, twice, foreign, divided, shared, clocked, metered, partly, quantiles, unpowered, unsaid, unowned int64
	// known is a node of the cluster file that was met, other one that it does not have.
	known, other string
	joined       []Count
	fits         []Count // of readings that were not used
}

// what is a kind of rows: of GPUs or nodes of a type, in a state, of a class at work.
type what struct {
	typ, class int
	node       bool
	meter      bool
	state      fit.State
}

// read is how many rows there are of a kind, and of which time.
type read struct {
	rows     int64
	from, to model.Time
}

// tally counts the rows of a span that ends.
func (o *observed) tally(tr *track, from, to model.Time) {
	of := what{tr.typ, -1, tr.node, tr.meter, tr.span.State}
	if tr.span.State == fit.StateActive && !of.node {
		of.class = tr.span.Class
	}
	r, met := o.read[of]
	if !met {
		r.from = from
	}
	o.read[of] = read{r.rows + int64(tr.seen), min(r.from, from), max(r.to, to)}
	o.from, o.to = min(o.from, from), max(o.to, to)
}

// of is what was read of a GPU of several node types in a state.
func (o *observed) of(types []int, state fit.State, class int) (r read) {
	r.from = model.Never
	for _, t := range types {
		if x, met := o.read[what{t, class, false, false, state}]; met {
			r = read{r.rows + x.rows, min(r.from, x.from), max(r.to, x.to)}
		}
	}
	return r
}

func (o *observed) counts() []Count {
	return append([]Count{
		{"rows of telemetry", o.all},
		{"rows of nodes that the cluster file does not have", o.foreign},
		{"rows of GPUs that MIG divides, of which nothing is fitted", o.divided},
		{"rows of GPUs that several jobs shared", o.shared},
		{"rows of GPUs without power", o.unpowered},
		{"rows of GPUs that do not say whether they work or are held", o.unsaid},
		{"rows of GPUs at work for no known job", o.unowned},
		{"rows of one series and instant a second time", o.twice},
		{"rows of quantiles of windows", o.quantiles},
		{"rows of nodes in the time of their meter, of which its own are taken", o.metered},
		{"minutes of nodes without rows of all their GPUs", o.partly},
		{"phases of I/O too short or too small to be a checkpoint or a load", o.little},
	}, o.joined...)
}

// series is a GPU, or a node as a whole.
type series struct {
	node string
	gpu  int32
}

// observer turns rows into spans.
type observer struct {
	src     *Source
	jobs    *jobTable
	out     *observed
	tracks  map[series]*track
	names   numbers
	whole   int                        // spans of nodes so far
	states  map[string]map[int32]doing // what the GPUs of a node do now, by node
	disk    disk
	last    map[series]model.Time // row of each series
	minutes map[string]*minuting  // by node
	meterOf map[string]*Meter     // by node
	meters  []metering
	divided divided
}

// doing is what a GPU did up to an instant.
type doing struct {
	state fit.State
	until model.Time
}

// track is the span of a series that goes on.
type track struct {
	typ    int
	node   bool // as a whole
	meter  bool // by a meter
	number int
	span   fit.Span
	open   bool
	until  model.Time
	keep   int // each keep-th sample
	seen   int
	paused []fit.Sample // of a pause of the job of the span
	since  model.Time   // when the pause began
	held   bool         // in a pause
	job    int
}

func observe(src *Source, jobs *jobTable) (*observed, error) {
	o := &observer{src: src, jobs: jobs, tracks: map[series]*track{}, names: numbers{}, states: map[string]map[int32]doing{}, disk: disk{processes: map[process]counters{}, jobs: map[int]*[2]phase{}}, last: map[series]model.Time{}, minutes: map[string]*minuting{}, meterOf: map[string]*Meter{},
		out: &observed{from: model.Never, spans: make([][]fit.Span, len(src.Types)), nodes: make([][]fit.Span, len(src.Types)), byMeter: make([][]fit.Span, len(src.Types)), minutes: make([]thinned, len(src.Types)), numberOf: map[string]int{}, ofGPU: make([][2]fit.Figure, len(src.Types)), read: map[what]read{}, activity: make([]map[int]*fit.ActivityJob, len(src.Types)), begun: map[int]model.Time{}, ended: map[int]model.Time{}, clocks: map[int]*clocking{}}}
	if src.Telemetry == nil {
		return o.out, nil
	}
	divided, err := dividedOf(src)
	if err != nil {
		return nil, err
	}
	o.divided = divided
	j, err := join.New(src.Epoch, src.rows(), src.Events)
	if err != nil {
		return nil, err
	}
	j.Each = o.gpu
	o.beginMeters()
	defer func() {
		for i := range o.meters {
			o.meters[i].stop()
		}
	}()
	for t, err := range src.Telemetry() {
		if err != nil {
			return nil, err
		}
		if t.Stat != "" && t.Stat != "mean" {
			o.out.quantiles++
			continue
		}
		o.out.all++
		k := series{t.Node, capture.NodeSeries}
		if t.GPU.OK {
			k.gpu = t.GPU.V
		}
		if last, met := o.last[k]; met && t.Time <= last {
			o.out.twice++
			continue
		}
		o.last[k] = t.Time
		o.metersUntil(t.Time)
		if !t.GPU.OK {
			o.node(t, false)
		}
		if err := j.Row(t); err != nil {
			return nil, err
		}
	}
	o.metersUntil(model.Never)
	o.finishAll()
	for _, k := range slices.SortedStableFunc(maps.Keys(o.tracks), func(a, b series) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.gpu, b.gpu)) }) {
		o.close(o.tracks[k])
	}
	for _, job := range slices.Sorted(maps.Keys(o.disk.jobs)) {
		o.endPhases(job)
	}
	a := &j.Account
	o.out.joined = []Count{{"rows of GPUs by the processes of one job", a.ByProcess}, {"rows of GPUs by the only job recorded on their node", a.ByNode}, {"rows of GPUs that may be of several jobs on their node, of none", a.Ambiguous},
		{"ids of processes that no job has", a.UnknownJobs}}
	return o.out, nil
}

// typeOf is the type of the node of a row; rows of nodes that the cluster file does not have are
// counted.
func (o *observer) typeOf(t *traces.Telemetry) (typ int, known bool) {
	if typ = o.src.TypeOf(t.Node); typ < 0 {
		o.out.foreign++
		o.out.other = t.Node
		return typ, false
	}
	o.out.known = t.Node
	return typ, true
}

// gpu takes a row of a GPU, its processes and the jobs that it is of.
func (o *observer) gpu(t *traces.Telemetry, procs []capture.Process, stands energy.Stretch, of []*join.Measured) {
	typ, known := o.typeOf(t)
	if !known {
		return
	}
	if o.divided.at(t, procs) {
		o.out.divided++
		return
	}
	state, job := fit.StateIdle, -1
	if len(of) > 0 {
		job = of[0].Row()
	}
	works := t.SMUtil.OK && t.SMUtil.V > 0 || t.SMActive.OK && t.SMActive.V > 0
	switch {
	case !t.SMUtil.OK && !t.SMActive.OK, !works && len(procs) == 0 && !t.MemUsed.OK:
		o.out.unsaid++ // whether it works, or whether anything holds it
		return
	case works:
		state = fit.StateActive
	case len(procs) > 0 || t.MemUsed.V >= contextBytes:
		state = fit.StateHeld
	}
	if state == fit.StateIdle {
		job = -1 // it is on other GPUs of the node
	}
	if o.states[t.Node] == nil {
		o.states[t.Node] = map[int32]doing{}
	}
	o.states[t.Node][t.GPU.V] = doing{state, stands.To}
	if works && job >= 0 {
		if _, known := o.out.begun[job]; !known {
			o.out.begun[job] = stands.From
		}
		o.out.ended[job] = max(o.out.ended[job], stands.To)
	}
	o.io(t, stands, procs, job, works)
	if !t.Power.OK {
		o.out.unpowered++
		return
	}
	o.inMinute(t, typ, state, stands)
	k := series{t.Node, t.GPU.V}
	if len(of) > 1 {
		o.out.shared++
		o.close(o.tracks[k])
		return
	}
	if state == fit.StateActive && job < 0 {
		o.out.unowned++
	}
	if state == fit.StateActive && job >= 0 && t.SMActive.OK {
		o.active(typ, job, fit.ActivitySample{Activity: t.SMActive.V, Watts: t.Power.V})
	}
	if state == fit.StateActive && job >= 0 {
		o.clock(t, job)
	}
	o.track(k, typ).take(o, state, job, fit.Sample{At: int64(sampled(t, stands)), Watts: t.Power.V}, stands)
}

// mostActivity is how many rows of a job are kept with their activity.
const mostActivity = 512

func (o *observer) active(typ, job int, s fit.ActivitySample) {
	class := o.jobs.list[job].class
	if class < 0 {
		return
	}
	if o.out.activity[typ] == nil {
		o.out.activity[typ] = map[int]*fit.ActivityJob{}
	}
	j := o.out.activity[typ][job]
	if j == nil {
		j = &fit.ActivityJob{Class: class}
		o.out.activity[typ][job] = j
	}
	if len(j.Samples) < mostActivity {
		j.Samples = append(j.Samples, s)
	}
}

// sampled is when the reading of a row was taken: a window is the mean up to its end.
func sampled(t *traces.Telemetry, s energy.Stretch) model.Time {
	if t.Width.OK {
		return s.To
	}
	return t.Time
}

func (o *observer) track(k series, typ int) *track {
	t := o.tracks[k]
	if t == nil {
		t = &track{typ: typ, node: k.gpu < 0, meter: k.gpu == meterSeries, number: o.names.of(capture.Subject(k.node, max(k.gpu, capture.NodeSeries)))}
		o.tracks[k] = t
	}
	return t
}

// take adds a reading to the span that goes on, or begins another one.
func (tr *track) take(o *observer, state fit.State, job int, s fit.Sample, stands energy.Stretch) {
	o.out.window = max(o.out.window, stands.Width())
	if tr.open && stands.From.Sub(tr.until) > apart {
		o.close(tr)
	}
	if tr.open && tr.span.State != fit.StateActive && stands.To.Sub(model.Time(tr.span.From)) > restSpan(stands.Width()) {
		o.close(tr)
	}
	same := tr.open && tr.span.State == state && tr.job == job
	switch {
	case same:
		for _, p := range tr.paused {
			tr.add(p)
		}
		tr.paused, tr.held = tr.paused[:0], false
	case tr.open && tr.span.State == fit.StateActive && state == fit.StateHeld && tr.job == job && (!tr.held || stands.From.Sub(tr.since) < pause):
		if !tr.held {
			tr.held, tr.since = true, stands.From
		}
		tr.paused = append(tr.paused, s)
		tr.until = stands.To
		return
	default:
		held, since := slices.Clone(tr.paused), tr.since
		was, before := tr.held, tr.job
		o.close(tr)
		if was && before == job && state == fit.StateHeld { // the pause was none: it is a span of its own
			tr.begin(o, state, job, since)
			for _, p := range held {
				tr.add(p)
			}
			break
		}
		tr.begin(o, state, job, stands.From)
	}
	tr.add(s)
	tr.until = stands.To
}

// restSpan is how long a span without work may be: longer ones are several, so that none has
// more samples than are kept. It holds some ten rows where rows are not too far apart for that.
func restSpan(width model.Duration) model.Duration {
	if width <= 30*model.Second {
		return 5 * model.Minute
	}
	return 9 * model.Minute
}

func (tr *track) begin(o *observer, state fit.State, job int, at model.Time) {
	tr.open, tr.job, tr.keep, tr.seen = true, job, 1, 0
	tr.span = fit.Span{GPU: tr.number, State: state, Job: max(job, 0), From: int64(at)}
	switch {
	case job >= 0:
		tr.span.Class = o.jobs.list[job].class
	case state == fit.StateActive && tr.node: // whose jobs do not matter
		tr.span.Job = o.whole
		o.whole++
	case state == fit.StateActive:
		tr.span.Class = -1 // of no known job
	}
}

// add keeps a sample, or passes it over where the span has many.
func (tr *track) add(s fit.Sample) {
	if tr.seen++; tr.seen%tr.keep != 0 {
		return
	}
	tr.span.Samples = append(tr.span.Samples, s)
	if len(tr.span.Samples) < mostSamples {
		return
	}
	half := tr.span.Samples[:0]
	for i := 1; i < mostSamples; i += 2 {
		half = append(half, tr.span.Samples[i])
	}
	tr.span.Samples, tr.keep = half, tr.keep*2
}

// close ends the span of a series. Work of no known job, or of a job in no class, is no
// measurement of a class.
func (o *observer) close(tr *track) {
	if tr == nil || !tr.open {
		return
	}
	end := tr.until
	if tr.held {
		end = tr.since
	}
	tr.span.To = int64(end)
	o.out.tally(tr, model.Time(tr.span.From), end)
	if (tr.span.State != fit.StateActive || tr.span.Class >= 0) && len(tr.span.Samples) > 0 {
		into := o.out.spans
		if tr.node {
			into = o.out.nodes
		}
		if tr.meter {
			into = o.out.byMeter
		}
		into[tr.typ] = append(into[tr.typ], tr.span)
	}
	tr.open, tr.held, tr.paused = false, false, tr.paused[:0]
}
