package calibrate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"orrery/capture"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
	"orrery/traces"
)

// A job tells what a locked clock costs and saves where the same work ran on the same GPU at its
// top clock and again at lower ones. The clock is that of its rows at work: NVML has no call that
// tells a lock. A clock that heat or a limit on power holds down is no setting, and the run says
// nothing.

// NVML's bits of why clocks are held down.
const (
	bySetting = 1 << 1 // of the applications clock, and of drivers that say so of a locked one
	byPower   = 1<<2 | 1<<7
	byHeat    = 1<<3 | 1<<5 | 1<<6 // a slowdown of the hardware may be for power too
	byOthers  = 1<<4 | 1<<8        // another GPU of its group, or a display
)

const (
	fewRows    = 10    // at work, below which a run has no clock
	someRows   = 0.05  // of its rows: what more of them say is of the run
	steadyRows = 0.9   // of its rows are
	steadyBy   = 0.015 // so near to the median
	sameClock  = 0.01  // clocks that are no further apart are one setting
)

// clocking is what the rows of a job at work say of its clocks.
type clocking struct {
	rows, silent, unsaid, power, heat, others, setting int64
	mhz                                                map[int32]int64 // rows by clock
}

// clock takes a row of a job at work, alone on its GPU.
func (o *observer) clock(t *traces.Telemetry, job int) {
	c := o.out.clocks[job]
	if c == nil {
		c = &clocking{mhz: map[int32]int64{}}
		o.out.clocks[job] = c
	}
	c.rows++
	if !t.SMClock.OK || t.SMClock.V <= 0 {
		c.silent++
		return
	}
	o.out.clocked++
	c.mhz[t.SMClock.V]++
	if !t.Throttle.OK {
		c.unsaid++
	}
	for _, of := range []struct {
		bits int64
		n    *int64
	}{{byPower, &c.power}, {byHeat, &c.heat}, {byOthers, &c.others}, {bySetting, &c.setting}} {
		if t.Throttle.V&of.bits != 0 {
			*of.n++
		}
	}
}

// Why a run has no clock that was set.
const (
	clockUnread  = "runs whose rows do not say the clock"
	clockUnsaid  = "runs whose rows do not say why clocks are held down"
	clockPowered = "runs whose clock was held down for power"
	clockHot     = "runs whose clock was held down for heat"
	clockOthers  = "runs whose clock another GPU or a display held down"
	clockMoved   = "runs whose clock changed"
)

// set is the clock at which a run was set to go, MHz; else why it has none.
func (c *clocking) set(bound bool) (mhz float64, why string) {
	most := someRows * float64(c.rows)
	switch {
	case c.rows < fewRows || float64(c.silent) > most:
		return 0, clockUnread
	case float64(c.unsaid) > most:
		return 0, clockUnsaid
	case float64(c.power) > most || bound:
		return 0, clockPowered
	case float64(c.heat) > most:
		return 0, clockHot
	case float64(c.others) > most:
		return 0, clockOthers
	}
	var all []float64
	for _, v := range slices.Sorted(maps.Keys(c.mhz)) {
		for range c.mhz[v] {
			all = append(all, float64(v))
		}
	}
	mhz = fit.Median(all)
	steady := 0
	for _, v := range all {
		if math.Abs(v-mhz) <= steadyBy*mhz {
			steady++
		}
	}
	if float64(steady) < steadyRows*float64(len(all)) {
		return 0, clockMoved
	}
	return mhz, ""
}

// clockRun is a run at a clock that was set.
type clockRun struct {
	job     int // row
	work    string
	mhz     float64
	watts   float64
	setting bool // the driver said that a setting held the clock down
}

// clockRuns are those of a class on a kind of GPU.
type clockRuns struct {
	class int
	gpu   string
	runs  []clockRun
	clock []float64 // settings, ascending, MHz
}

// clocksSet sorts the runs of jobs by their clocks, and notes in the jobs those that were slowed
// on purpose: their work has run at the top clock too.
func clocksSet(src *Source, jobs *jobTable, seen *observed) ([]clockRuns, error) {
	if seen.clocked == 0 {
		return nil, nil
	}
	limit, err := limitsOf(src)
	if err != nil {
		return nil, err
	}
	draw := meansOfJobs(seen)
	left := map[string]int64{}
	var out []clockRuns
	for i := range jobs.list {
		j := &jobs.list[i]
		gpu := gpuOf(src, j.nodes)
		c := seen.clocks[i]
		if j.class < 0 || !j.complete || j.ran <= 0 || gpu == "" || c == nil || draw[i] <= 0 {
			continue
		}
		watts, known := limit.of(j.nodes, j.start)
		mhz, why := c.set(known && draw[i] >= boundAt*watts)
		if why != "" {
			left[why]++
			continue
		}
		at := slices.IndexFunc(out, func(r clockRuns) bool { return r.class == j.class && r.gpu == gpu })
		if at < 0 {
			at = len(out)
			out = append(out, clockRuns{class: j.class, gpu: gpu})
		}
		out[at].runs = append(out[at].runs, clockRun{i, fmt.Sprint(j.what, len(j.nodes)), mhz, draw[i], 2*c.setting > c.rows})
	}
	slices.SortStableFunc(out, func(a, b clockRuns) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.gpu, b.gpu)) })
	for i := range out {
		out[i].settle()
		out[i].mark(jobs)
	}
	for _, why := range []string{clockUnread, clockUnsaid, clockPowered, clockHot, clockOthers, clockMoved} {
		seen.unset = append(seen.unset, Count{why + ", left out of what clocks do", left[why]})
	}
	return out, nil
}

