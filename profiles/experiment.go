package profiles

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// Experiment is what a sweep tries, experiment.yaml: points, which are profiles
// and settings, each on every scenario, which is a trace, a window and a jitter.
// Its tags describe the file as those of Profile do profile.yaml.
type Experiment struct {
	Name        string `yaml:"name" unit:"name" doc:"what the experiment is called; the name of the file where it is left out"`
	Description string `yaml:"description" unit:"text" doc:"what it is to find out"`

	Traces  []string   `yaml:"traces" unit:"paths" doc:"bundles, tables of jobs or raw logs, from the folder of this file, or sample; each is a scenario of its own"`
	Cluster string     `yaml:"cluster" unit:"path or name" doc:"the cluster file; without it the cluster is below, or what each trace says"`
	Plain   EqualNodes `yaml:"plain_cluster" doc:"a cluster of equal nodes instead of a cluster file"`

	Windows   []WindowAxis `yaml:"windows" doc:"parts of each trace; each is a scenario of its own. Without any the whole trace is"`
	Jitter    JitterAxis   `yaml:"jitter" doc:"arrivals moved at random, to see what is an accident of the log; each seed is a scenario of its own"`
	Scenarios []string     `yaml:"scenarios" unit:"paths" doc:"scenario files, from the folder of this file, or none, which is the trace as it is; each makes scenarios of its own of every trace, window and seed"`
	Replay    Replay       `yaml:"replay" doc:"how the traces are replayed, as with orrery replay"`

	Profiles     []string      `yaml:"profiles" unit:"names" doc:"of the program, or paths of files, for all vClusters; without any the cluster file says, or it is default"`
	Design       string        `yaml:"design" of:"cartesian,listed,random,latin,halton,sobol" default:"cartesian" doc:"which points are tried: all combinations of the settings, those listed, or a sample of them spread over their ranges"`
	Settings     []SettingAxis `yaml:"settings" when:"design!=listed" doc:"keys of the profiles or the cluster file that are varied, on top of each profile"`
	Listed       []ListedPoint `yaml:"listed" when:"design=listed" doc:"points one by one"`
	Points       int32         `yaml:"points" default:"100" min:"1" max:"200000" when:"design=random|latin|halton|sobol" unit:"points" doc:"to sample for each profile"`
	Seed         int64         `yaml:"seed" default:"1" min:"0" when:"design=random|latin|halton|sobol" unit:"seed" doc:"of the sample"`
	Inapplicable string        `yaml:"inapplicable" of:"refuse,ignore" default:"refuse" doc:"a setting that has no effect beside the others of its point, as depth beside easy: an error, or passed over; points that are then alike are one"`

	Objectives  []Objective  `yaml:"objectives" doc:"what is good; the table is in the order of the first, the front is of all"`
	Constraints []Constraint `yaml:"constraints" doc:"what a point must keep, in each scenario, to be feasible"`
	Show        []string     `yaml:"show" unit:"metrics" doc:"further columns of the table: METRIC, or METRIC of KIND NAME, such as wait_p95 of tenant physics"`

	*source // where it was read from
}

// EqualNodes is a cluster of equal nodes, which jobs have for themselves.
type EqualNodes struct {
	Nodes int32 `yaml:"nodes" zero:"trace" default:"trace" min:"1" max:"4194304" unit:"nodes" doc:"as many as the trace says where it is left out"`
	Cores int32 `yaml:"cores" default:"1" min:"1" max:"16384" unit:"cores" doc:"on each node"`
	GPUs  int32 `yaml:"gpus" default:"0" min:"0" max:"64" unit:"GPUs" doc:"on each node, of any model"`
}

// WindowAxis is one window, or several of equal length.
type WindowAxis struct {
	Name   string         `yaml:"name" unit:"name" doc:"in tables; w1, w2 and so on where it is left out"`
	Begin  model.Duration `yaml:"begin" default:"0s" min:"0s" unit:"span" doc:"from the epoch of the trace"`
	Length model.Duration `yaml:"length" default:"0s" min:"0s" unit:"span" doc:"of the window, or of each of several; 0s with count divides the trace, but for one more at its beginning and one at its end"`
	Count  int32          `yaml:"count" default:"0" min:"0" max:"10000" unit:"windows" doc:"so many disjoint windows over the whole trace, with equal gaps where there is a length, instead of one at begin"`
	Lead   model.Duration `yaml:"lead" zero:"all" default:"all" min:"0s" unit:"span" doc:"how much of the trace before the window is replayed first, under the same settings; all makes one replay for all windows, and a span one for each, from what the log has running and waiting then, as far as it says"`
	Follow model.Duration `yaml:"follow" default:"30d" min:"0s" unit:"span" doc:"how long the load goes on after the window, at most, until its jobs have left; those that have not count with their wait so far"`
}

