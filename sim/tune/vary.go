package tune

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/search"
)

// knob is a setting that is searched when the profile that runs now uses it.
type knob struct {
	path   string
	values string // as in PATH=VALUES
	used   func(now *profiles.Profile) bool
	shared bool // the same in all vClusters of a site
}

// knobs are what operators of such a profile turn, and what windows of a log can
// judge. What is a promise to users (limits, shares, budgets, which QOS preempts which)
// is not, nor is the time between passes, of which less is always better here.
var knobs = []knob{
	{path: "reference_wait", values: "5m..7d", used: byWeights},
	{path: "multifactor.max_age", values: "1d..60d", used: byPoints},
	{path: "multifactor.half_life", values: "12h..60d", used: func(p *profiles.Profile) bool { return byPoints(p) && p.Multifactor.HalfLife > 0 }, shared: true},
	{path: "multifactor.favor_small", values: "false,true", used: byPoints, shared: true},
	{path: "usage.half_life", values: "12h..60d", used: func(p *profiles.Profile) bool {
		return byWeights(p) && p.Mode == "documented" && p.Usage.Rule == "decay"
	}, shared: true},
	{path: "backfill", values: "easy,conservative", used: func(p *profiles.Profile) bool { return p.Mode == "documented" }},
	{path: "depth", values: "all,10,100", used: func(p *profiles.Profile) bool { return p.Backfill == "conservative" }},
	{path: "preemption.max_victims", values: "1..8", used: func(p *profiles.Profile) bool { return p.Preemption.Enabled }},
}

func byWeights(p *profiles.Profile) bool { return groupOf(p).name == "weights" }
func byPoints(p *profiles.Profile) bool  { return !byWeights(p) }

// defaultVary is what is searched when nothing is named.
const defaultVary = "default"

// wholeSpace has all that is varied.
func (t *tuner) wholeSpace() (space, error) {
	now, err := t.leading()
	if err != nil {
		return space{}, err
	}
	s := space{group: groupOf(&now), units: map[string]string{}, services: services{t.problem.Cluster}}
	for _, p := range s.parts {
		s.fixed = append(s.fixed, p.get(&now))
	}
	list := t.opt.Vary
	if len(list) == 0 {
		list = []string{defaultVary}
	}
	for _, text := range list {
		if err := t.vary(&s, &now, text); err != nil {
			return s, err
		}
	}
	for _, p := range s.Space {
		if len(s.kept) > 0 && p.Kind != search.Simplex && strings.HasPrefix(p.Name, s.name+".") && s.partAt(strings.TrimPrefix(p.Name, s.name+".")) >= 0 {
			return s, usagef("--vary %s: it is one of the %s that are varied together: leave it out, or name those that are (%s=A,B,C)", p.Name, s.name, s.name)
		}
	}
	return s, s.services.together(s.Space)
}

// vary adds what one word of the user stands for.
func (t *tuner) vary(s *space, now *profiles.Profile, text string) error {
	path, values, ranged := strings.Cut(text, "=")
	path, values = strings.TrimSpace(path), strings.TrimSpace(values)
	switch {
	case path == defaultVary && !ranged:
		return t.varyDefault(s, now)
	case path == s.name:
		return s.varyGroup(values, ranged)
	case slices.ContainsFunc(groups, func(g group) bool { return g.name == path }):
		return usagef("--vary %s: the queue is not ordered by it: name keys of %s", text, s.name)
	case !ranged:
		i := slices.IndexFunc(knobs, func(k knob) bool { return k.path == path })
		if i < 0 {
			return usagef("--vary %s: want %s=LOW..HIGH or %s=A,B,C", text, path, path)
		}
		values = knobs[i].values
	}
	return t.varyKey(s, now, path, values)
}