// settle groups clocks that are one setting: their median.
func (r *clockRuns) settle() {
	sorted := slices.Clone(r.runs)
	slices.SortStableFunc(sorted, func(a, b clockRun) int { return cmp.Compare(a.mhz, b.mhz) })
	for i := 0; i < len(sorted); {
		var one []float64
		for first := sorted[i].mhz; i < len(sorted) && sorted[i].mhz <= first*(1+sameClock); i++ {
			one = append(one, sorted[i].mhz)
		}
		r.clock = append(r.clock, fit.Median(one))
	}
	for i := range r.runs {
		r.runs[i].mhz = r.clock[r.way(r.runs[i].mhz)]
	}
}

// way is the setting that a clock is of.
func (r *clockRuns) way(mhz float64) int {
	at := 0
	for i, c := range r.clock {
		if math.Abs(mhz-c) < math.Abs(mhz-r.clock[at]) {
			at = i
		}
	}
	return at
}

func (r *clockRuns) top() float64 { return r.clock[len(r.clock)-1] }

// mark notes the clocks of runs below the top one whose work has run there too.
func (r *clockRuns) mark(jobs *jobTable) {
	full := map[string]bool{}
	for i := range r.runs {
		if r.runs[i].mhz == r.top() {
			full[r.runs[i].work] = true
		}
	}
	for i := range r.runs {
		if x := &r.runs[i]; x.mhz < r.top() && full[x.work] {
			jobs.list[x.job].clock = round4(x.mhz / r.top())
			jobs.slowed++
		}
	}
}

// meansOfJobs are what jobs drew on a GPU at work in the mean of time, as read, by their rows.
func meansOfJobs(seen *observed) map[int]float64 {
	joules, seconds := map[int]float64{}, map[int]float64{}
	for _, spans := range seen.spans {
		for i := range spans {
			s := &spans[i]
			if s.State != fit.StateActive {
				continue
			}
			sum := 0.0
			for _, x := range s.Samples {
				sum += x.Watts
			}
			long := float64(s.To - s.From)
			joules[s.Job] += long * sum / float64(len(s.Samples))
			seconds[s.Job] += long
		}
	}
	for job := range joules { //detlint:ordered each on its own
		joules[job] /= seconds[job]
	}
	return joules
}

// clockFacts is what inventories say of the clocks of a kind of GPU, MHz; 0 is nothing.
type clockFacts struct{ top, target float64 }

func clockFactsOf(src *Source) (map[string]clockFacts, error) {
	list, err := capture.Inventories(src.Events)
	if err != nil {
		return nil, err
	}
	out := map[string]clockFacts{}
	for _, r := range list {
		gpu := gpuOf(src, []string{r.Node})
		f := out[gpu]
		for _, g := range r.GPUs {
			f.top, f.target = max(f.top, fact(&r, g.Index, capture.FactTopClock)), max(f.target, fact(&r, g.Index, capture.FactClockTarget))
		}
		out[gpu] = f
	}
	return out, nil
}