// JitterAxis is several small perturbations of the arrivals.
type JitterAxis struct {
	By       model.Duration `yaml:"by" default:"1m" min:"0s" max:"365d" unit:"span" doc:"most that a submission is moved in either direction"`
	Seeds    []int64        `yaml:"seeds" unit:"seeds" doc:"of the perturbations"`
	AsLogged bool           `yaml:"as_logged" default:"true" doc:"also as it is in the log"`
}

// Replay is how traces are replayed.
type Replay struct {
	Overrun        string          `yaml:"overrun" of:"kill,extend" default:"kill" doc:"what happens to jobs that outlive their request"`
	MissingRequest string          `yaml:"missing_request" of:"infinite,recorded,default" default:"infinite" doc:"what the scheduler is told of jobs that state no requested time"`
	DefaultRequest model.Duration  `yaml:"default_request" default:"12h" min:"1s" when:"replay.missing_request=default" unit:"span" doc:"that it is told"`
	Infeasible     string          `yaml:"infeasible" of:"reject,error" default:"reject" doc:"jobs that can never run: refused at submission, or the task fails"`
	AllowUnheeded  bool            `yaml:"allow_unheeded" default:"false" doc:"go on where more than 1 % of the work of a trace asks for what the cluster does not have"`
	Feedback       bool            `yaml:"feedback" default:"false" doc:"jobs that follow others (after_job, think_time) come when these have left, not when the log says"`
	Warmup         *model.Duration `yaml:"warmup" zero:"auto" default:"auto" min:"0s" unit:"span" doc:"what the steady window leaves out at the beginning; auto is 1 % of the jobs, and nothing after a warm start"`
	Cooldown       model.Duration  `yaml:"cooldown" default:"0s" min:"0s" unit:"span" doc:"what the steady window leaves out before the last submission"`
	Seed           int64           `yaml:"seed" default:"0" min:"0" unit:"seed" doc:"of the random draws of the world, the same in all tasks"`
}

// SettingAxis is one key and the values it takes.
type SettingAxis struct {
	Path   string   `yaml:"path" unit:"path" doc:"weights.wait_time, vclusters.NAME.profile.depth, tenants.NAME.fair_share; a key of the profile means all vClusters"`
	Values []string `yaml:"values" any:"values" unit:"values" doc:"that it takes, in the spelling of the file"`
	From   string   `yaml:"from" any:"values" unit:"value" doc:"least value of a sample"`
	To     string   `yaml:"to" any:"values" unit:"value" doc:"largest value of a sample"`
	Log    bool     `yaml:"log" default:"false" doc:"a sample is even over orders of magnitude"`
	Parts  []string `yaml:"parts" unit:"weights" doc:"with path: weights, those that a sample divides 1 among; the others are 0"`
}

// ListedPoint is one point.
type ListedPoint struct {
	Name    string   `yaml:"name" unit:"name" doc:"in tables"`
	Profile string   `yaml:"profile" unit:"name" doc:"of the program, or the path of a file; without it each of profiles"`
	Set     []string `yaml:"set" unit:"PATH=VALUE" doc:"settings on top of it"`
}

// Objective is a metric that is to be small or large.
type Objective struct {
	Metric    string `yaml:"metric" unit:"metric" doc:"see orrery help metrics; of a part of the work, one of its numbers"`
	By        string `yaml:"by" of:"run,vcluster,tenant,class,kind,size,runtime,user" default:"run" doc:"the number of the whole run, or of one part of the work"`
	Group     string `yaml:"group" any:"values" unit:"name" doc:"of the vCluster, the tenant, the user or the kind, the number of the class, the size, such as 5-16, or the run time, such as 6h+"`
	Direction string `yaml:"direction" of:"usual,minimise,maximise" default:"usual" doc:"which way is better; usual is known of most metrics, and others are refused"`
	Window    string `yaml:"window" of:"steady,all" default:"steady" doc:"window of the metric; all where a run has no steady window"`
}

