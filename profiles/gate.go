package profiles

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"orrery/internal/spelling"
	"orrery/scheduler/model"
)

// Gate is a gate file: runs, and what must hold of them. Its tags describe
// gate.yaml as those of Profile describe profile.yaml; docs/GATE-FORMAT.md has
// them in words.
type Gate struct {
	Name        string  `yaml:"name" unit:"name" doc:"what the gate is called in reports; the name of the file where it is left out"`
	Description string  `yaml:"description" unit:"text" doc:"what it guards"`
	Baseline    string  `yaml:"baseline" unit:"path" doc:"the stored baseline, relative to this file; beside it, with .baseline.json for its ending, where this is left out"`
	Confidence  float64 `yaml:"confidence" default:"0.95" min:"0.6" max:"0.999" unit:"probability" doc:"of the one-sided bounds of paired checks"`
	Replicas    int32   `yaml:"replicas" default:"100" min:"5" max:"1000" unit:"seeds" doc:"most jittered replays of a run for its paired checks: as many are made as its noise asks for, where the run states no seeds"`

	Runs    []GateRun     `yaml:"runs" doc:"what is replayed"`
	Exact   []GateExact   `yaml:"exact" doc:"checks that a run schedules as the baseline did, event by event"`
	Banded  []GateBanded  `yaml:"banded" doc:"checks that a metric stays within a tolerance of the baseline"`
	Paired  []GatePaired  `yaml:"paired" doc:"checks that a run is not worse than another, or than the baseline, over windows"`
	Counted []GateCounted `yaml:"counted" doc:"checks of what a run costs, in things that can be counted"`
	Bound   []GateBound   `yaml:"bound" doc:"assertions that a metric lies within stated limits"`
	Balance []GateBalance `yaml:"balance" doc:"assertions that tenants get what they are owed"`
	Steady  []GateSteady  `yaml:"steady" doc:"assertions that the queue does not grow without end"`
	Thrash  []GateThrash  `yaml:"thrash" doc:"assertions that work is not moved to and fro"`

	*source // where it was read from
}

// GateRun is a replay, or several: of windows of a trace, and with several seeds.
type GateRun struct {
	Name          string          `yaml:"name" unit:"name" doc:"that checks refer to"`
	Description   string          `yaml:"description" unit:"text" doc:"what it is about"`
	Like          string          `yaml:"like" unit:"name" doc:"a run before this one, from which everything is taken that this one leaves out"`
	Trace         string          `yaml:"trace" unit:"path" doc:"a trace bundle, a Parquet table of jobs or a raw log, relative to this file"`
	Jobs          []GateJobs      `yaml:"jobs" doc:"the workload as streams of jobs, instead of a trace"`
	Cluster       string          `yaml:"cluster" unit:"path" doc:"a cluster file, relative to this one, or the name of one of the program; without it a plain cluster"`
	Profile       []string        `yaml:"profile" unit:"[VCLUSTER=]NAME" doc:"profiles instead of those of the cluster file, of all vClusters or of one; a name or a path relative to this file"`
	Procs         int32           `yaml:"procs" zero:"trace" default:"trace" min:"1" max:"4194304" unit:"processors" doc:"of a plain cluster; otherwise what the trace says"`
	Order         string          `yaml:"order" of:"orders" default:"fcfs" doc:"of the queue of a plain cluster; a baseline by name"`
	Backfill      string          `yaml:"backfill" of:"none,first-fit,easy,conservative" default:"easy" doc:"of a plain cluster"`
	Warmup        *model.Duration `yaml:"warmup" zero:"usual" default:"usual" min:"0s" unit:"span" doc:"that the steady window leaves out at the beginning; usual is the first 1 % of the jobs, or up to the warm start"`
	Cooldown      model.Duration  `yaml:"cooldown" default:"0s" min:"0s" unit:"span" doc:"that the steady window leaves out before the last submission"`
	Feedback      bool            `yaml:"feedback" default:"false" doc:"jobs that follow others (after_job, think_time) come when these have left, not when the trace says"`
	Scenario      string          `yaml:"scenario" unit:"path" doc:"a scenario file, relative to this one, under which the run is replayed; none takes back what like has given"`
	AllowUnheeded bool            `yaml:"allow_unheeded" default:"false" doc:"go on where more than 1 % of the work asks for what the cluster does not have"`
	Windows       GateWindows     `yaml:"windows" doc:"parts of the trace that paired checks compare; all of them are measured in one replay"`
	Jitter        model.Duration  `yaml:"jitter" zero:"none" default:"none" min:"0s" max:"1d" unit:"span" doc:"most that each submission is moved by, drawn with the seed; seeds that the gate chooses move it by up to a minute where this is none"`
	Seeds         []int64         `yaml:"seeds" unit:"seeds" doc:"of all that is drawn: the streams of jobs, the jitter of the arrivals, the fault injection of the site; where this is left out it is 1, and paired checks on a trace choose more of their own"`
}

