package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
)

// Scenario is what a run is asked besides its cluster file, scenario.yaml: changes at stated
// instants, work that is left out, and a job that is preferred. Its tags describe the file as
// those of Profile do profile.yaml; docs/WHATIF.md has them in words.
type Scenario struct {
	Description string          `yaml:"description" unit:"text" doc:"what it is to find out"`
	Events      []ScenarioEvent `yaml:"events" doc:"changes at stated instants; those of one instant happen in the order of the file, behind those of the cluster file"`
	Without     ScenarioWithout `yaml:"without" doc:"work that is left out from the beginning"`
	Prefer      *int64          `yaml:"prefer" zero:"none" default:"none" unit:"job" doc:"the id of a job that stands at the head of its queue from its submission on"`

	src *source
}

// ScenarioEvent is a change at an instant.
type ScenarioEvent struct {
	Time     model.Duration `yaml:"time" default:"0s" min:"0s" unit:"span" doc:"since the epoch of the trace"`
	Kind     string         `yaml:"kind" of:"drain,undrain,degraded,down,up,quota,power_cap,storage_bandwidth,sensitive_pool,price,outage,add,profile,order,backfill" doc:"what changes"`
	Subject  Nodes          `yaml:"subject" doc:"nodes of drain, undrain, degraded, down and up; the tenant of quota; the vCluster of profile, all where it is left out; the group that add makes"`
	Limit    string         `yaml:"limit" unit:"key" doc:"of quota: the key of the tenant that changes"`
	Value    string         `yaml:"value" any:"scalar" unit:"of what changes" doc:"the new limit, cap or price, as in a cluster file; how long an outage of the quorum lasts; how many nodes are added; the order; the backfilling"`
	Type     string         `yaml:"type" unit:"name" doc:"of add: the kind of the nodes, one of node_types"`
	VCluster string         `yaml:"vcluster" unit:"name" doc:"of add: the vCluster that the nodes are at home in; without it they are for all, or of those at home on all nodes"`
	Profile  ProfileRef     `yaml:"profile" doc:"of profile: a profile of the program, the path of a file beside this one, or the keys of a profile"`
}

// ScenarioWithout names the jobs that are left out: those of which any list says so.
type ScenarioWithout struct {
	Jobs    []int64  `yaml:"jobs" unit:"ids" doc:"the log's own numbers"`
	Users   []string `yaml:"users" unit:"names" doc:"all jobs of these users"`
	Tenants []string `yaml:"tenants" unit:"names" doc:"all jobs of these tenants"`
}

// Kinds of events that a cluster file does not have.
const (
	EventOutage   = "outage"
	EventAdd      = "add"
	EventProfile  = "profile"
	EventOrder    = "order"
	EventBackfill = "backfill"
)

// onlyInScenarios are these kinds.
var onlyInScenarios = []string{EventOutage, EventAdd, EventProfile, EventOrder, EventBackfill}

// mostEvents bounds the events of a scenario, and mostLeftOut the names of what it leaves out.
const (
	mostEvents  = 10_000
	mostLeftOut = 100_000
)

// LoadScenario reads the scenario at a path, with the profiles that it names: paths are
// relative to its folder.
func LoadScenario(path string) (*Scenario, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	s, err := ParseScenario(path, text)
	if err != nil {
		return nil, err
	}
	return s, s.Inline(filepath.Dir(path))
}

// ParseScenario reads a scenario; file is what errors call it. The error is an *Error that
// lists every problem that the file alone shows.
func ParseScenario(file string, text []byte) (*Scenario, error) {
	s := new(Scenario)
	src, err := decode(file, text, s)
	if err != nil {
		return nil, cmp.Or(otherKind(file, text, KindScenario), err)
	}
	s.src = src
	return s, s.Check()
}

// Remarks says what of a valid scenario has no effect.
func (s *Scenario) Remarks() []Problem {
	all := problems{src: s.src}
	if s.Empty() {
		all.add("", "asks for nothing: a run under it is the run without it")
	}
	return all.sorted()
}

