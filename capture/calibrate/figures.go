package calibrate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
)

// draws are what GPUs draw idle and held, by node type, and at work, by class.
func draws(src *Source, jobs *jobTable, seen *observed) (out []Finding, err error) {
	if seen.all == 0 {
		return []Finding{refused(whole(GPUIdle), "no telemetry", "rows of GPUs with power and utilisation", "run orrery capture nvml on the nodes, or convert what nvidia-smi, DCGM-exporter or Prometheus have kept")}, nil
	}
	for i, t := range src.Types {
		if t.GPUs == 0 || t.GPU == "" {
			continue
		}
		sensor := src.SensorOf(i)
		sensor.Window = max(sensor.Window, seen.window)
		spans, rows, first := ofGPU(src, seen, t.GPU)
		if rows == 0 {
			out = append(out, refused(Target{Type: i, Class: -1, Key: GPUIdle}, "no rows of nodes of type "+t.Name, "telemetry of some of its nodes, under the names of the cluster file", "run orrery capture nvml --node NAME on them"))
			continue
		}
		f, err := fit.States(spans, sensor)
		if err != nil {
			return nil, err
		}
		about := Finding{Unit: "W", Rows: rows, From: seen.from, To: seen.to, Valid: sensorText(&sensor)}
		for _, one := range []struct {
			key   string
			state fit.State
			fit.Figure
		}{{GPUIdle, fit.StateIdle, f.Idle}, {GPUHeld, fit.StateHeld, f.Held}} {
			found := about
			found.Target, found.Figure = Target{Type: i, Class: -1, Key: one.key}, one.Figure
			out = append(out, found)
		}
		if i != first {
			continue
		}
		byActivity, err := drawByActivity(&sensor, seen, i, t.GPU, f.Idle, about)
		if err != nil {
			return nil, err
		}
		out = append(out, byActivity)
		for _, c := range f.Classes {
			found := about
			found.Target, found.Figure, found.Spread = Target{Type: -1, Class: c.Class, GPU: t.GPU, Key: ClassPower}, c.Median, true
			out = append(out, found)
		}
	}
	for c, name := range src.Classes {
		if !slices.ContainsFunc(out, func(f Finding) bool { return f.Class == c && f.Key == ClassPower }) {
			found := "no rows of jobs of class " + name
			if len(jobs.list) == 0 {
				found = "no jobs"
			}
			out = append(out, refused(Target{Type: -1, Class: c, Key: ClassPower}, found, "jobs of the class, each alone on its GPUs, while their GPUs were measured", "give the trace of the jobs by --jobs, such as orrery capture slurm writes, with recorded_nodes"))
		}
	}
	return out, nil
}

// ofGPU are the spans of a GPU on nodes of all types that have it, their rows, and the first of
// these types: what a GPU draws does not depend on its node.
func ofGPU(src *Source, seen *observed, gpu string) (spans []fit.Span, rows int64, first int) {
	first = -1
	for i, t := range src.Types {
		if t.GPU != gpu {
			continue
		}
		if first < 0 {
			first = i
		}
		spans, rows = append(spans, seen.spans[i]...), rows+seen.rows[i]
	}
	return spans, rows, first
}

// drawByActivity is the exponent of the draw of a GPU by the activity of its multiprocessors. No
// replay goes by it: a trace does not say the activity of a job.
func drawByActivity(sensor *fit.Sensor, seen *observed, typ int, gpu string, idle fit.Figure, about Finding) (Finding, error) {
	about.Target, about.Unit = Target{Type: typ, Class: -1, GPU: gpu, Key: Alpha}, "number"
	if !idle.Known() {
		return refused(about.Target, "no idle draw", "it", "see gpu_idle_power"), nil
	}
	var jobs []fit.ActivityJob
	for _, id := range slices.Sorted(maps.Keys(seen.activity[typ])) {
		j := *seen.activity[typ][id]
		for i := range j.Samples {
			j.Samples[i].Watts = (j.Samples[i].Watts - sensor.Offset.Value) / sensor.Gain.Value
		}
		jobs = append(jobs, j)
	}
	source := fit.SMActive
	if len(jobs) == 0 {
		source = fit.Residency
	}
	f, err := fit.Activity(source, jobs, idle.Band)
	about.Figure = f.Alpha
	return about, err
}

func sensorText(s *fit.Sensor) string {
	if s.Metered {
		return "readings corrected by a meter"
	}
	if s.Gain.Value != 1 || s.Offset.Value != 0 {
		return fmt.Sprintf("readings corrected by the meter of one card (gain %.3f, offset %.1f W); the range has %.0f %% either way for the others", s.Gain.Value, s.Offset.Value, 100*(s.Gain.High/s.Gain.Value-1))
	}
	return fmt.Sprintf("readings of the cards, which no meter has checked: the range has %.0f %% either way for that", 100*(s.Gain.High-1))
}