// varyDefault adds the weights and the settings that the profile uses.
func (t *tuner) varyDefault(s *space, now *profiles.Profile) error {
	if err := s.varyGroup("", false); err != nil {
		return err
	}
	for _, k := range knobs {
		if !k.used(now) || k.shared && len(t.tuned()) < len(t.problem.Cluster.VClusters) {
			continue
		}
		values := k.values
		if !strings.Contains(values, "..") { // those that the site can have
			list := slices.DeleteFunc(words(values), func(v string) bool { return t.allowed(k.path, v) != nil })
			if len(list) < 2 {
				continue
			}
			values = strings.Join(list, ",")
		}
		if err := t.varyKey(s, now, k.path, values); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) partAt(key string) int {
	return slices.IndexFunc(g.parts, func(p part) bool { return p.key == key })
}

// varyGroup adds the weights, all of them or those that are named.
func (s *space) varyGroup(values string, ranged bool) error {
	simplex := search.Parameter{Name: s.name, Kind: search.Simplex}
	s.kept = nil
	for i, p := range s.parts {
		if !ranged || slices.Contains(words(values), p.key) {
			simplex.Parts, s.kept = append(simplex.Parts, p.key), append(s.kept, i)
		}
	}
	for _, w := range words(values) {
		if ranged && s.partAt(w) < 0 {
			return usagef("--vary %s=%s: there is no %s.%s", s.name, values, s.name, w)
		}
	}
	if len(s.kept) < 2 {
		return usagef("--vary %s=%s: want two weights or more, since only ratios matter", s.name, values)
	}
	s.put(simplex)
	return nil
}

// put adds a parameter, or takes it for the one of its name. Weights come first, as in
// the points of the sensitivity.
func (s *space) put(p search.Parameter) {
	i := slices.IndexFunc(s.Space, func(o search.Parameter) bool { return o.Name == p.Name })
	if i >= 0 {
		s.Space[i] = p
		return
	}
	if p.Kind == search.Simplex {
		s.Space = slices.Insert(s.Space, 0, p)
		return
	}
	s.Space = append(s.Space, p)
}

func words(list string) []string {
	out := strings.Split(list, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// varyKey adds a key of the profile or of a service with a range or a list of values.
func (t *tuner) varyKey(s *space, now *profiles.Profile, path, values string) error {
	set, err := s.settingIn(now, path)
	switch {
	case err != nil && s.services.names(path):
		return usagef("--vary %s=%s: %v", path, values, err)
	case err != nil:
		why := err.Error()
		if invalid := (*profiles.Error)(nil); errors.As(err, &invalid) {
			why = invalid.Problems[0].Text // without the place in the file, which is not the user's
		}
		return usagef("--vary %s=%s: %s; only keys of a profile and of services are searched here, orrery sweep varies others", path, values, why)
	}
	low, high, isRange := strings.Cut(values, "..")
	if !isRange {
		return t.varyChoice(s, path, values, set.Value)
	}
	numeric, whole := set.Numeric()
	if !numeric {
		return usagef("--vary %s=%s: it is %s, and has no range: give values, A,B,C", path, values, set.Kind)
	}
	p := search.Parameter{Name: path, Kind: search.Real}
	if whole {
		p.Kind = search.Integer
	}
	for text, into := range map[string]*float64{low: &p.Low, high: &p.High} { //detlint:ordered two numbers of their own
		if *into, err = set.Number(strings.TrimSpace(text)); err != nil {
			return usagef("--vary %s=%s: %v", path, values, err)
		}
	}
	if !(p.Low < p.High) {
		return usagef("--vary %s=%s: want a range from a lower to a higher value", path, values)
	}
	p.Log = p.Low > 0 && p.High >= 10*p.Low
	if set.Kind == "span" {
		s.units[path] = "s"
	}
	for _, end := range []string{low, high} {
		if s.services.names(path) {
			if err = s.services.within(&set, strings.TrimSpace(end)); err != nil {
				return usagef("--vary %s=%s: %v", path, values, err)
			}
		} else if err = t.allowed(path, strings.TrimSpace(end)); err != nil {
			return err
		}
	}
	s.put(p)
	return nil
}

// varyChoice adds values to choose from, and the one there is now.
func (t *tuner) varyChoice(s *space, path, values, now string) error {
	list := words(values)
	for _, v := range list {
		if s.services.names(path) { // together tries them
			continue
		}
		if err := t.allowed(path, v); err != nil {
			return err
		}
	}
	if !slices.Contains(list, now) {
		list = append(list, now)
	}
	if sorted := slices.Sorted(slices.Values(list)); len(slices.Compact(sorted)) < len(list) || len(list) < 2 {
		return usagef("--vary %s=%s: want values that differ, and from %s, which it has now", path, values, now)
	}
	s.put(search.Parameter{Name: path, Kind: search.Choice, Choices: list})
	return nil
}

// allowed says what is wrong with a value of a key.
func (t *tuner) allowed(path, value string) error {
	c := t.problem.Cluster
	var all []profiles.Assignment
	for _, i := range t.tuned() {
		all = append(all, profiles.Assignment{Path: profilePath(c, i, path), Value: value})
	}
	c, _, err := c.WithApplying(all)
	if err == nil {
		err = t.possible(c)
	}
	if err != nil {
		return usagef("--vary %s: %v", path, err)
	}
	return nil
}

// possible says why the site cannot be run with other profiles. Of a cluster file
// that takes its nodes from the trace less is known.
func (t *tuner) possible(c *profiles.Cluster) error {
	reserves := func(v profiles.VCluster) bool { return v.Profile.Inline.Backfill == "conservative" }
	if c.Sharing != "whole" && slices.ContainsFunc(c.VClusters, reserves) {
		return fmt.Errorf("conservative reserves whole nodes and cannot divide them, and jobs share nodes here (sharing: %s)", c.Sharing)
	}
	if _, err := t.problem.Cluster.Resolve(); err != nil {
		return nil //nolint:nilerr // the run reports it
	}
	_, err := c.Resolve()
	return err
}

// described says what may be varied how far.
func (s space) described() []string {
	var out []string
	for _, p := range s.Space {
		say := func(x float64) string { return amount(metric.Number(x), s.units[p.Name]) }
		switch p.Kind {
		case search.Simplex:
			out = append(out, fmt.Sprintf("%s (shares of %s)", p.Name, strings.Join(p.Parts, ", ")))
		case search.Choice:
			out = append(out, p.Name+" ("+strings.Join(p.Choices, ", ")+")")
		default:
			out = append(out, fmt.Sprintf("%s (%s to %s)", p.Name, say(p.Low), say(p.High)))
		}
	}
	return out
}