// NewScenarioEvent is an event with every key at its default.
func NewScenarioEvent(kind string) ScenarioEvent {
	var e ScenarioEvent
	setDefaults(reflect.ValueOf(&e).Elem())
	e.Kind = kind
	return e
}

// ParseScenarioEvent reads an event as a command line has it: keys of an event as KEY=VALUE.
// Without the key time it is at the instant at.
func ParseScenarioEvent(text string, at model.Duration) (ScenarioEvent, error) {
	e := NewScenarioEvent("")
	e.Time = at
	v := reflect.ValueOf(&e).Elem()
	known := keysIn(fieldsOf(v.Type()))
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		f, exists := findField(fieldsOf(v.Type()), key)
		if !ok || !exists || value == "" {
			return e, fmt.Errorf("found %q, want KEY=VALUE with one of the keys %s", word, oneOf(known))
		}
		x := v.FieldByIndex(f.Index)
		switch f.kind {
		case aNodes:
			x.Set(reflect.ValueOf(Nodes(strings.Split(value, ","))))
		case aRef:
			x.Set(reflect.ValueOf(ProfileRef{Name: value}))
		default:
			if err := parseScalar(value, x, f); err != nil {
				return e, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return e, nil
}

// Check says what is wrong with s as one *Error, nil when nothing is.
func (s *Scenario) Check() error {
	c := &checker{problems{src: s.src}, reflect.ValueOf(s).Elem(), ""}
	c.check()
	for i := range s.Events {
		if p := s.Events[i].Profile.Inline; p != nil {
			sub := p.checker()
			sub.check()
			p.rules(sub)
			c.list = append(c.list, sub.list...)
		}
		s.Events[i].check(func(key, format string, args ...any) {
			at := fmt.Sprintf("events[%d]", i)
			if key != "" {
				at = join(at, key)
			}
			c.add(at, format, args...)
		})
	}
	w := &s.Without
	if n := len(s.Events); n > mostEvents {
		c.add("events", "found %d events, want at most %d", n, mostEvents)
	}
	if n := len(w.Jobs) + len(w.Users) + len(w.Tenants); n > mostLeftOut {
		c.add("without", "found %d names, want at most %d", n, mostLeftOut)
	}
	added := 0
	for i := range s.Events {
		if n, err := strconv.Atoi(s.Events[i].Value); s.Events[i].Kind == EventAdd && err == nil {
			added += min(max(n, 0), mostAdded)
		}
	}
	if added > mostAdded {
		c.add("events", "%d nodes or more are added in all, want at most %d", added, mostAdded)
	}
	return c.err()
}

// check holds the keys of an event against its kind. The values of kinds that a cluster file has are
// checked with the cluster.
func (e *ScenarioEvent) check(add func(key, format string, args ...any)) {
	if e.Kind == "" { // which is told already
		return
	}
	wants := map[string]string{ // + needed, ? possible
		EventOutage: "value+", EventAdd: "subject+ value+ type+ vcluster?", EventProfile: "subject? profile+", EventOrder: "value+", EventBackfill: "value+",
	}[e.Kind]
	if wants == "" {
		wants = "subject? limit? value?" // the cluster says more
	}
	for _, key := range []struct {
		name  string
		there bool
	}{
		{"subject", len(e.Subject) > 0}, {"limit", e.Limit != ""}, {"value", e.Value != ""}, {"type", e.Type != ""},
		{"vcluster", e.VCluster != ""}, {"profile", e.Profile.Name != "" || e.Profile.Inline != nil},
	} {
		switch {
		case key.there && !strings.Contains(wants, key.name):
			add(key.name, "does not apply with kind: %s: leave it out", e.Kind)
		case !key.there && strings.Contains(wants, key.name+"+"):
			add("", "is of kind %s and has no key %s", e.Kind, key.name)
		}
	}
	if e.Value == "" {
		return
	}
	switch length, err := e.Length(); {
	case e.Kind != EventOutage:
	case err != nil:
		add("value", "%v", err)
	case length <= 0:
		add("value", "found %s, want more than 0s", e.Value)
	}
	if n, err := strconv.Atoi(e.Value); e.Kind == EventAdd && (err != nil || n < 1 || n > mostAdded) {
		add("value", "found %s, want a number of nodes from 1 to %d", e.Value, mostAdded)
	}
	if len(e.Subject) > 1 && (e.Kind == EventAdd || e.Kind == EventProfile) {
		add("subject", "found %d names, want one", len(e.Subject))
	}
}

// mostAdded nodes come with all events together.
const mostAdded = 10_000

// Length is how long an outage lasts.
func (e *ScenarioEvent) Length() (d model.Duration, err error) {
	v := reflect.ValueOf(&d).Elem()
	return d, parseScalar(e.Value, v, field{kind: aSpan, StructField: reflect.StructField{Type: v.Type()}})
}

// Inline replaces the names and paths of profiles by the profiles. dir is the folder that paths
// are relative to.
func (s *Scenario) Inline(dir string) error {
	for i := range s.Events {
		ref := &s.Events[i].Profile
		if ref.Inline != nil || ref.Name == "" {
			continue
		}
		name := ref.Name
		if !slices.Contains(Names(), name) && strings.ContainsAny(name, `./\`) && !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		p, err := Load(name)
		var wrong *Error
		if err != nil && !errors.As(err, &wrong) {
			return s.src.Wrong(fmt.Sprintf("events[%d].profile", i), "%v", err)
		}
		if err != nil {
			return err
		}
		*ref = ProfileRef{Inline: &p}
	}
	return nil
}

// NoScenario is the word for the trace as it is, where a file lists scenarios.
const NoScenario = "none"

// Empty says that nothing is asked.
func (s *Scenario) Empty() bool {
	return len(s.Events) == 0 && s.Prefer == nil && len(s.Without.Jobs)+len(s.Without.Users)+len(s.Without.Tenants) == 0
}

// JSON is the canonical form for a spec, as that of Cluster.
func (s *Scenario) JSON() []byte { return canonical(reflect.ValueOf(s).Elem()) }

// Wrong is an error about event i.
func (s *Scenario) Wrong(i int, format string, args ...any) error {
	return s.src.Wrong(fmt.Sprintf("events[%d]", i), format, args...)
}

// Locate is an error about the canonical form of a scenario, of which s is the events from place skip on, told by
// the file that s was read from. Errors about other events, and of another kind, are left alone.
func (s *Scenario) Locate(err error, skip int) error {
	var found *Error
	if !errors.As(err, &found) {
		return err
	}
	all := slices.Clone(found.Problems)
	for i, p := range all {
		var at int
		if n, _ := fmt.Sscanf(p.Key, "events[%d]", &at); n != 1 || p.File != SpecScenario || at < skip || at-skip >= len(s.Events) {
			continue
		}
		_, rest, _ := strings.Cut(p.Key, "]")
		if all[i] = s.src.problem(fmt.Sprintf("events[%d]%s", at-skip, rest), p.Text); s.src == nil {
			all[i] = Problem{Text: fmt.Sprintf("the event of kind %s at %s: %s", s.Events[at-skip].Kind, formatSpan(s.Events[at-skip].Time), p.Text)}
		}
	}
	return &Error{all}
}

// SpecScenario is what errors call the scenario inside a spec.
const SpecScenario = "scenario"

// onCluster says whether a cluster file has events of the kind.
func (e *ScenarioEvent) onCluster() bool {
	return !slices.Contains(onlyInScenarios, e.Kind)
}

// Under is c with what s changes up to an instant: its events, its added nodes, and with profiles
// those that vClusters have then. Only events of the cluster file's own kinds become events of it.
func (c *Cluster) Under(s *Scenario, until model.Time, withProfiles bool) (*Cluster, error) {
	out, err := c.apart()
	if err != nil {
		return nil, err
	}
	out.Events = slices.Clone(c.Events)
	places := map[string]string{}
	for i := range s.Events {
		e := &s.Events[i]
		switch {
		case model.Time(e.Time) > until:
		case e.Kind == EventAdd:
			err = out.addNodes(e)
		case e.Kind == EventProfile && withProfiles:
			err = out.profileFrom(e)
		case e.onCluster():
			places[fmt.Sprintf("events[%d]", len(out.Events))] = fmt.Sprintf("events[%d]", i)
			out.Events = append(out.Events, Event{Time: e.Time, Kind: e.Kind, Subject: e.Subject, Limit: e.Limit, Value: e.Value})
		}
		if err != nil {
			return nil, s.Wrong(i, "%v", err)
		}
	}
	if err := out.validate(); err != nil {
		return nil, s.located(err, places)
	}
	if _, err := out.Resolve(); err != nil {
		return nil, s.located(err, places)
	}
	return out, nil
}

// Added are the instants of the nodes that s adds up to an instant, in the order of the nodes.
func (s *Scenario) Added(until model.Time) []model.Time {
	var out []model.Time
	for i := range s.Events {
		e := &s.Events[i]
		if n, err := strconv.Atoi(e.Value); e.Kind == EventAdd && err == nil && n <= mostAdded && model.Time(e.Time) <= until {
			out = append(out, slices.Repeat([]model.Time{model.Time(e.Time)}, n)...)
		}
	}
	return out
}

// located tells problems with events of the merged cluster by their places in the scenario.
func (s *Scenario) located(err error, places map[string]string) error {
	var found *Error
	if !errors.As(err, &found) {
		return err
	}
	all := slices.Clone(found.Problems)
	for i, p := range all {
		event, rest, _ := strings.Cut(p.Key, "]")
		if at, ok := places[event+"]"]; ok {
			all[i] = s.src.problem(at+rest, p.Text)
		}
	}
	return &Error{all}
}

// profileFrom gives a vCluster, or all, the profile of an event.
func (c *Cluster) profileFrom(e *ScenarioEvent) error {
	name := ""
	if len(e.Subject) == 1 {
		name = e.Subject[0]
	}
	if e.Profile.Inline == nil {
		return fmt.Errorf("the profile %s has not been read", e.Profile.Name)
	}
	with, err := c.WithProfile(name, e.Profile.Inline.apart())
	if err == nil {
		c.VClusters = with.VClusters
	}
	return err
}

// addNodes adds the nodes of an event behind all others, as a group of their own.
func (c *Cluster) addNodes(e *ScenarioEvent) error {
	group := e.Subject[0]
	if why := goodName(group); why != "" {
		return errors.New(why)
	}
	if group == "all" {
		return errors.New("found the name all, which is all nodes: give the added ones another name")
	}
	switch n, err := strconv.Atoi(e.Value); {
	case err != nil:
		return err
	case len(c.rows) > 0:
		like := slices.IndexFunc(c.rows, func(r NodeRow) bool { return r.Type == e.Type })
		if like < 0 {
			return fmt.Errorf("no node of the trace is of the type %s", e.Type)
		}
		c.rows = slices.Clone(c.rows)
		for i := range n {
			row := c.rows[like]
			row.Name, row.Group, row.Fingerprint, row.VCluster, row.Up = fmt.Sprintf("%s-%d", group, i+1), group, "", e.VCluster, false
			c.rows = append(c.rows, row)
		}
		return nil
	}
	if slices.ContainsFunc(c.Groups, func(g Group) bool { return g.Name == group }) {
		return fmt.Errorf("the cluster has a group %s: give the added nodes one of their own", group)
	}
	c.Groups = append(c.Groups, Group{Name: group, Nodes: Nodes{e.Value}, Type: e.Type})
	if e.VCluster == "" {
		return nil
	}
	i := slices.IndexFunc(c.VClusters, func(v VCluster) bool { return v.Name == e.VCluster })
	if i < 0 {
		return fmt.Errorf("the cluster has no vCluster %s: want %s", e.VCluster, oneOf(c.lists()[1].names))
	}
	if home := c.VClusters[i].Home; !slices.Contains(home, "all") {
		c.VClusters[i].Home = append(slices.Clone(home), group)
	}
	return nil
}