// GateWindows are disjoint windows of one length.
type GateWindows struct {
	Count  int32          `yaml:"count" zero:"usual" default:"usual" min:"1" max:"10000" unit:"windows" doc:"usual is 20 of a trace and 1 of streams of jobs; 1 is the whole of it"`
	Length model.Duration `yaml:"length" zero:"longest" default:"longest" min:"1m" unit:"span" doc:"of each window, with equal gaps; longest is one behind the other, between two parts of the trace as long as each of them: what warms the cluster up, and what the last jobs leave under"`
}

// UsualWindows is how many windows of a trace paired checks compare.
const UsualWindows = 20

// Parts is how many windows a run has; 1 is the whole of it.
func (r *GateRun) Parts() int {
	switch {
	case r.Windows.Count > 0:
		return int(r.Windows.Count)
	case r.Trace != "":
		return UsualWindows
	}
	return 1
}

// GateJobs is a stream of jobs that are alike but for what is drawn.
type GateJobs struct {
	Name     string         `yaml:"name" unit:"name" doc:"of the stream; its jobs are named so"`
	VCluster string         `yaml:"vcluster" unit:"name" doc:"it is submitted to"`
	Tenant   string         `yaml:"tenant" unit:"name" doc:"it is charged to"`
	Kind     string         `yaml:"kind" of:"bounded,service,session" default:"bounded" doc:"of the jobs; a service states no requested time"`
	Count    int32          `yaml:"count" default:"1" min:"1" max:"1000000" unit:"jobs" doc:"in the stream"`
	Start    model.Duration `yaml:"start" default:"0s" min:"0s" unit:"span" doc:"from which they come, since the beginning of the trace"`
	Over     model.Duration `yaml:"over" default:"0s" min:"0s" unit:"span" doc:"within which they come; 0s is all at once"`
	Arrivals string         `yaml:"arrivals" of:"even,random" default:"even" doc:"at equal distances, or each at an instant drawn for itself"`
	Nodes    []int32        `yaml:"nodes" unit:"nodes" doc:"sizes, one of which is drawn for each job; 1 where this is left out"`
	GPUs     int32          `yaml:"gpus" default:"0" min:"0" max:"64" unit:"GPUs" doc:"asked for on each node"`
	Runtime  model.Duration `yaml:"runtime" default:"1h" min:"1s" unit:"span" doc:"of each job, or the shortest"`
	Longest  model.Duration `yaml:"longest" zero:"runtime" default:"runtime" min:"1s" unit:"span" doc:"run time: whole seconds from runtime to this are drawn evenly"`
	Request  int32          `yaml:"request" default:"150" min:"100" max:"100000" unit:"% of the run time" doc:"requested time, rounded up to a minute"`

	Class          int32  `yaml:"class" default:"5" min:"0" max:"10" unit:"class" doc:"preemption class; 10 is a claim of sensitive work"`
	Sensitive      bool   `yaml:"sensitive" default:"false" doc:"runs on nodes of one known fingerprint only"`
	Checkpoint     string `yaml:"checkpoint" of:"auto,manual,none" default:"none" doc:"how a job saves its work when it is asked to leave"`
	CheckpointSize Bytes  `yaml:"checkpoint_size" default:"0" min:"0" unit:"size" doc:"what it writes then"`
	Requeue        string `yaml:"requeue" of:"never,on-node-failure,always" default:"never" doc:"when it is taken back after it failed"`
}

