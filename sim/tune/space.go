package tune

import (
	"math"
	"slices"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
)

// Names of the parameters that are searched.
const (
	weights       = "weights"
	referenceWait = "reference_wait"
	backfill      = "backfill"
)

// parts are the weights by their keys, and where they are in a profile.
var parts = []struct {
	key string
	of  func(*profiles.Weights) *float64
}{
	{"priority", func(w *profiles.Weights) *float64 { return &w.Priority }},
	{"wait_time", func(w *profiles.Weights) *float64 { return &w.WaitTime }},
	{"fair_share", func(w *profiles.Weights) *float64 { return &w.FairShare }},
	{"topology", func(w *profiles.Weights) *float64 { return &w.Topology }},
	{"data_readiness", func(w *profiles.Weights) *float64 { return &w.DataReadiness }},
	{"backlog", func(w *profiles.Weights) *float64 { return &w.Backlog }},
	{"energy", func(w *profiles.Weights) *float64 { return &w.Energy }},
	{"checkpoint", func(w *profiles.Weights) *float64 { return &w.Checkpoint }},
	{"conformance", func(w *profiles.Weights) *float64 { return &w.Conformance }},
}

// space is what is searched: all nine weights in the screening, and in the search
// those that do anything.
type space struct {
	search.Space
	kept  []int     // places in parts of the weights in the space
	fixed []float64 // all nine as they are written now
}

// wholeSpace has all weights, the reference wait and the ways to backfill.
func (t *tuner) wholeSpace() space {
	now := t.leading()
	s := space{}
	for _, p := range parts {
		s.fixed = append(s.fixed, *p.of(&now.Weights))
	}
	simplex := search.Parameter{Name: weights, Kind: search.Simplex}
	for i, p := range parts {
		simplex.Parts = append(simplex.Parts, p.key)
		s.kept = append(s.kept, i)
	}
	s.Space = search.Space{simplex, {Name: referenceWait, Kind: search.Real, Low: 300, High: 7 * 24 * 3600, Log: true}}
	rules := []string{"easy", "conservative"}
	if !slices.Contains(rules, now.Backfill) {
		rules = append(rules, now.Backfill)
	}
	s.Space = append(s.Space, search.Parameter{Name: backfill, Kind: search.Choice, Choices: rules})
	return s
}

// leading is the profile of the first vCluster that is tuned, in documented mode
// and by weights.
func (t *tuner) leading() profiles.Profile {
	return scored(t.problem.Cluster.VClusters[t.tuned()[0]].Profile.Inline)
}

// scored is a profile that orders by weights.
func scored(now *profiles.Profile) profiles.Profile {
	if now.Order == "score" && now.Mode == "documented" {
		return *now
	}
	return ordered(now, "score")
}

// shares are weights as parts of their sum.
func shares(w *profiles.Weights) []float64 {
	out := make([]float64, len(parts))
	sum := 0.0
	for i, p := range parts {
		out[i] = *p.of(w)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// without is the space without weights and settings that do nothing at all.
func (s space) without(idle func(column string) bool) space {
	out := space{fixed: s.fixed}
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
			p.Parts = append(p.Parts, parts[i].key)
		}
		out.Space = append(out.Space, p)
	}
	return out
}

// pointOf are the values of the space that come nearest to a profile.
func (s space) pointOf(p *profiles.Profile) []float64 {
	var out []float64
	all := shares(&p.Weights)
	for _, parameter := range s.Space {
		switch parameter.Name {
		case weights:
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
		case referenceWait:
			out = append(out, min(max(p.ReferenceWait.Seconds(), parameter.Low), parameter.High))
		case backfill:
			out = append(out, float64(max(slices.Index(parameter.Choices, p.Backfill), 0)))
		}
	}
	return out
}

// apply is a profile with the values of a point; exact keeps all digits, and
// otherwise values are as they would be written.
func (s space) apply(now *profiles.Profile, values []float64, exact bool) profiles.Profile {
	p := scored(now)
	p.Name = now.Name
	at := 0
	for _, parameter := range s.Space {
		switch parameter.Name {
		case weights:
			p.Weights = s.weights(values[at:at+len(s.kept)], exact)
			at += len(s.kept)
		case referenceWait:
			d := model.Duration(math.Round(values[at])) * model.Second
			if !exact && d > 10*model.Minute {
				d = (d + model.Minute/2) / model.Minute * model.Minute
			}
			p.ReferenceWait = d
			at++
		case backfill:
			if rule := parameter.Choices[int(values[at])]; rule != p.Backfill {
				p.Backfill = rule
				if rule != "conservative" {
					p.Depth, p.BFWindow, p.BFResolution, p.BFInterval, p.BFMaxJobTest, p.BFMaxJobUser = 0, 0, 0, 0, 0, 0
				}
			}
			at++
		}
	}
	return p
}

// weights are all nine: those out of the space stay as they are written now, and
// those in it share what they have now together, so that nothing else changes. Of
// the weights in the space a thousandth part is the least step that is written.
func (s space) weights(values []float64, exact bool) profiles.Weights {
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
	step := math.Pow(10, math.Floor(math.Log10(free))-3)
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
	var w profiles.Weights
	for i, p := range parts {
		*p.of(&w) = tidy(all[i])
	}
	return w
}

// tidy takes off the last bits, which no decimal that people write has.
func tidy(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, 12-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*unit) / unit
}

// found is the candidate at a point.
func (t *tuner) found(name string, s space, values []float64, exact bool) (*candidate, error) {
	c, err := t.with(name, Found, func(now *profiles.Profile) profiles.Profile { return s.apply(now, values, exact) })
	if err != nil {
		return nil, err
	}
	c.values = values
	return c, nil
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
