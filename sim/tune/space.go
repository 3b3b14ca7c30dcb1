package tune

import (
	"math"
	"slices"

	"orrery/internal/libm"
	"orrery/profiles"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
)

// part is one weight of a group by its key, and where it is in a profile.
type part struct {
	key string
	get func(*profiles.Profile) float64
	set func(*profiles.Profile, float64)
}

func number(key string, at func(*profiles.Profile) *float64) part {
	return part{key, func(p *profiles.Profile) float64 { return *at(p) }, func(p *profiles.Profile, x float64) { *at(p) = x }}
}

func points(key string, at func(*profiles.Profile) *int64) part {
	return part{key, func(p *profiles.Profile) float64 { return float64(*at(p)) }, func(p *profiles.Profile, x float64) { *at(p) = int64(math.Round(x)) }}
}

// group is a block of a profile of which only the ratios matter: weights that are
// searched as shares of their sum.
type group struct {
	name, order string
	whole       bool // points, which have no fractions
	parts       []part
}

var groups = []group{
	{"weights", "score", false, []part{
		number("priority", func(p *profiles.Profile) *float64 { return &p.Weights.Priority }),
		number("wait_time", func(p *profiles.Profile) *float64 { return &p.Weights.WaitTime }),
		number("fair_share", func(p *profiles.Profile) *float64 { return &p.Weights.FairShare }),
		number("topology", func(p *profiles.Profile) *float64 { return &p.Weights.Topology }),
		number("data_readiness", func(p *profiles.Profile) *float64 { return &p.Weights.DataReadiness }),
		number("backlog", func(p *profiles.Profile) *float64 { return &p.Weights.Backlog }),
		number("energy", func(p *profiles.Profile) *float64 { return &p.Weights.Energy }),
		number("checkpoint", func(p *profiles.Profile) *float64 { return &p.Weights.Checkpoint }),
		number("conformance", func(p *profiles.Profile) *float64 { return &p.Weights.Conformance }),
	}},
	{"multifactor", "multifactor", true, []part{
		points("age", func(p *profiles.Profile) *int64 { return &p.Multifactor.Age }),
		points("fairshare", func(p *profiles.Profile) *int64 { return &p.Multifactor.FairShare }),
		points("job_size", func(p *profiles.Profile) *int64 { return &p.Multifactor.JobSize }),
		points("partition", func(p *profiles.Profile) *int64 { return &p.Multifactor.Partition }),
		points("qos", func(p *profiles.Profile) *int64 { return &p.Multifactor.QOS }),
		points("assoc", func(p *profiles.Profile) *int64 { return &p.Multifactor.Assoc }),
	}},
}

// groupOf is the group that orders a profile: the points of Slurm's priority, or
// the weights.
func groupOf(p *profiles.Profile) *group {
	if p.Order == groups[1].order {
		return &groups[1]
	}
	return &groups[0]
}

// space is what is searched: all that is varied in the screening, and in the search
// what does anything.
type space struct {
	search.Space
	*group             // that orders the queue
	kept     []int     // places in its parts of those in the space
	fixed    []float64 // all of them as they are written now
	units    map[string]string
	services services
}

// leading is the profile of the first vCluster that is tuned, ordered by what is
// searched.
func (t *tuner) leading() (profiles.Profile, error) {
	now := t.problem.Cluster.VClusters[t.tuned()[0]].Profile.Inline
	return scored(now, groupOf(now))
}

// scored is a profile that orders by a group of weights.
func scored(now *profiles.Profile, by *group) (profiles.Profile, error) {
	if now.Order == by.order {
		return *now, nil
	}
	return ordered(now, by.order)
}