// GateExact holds the fingerprints of a run against the baseline.
type GateExact struct {
	Name string `yaml:"name" unit:"text" doc:"of the check in reports; made of what it checks where it is left out"`
	Run  string `yaml:"run" unit:"name" doc:"that it is about"`
}

// Measure names a number of a run.
type Measure struct {
	Metric string `yaml:"metric" unit:"name" doc:"of docs/METRICS.md or of the measures of gates; of a group, a column of its table"`
	Over   string `yaml:"over" of:"steady,all" default:"steady" doc:"the window of the metric"`
	By     string `yaml:"by" of:"run,vcluster,tenant,class" default:"run" doc:"the number of the whole run, or of one group"`
	Group  string `yaml:"group" unit:"name" doc:"of the vCluster or the tenant, or the number of the class"`
}

// GateBanded holds the mean of a metric over the replays of a run against the
// baseline.
type GateBanded struct {
	Name     string  `yaml:"name" unit:"text" doc:"of the check in reports; made of what it checks where it is left out"`
	Run      string  `yaml:"run" unit:"name" doc:"that it is about"`
	Of       Measure `yaml:"of" doc:"the number"`
	Relative Amount  `yaml:"relative" default:"0" min:"0" max:"100" unit:"of the baseline" doc:"tolerance: 5%, or 0.05"`
	Absolute Amount  `yaml:"absolute" default:"0" min:"0" unit:"as the metric" doc:"tolerance, on top of the relative one"`
	Side     string  `yaml:"side" of:"both,above,below" default:"both" doc:"on which side leaving the band is a regression"`
}

// GatePaired compares two sides window by window.
type GatePaired struct {
	Name     string  `yaml:"name" unit:"text" doc:"of the check in reports; made of what it checks where it is left out"`
	Run      string  `yaml:"run" unit:"name" doc:"the candidate"`
	Against  string  `yaml:"against" default:"baseline" unit:"name" doc:"another run, or the word baseline: what was stored of this run"`
	Of       Measure `yaml:"of" doc:"the number"`
	Better   string  `yaml:"better" of:"usual,lower,higher" default:"usual" doc:"which way is better; usual is known of most metrics, and others are refused"`
	Relative *Amount `yaml:"relative" zero:"usual" default:"usual" min:"0" max:"100" unit:"of the mean of the other side" doc:"margin by which the candidate may be worse: 2%, or 0.02; usual is 3%, and 0 where absolute is stated"`
	Absolute *Amount `yaml:"absolute" zero:"none" default:"none" min:"0" unit:"as the metric" doc:"margin, on top of the relative one"`
	Detect   *Amount `yaml:"detect" zero:"usual" default:"usual" min:"0" max:"100" unit:"of the mean of the other side" doc:"regression that is to be found in 9 of 10 cases: seeds are added until it is; usual is 5/3 of the margin, at least 2% more than it"`
	Reading  string  `yaml:"reading" of:"usual,fixed,random" default:"usual" doc:"what the windows stand for: fixed is these jobs alone, random all windows like them; usual is fixed where several seeds replay one trace"`
}

// usualMargin of a paired check, in per cent of the mean of the other side.
const usualMargin = 3

// Part is the margin as a part of the mean of the other side.
func (p *GatePaired) Part() Amount {
	switch {
	case p.Relative != nil:
		return *p.Relative
	case p.Absolute != nil:
		return Amount{}
	}
	return Amount{usualMargin, "%"}
}

// OnTop is the margin in the unit of the metric, that comes on top of Part.
func (p *GatePaired) OnTop() Amount {
	if p.Absolute == nil {
		return Amount{}
	}
	return *p.Absolute
}

// GateCounted holds counts of work against the baseline.
type GateCounted struct {
	Name     string   `yaml:"name" unit:"text" doc:"of the check in reports; made of what it checks where it is left out"`
	Run      string   `yaml:"run" unit:"name" doc:"that it is about"`
	Of       []string `yaml:"of" unit:"counts" doc:"instants, cycles, passes, examined, words (of the fingerprint); all but cycles where this is left out"`
	Relative Amount   `yaml:"relative" default:"0" min:"0" max:"100" unit:"of the baseline" doc:"tolerance: 5%, or 0.05"`
	Side     string   `yaml:"side" of:"both,above,below" default:"above" doc:"on which side leaving the tolerance is a regression"`
}