// nodeDraws are what nodes draw as wholes, where that was measured.
func nodeDraws(src *Source, _ *jobTable, seen *observed) (out []Finding, err error) {
	sensor := fit.Unmetered(0, max(model.Second, seen.window))
	for i, t := range src.Types {
		idle := Target{Type: i, Class: -1, Key: NodeIdle}
		if len(seen.nodes[i]) == 0 {
			if t.GPUs > 0 && seen.rows[i] > 0 {
				out = append(out, refused(idle, "no rows of nodes of type "+t.Name+" as wholes while all their GPUs were idle or all at work", "power of nodes by their BMC or a meter, in rows without gpu",
					"merge the power of node_exporter (node_hwmon_power_average_watt) or of a meter by orrery capture convert and merge; until then idle_power is what the file says"))
			}
			continue
		}
		f, err := fit.States(seen.nodes[i], sensor)
		if err != nil {
			return nil, err
		}
		about := Finding{Unit: "W", From: seen.from, To: seen.to, Valid: "power of whole nodes as their own sensors say it, ±6 % for these"}
		for _, s := range seen.nodes[i] {
			about.Rows += int64(len(s.Samples))
		}
		for _, one := range []struct {
			key   string
			state fit.State
			fit.Figure
		}{{NodeIdle, fit.StateIdle, f.Idle}, {NodeBusy, fit.StateActive, f.Active}} {
			found := about
			found.Target, found.Figure = Target{Type: i, Class: -1, Key: one.key}, one.Figure
			found.Figure.Units = "spans"
			out = append(out, found)
		}
	}
	return out, nil
}

// transfers are the bandwidth of checkpoints and of what jobs read before they compute, and the
// size of checkpoints by class.
func transfers(src *Source, jobs *jobTable, seen *observed) (out []Finding, err error) {
	var moved [2][]fit.Transfer
	sizes := make([][]float64, len(src.Classes))
	for _, m := range seen.moved {
		if m.seconds <= 0 {
			continue
		}
		switch {
		case m.write:
			moved[1] = append(moved[1], fit.Transfer{Bytes: float64(m.bytes), Seconds: m.seconds})
			if c := jobs.list[m.job].class; c >= 0 {
				sizes[c] = append(sizes[c], float64(m.bytes))
			}
		case m.first:
			moved[0] = append(moved[0], fit.Transfer{Bytes: float64(m.bytes), Seconds: m.seconds})
		}
	}
	for i, key := range []string{RestoreBandwidth, CheckpointBandwidth} {
		what := []string{"phases in which a job read before it computed", "phases in which a job wrote and computed nothing"}[i]
		const least = 10
		if len(moved[i]) < least {
			out = append(out, refused(whole(key), plural(len(moved[i]), what), plural(least, "at least"), "record jobs that write checkpoints, with processes in the telemetry (the agent must be allowed to read /proc/PID/io)"))
			continue
		}
		f, err := fit.Bandwidth(moved[i])
		if err != nil {
			return nil, err
		}
		found := Finding{Target: whole(key), Figure: f.Rate, Unit: "B/s", Rows: int64(len(moved[i])), From: seen.from, To: seen.to}
		if f.Rate.Known() {
			found.Valid = fmt.Sprintf("transfers of %.3g to %.3g GB; %s", f.Rate.Valid.Low/1e9, f.Rate.Valid.High/1e9, what)
		}
		for _, m := range moved[i] {
			found.Points = append(found.Points, m.Bytes/m.Seconds)
		}
		out = append(out, found)
	}
	for c := range src.Classes {
		if len(sizes[c]) < leastSizes {
			continue
		}
		out = append(out, Finding{Target: Target{Type: -1, Class: c, Key: CheckpointBytes}, Figure: fit.Figure{Estimate: fit.MedianOf(sizes[c], "checkpoints")}, Unit: "B",
			Rows: int64(len(sizes[c])), From: seen.from, To: seen.to, Points: sizes[c], Valid: "what one process wrote while its GPU computed nothing"})
	}
	return out, nil
}

// leastSizes is how many checkpoints of a class say their size.
const leastSizes = 6