// shares are the weights of a profile as parts of their sum.
func (g *group) shares(p *profiles.Profile) []float64 {
	out := make([]float64, len(g.parts))
	sum := 0.0
	for i, x := range g.parts {
		out[i] = x.get(p)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// without is the space without weights and settings that do nothing at all.
func (s space) without(idle func(column string) bool) space {
	out := space{group: s.group, fixed: s.fixed, units: s.units, services: s.services}
	for _, p := range s.Space {
		if p.Kind != search.Simplex {
			if !idle(p.Name) {
				out.Space = append(out.Space, p)
			}
			continue
		}
		var resting []int
		for k, part := range p.Parts {
			if idle(p.Name + "." + part) {
				resting = append(resting, s.kept[k])
			} else {
				out.kept = append(out.kept, s.kept[k])
			}
		}
		if len(out.kept) == 1 && len(resting) > 0 { // a weight acts beside another one only
			out.kept = append(out.kept, resting[0])
			slices.Sort(out.kept)
		}
		if len(out.kept) < 2 {
			out.kept = nil
			continue
		}
		p.Parts = nil
		for _, i := range out.kept {
			p.Parts = append(p.Parts, s.parts[i].key)
		}
		out.Space = append(out.Space, p)
	}
	return out
}

// pointOf are the values of the space that come nearest to a profile.
func (s space) pointOf(p *profiles.Profile) ([]float64, error) {
	out, err := s.settingsOf(p)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, parameter := range s.Space {
		switch parameter.Kind {
		case search.Simplex: // shares lie in it
			at += len(s.kept)
			continue
		case search.Choice:
			if math.IsNaN(out[at]) {
				out[at] = 0
			}
		default:
			out[at] = min(max(out[at], parameter.Low), parameter.High)
		}
		at++
	}
	return out, nil
}

// settingsOf are the values of the space as a profile has them, which may lie outside of
// it: NaN is a choice that is none of those.
func (s space) settingsOf(p *profiles.Profile) ([]float64, error) {
	var out []float64
	all := s.shares(p)
	for _, parameter := range s.Space {
		if parameter.Kind == search.Simplex {
			sum := 0.0
			for _, i := range s.kept {
				sum += all[i]
			}
			for _, i := range s.kept {
				if sum > 0 {
					out = append(out, all[i]/sum)
				} else {
					out = append(out, 1/float64(len(s.kept)))
				}
			}
			continue
		}
		set, err := s.settingIn(p, parameter.Name)
		if err != nil {
			return nil, err
		}
		if parameter.Kind == search.Choice {
			x := math.NaN()
			if i := slices.Index(parameter.Choices, set.Value); i >= 0 {
				x = float64(i)
			}
			out = append(out, x)
			continue
		}
		x, err := set.Number(set.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// settingIn describes a key by its path: of a service as it is now, or of a profile.
func (s space) settingIn(p *profiles.Profile, path string) (profiles.Setting, error) {
	if s.services.names(path) {
		return s.services.setting(path)
	}
	return settingOf(p, path)
}

// settingOf describes a key of a profile by its path.
func settingOf(p *profiles.Profile, path string) (profiles.Setting, error) {
	alone := profiles.Cluster{VClusters: []profiles.VCluster{profiles.NewVCluster("x", profiles.Nodes{"all"})}}
	alone.VClusters[0].Profile = profiles.ProfileRef{Inline: p}
	return alone.Setting("vclusters.x.profile." + path)
}

// apply is a profile with the weights of a point, and what else the point sets;
// exact keeps all digits, and otherwise values are as they would be written.
func (s space) apply(now *profiles.Profile, values []float64, exact bool) (profiles.Profile, []profiles.Assignment, error) {
	p := *now
	if len(s.kept) > 0 { // weights act where the queue is ordered by them
		var err error
		if p, err = scored(now, s.group); err != nil {
			return p, nil, err
		}
	}
	var rest []profiles.Assignment
	at := 0
	for _, parameter := range s.Space {
		switch parameter.Kind {
		case search.Simplex:
			s.weigh(&p, values[at:at+len(s.kept)], exact)
			at += len(s.kept)
			continue
		case search.Choice:
			rest = append(rest, profiles.Assignment{Path: parameter.Name, Value: parameter.Choices[int(values[at])]})
		default:
			set, err := s.settingIn(&p, parameter.Name)
			if err != nil {
				return p, nil, err
			}
			x := min(max(s.rounded(parameter, values[at], exact), parameter.Low), parameter.High)
			rest = append(rest, profiles.Assignment{Path: parameter.Name, Value: set.Text(x)})
		}
		at++
	}
	return p, rest, nil
}

// rounded is a value as it would be written: spans in seconds, long ones in
// minutes, other numbers to three digits.
func (s space) rounded(p search.Parameter, x float64, exact bool) float64 {
	switch {
	case s.units[p.Name] == "s" && !exact && x > 600:
		return math.Floor((math.Round(x)+30)/60) * 60
	case s.units[p.Name] == "s":
		return math.Round(x)
	case p.Kind == search.Real && !exact && x != 0:
		unit := libm.Pow(10, 2-math.Floor(math.Log10(math.Abs(x))))
		return math.Round(x*unit) / unit
	}
	return x
}

// weigh sets the weights: those out of the space stay as they are written now, and
// those in it share what they have now together, so that nothing else changes. Of
// the weights in the space a thousandth part is the least step that is written.
func (s space) weigh(p *profiles.Profile, values []float64, exact bool) {
	all := slices.Clone(s.fixed)
	free := 0.0
	for _, i := range s.kept {
		free += all[i]
	}
	if free == 0 { // none of them counts now
		for _, x := range all {
			free += x
		}
	}
	scale := 1.0
	switch {
	case free == 0: // nothing counts at all
		free = 1000
	case s.whole && exact: // points have no fractions: more of them keep the ratios
		scale = math.Floor(1e9 / free)
	}
	step := libm.Pow(10, math.Floor(math.Log10(free))-3)
	if s.whole {
		step = max(step, 1)
	}
	rest, largest := free, s.kept[0]
	for k, i := range s.kept {
		all[i] = values[k] * free
		if !exact {
			all[i] = math.Round(all[i]/step) * step
		}
		rest -= all[i]
		if all[i] > all[largest] {
			largest = i
		}
	}
	if !exact {
		all[largest] += rest
	}
	for i, x := range s.parts {
		x.set(p, tidy(all[i]*scale))
	}
}

// tidy takes off the last bits, which no decimal that people write has.
func tidy(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := libm.Pow(10, 12-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*unit) / unit
}

// found is the candidate at a point.
func (t *tuner) found(name string, s space, values []float64, exact bool) (*candidate, error) {
	var rest []profiles.Assignment
	cluster, err := t.arranged(func(now *profiles.Profile) (p profiles.Profile, err error) {
		p, rest, err = s.apply(now, values, exact)
		return p, err
	})
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		if cluster, _, err = cluster.WithApplying(s.assigned(cluster, t.tuned(), rest)); err != nil {
			return nil, err
		}
	}
	c := t.made(name, Found, cluster)
	c.values = values
	return c, nil
}

// assigned are settings of a point by their paths in the cluster file: those of the profile
// once for each vCluster that is tuned.
func (s space) assigned(c *profiles.Cluster, vclusters []int, rest []profiles.Assignment) []profiles.Assignment {
	var all []profiles.Assignment
	for _, a := range rest {
		if s.services.names(a.Path) {
			all = append(all, a)
			continue
		}
		for _, i := range vclusters {
			all = append(all, profiles.Assignment{Path: profilePath(c, i, a.Path), Value: a.Value})
		}
	}
	return all
}

// profilePath is the path of a key of the profile of a vCluster.
func profilePath(c *profiles.Cluster, vcluster int, key string) string {
	return "vclusters." + c.VClusters[vcluster].Name + ".profile." + key
}

// design is the space in the words of the sensitivity.
func (s space) design() sensitivity.Space {
	out := sensitivity.Space{Weights: len(s.kept)}
	for _, p := range s.Space {
		if p.Kind != search.Simplex {
			out.Boxes++
		}
	}
	return out
}

// valuesAt are the values at a point of the design.
func (s space) valuesAt(point []float64) []float64 {
	out := slices.Clone(point[:len(s.kept)])
	at := len(s.kept)
	for _, p := range s.Space {
		if p.Kind != search.Simplex {
			out = append(out, search.Space{p}.FromUnit([]float64{point[at]})...)
			at++
		}
	}
	return out
}

// pointAt is the point of the design at values.
func (s space) pointAt(values []float64) ([]float64, error) {
	out := slices.Clone(values[:len(s.kept)])
	at := len(s.kept)
	for _, p := range s.Space {
		if p.Kind != search.Simplex {
			u, err := search.Space{p}.ToUnit(values[at : at+1])
			if err != nil {
				return nil, err
			}
			out = append(out, u[0])
			at++
		}
	}
	return out, nil
}