// GateBound asserts limits of a metric in every replay of a run.
type GateBound struct {
	Name    string  `yaml:"name" unit:"text" doc:"of the check in reports; made of what it checks where it is left out"`
	Run     string  `yaml:"run" unit:"name" doc:"that it is about"`
	Of      Measure `yaml:"of" doc:"the number"`
	AtLeast *Amount `yaml:"at_least" zero:"none" default:"none" unit:"as the metric" doc:"lower limit: 85%, 10m"`
	AtMost  *Amount `yaml:"at_most" zero:"none" default:"none" unit:"as the metric" doc:"upper limit: 15m, 400"`
	Jobs    int64   `yaml:"jobs" default:"1" min:"0" unit:"jobs" doc:"behind the number; with fewer the evidence does not suffice"`
}

// GateBalance asserts that tenants get their shares, in every replay of a run.
type GateBalance struct {
	Name   string  `yaml:"name" unit:"text" doc:"of the check in reports; made of what it checks where it is left out"`
	Run    string  `yaml:"run" unit:"name" doc:"that it is about"`
	Over   string  `yaml:"over" of:"steady,all" default:"steady" doc:"the window of the shares"`
	Within *Amount `yaml:"within" zero:"none" default:"none" min:"0" max:"1" unit:"of what was held" doc:"most by which the share of a tenant differs from its target (share_deviation_max)"`
	Jain   *Amount `yaml:"jain" zero:"none" default:"none" min:"0" max:"1" unit:"index" doc:"least Jain index of the shares over the targets (jain_share)"`
}

// GateSteady asserts the verdict on the queue of every replay of a run.
type GateSteady struct {
	Name    string `yaml:"name" unit:"text" doc:"of the check in reports; made of what it checks where it is left out"`
	Run     string `yaml:"run" unit:"name" doc:"that it is about"`
	Backlog bool   `yaml:"backlog" default:"false" doc:"a standing queue is fine, as long as the run is not overloaded"`
}

// GateThrash asserts that work is left alone, in every replay of a run.
type GateThrash struct {
	Name   string         `yaml:"name" unit:"text" doc:"of the check in reports; made of what it checks where it is left out"`
	Run    string         `yaml:"run" unit:"name" doc:"that it is about"`
	PerJob *Amount        `yaml:"preemptions_per_job" zero:"none" default:"none" min:"0" unit:"per job" doc:"most preemptions by jobs submitted"`
	OfOne  *Amount        `yaml:"preemptions_of_one" zero:"none" default:"none" min:"0" unit:"times" doc:"most often that one job was asked to leave"`
	Flaps  *Amount        `yaml:"flaps" zero:"none" default:"none" min:"0" max:"1" unit:"of the borrowing attempts" doc:"most that were ended by their lender soon after they began"`
	Soon   model.Duration `yaml:"soon" default:"10m" min:"1s" unit:"span" doc:"what counts as soon after"`
}

// LoadGate reads the gate file at a path.
func LoadGate(path string) (*Gate, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	return ParseGate(path, text)
}

// ParseGate reads a gate file; file is what errors call it, and names the gate
// when the text does not. The error is an *Error that lists every problem that
// the file alone shows.
func ParseGate(file string, text []byte) (*Gate, error) {
	g := new(Gate)
	src, err := decode(file, text, g)
	if err != nil {
		return nil, cmp.Or(otherKind(file, text, KindGate), err)
	}
	g.source = src
	if g.Name == "" {
		g.Name = nameOf(file)
	}
	c := &checker{problems{src: src}, reflect.ValueOf(g).Elem(), ""}
	c.check()
	g.runs(c)
	g.references(c)
	return g, c.err()
}

// Note is a remark about the key at path, told by its place in the file.
func (g *Gate) Note(path, format string, args ...any) Problem {
	return g.problem(path, fmt.Sprintf(format, args...))
}

// Place is where the key at path stands in the file, both from 1; 0 where it does not.
func (g *Gate) Place(path string) (line, column int) {
	if g.source == nil {
		return 0, 0
	}
	at := g.at[path]
	return at.line, at.column
}

// Sets says whether the file sets the key at path.
func (g *Gate) Sets(path string) bool { return g.has(path) }

