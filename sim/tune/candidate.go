package tune

import (
	"fmt"
	"slices"
	"strconv"

	"orrery/profiles"
	"orrery/scheduler/order"
	"orrery/sim/plan"
)

// Roles of candidates.
const (
	Current  = "current"  // the current policy
	Baseline = "baseline" // a profile or an order that people know
	Found    = "found"    // by the search
)

// candidate is something that may be recommended.
type candidate struct {
	name    string
	role    string
	values  []float64 // of the space, for those that were found
	specs   []plan.Spec
	id      string            // of the specs
	cluster *profiles.Cluster // nil on a plain cluster
}

// newCandidate has one spec for each trace.
func newCandidate(name, role string, cluster *profiles.Cluster, specs []plan.Spec) *candidate {
	c := &candidate{name: name, role: role, specs: specs, cluster: cluster}
	for i := range specs {
		c.id += specs[i].ID()
	}
	return c
}

// named are the profiles of the program that are tried: one for each kind of
// work, and the default.
var named = []string{"default", "hpc-batch", "ml-training", "service", "sensitive", "interactive"}

// orders are the baselines that need no weights.
var orders = order.Names()

// current is the current policy.
func (t *tuner) current() (*candidate, error) {
	p := &t.problem
	var specs []plan.Spec
	for k := range p.Traces {
		specs = append(specs, p.Traces[k].Spec)
	}
	if p.Cluster == nil {
		if p.VCluster != "" {
			return nil, usagef("the vCluster %s: a plain cluster has none", p.VCluster)
		}
		return newCandidate(plainName(specs[0].Order, specs[0].Backfill, specs[0].Depth), Current, nil, specs), nil
	}
	if len(p.Cluster.VClusters) == 0 {
		return nil, usagef("the cluster has no vCluster: nothing says how its queue is ordered")
	}
	for i := range p.Cluster.VClusters {
		if p.Cluster.VClusters[i].Profile.Inline == nil {
			return nil, usagef("the profile of the vCluster %s is not inlined", p.Cluster.VClusters[i].Name)
		}
	}
	if p.VCluster != "" && len(t.tuned()) == 0 {
		return nil, usagef("the cluster has no vCluster %s", p.VCluster)
	}
	return newCandidate("the current policy", Current, p.Cluster, specs), nil
}

// tuned are the indices of the vClusters that are tuned.
func (t *tuner) tuned() []int {
	var out []int
	for i := range t.problem.Cluster.VClusters {
		if v := t.problem.VCluster; v == "" || v == t.problem.Cluster.VClusters[i].Name {
			out = append(out, i)
		}
	}
	return out
}

// arranged is the site with other profiles in the vClusters that are tuned.
func (t *tuner) arranged(profile func(now *profiles.Profile) (profiles.Profile, error)) (*profiles.Cluster, error) {
	cluster := *t.problem.Cluster
	cluster.VClusters = slices.Clone(cluster.VClusters)
	for _, i := range t.tuned() {
		p, err := profile(cluster.VClusters[i].Profile.Inline)
		if err == nil {
			err = p.Validate()
		}
		if err != nil {
			return nil, err
		}
		cluster.VClusters[i].Profile = profiles.ProfileRef{Inline: &p}
	}
	return &cluster, nil
}

// made is a candidate of a site.
func (t *tuner) made(name, role string, cluster *profiles.Cluster) *candidate {
	var specs []plan.Spec
	text := cluster.JSON()
	for k := range t.problem.Traces {
		spec := t.problem.Traces[k].Spec
		spec.Site = text
		specs = append(specs, spec)
	}
	return newCandidate(name, role, cluster, specs)
}

