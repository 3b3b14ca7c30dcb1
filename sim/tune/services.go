package tune

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/scaling"
	"orrery/sim/search"
)

// ofServices is what paths of services begin with; those of profiles never do.
const ofServices = "services."

// services are the services of a cluster file, whose policies and bounds may be searched.
type services struct{ cluster *profiles.Cluster }

// names says whether a path is that of a key of a service, and not of a profile.
func (services) names(path string) bool { return strings.HasPrefix(path, ofServices) }

// decided are the keys of a service that its operator decides. The others say what comes to it,
// what a replica does with it and what is promised: a search over them would find that less
// demand is served better.
var decided = []string{
	"min", "max", "policy.", "class", "qos",
	"service.balancing", "service.line", "service.drain", "service.scrape", "service.batch.most", "service.batch.chunk",
}

// setting describes a key that may be searched, and says why another may not.
func (s services) setting(path string) (profiles.Setting, error) {
	if len(s.cluster.Services) == 0 {
		return profiles.Setting{}, errors.New("the cluster file has no services: name it with --cluster, or keys of the profile")
	}
	set, err := s.cluster.Setting(path)
	if err != nil {
		return set, errors.New(shortly(err))
	}
	key := s.keyOf(path)
	if !slices.ContainsFunc(decided, func(d string) bool { return key == d || strings.HasSuffix(d, ".") && strings.HasPrefix(key, d) }) {
		return set, fmt.Errorf("%s is what the service meets or promises, and nothing to choose: want policy.KEY or %s of it%s; orrery sweep varies every key",
			key, strings.Join(slices.DeleteFunc(slices.Clone(decided), func(d string) bool { return d == "policy." }), ", "), spelling.Hint(key, decided))
	}
	return set, nil
}

// nameOf is the name of the service that a path is about: the longest that fits.
func (s services) nameOf(path string) (name string) {
	for i := range s.cluster.Services {
		if n := s.cluster.Services[i].Name; len(n) > len(name) && strings.HasPrefix(path, ofServices+n+".") {
			name = n
		}
	}
	return name
}

// keyOf is the key within the service.
func (s services) keyOf(path string) string {
	return strings.TrimPrefix(path, ofServices+s.nameOf(path)+".")
}

// within refuses a number beyond the range of its key. Whether it goes with the others is for
// together to say.
func (s services) within(set *profiles.Setting, value string) error {
	x, err := set.Number(value)
	if err != nil {
		return err
	}
	if set.Zero != "" && x == 0 {
		return nil
	}
	for _, end := range []struct {
		bound string
		sign  float64
	}{{set.Low, 1}, {set.High, -1}} {
		if end.bound == "" {
			continue
		}
		bound, err := set.Number(end.bound)
		if err == nil && (x-bound)*end.sign < 0 {
			return fmt.Errorf("found %s, want %s", value, allowedRange(set))
		}
	}
	return nil
}

func allowedRange(set *profiles.Setting) string {
	out := set.Low + " to " + set.High
	switch {
	case set.High == "":
		out = set.Low + " or more"
	case set.Low == "":
		out = "at most " + set.High
	}
	if set.Zero != "" {
		out += ", or " + set.Zero
	}
	return out
}

// mostCorners is how many combinations of the ends of what is varied of one service are tried
// before anything runs.
const mostCorners = 4096

// together refuses ranges that hold a combination of which the cluster file says that it cannot
// be, so that no point of the search is one: a max below the min. What holds at all corners
// holds between them, for the conditions compare one key with another. A key without an
// effect at any corner is refused too.
func (s services) together(all search.Space) error {
	var done []string
	for _, p := range all {
		name := s.nameOf(p.Name)
		if !s.names(p.Name) || slices.Contains(done, name) {
			continue
		}
		done = append(done, name)
		own := slices.DeleteFunc(slices.Clone(all), func(p search.Parameter) bool { return !s.names(p.Name) || s.nameOf(p.Name) != name })
		if err := s.corners(own); err != nil {
			return err
		}
	}
	return nil
}

// corners tries the ends of what is varied of one service.
func (s services) corners(own search.Space) error {
	ends, n := make([][]string, len(own)), 1
	for i, p := range own {
		ends[i] = p.Choices
		if p.Kind != search.Choice {
			set, err := s.cluster.Setting(p.Name)
			if err != nil {
				return err
			}
			ends[i] = []string{set.Text(p.Low), set.Text(p.High)}
		}
		if n *= len(ends[i]); n > mostCorners {
			return usagef("--vary %s: more than %d combinations of ends and choices of one service: vary fewer of its keys, or fewer choices", p.Name, mostCorners)
		}
	}
	idle := make([]string, len(own)) // why it has no effect, at every corner so far
	for k := range n {
		var at []profiles.Assignment
		for i, rest := 0, k; i < len(own); i++ {
			at = append(at, profiles.Assignment{Path: own[i].Name, Value: ends[i][rest%len(ends[i])]})
			rest /= len(ends[i])
		}
		without, err := s.try(at)
		if err != nil {
			return err
		}
		for i := range own {
			j := slices.IndexFunc(without, func(p profiles.Problem) bool { return p.Key == own[i].Name })
			switch {
			case j < 0:
				idle[i] = ""
			case k == 0:
				idle[i] = without[j].Text
			}
		}
	}
	for i, why := range idle {
		if why != "" {
			return usagef("--vary %s: %s", own[i].Name, why)
		}
	}
	return nil
}

// try makes one combination, and says what of it has no effect.
func (s services) try(at []profiles.Assignment) (idle []profiles.Problem, err error) {
	c, idle, err := s.cluster.WithApplying(at)
	for i := range s.cluster.Services {
		if err == nil {
			err = scaling.Check(c.Services[i].Scaling())
		}
	}
	if err != nil {
		var words []string
		for _, a := range at {
			words = append(words, a.String())
		}
		return nil, usagef("--vary %s: %s, with %s: give ranges of which every combination can be", at[0].Path, shortly(err), strings.Join(words, " and "))
	}
	return idle, nil
}

// shortly is the first problem of an error, with the line that it is about but not what stands
// there, for the value is that of a flag.
func shortly(err error) string {
	var invalid *profiles.Error
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	p := invalid.Problems[0]
	switch {
	case p.File != "" && p.Line > 0:
		return fmt.Sprintf("%s (%s:%d): %s", p.Key, p.File, p.Line, p.Text)
	case p.Key != "" && !strings.HasPrefix(p.Key, ofServices): // a place, and not the path that is named anyway
		return p.Key + ": " + p.Text
	}
	return p.Text
}

// asked refuses goals about services where there are none.
func (s services) asked(goal *search.Goal) error {
	if s.cluster != nil && len(s.cluster.Services) > 0 {
		return nil
	}
	for _, name := range goal.Metrics() {
		if ofAService(name) {
			return usagef("%s is a number of services, and the cluster has none: give a cluster file that has services with --cluster, or name another metric", name)
		}
	}
	return nil
}

// ofAService says that a metric is a number of services.
func ofAService(name string) bool {
	return slices.ContainsFunc(metric.ServiceDefinitions(), func(d metric.Definition) bool { return d.Name == measureOf(name).Metric })
}

// ofServices says that a number of services is asked for.
func (g *Goal) ofServices() bool {
	return slices.ContainsFunc(g.Objectives, func(o search.Objective) bool { return ofAService(o.Metric) }) ||
		slices.ContainsFunc(g.Constraints, func(c search.Constraint) bool { return ofAService(c.Metric) })
}