// clocks are the throughput and the draw of classes at clocks.
func clocks(src *Source, jobs *jobTable, seen *observed) (out []Finding, err error) {
	facts, err := clockFactsOf(src)
	if err != nil {
		return nil, err
	}
	top := map[string]float64{}
	for i := range seen.set {
		top[seen.set[i].gpu] = max(top[seen.set[i].gpu], seen.set[i].top())
	}
	for i := range seen.set {
		r := &seen.set[i]
		if len(r.clock) < 2 {
			continue // they ran at one clock, and nothing is claimed
		}
		found, err := r.findings(src, jobs, facts[r.gpu], top[r.gpu])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// locked says why the top clock of the runs is none without a lock, "" where nothing says so.
func (r *clockRuns) locked(facts clockFacts, top float64) string {
	set, all := 0, 0
	for i := range r.runs {
		if r.runs[i].mhz == r.top() {
			if all++; r.runs[i].setting {
				set++
			}
		}
	}
	switch {
	case r.top() < top*(1-sameClock):
		return fmt.Sprintf("runs at %.0f MHz at most, where other jobs ran at %.0f MHz", r.top(), top)
	case 2*set > all:
		return fmt.Sprintf("runs at %.0f MHz at most, which a setting held there as the driver says", r.top())
	case facts.target > 0 && r.top() <= facts.target*(1+sameClock) && facts.target < facts.top*(1-sameClock):
		return fmt.Sprintf("runs at %.0f MHz at most, with an applications clock of %.0f of %.0f MHz", r.top(), facts.target, facts.top)
	}
	return ""
}

// findings are a throughput and a draw at each clock below the top one.
func (r *clockRuns) findings(src *Source, jobs *jobTable, facts clockFacts, top float64) (out []Finding, err error) {
	about := Finding{Unit: "factor", From: model.Never, Rows: int64(len(r.runs))}
	about.Valid = fmt.Sprintf("%s, where 1 is at %.0f MHz; jobs of one name, user and number of GPUs that completed, with clocks that neither heat nor a limit on power held down", r.gpu, r.top())
	if facts.top > 0 {
		about.Valid += fmt.Sprintf("; its GPUs may have %.0f MHz", facts.top)
	}
	to := Target{Type: -1, Class: r.class, GPU: r.gpu, Key: Clocks}
	if why := r.locked(facts, top); why != "" {
		return []Finding{refused(to, why, "runs of the same work without a lock", "run jobs again after nvidia-smi --reset-gpu-clocks and --reset-applications-clocks")}, nil
	}
	sensor := src.SensorOf(slices.IndexFunc(src.Types, func(t NodeType) bool { return t.GPU == r.gpu && t.GPUs > 0 }))
	keys := numbers{}
	var times, draws []fit.Run
	for i := range r.runs {
		x := &r.runs[i]
		j := &jobs.list[x.job]
		key, way := keys.of(x.work), r.way(x.mhz)
		times = append(times, fit.Run{Key: key, Way: way, Seconds: j.ran.Seconds()})
		if w := x.watts - sensor.Offset.Value; w > 0 {
			draws = append(draws, fit.Run{Key: key, Way: way, Seconds: w})
		}
		if j.start != model.Never {
			about.From, about.To = min(about.From, j.start), max(about.To, j.start.Add(j.ran))
		}
	}
	base := len(r.clock) - 1
	slower, err := fit.Ratios(times, base)
	if err != nil {
		return nil, err
	}
	lower, err := fit.Ratios(draws, base)
	if err != nil {
		return nil, err
	}
	if len(slower) != len(lower) {
		return []Finding{refused(to, "draws below the offset of the sensor", "draws above it", "check the offset that --sensor states")}, nil
	}
	var points [2][]Finding
	for i := range slower {
		at := to
		at.Clock = round4(r.clock[slower[i].Way] / r.top())
		time, draw := slower[i].Ratio, lower[i].Ratio
		if doubt := cmp.Or(time.Refused, tooUncertain(time), draw.Refused, tooUncertain(draw)); doubt != nil {
			out = append(out, Finding{Target: at, Figure: fit.Figure{Refused: doubt}})
			continue
		}
		speed, power := about.at(at, inverse(time)), about.at(at, draw)
		speed.Part, power.Part = ClockThroughput, ClockPower
		offset := (sensor.Offset.High - sensor.Offset.Low) / 2 / medianSeconds(draws, base) // of a ratio of readings
		power.Figure.Band.Low -= offset * math.Abs(1-draw.Value)
		power.Figure.Band.High += offset * math.Abs(1-draw.Value)
		points[0], points[1] = append(points[0], speed), append(points[1], power)
	}
	ascending(points[0])
	ascending(points[1])
	return append(append(out, points[0]...), points[1]...), nil
}

func medianSeconds(runs []fit.Run, way int) float64 {
	var all []float64
	for _, r := range runs {
		if r.Way == way {
			all = append(all, r.Seconds)
		}
	}
	return fit.Median(all)
}

// at is a finding like f for a target.
func (f Finding) at(to Target, figure fit.Figure) Finding {
	f.Target, f.Figure = to, figure
	return f
}

// inverse is a ratio of rates of one of times.
func inverse(f fit.Figure) fit.Figure {
	f.Band.Value, f.Band.Low, f.Band.High = 1/f.Band.Value, 1/f.Band.High, 1/f.Band.Low
	f.Spread = fit.Range{Low: 1 / f.Spread.High, High: 1 / f.Spread.Low}
	of := make([]float64, len(f.Of))
	for i, x := range f.Of {
		of[len(of)-1-i] = 1 / x
	}
	f.Of = of
	return f
}

// ascending pools neighbours that fall as the clock rises, and what is above that of the top
// clock: noise alone makes such. An interval that the pooled value leaves is widened to it.
func ascending(points []Finding) {
	type pool struct {
		sum float64
		n   int
	}
	var pools []pool
	for i := range points {
		pools = append(pools, pool{points[i].Figure.Value, 1})
		for n := len(pools); n > 1 && pools[n-2].sum*float64(pools[n-1].n) > pools[n-1].sum*float64(pools[n-2].n); n = len(pools) {
			pools[n-2].sum, pools[n-2].n = pools[n-2].sum+pools[n-1].sum, pools[n-2].n+pools[n-1].n
			pools = pools[:n-1]
		}
	}
	i := 0
	for _, p := range pools {
		for range p.n {
			b := &points[i].Figure.Band
			b.Value = min(1, p.sum/float64(p.n))
			b.Low, b.High = min(b.Low, b.Value), max(b.High, b.Value)
			i++
		}
	}
}