// startDelays are how long jobs hold their nodes before their first kernel.
func startDelays(_ *Source, jobs *jobTable, seen *observed) ([]Finding, error) {
	var list []fit.Watched
	var points []float64
	for i := range jobs.list {
		j := &jobs.list[i]
		at, ok := seen.begun[i]
		if !ok || j.start == model.Never {
			continue
		}
		d := max(0, at.Sub(j.start))
		list, points = append(list, fit.Watched{For: d, Ended: true}), append(points, float64(d))
	}
	to := whole(StartDelay)
	if len(list) == 0 {
		return []Finding{refused(to, "no job with a recorded start and a first kernel", "jobs with start and the telemetry of their GPUs", "give the trace of the jobs by --jobs")}, nil
	}
	f, err := fit.Delays(list)
	if err != nil {
		return nil, err
	}
	for _, q := range f.Quantiles {
		if q.P == 0.5 {
			return []Finding{{Target: to, Figure: q.Time, Unit: "µs", Rows: int64(len(list)), From: seen.from, To: seen.to, Points: points,
				Valid: fmt.Sprintf("from the recorded start to the first row with a kernel, to within %s", seen.window)}}, nil
		}
	}
	return nil, nil
}

// speeds are how fast jobs of a class ran by GPU, and by the number of their nodes, from jobs
// that did the same work in several ways.
func speeds(src *Source, jobs *jobTable, _ *observed) (out []Finding, err error) {
	for c := range src.Classes {
		byGPU, err := ratios(src, jobs, c, Throughput, func(j *job, gpu string) (way, rest string) {
			return gpu, fmt.Sprint(len(j.nodes))
		})
		if err != nil {
			return nil, err
		}
		byNodes, err := ratios(src, jobs, c, Steps, func(j *job, gpu string) (way, rest string) {
			return fmt.Sprint(len(j.nodes)), gpu
		})
		if err != nil {
			return nil, err
		}
		out = append(append(out, byGPU...), byNodes...)
	}
	return out, nil
}

// ratios compares the ways in which jobs of a class ran with the one that most of them took.
func ratios(src *Source, jobs *jobTable, class int, key string, of func(*job, string) (way, rest string)) ([]Finding, error) {
	ways, keys := numbers{}, numbers{}
	var runs []fit.Run
	var names []string
	count := map[int]int{}
	about := Finding{Unit: "factor", Spread: true, From: model.Never, Valid: "jobs of one name, user and number of GPUs that completed"}
	for i := range jobs.list {
		j := &jobs.list[i]
		gpu := gpuOf(src, j.nodes)
		if j.class != class || !j.complete || j.ran <= 0 || gpu == "" {
			continue
		}
		way, rest := of(j, gpu)
		id := ways.of(way)
		if id == len(names) {
			names = append(names, way)
		}
		count[id]++
		runs = append(runs, fit.Run{Key: keys.of(j.what + " " + rest), Way: id, Seconds: j.ran.Seconds()})
		if j.start != model.Never {
			about.From, about.To = min(about.From, j.start), max(about.To, j.start.Add(j.ran))
		}
	}
	about.Rows = int64(len(runs))
	if len(names) < 2 {
		return nil, nil // they ran in one way, and nothing is claimed
	}
	base := 0
	for id := range names {
		if count[id] > count[base] || key == Steps && count[id] > 0 && fewerNodes(names[id], names[base]) {
			base = id
		}
	}
	fits, err := fit.Ratios(runs, base)
	if err != nil {
		return nil, err
	}
	out := []Finding{baseOf(about, class, key, names[base], count[base])}
	for _, f := range fits {
		found := about
		found.Target = target(class, key, names[f.Way])
		found.Figure = f.Ratio
		if key == Throughput && f.Ratio.Known() {
			found.Figure.Band.Value, found.Figure.Low, found.Figure.High = 1/f.Ratio.Value, 1/f.Ratio.High, 1/f.Ratio.Low
			found.Figure.Spread = fit.Range{Low: 1 / f.Ratio.Spread.High, High: 1 / f.Ratio.Spread.Low}
		}
		out = append(out, found)
	}
	if !slices.ContainsFunc(out[1:], func(f Finding) bool { return f.Figure.Known() }) {
		return out[1:], nil // without another row that of the base says nothing
	}
	return out, nil
}

func fewerNodes(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && a < b
}

func target(class int, key, way string) Target {
	t := Target{Type: -1, Class: class, Key: key}
	if key == Throughput {
		t.GPU = way
		return t
	}
	_, _ = fmt.Sscan(way, &t.Nodes)
	return t
}

// baseOf is the row that the others are relative to.
func baseOf(about Finding, class int, key, way string, n int) Finding {
	about.Target = target(class, key, way)
	about.Figure.Value, about.Figure.Low, about.Figure.High = 1, 1, 1
	about.Figure.Spread = fit.Range{Low: 1, High: 1}
	about.Figure.N, about.Figure.Units, about.Base = n, "jobs", true
	about.Valid = "the others are relative to it"
	return about
}

