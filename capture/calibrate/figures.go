package calibrate

import (
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
		types := withGPU(src, t.GPU)
		if t.GPUs == 0 || t.GPU == "" || types[0] != i { // or the GPU has had its turn
			continue
		}
		found, err := drawsOf(src, jobs, seen, t.GPU, types)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
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

// withGPU are the node types that have a GPU.
func withGPU(src *Source, gpu string) (types []int) {
	for i, t := range src.Types {
		if t.GPU == gpu && t.GPUs > 0 {
			types = append(types, i)
		}
	}
	return types
}

// drawsOf are those of a GPU on nodes of all types that have it: what it draws does not depend
// on its node.
func drawsOf(src *Source, jobs *jobTable, seen *observed, gpu string, types []int) (out []Finding, err error) {
	var spans []fit.Span
	for _, i := range types {
		for _, s := range seen.spans[i] {
			if s.State != fit.StateActive || jobs.list[s.Job].clock == 0 {
				spans = append(spans, s)
			}
		}
	}
	if len(spans) == 0 {
		for _, i := range types {
			out = append(out, refused(Target{Type: i, Class: -1, Key: GPUIdle}, "no rows of nodes of type "+src.Types[i].Name, "telemetry of some of its nodes, under the names of the cluster file", "run orrery capture nvml --node NAME on them"))
		}
		return out, nil
	}
	sensor := src.SensorOf(types[0])
	sensor.Window = max(sensor.Window, seen.window)
	f, err := fit.States(spans, sensor)
	if err != nil {
		return nil, err
	}
	seen.fits = append(seen.fits, readingsOf(gpu, &f.Counts)...)
	about := Finding{Unit: "W", Valid: sensorText(&sensor)}
	for _, i := range types {
		seen.ofGPU[i] = [2]fit.Figure{f.Idle, f.Active}
		out = append(out, about.of(Target{Type: i, Class: -1, Key: GPUIdle}, f.Idle, seen.of(types, fit.StateIdle, -1)),
			about.of(Target{Type: i, Class: -1, Key: GPUHeld}, f.Held, seen.of(types, fit.StateHeld, -1)))
	}
	byActivity, err := drawByActivity(&sensor, seen, types, gpu, f.Idle, about)
	if err != nil {
		return nil, err
	}
	out = append(out, byActivity)
	about.Spread = true
	for _, c := range f.Classes {
		c.Median.Spread = widened(c.Median.Spread, &sensor)
		out = append(out, about.of(Target{Type: -1, Class: c.Class, GPU: gpu, Key: ClassPower}, c.Median, seen.of(types, fit.StateActive, c.Class)))
	}
	return out, nil
}

// of is a finding like f for a key, with the rows that its figure rests on.
func (f Finding) of(to Target, figure fit.Figure, r read) Finding {
	f.Target, f.Figure = to, figure
	f.Rows, f.From, f.To = r.rows, r.from, r.to
	return f
}

// readingsOf are the readings of a GPU that no draw was fitted to.
func readingsOf(gpu string, c *fit.StateCounts) []Count {
	return []Count{
		{gpu + ": readings at the beginning of a span, which the state before is still in", int64(c.Settling)},
		{gpu + ": readings that repeat the one before", int64(c.Repeated)},
		{gpu + ": readings far from their neighbours", int64(c.Outliers)},
		{gpu + ": readings that are no power", int64(c.Invalid)},
		{gpu + ": spans with too few readings", int64(c.Short)},
	}
}

// widened is the range of further jobs where the gain of their GPUs is known as a range alone.
func widened(r fit.Range, s *fit.Sensor) fit.Range {
	if s.Metered {
		return r
	}
	more, less := (s.Offset.High-s.Offset.Value)/s.Gain.Value, (s.Offset.Value-s.Offset.Low)/s.Gain.Value
	return fit.Range{Low: (r.Low - more) * s.Gain.Value / s.Gain.High, High: (r.High + less) * s.Gain.Value / s.Gain.Low}
}

// drawByActivity is the exponent of the draw of a GPU by the activity of its multiprocessors. No
// replay goes by it: a trace does not say the activity of a job.
func drawByActivity(sensor *fit.Sensor, seen *observed, types []int, gpu string, idle fit.Figure, about Finding) (Finding, error) {
	about.Target, about.Unit = Target{Type: types[0], Class: -1, GPU: gpu, Key: Alpha}, "number"
	if !idle.Known() {
		return refused(about.Target, "no idle draw", "it", "see gpu_idle_power"), nil
	}
	var jobs []fit.ActivityJob
	for _, typ := range types {
		for _, id := range slices.Sorted(maps.Keys(seen.activity[typ])) {
			j := fit.ActivityJob{Class: seen.activity[typ][id].Class}
			for _, s := range seen.activity[typ][id].Samples {
				j.Samples = append(j.Samples, fit.ActivitySample{Activity: s.Activity, Watts: (s.Watts - sensor.Offset.Value) / sensor.Gain.Value})
			}
			about.Rows += int64(len(j.Samples))
			jobs = append(jobs, j)
		}
	}
	about.From, about.To = seen.from, seen.to
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
		offset := "whose range is not known"
		if s.Offset.Low < s.Offset.High {
			offset = fmt.Sprintf("of %.1f to %.1f W", s.Offset.Low, s.Offset.High)
		}
		return fmt.Sprintf("readings corrected by the meter of one card (gain %.3f, offset %.1f W, %s); the range has %.0f %% either way for the others", s.Gain.Value, s.Offset.Value, offset, 100*(s.Gain.High/s.Gain.Value-1))
	}
	return fmt.Sprintf("readings of the cards, which no meter has checked: the range has %.0f %% either way for that", 100*(s.Gain.High-1))
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
			Rows: int64(len(sizes[c])), From: seen.from, To: seen.to, Points: sizes[c], Valid: "what all processes of a job wrote while its GPUs computed nothing, 1 GB at least"})
	}
	return out, nil
}

// leastSizes is how many checkpoints of a class say their size.
const leastSizes = 6

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
		if j.class != class || !j.complete || j.ran <= 0 || gpu == "" || j.clock > 0 {
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
		if key == Steps && fewerNodes(names[id], names[base]) || key == Throughput && count[id] > count[base] {
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
		if doubt := tooUncertain(f.Ratio); doubt != nil {
			found.Figure = fit.Figure{Refused: doubt}
			out = append(out, found)
			continue
		}
		if key == Throughput && f.Ratio.Known() {
			found.Figure = inverse(f.Ratio)
		}
		out = append(out, found)
	}
	if !slices.ContainsFunc(out[1:], func(f Finding) bool { return f.Figure.Known() }) {
		return out[1:], nil // without another row that of the base says nothing
	}
	return out, nil
}

// A ratio that is known to no better than these is none to go by.
const (
	widestRatio    = 1.5 // upper ÷ lower end of its interval
	mostOfResidual = 0.25
)

// tooUncertain refuses a ratio of runs that hardly repeat.
func tooUncertain(f fit.Figure) *fit.Refusal {
	if !f.Known() || f.High <= widestRatio*f.Low && f.Residual <= mostOfResidual {
		return nil
	}
	return &fit.Refusal{What: "ratio of run times", Found: fmt.Sprintf("%.2f to %.2f, with pairs %.0f %% from it", f.Low, f.High, 100*f.Residual), Want: fmt.Sprintf("ends that differ by %.1f times at most, and pairs within %.0f %%", widestRatio, 100*mostOfResidual),
		Obtain: "the jobs of one name, user and size do not do the same work: name jobs by what they do, or record more of them"}
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

// finite keeps a figure that cannot be written out of a file.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