// baselines are all that is tried without a search: the profiles of the program, of
// which only what is searched is taken, and the orders with everything else as it
// is. They are not tried where settings of services alone are searched, for none of these
// is theirs.
func (t *tuner) baselines() ([]*candidate, error) {
	if t.problem.Cluster == nil {
		return t.plainBaselines(), nil
	}
	var out []*candidate
	s := t.space.without(t.space.services.names) // profiles say nothing of services
	if len(s.Space) == 0 && len(t.space.Space) > 0 {
		return nil, nil
	}
	for _, name := range named {
		p, err := profiles.Load(name)
		if err != nil {
			return nil, err
		}
		if len(s.Space) == 0 || groupOf(&p) != s.group {
			continue
		}
		values, err := s.pointOf(&p)
		if err != nil {
			return nil, fmt.Errorf("the profile %s: %w", name, err)
		}
		c, err := t.found(name, s, values, false)
		if err != nil {
			return nil, fmt.Errorf("the profile %s: %w", name, err)
		}
		if c.role, c.values = Baseline, nil; t.possible(c.cluster) == nil {
			out = append(out, c)
		}
	}
	for _, order := range orders {
		cluster, err := t.arranged(func(now *profiles.Profile) (profiles.Profile, error) { return ordered(now, order) })
		if err == nil && t.possible(cluster) == nil {
			out = append(out, t.made(order, Baseline, cluster))
		}
	}
	return out, nil
}

// ordered is a profile with another order of the queue. Keys that only the old order
// has go with it, everything else stays.
func ordered(now *profiles.Profile, order string) (profiles.Profile, error) {
	p := *now
	if order == scoreOrder && now.Order != order {
		p.Weights = profiles.Default().Weights
	}
	out, err := p.With(profiles.Assignment{Path: "order", Value: order})
	if err != nil {
		return p, err
	}
	return *out, nil
}

// scoreOrder is the order by the weighted factors.
const scoreOrder = "score"

// plainBaselines are the orders with the ways to backfill, and with the current one.
func (t *tuner) plainBaselines() []*candidate {
	var out []*candidate
	now := t.problem.Traces[0].Spec
	type rule struct {
		backfill string
		depth    int
	}
	rules := []rule{{"easy", 0}, {"conservative", 0}}
	if now.Cluster.Table && !now.Cluster.Exclusive {
		rules = rules[:1] // shares of nodes cannot be reserved
	}
	if own := (rule{or(now.Backfill, "easy"), now.Depth}); !slices.Contains(rules, own) {
		rules = append(rules, own)
	}
	for _, r := range rules {
		for _, order := range orders {
			var specs []plan.Spec
			for k := range t.problem.Traces {
				spec := t.problem.Traces[k].Spec
				spec.Order, spec.Backfill, spec.Depth = order, r.backfill, r.depth
				specs = append(specs, spec)
			}
			out = append(out, newCandidate(plainName(order, r.backfill, r.depth), Baseline, nil, specs))
		}
	}
	return out
}

func plainName(by, backfill string, depth int) string {
	if by == "" {
		by = order.Names()[0]
	}
	if backfill == "" {
		backfill = "easy"
	}
	if depth > 0 {
		backfill += ":" + strconv.Itoa(depth)
	}
	return by + " with " + backfill
}

// tryKnown replays the baselines on the whole traces: all of them, or in their order as
// many as the budget pays for.
func (t *tuner) tryKnown() error {
	list, err := t.baselines()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(c *candidate) bool { return c.id == t.base().id })
	n := min(len(list), t.affordable(wholeScope))
	for _, c := range list[n:] {
		t.out.NotReplayed = append(t.out.NotReplayed, c.name)
	}
	t.stage("replaying %s under %d baselines", t.traceWords(), n)
	var asked []runRequest
	for _, c := range list[:n] {
		if t.add(c) == len(t.candidates)-1 {
			asked = append(asked, t.on(c, wholeScope)...)
		}
	}
	return t.run(asked)
}

// add keeps a candidate that is not there yet, and gives its place.
func (t *tuner) add(c *candidate) int {
	i := slices.IndexFunc(t.candidates, func(o *candidate) bool { return o.id == c.id })
	if i >= 0 {
		return i
	}
	t.candidates = append(t.candidates, c)
	return len(t.candidates) - 1
}