// gpuOf is the GPU of all the nodes, "" where they differ or one is not known.
func gpuOf(src *Source, nodes []string) string {
	gpu := ""
	for i, n := range nodes {
		t := src.TypeOf(n)
		if t < 0 || src.Types[t].GPU == "" || i > 0 && src.Types[t].GPU != gpu {
			return ""
		}
		gpu = src.Types[t].GPU
	}
	return gpu
}

// breakdowns are how long nodes work before they go down, and how long they are down.
func breakdowns(src *Source, jobs *jobTable, seen *observed) ([]Finding, error) {
	from, to := window(src, jobs, seen)
	if from == model.Never {
		return []Finding{refused(whole(MTBF), "no rows, jobs or events that say how long was recorded", "a record of some length", "give a bundle with telemetry, jobs or events")}, nil
	}
	down := map[string]model.Time{} // since when a node is down
	up := map[string]model.Time{}   // since when it works, where not from the beginning on
	var works, repairs []fit.Watched
	known := map[string]bool{}
	for _, n := range src.Nodes {
		known[n] = true
	}
	failures := 0
	for i := range src.Events {
		e := &src.Events[i]
		if e.Kind != "down" && e.Kind != "up" || !known[e.Subject] {
			continue
		}
		since, isDown := down[e.Subject]
		switch {
		case e.Kind == "down" && !isDown:
			failures++
			down[e.Subject] = e.Time
			if d := e.Time.Sub(cmp.Or(up[e.Subject], from)); d > 0 {
				works = append(works, fit.Watched{For: d, Ended: true})
			}
		case e.Kind == "up" && isDown:
			if d := e.Time.Sub(since); d > 0 {
				repairs = append(repairs, fit.Watched{For: d, Ended: true})
			}
			delete(down, e.Subject)
			up[e.Subject] = e.Time
		}
	}
	if failures == 0 {
		return []Finding{refused(whole(MTBF), "no event down of a node of the cluster file", "the events of the site, with down and up", "give a bundle with them, such as orrery capture slurm writes")}, nil
	}
	for _, n := range src.Nodes {
		if since, isDown := down[n]; isDown {
			if d := to.Sub(since); d > 0 {
				repairs = append(repairs, fit.Watched{For: d})
			}
		} else if d := to.Sub(cmp.Or(up[n], from)); d > 0 {
			works = append(works, fit.Watched{For: d})
		}
	}
	return lifetimes(works, repairs, Finding{From: from, To: to, Unit: "µs"})
}

func lifetimes(works, repairs []fit.Watched, about Finding) ([]Finding, error) {
	life, err := fit.Censored(works)
	if err != nil {
		return nil, err
	}
	add := func(out []Finding, key, unit string, f fit.Figure, sample []fit.Watched, valid string) []Finding {
		found := about
		found.Target, found.Figure, found.Unit, found.Valid, found.Rows = whole(key), f, unit, valid, int64(len(sample))
		for _, w := range sample {
			if w.Ended {
				found.Points = append(found.Points, float64(w.For))
			}
		}
		return append(out, found)
	}
	var out []Finding
	out = add(out, MTBF, "µs", life.Exponential.Figure, works, "all nodes alike; times that had not ended with the record count as longer than it")
	if k := life.Weibull.Shape; k.Known() && (k.High < 1 || k.Low > 1) {
		out = add(out, Shape, "number", k, works, "of the Weibull law, which fits better than the exponential")
	}
	if len(repairs) == 0 {
		return append(out, refused(whole(RepairMedian), "no repair", "events up after down", "record for longer")), nil
	}
	fixed, err := fit.Censored(repairs)
	if err != nil {
		return nil, err
	}
	out = add(out, RepairMedian, "µs", fixed.LogNormal.Figure, repairs, "log-normal; it is light in the far tail, see docs/FAILURES.md")
	return add(out, RepairSigma, "number", fixed.LogNormal.Shape, repairs, "of the logarithm of the time"), nil
}

// window is from when to when the source tells of the site.
func window(src *Source, jobs *jobTable, seen *observed) (from, to model.Time) {
	from, to = model.Never, 0
	take := func(a, b model.Time) {
		if b > a {
			from, to = min(from, a), max(to, b)
		}
	}
	take(seen.from, seen.to)
	take(jobs.from, jobs.to)
	if n := len(src.Events); n > 0 {
		take(src.Events[0].Time, src.Events[n-1].Time)
	}
	return from, to
}

// finite keeps a figure that cannot be written out of a file.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