// Constraint bounds a metric.
type Constraint struct {
	Metric  string  `yaml:"metric" unit:"metric" doc:"see orrery help metrics; of a part of the work, one of its numbers"`
	By      string  `yaml:"by" of:"run,vcluster,tenant,class,kind,size,runtime,user" default:"run" doc:"the number of the whole run, or of one part of the work"`
	Group   string  `yaml:"group" any:"values" unit:"name" doc:"of the vCluster, the tenant, the user or the kind, the number of the class, the size, such as 5-16, or the run time, such as 6h+"`
	Window  string  `yaml:"window" of:"steady,all" default:"steady" doc:"window of the metric; all where a run has no steady window"`
	AtMost  *Amount `yaml:"at_most" zero:"none" default:"none" unit:"of the metric" doc:"largest value, with the unit of the metric: 3d, 5%, 10 jobs"`
	AtLeast *Amount `yaml:"at_least" zero:"none" default:"none" unit:"of the metric" doc:"least value, likewise"`
}

// mostScenarios bounds the scenario files of an experiment, each of which is read.
const mostScenarios = 1000

// NewExperiment is an experiment with every key at its default.
func NewExperiment() *Experiment {
	e := new(Experiment)
	setDefaults(reflect.ValueOf(e).Elem())
	return e
}

// LoadExperiment reads the experiment at path.
func LoadExperiment(path string) (*Experiment, error) {
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no experiment file %s: check the path: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return ParseExperiment(path, text)
}

// ParseExperiment reads an experiment; file is what errors call it. The error is
// an *Error that lists every problem that shows without the traces and the cluster.
// The experiment is there beside it, as far as it could be read, where the text is
// YAML.
func ParseExperiment(file string, text []byte) (*Experiment, error) {
	e := new(Experiment)
	src, wrong := decode(file, text, e)
	if other := otherKind(file, text, KindExperiment); wrong != nil && other != nil {
		return nil, other
	}
	if src == nil {
		return nil, wrong
	}
	e.source = src
	if e.Name == "" {
		e.Name = nameOf(file)
	}
	return e, Joined(wrong, e.Validate())
}

// YAML prints every key that applies, defaults included. ParseExperiment reads it
// back.
func (e *Experiment) YAML() []byte {
	c := e.checker()
	w := yamlWriter{applies: func(f field) bool { return c.inert(f) == "" }}
	w.block(reflect.ValueOf(e).Elem(), "", false)
	return []byte(w.b.String())
}

// FullJSON holds every key that applies, defaults included.
func (e *Experiment) FullJSON() []byte {
	c := e.checker()
	w := jsonWriter{applies: func(f field) bool { return c.inert(f) == "" }}
	w.object(reflect.ValueOf(e).Elem())
	return w.b.Bytes()
}

func (e *Experiment) checker() *checker {
	return &checker{problems{src: e.source}, reflect.ValueOf(e).Elem(), ""}
}

// Validate says what is wrong with e as one *Error, nil when nothing is.
func (e *Experiment) Validate() error {
	k := e.checker()
	k.check()
	k.name("name", e.Name)
	if len(e.Traces) == 0 {
		k.add("traces", "the experiment names no trace: want traces: [PATH, …], or sample")
	}
	if e.Cluster != "" && e.Plain != (EqualNodes{Cores: 1}) {
		k.add("plain_cluster", "is there beside cluster, which says how large the cluster is: leave one of them out")
	}
	for i, t := range e.Traces {
		if j := slices.IndexFunc(e.Traces[:i], func(o string) bool { return filepath.Clean(o) == filepath.Clean(t) }); j >= 0 {
			k.add(fmt.Sprintf("traces[%d]", i), "found %s, which is traces[%d] already, want each trace once: leave one out", t, j)
		}
	}
	if n := len(e.Scenarios); n > mostScenarios {
		k.add("scenarios", "found %d files, want at most %d", n, mostScenarios)
	}
	for i, s := range e.Scenarios[:min(len(e.Scenarios), mostScenarios)] {
		if j := slices.IndexFunc(e.Scenarios[:i], func(o string) bool { return filepath.Clean(o) == filepath.Clean(s) }); j >= 0 {
			k.add(fmt.Sprintf("scenarios[%d]", i), "found %s, which is scenarios[%d] already, want each scenario once: leave one out", s, j)
		}
	}
	e.checkWindows(k)
	for i := range e.Settings {
		e.checkSetting(k, i)
	}
	if e.Design == "listed" && len(e.Listed) == 0 {
		k.add("design", "found listed, and no point is: want listed: [{profile: …, set: […]}, …]")
	}
	for i, p := range e.Listed {
		for j, text := range p.Set {
			if _, err := ParseAssignment(text); err != nil {
				k.add(fmt.Sprintf("listed[%d].set[%d]", i, j), "%v", err)
			}
		}
	}
	for i, o := range e.Objectives {
		measured(k, fmt.Sprintf("objectives[%d]", i), o.Metric, o.By, o.Group, o.Window)
	}
	for i, c := range e.Constraints {
		at := fmt.Sprintf("constraints[%d]", i)
		measured(k, at, c.Metric, c.By, c.Group, c.Window)
		if (c.AtMost == nil) == (c.AtLeast == nil) {
			k.add(at, "want one of at_most and at_least")
		}
	}
	return k.err()
}