// runs checks the runs, and lets each take what it leaves out.
func (g *Gate) runs(c *checker) {
	if len(g.Runs) == 0 {
		c.add("runs", "there are none: list what is to be replayed")
	}
	for i := range g.Runs {
		r, at := &g.Runs[i], fmt.Sprintf("runs[%d]", i)
		if why := goodName(r.Name); why != "" {
			c.add(at+".name", "%s", why)
		}
		if r.Name == "baseline" {
			c.add(at+".name", "found baseline, which means what was stored: give the run another name")
		}
		if slices.ContainsFunc(g.Runs[:i], func(o GateRun) bool { return o.Name == r.Name }) {
			c.add(at+".name", "a second run is called %s: give each its own name", r.Name)
		}
		if r.Like != "" {
			j := slices.IndexFunc(g.Runs[:i], func(o GateRun) bool { return o.Name == r.Like })
			if j < 0 {
				c.add(at+".like", "found %s, which is no run before this one%s", r.Like, spelling.Hint(r.Like, g.names(i)))
				continue
			}
			g.take(c, i, j)
		}
		g.run(c, r, at)
	}
}

// take lets run i have what run j has, but what its own block sets. A workload is
// taken or replaced as a whole, and so is what it is replayed on.
func (g *Gate) take(c *checker, i, j int) {
	at := fmt.Sprintf("runs[%d]", i)
	own, other := reflect.ValueOf(&g.Runs[i]).Elem(), reflect.ValueOf(&g.Runs[j]).Elem()
	instead := map[string]string{"trace": "jobs", "jobs": "trace"}
	for _, f := range fieldsOf(own.Type()) {
		switch f.key {
		case "name", "description", "like":
			continue
		}
		if !c.src.has(join(at, f.key)) && !c.src.has(join(at, instead[f.key])) {
			own.FieldByIndex(f.Index).Set(other.FieldByIndex(f.Index))
		}
	}
}

// run checks one run that has everything.
func (g *Gate) run(c *checker, r *GateRun, at string) {
	switch {
	case r.Trace == "" && len(r.Jobs) == 0:
		c.add(at, "has neither trace nor jobs: name a trace, or list streams of jobs")
	case r.Trace != "" && len(r.Jobs) > 0:
		c.add(at+".jobs", "stands beside trace: leave one of them out")
	}
	if r.Feedback && r.Trace == "" {
		c.add(at+".feedback", "needs a trace: jobs of streams follow no other")
	}
	if r.Cluster == "" && len(r.Profile) > 0 {
		c.add(at+".profile", "needs a cluster: a plain cluster has order and backfill")
	}
	if r.Order == "score" || r.Order == "multifactor" {
		c.add(at+".order", "found %s, which a profile has: a plain cluster is ordered by a baseline", r.Order)
	}
	if r.Cluster != "" {
		for _, key := range []string{"procs", "order", "backfill"} {
			if c.src.has(join(at, key)) {
				c.add(join(at, key), "does not apply with a cluster, which says it itself: leave it out")
			}
		}
	}
	if r.Windows.Length > 0 && r.Parts() == 1 {
		c.add(at+".windows.length", "stands for one window, which is the whole: give a count, or leave the length out")
	}
	for k, s := range r.Seeds {
		if s < 0 || slices.Contains(r.Seeds[:k], s) {
			c.add(fmt.Sprintf("%s.seeds[%d]", at, k), "found %d, want numbers from 0 on that differ", s)
		}
	}
	if len(r.Seeds) > 1 && r.Trace != "" && r.Jitter == 0 && r.Cluster == "" {
		c.add(at+".seeds", "nothing is drawn: give jitter, or one seed")
	}
	for k := range r.Jobs {
		r.Jobs[k].check(c, r.Jobs[:k], fmt.Sprintf("%s.jobs[%d]", at, k))
	}
}

