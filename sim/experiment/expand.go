package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/sim/plan"
	"orrery/traces/transform"
)

// Trace is a trace of an experiment as it is at hand.
type Trace struct {
	Name string
	Hash string
	Jobs int64
	Set  *transform.Set
	Tab  plan.Tables
}

// Expand works an experiment out. dir is the folder that its paths are relative
// to; traces are those that it names, in order. What is wrong with the file is one
// *profiles.Error with all of it, told where it stands; it ends with the error of
// ctx soon after that is done. It costs about a millisecond and some kilobytes a
// point.
func Expand(ctx context.Context, e *profiles.Experiment, dir string, traces []Trace) (*Plan, []Task, error) {
	x := newExpander(ctx, e, dir, traces)
	if err := x.look(x.goals, x.scenarioFiles, x.scenarios, x.clusters, x.groups, x.names); err != nil {
		return nil, nil, err
	}
	if len(x.base) == len(traces) {
		x.spoilt = min(len(x.faults), 1)
		if err := x.look(x.points); err != nil {
			return nil, nil, err
		}
	}
	if err := profiles.Joined(x.faults...); err != nil {
		return nil, nil, err
	}
	tasks, err := x.tasks()
	return x.plan, tasks, err
}

// Check finds what is wrong with an experiment that shows without its traces: the
// names of metrics, the cluster file, profiles, paths of settings. It may be one
// that ParseExperiment has found fault with.
func Check(e *profiles.Experiment, dir string) error {
	x := newExpander(context.Background(), e, dir, nil)
	steps := []func() error{x.goals, x.scenarioFiles, x.clusters, x.names}
	if err := x.look(steps...); err != nil {
		return err
	}
	if err := x.look(x.underScenarios); err != nil {
		return err
	}
	if len(x.base) > 0 {
		for i := range e.Settings {
			if path := e.Settings[i].Path; path != "" && len(e.Settings[i].Parts) == 0 {
				_, err := x.parameter(fmt.Sprintf("settings[%d].path", i), path)
				if err := x.note(err); err != nil {
					return err
				}
			}
		}
	}
	return profiles.Joined(x.faults...)
}