// measured holds the keys that name a number against each other.
func measured(k *checker, at, metric, by, group, window string) {
	switch {
	case metric == "":
		k.add(at, "has no key metric: see orrery help metrics")
	case strings.Contains(strings.TrimSpace(metric), " "):
		k.add(at+".metric", "found %q, want one word: a part of the work goes by the keys by and group, for example {metric: wait_p95, by: tenant, group: physics}", metric)
	case by == "run" && group != "":
		k.add(at+".group", "needs by: vcluster, tenant, class, kind or size")
	case by != "run" && group == "":
		k.add(at, "has no key group: name the %s", by)
	case by != "run" && window == "all":
		k.add(at+".window", "found all, and parts of the work are measured over the steady window alone: leave it out")
	}
}

func (e *Experiment) checkWindows(k *checker) {
	seen := map[string]bool{}
	for i, w := range e.Windows {
		at := fmt.Sprintf("windows[%d]", i)
		if w.Name != "" {
			k.name(at+".name", w.Name)
			if seen[w.Name] {
				k.add(at+".name", "found %q a second time: give each window a name of its own", w.Name)
			}
			seen[w.Name] = true
		}
		if w.Length == 0 && w.Count == 0 {
			k.add(at, "has no key length, for example 7d")
		}
		if w.Count > 0 && w.Begin != 0 {
			k.add(at+".begin", "is there beside count, which spreads the windows over the whole trace: leave one of them out")
		}
	}
	if len(e.Jitter.Seeds) > 0 && e.Jitter.By == 0 {
		k.add("jitter.by", "found 0s, which moves nothing: want a span such as 1m")
	}
	for i, s := range e.Jitter.Seeds {
		if s < 0 {
			k.add(fmt.Sprintf("jitter.seeds[%d]", i), "found %d, want 0 or more", s)
		}
		if j := slices.Index(e.Jitter.Seeds[:i], s); j >= 0 {
			k.add(fmt.Sprintf("jitter.seeds[%d]", i), "found %d, which is seeds[%d] already, want each seed once: leave one out", s, j)
		}
	}
	if len(e.Jitter.Seeds) == 0 && !e.Jitter.AsLogged {
		k.add("jitter.as_logged", "found false, and there are no seeds: nothing is left to replay")
	}
}

// Sampled says whether the points are a sample.
func (e *Experiment) Sampled() bool { return e.Design != "cartesian" && e.Design != "listed" }

// checkSetting holds an axis against the design.
func (e *Experiment) checkSetting(k *checker, i int) {
	s, at := &e.Settings[i], fmt.Sprintf("settings[%d]", i)
	ranged, parts := s.From != "" || s.To != "", len(s.Parts) > 0
	switch {
	case s.Path == "":
		k.add(at, "has no key path, for example weights.wait_time")
	case !ranged && !parts && len(s.Values) == 0:
		k.add(at, "has no values: want values: […], or from and to in a sample")
	case ranged && len(s.Values) > 0 || parts && (ranged || len(s.Values) > 0):
		k.add(at, "want one of values, from and to, and parts")
	case ranged && (s.From == "" || s.To == ""):
		k.add(at, "want from and to together")
	case (ranged || parts) && !e.Sampled():
		k.add(at, "is a range, of which design: %s cannot try every value: give values, or design: sobol", e.Design)
	case parts && s.Path != "weights":
		k.add(at+".parts", "found with path: %s, want path: weights", s.Path)
	case s.Log && !ranged:
		k.add(at+".log", "does not apply without from and to: leave it out")
	}
	seen := map[string]bool{}
	for j, v := range append(append([]string{}, s.Values...), s.Parts...) {
		if seen[v] {
			k.add(at, "found %q twice (entry %d): leave one out", v, j+1)
		}
		seen[v] = true
	}
	for j := range i {
		if e.Settings[j].Path == s.Path && s.Path != "" {
			k.add(at+".path", "found %s, which settings[%d] varies already: put the values into one list", s.Path, j)
		}
	}
}