func (j *GateJobs) check(c *checker, before []GateJobs, at string) {
	if why := goodName(j.Name); why != "" {
		c.add(at+".name", "%s", why)
	}
	if slices.ContainsFunc(before, func(o GateJobs) bool { return o.Name == j.Name }) {
		c.add(at+".name", "a second stream is called %s: its draws would be the same; give each its own name", j.Name)
	}
	if j.Longest > 0 && j.Longest < j.Runtime {
		c.add(at+".longest", "found %s, want at least the runtime of %s", formatSpan(j.Longest), formatSpan(j.Runtime))
	}
	for k, n := range j.Nodes {
		if n < 1 || n > 1<<20 {
			c.add(fmt.Sprintf("%s.nodes[%d]", at, k), "found %d, want 1 to 1048576", n)
		}
	}
}

// names are those of the first n runs.
func (g *Gate) names(n int) []string {
	var out []string
	for i := range g.Runs[:n] {
		out = append(out, g.Runs[i].Name)
	}
	return out
}

// references checks that every check names a run that there is, and asks for
// something.
func (g *Gate) references(c *checker) {
	all, checks := g.names(len(g.Runs)), 0
	named := func(at, run string) {
		checks++
		if !slices.Contains(all, run) {
			c.add(at+".run", "found %q, which is no run%s: want %s", run, spelling.Hint(run, all), oneOf(all))
		}
	}
	each(len(g.Exact), "exact", func(i int, at string) { named(at, g.Exact[i].Run) })
	each(len(g.Banded), "banded", func(i int, at string) {
		named(at, g.Banded[i].Run)
		g.Banded[i].Of.check(c, at+".of")
	})
	each(len(g.Paired), "paired", func(i int, at string) {
		p := &g.Paired[i]
		named(at, p.Run)
		p.Of.check(c, at+".of")
		if margin := p.Part(); p.Detect != nil && p.Absolute == nil && p.Detect.bare() <= margin.bare() {
			c.add(at+".detect", "found %v, want more than the margin, %v", *p.Detect, margin)
		}
		if p.Against == p.Run || p.Against != "baseline" && !slices.Contains(all, p.Against) {
			c.add(at+".against", "found %q, want another run or the word baseline%s", p.Against, spelling.Hint(p.Against, all))
		}
	})
	counts := []string{"instants", "cycles", "passes", "examined", "words"}
	each(len(g.Counted), "counted", func(i int, at string) {
		named(at, g.Counted[i].Run)
		for k, of := range g.Counted[i].Of {
			if !slices.Contains(counts, of) {
				c.add(fmt.Sprintf("%s.of[%d]", at, k), "found %q%s, want %s", of, spelling.Hint(of, counts), oneOf(counts))
			}
		}
	})
	each(len(g.Bound), "bound", func(i int, at string) {
		b := &g.Bound[i]
		named(at, b.Run)
		b.Of.check(c, at+".of")
		switch {
		case b.AtLeast == nil && b.AtMost == nil:
			c.add(at, "has no limit: give at_least or at_most")
		case b.AtLeast != nil && b.AtMost != nil && b.AtLeast.bare() > b.AtMost.bare():
			c.add(at+".at_least", "found %v, above at_most, %v: nothing can hold", *b.AtLeast, *b.AtMost)
		}
	})
	each(len(g.Balance), "balance", func(i int, at string) {
		named(at, g.Balance[i].Run)
		if g.Balance[i].Within == nil && g.Balance[i].Jain == nil {
			c.add(at, "has no limit: give within or jain")
		}
	})
	each(len(g.Steady), "steady", func(i int, at string) { named(at, g.Steady[i].Run) })
	each(len(g.Thrash), "thrash", func(i int, at string) {
		t := &g.Thrash[i]
		named(at, t.Run)
		if t.PerJob == nil && t.OfOne == nil && t.Flaps == nil {
			c.add(at, "has no limit: give preemptions_per_job, preemptions_of_one or flaps")
		}
	})
	if checks == 0 {
		c.add("", "there are no checks: give exact, banded, paired, counted, bound, balance, steady or thrash")
	}
}

func each(n int, key string, do func(i int, at string)) {
	for i := range n {
		do(i, fmt.Sprintf("%s[%d]", key, i))
	}
}

func (m *Measure) check(c *checker, at string) {
	switch {
	case m.Metric == "":
		c.add(at+".metric", "is missing: name a metric")
	case m.By == "run" && m.Group != "":
		c.add(at+".group", "needs by: vcluster, tenant or class")
	case m.By != "run" && m.Group == "":
		c.add(at+".group", "is missing: name the %s", m.By)
	}
}