// underScenarios finds what the scenarios name and the cluster file does not have, where that
// lists its nodes: else they come from a trace, as tenants may.
func (x *expander) underScenarios() error {
	if x.e.Cluster == "" || len(x.base) == 0 || len(x.base[0].Groups) == 0 {
		return nil
	}
	for i := range x.asked {
		s := x.asked[i].file
		ofTenant := func(e profiles.ScenarioEvent) bool { return e.Kind == "quota" }
		if s != nil && (len(x.base[0].Tenants) > 0 || !slices.ContainsFunc(s.Events, ofTenant)) {
			if _, err := x.base[0].Under(s, math.MaxInt64, true); err != nil {
				if err := x.note(err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func newExpander(ctx context.Context, e *profiles.Experiment, dir string, traces []Trace) *expander {
	return &expander{ctx: ctx, e: e, dir: dir, traces: traces, seen: map[string]bool{}, known: map[string]*profiles.Setting{}, ready: map[string][]*profiles.Cluster{}, plan: &Plan{
		Schema: Schema, Name: e.Name, Description: e.Description, File: string(e.YAML()),
	}}
}

// look takes steps, of which one may find fault with the file where another does
// not. It returns what is no fault of the file.
func (x *expander) look(steps ...func() error) error {
	for _, step := range steps {
		if err := x.note(step()); err != nil {
			return err
		}
	}
	return nil
}

// note keeps a fault of the file, and returns any other error.
func (x *expander) note(err error) error {
	var fault *profiles.Error
	if errors.As(err, &fault) {
		x.faults = append(x.faults, err)
		return nil
	}
	return err
}

type expander struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one call of Expand
	e      *profiles.Experiment
	dir    string
	traces []Trace
	plan   *Plan
	asked  []asked             // scenario files; one without a name where there are none
	faults []error             // of the file, each a *profiles.Error
	base   []*profiles.Cluster // by trace, with their profiles read; of a Check one
	// measures are those of the goals and of what is shown.
	measures []keyed
	spoilt   int                            // points tried since the first fault
	seen     map[string]bool                // of points
	known    map[string]*profiles.Setting   // by path; nil of those that there are not
	ready    map[string][]*profiles.Cluster // by profile, then by trace: with that profile
}

// clusters finds the base of each trace.
func (x *expander) clusters() error {
	if x.e.Cluster != "" {
		path := x.e.Cluster
		if !slices.Contains(profiles.ClusterNames(), path) {
			path = x.path(path)
		}
		c, err := profiles.LoadCluster(path)
		var wrong *profiles.Error
		if errors.As(err, &wrong) {
			return err // told of that file
		}
		if err != nil {
			return x.e.Wrong("cluster", "%v", err)
		}
		if c, err = c.WithAll(nil); err != nil {
			return x.e.Wrong("cluster", "%v", err)
		}
		x.base = slices.Repeat([]*profiles.Cluster{c}, max(1, len(x.traces)))
		return nil
	}
	if len(x.traces) == 0 {
		c, err := profiles.PlainCluster(1, 1, 0)
		x.base = append(x.base, c)
		return err
	}
	for i := range x.traces {
		t := &x.traces[i]
		nodes, cores := x.e.Plain.Nodes, x.e.Plain.Cores
		if nodes == 0 {
			size, err := plan.ClusterSpec{}.Resolve(t.Tab.Info(), t.Tab.Nodes())
			if err != nil {
				return x.e.Wrong("plain_cluster", "%v: or give plain_cluster: {nodes: N}", err)
			}
			nodes = size.Procs // 0 with a table of nodes
		}
		c, err := profiles.PlainCluster(nodes, cores, x.e.Plain.GPUs)
		if err == nil {
			c, err = c.WithAll(nil)
		}
		if err != nil {
			return err
		}
		x.base = append(x.base, c)
	}
	return nil
}

func (x *expander) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(x.dir, p)
}

// profile reads a profile by name, or by a path from the folder of the file.
func (x *expander) profile(key, name string) (*profiles.Profile, error) {
	if name == "" {
		return nil, nil
	}
	at := name
	if !slices.Contains(profiles.Names(), name) && strings.ContainsAny(name, `./\`) {
		at = x.path(name)
	}
	p, err := profiles.Load(at)
	var wrong *profiles.Error
	switch {
	case errors.As(err, &wrong):
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, x.e.Wrong(key, "there is no file %s: want a profile of the program (orrery profiles list), or a path from the folder of this file", at)
	case err != nil:
		return nil, x.e.Wrong(key, "%v", err)
	}
	return &p, nil
}

// candidate is a point before it is tried on the clusters.
type candidate struct {
	key     string // of the file, for errors
	name    string
	profile string
	set     []profiles.Assignment
	where   []string // key of the file for each of set
	values  map[string]string
	numbers map[string]float64
}

// names reads the profiles that the file names.
func (x *expander) names() error {
	if len(x.base) == 0 {
		return nil
	}
	for i, name := range x.e.Profiles {
		_, err := x.with(fmt.Sprintf("profiles[%d]", i), name)
		if err := x.note(err); err != nil {
			return err
		}
	}
	for i := range x.e.Listed {
		_, err := x.with(fmt.Sprintf("listed[%d].profile", i), x.e.Listed[i].Profile)
		if err := x.note(err); err != nil {
			return err
		}
	}
	return nil
}

// points makes every point of the design.
func (x *expander) points() error {
	if len(x.traces) == 0 {
		return x.e.Wrong("traces", "none is at hand")
	}
	names := x.e.Profiles
	if len(names) == 0 {
		names = []string{""}
	}
	if x.e.Design == "listed" {
		return x.listed(names)
	}
	before := len(x.faults)
	variants, err := x.settings()
	if err != nil || len(x.faults) > before {
		return err
	}
	if len(names) > 1 {
		x.plan.Parameters = slices.Insert(x.plan.Parameters, 0, Parameter{Name: "profile"})
	}
	if n := len(names) * variants.n; n*len(x.plan.Scenarios) > mostTasks {
		return x.tooMany(n)
	}
	for i, name := range names {
		for k := range variants.n {
			c := variants.at(k)
			c.profile = name
			if c.key = fmt.Sprintf("profiles[%d]", i); name == "" {
				c.key = "profiles"
			}
			if len(c.set) == 0 {
				c.name = name
			}
			if more, err := x.try(&c); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// try makes a point, and says whether to go on: where one is at fault others may be
// too, for as long as that takes next to no time.
func (x *expander) try(c *candidate) (more bool, err error) {
	if x.spoilt > 0 {
		x.spoilt++
	}
	fault := x.point(c)
	if fault == nil {
		return x.spoilt < mostSpoilt, nil
	}
	x.spoilt = max(x.spoilt, 1)
	return x.spoilt < mostSpoilt, x.note(fault)
}

// mostSpoilt points are tried from the first that is at fault on.
const mostSpoilt = 500

// listed makes the points of a list. Their parameters are all paths that any of
// them sets.
func (x *expander) listed(names []string) error {
	var all []candidate
	for i, l := range x.e.Listed {
		c := candidate{key: fmt.Sprintf("listed[%d]", i), name: l.Name, values: map[string]string{}, numbers: map[string]float64{}}
		for j, text := range l.Set {
			a, err := profiles.ParseAssignment(text)
			if err != nil {
				return err // the file has been checked
			}
			c.set, c.where = append(c.set, a), append(c.where, fmt.Sprintf("%s.set[%d]", c.key, j))
			c.values[a.Path] = a.Value
			if !slices.ContainsFunc(x.plan.Parameters, func(p Parameter) bool { return p.Name == a.Path }) {
				p, err := x.parameter(c.where[j], a.Path)
				if err := x.note(err); err != nil {
					return err
				}
				x.plan.Parameters = append(x.plan.Parameters, p)
			}
			c.numbers[a.Path] = x.number(a)
		}
		use := names
		if l.Profile != "" {
			use = []string{l.Profile}
		}
		for _, name := range use {
			c.profile = name
			all = append(all, c)
		}
	}
	x.plan.Parameters = slices.Insert(x.plan.Parameters, 0, Parameter{Name: "profile"})
	if n := len(all); n*len(x.plan.Scenarios) > mostTasks {
		return x.tooMany(n)
	}
	for i := range all {
		if more, err := x.try(&all[i]); err != nil || !more {
			return err
		}
	}
	return nil
}

// number is the value of an assignment as a number, 0 where it is none.
func (x *expander) number(a profiles.Assignment) float64 {
	s, there := x.known[a.Path]
	if !there {
		if found, err := x.base[0].Setting(a.Path); err == nil {
			s = &found
		}
		x.known[a.Path] = s
	}
	if s == nil {
		return 0
	}
	n, err := s.Number(a.Value)
	if err != nil {
		return 0
	}
	return n
}

func (x *expander) parameter(key, path string) (Parameter, error) {
	s, err := x.base[0].Setting(path)
	if err != nil {
		return Parameter{}, x.e.Wrong(key, "%v", err)
	}
	numeric, whole := s.Numeric()
	unit := s.Unit
	if s.Kind == "span" {
		unit = "s"
	}
	return Parameter{Name: path, Numeric: numeric, Whole: whole, Unit: unit}, nil
}

// with is the cluster of each trace with a profile.
func (x *expander) with(key, name string) ([]*profiles.Cluster, error) {
	if name == "" {
		return x.base, nil
	}
	if out := x.ready[name]; out != nil {
		return out, nil
	}
	p, err := x.profile(key, name)
	if err != nil {
		return nil, err
	}
	out := make([]*profiles.Cluster, len(x.base))
	for i, c := range x.base {
		if i > 0 && c == x.base[0] {
			out[i] = out[0]
		} else if out[i], err = c.WithProfile("", *p); err != nil {
			return nil, x.e.Wrong(key, "%v", err)
		}
	}
	x.ready[name] = out
	return out, nil
}

// point tries a candidate on the cluster of each trace, and keeps it unless there
// is one that is alike.
func (x *expander) point(c *candidate) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	with, err := x.with(c.key, c.profile)
	if err != nil {
		return err
	}
	out := Point{Name: c.name}
	sum := sha256.New()
	for i := range x.traces {
		if i > 0 && with[i] == with[0] {
			out.sites = append(out.sites, out.sites[0])
			continue
		}
		made, idle, err := with[i].WithApplying(c.set)
		if err != nil {
			return x.wrong(c, err)
		}
		if len(idle) > 0 && x.e.Inapplicable == "refuse" {
			return x.wrong(c, fmt.Errorf("%w; or say inapplicable: ignore", &profiles.Error{Problems: idle}))
		}
		for _, problem := range idle {
			delete(c.values, problem.Key)
		}
		out.sites = append(out.sites, made.JSON())
		sum.Write(out.sites[i])
		sum.Write([]byte{'\n'})
	}
	out.ID = hex.EncodeToString(sum.Sum(nil))[:10]
	if x.seen[out.ID] {
		x.plan.Merged++
		return nil
	}
	x.seen[out.ID] = true
	for _, q := range x.plan.Parameters {
		value := c.values[q.Name]
		if q.Name == "profile" {
			value = c.profile
			switch {
			case value == "" && x.e.Cluster == "":
				value = "default"
			case value == "":
				value = "as the cluster file has it"
			}
		}
		n := 0.0
		if value != "" {
			n = c.numbers[q.Name]
		}
		out.Values, out.At = append(out.Values, value), append(out.At, n)
	}
	x.plan.Points = append(x.plan.Points, out)
	return nil
}

// wrong is an error about the settings of a point, told where the first setting
// that it names stands in the file.
func (x *expander) wrong(c *candidate, err error) error {
	var found *profiles.Error
	key := c.key
	if errors.As(err, &found) && len(found.Problems) > 0 {
		for i, a := range c.set {
			if k := found.Problems[0].Key; k == a.Path || strings.HasSuffix(k, ".profile."+a.Path) {
				key = c.where[i]
			}
		}
	}
	var texts []string
	for _, a := range c.set {
		texts = append(texts, a.String())
	}
	at := ""
	if len(texts) > 0 {
		at = " (in the point " + strings.Join(texts, ", ") + ")"
	}
	return x.e.Wrong(key, "%v%s", err, at)
}
