package tune

import (
	"fmt"
	"slices"
	"strconv"

	"orrery/profiles"
	"orrery/scheduler"
	"orrery/sim"
	"orrery/sim/search"
	"orrery/sim/stat"
)

// Roles of candidates.
const (
	Current  = "current"  // what runs now
	Baseline = "baseline" // a profile or an order that people know
	Found    = "found"    // by the search
)

// candidate is something that may be recommended.
type candidate struct {
	name    string
	role    string
	values  []float64 // of the space, for those that were found
	spec    sim.Spec
	id      string            // of the spec
	cluster *profiles.Cluster // nil on a plain machine
}

// named are the profiles of the program that are tried: one for each kind of
// work, and the default.
var named = []string{"default", "hpc-batch", "ml-training", "service", "sensitive", "interactive"}

// orders are the baselines that need no weights.
var orders = []string{"fcfs", "sjf", "saf", "sqf", "wfp3", "unicef", "expansion", "dirlab-f1", "dirlab-f2", "dirlab-f3", "dirlab-f4"}

// current is what runs now.
func (t *tuner) current() (*candidate, error) {
	p := &t.problem
	c := &candidate{name: "what runs now", role: Current, spec: p.Spec, id: p.Spec.ID(), cluster: p.Cluster}
	if p.Cluster == nil {
		if p.VCluster != "" {
			return nil, usagef("the vCluster %s: a plain machine has none", p.VCluster)
		}
		c.name = plainName(p.Spec.Order, p.Spec.Backfill, p.Spec.Depth)
		return c, nil
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
	return c, nil
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
	spec := t.problem.Spec
	spec.Site = cluster.JSON()
	return &candidate{name: name, role: role, spec: spec, id: spec.ID(), cluster: cluster}
}

// baselines are all that is tried without a search.
func (t *tuner) baselines() ([]*candidate, error) {
	if t.problem.Cluster == nil {
		return t.plainBaselines(), nil
	}
	var out []*candidate
	add := func(name string, profile func(*profiles.Profile) profiles.Profile) error {
		cluster, err := t.arranged(func(now *profiles.Profile) (profiles.Profile, error) { return profile(now), nil })
		if err == nil && t.possible(cluster) == nil {
			out = append(out, t.made(name, Baseline, cluster))
		}
		return err
	}
	for _, name := range named {
		p, err := profiles.Load(name)
		if err != nil {
			return nil, err
		}
		if err := add(name, func(now *profiles.Profile) profiles.Profile { return agreeing(p, now) }); err != nil {
			return nil, fmt.Errorf("the profile %s: %w", name, err)
		}
	}
	for _, order := range orders {
		if err := add(order, func(now *profiles.Profile) profiles.Profile { return ordered(now, order) }); err != nil {
			return nil, fmt.Errorf("the order %s: %w", order, err)
		}
	}
	return out, nil
}

// ordered is a profile with another order of the queue. What does not depend on
// the order stays.
func ordered(now *profiles.Profile, order string) profiles.Profile {
	p := profiles.Default()
	p.Name, p.Order = order, order
	if now.Mode == "as-coded" {
		p.Cycle, p.Phase = now.Cycle, now.Phase
		return p
	}
	p.Selection, p.Backfill, p.Depth, p.BFWindow = now.Selection, now.Backfill, now.Depth, now.BFWindow
	p.BFResolution, p.BFInterval, p.BFMaxJobTest, p.BFMaxJobUser = now.BFResolution, now.BFInterval, now.BFMaxJobTest, now.BFMaxJobUser
	p.Cycle, p.Phase, p.Preemption = now.Cycle, now.Phase, now.Preemption
	if order == "score" {
		return agreeing(p, now)
	}
	return p
}

// agreeing is a profile ordered by weights with what all profiles of a site must
// have in common.
func agreeing(p profiles.Profile, now *profiles.Profile) profiles.Profile {
	if now.Order == "score" || now.Order == "multifactor" {
		p.AccountingTick = now.AccountingTick
	}
	if now.Order == "score" && now.Mode == p.Mode {
		p.Usage = now.Usage
	}
	if from := now.Preemption; p.Preemption.Enabled && from.Enabled {
		from.Rule, from.MaxVictims, from.NearCompletion = p.Preemption.Rule, p.Preemption.MaxVictims, p.Preemption.NearCompletion
		p.Preemption = from
	}
	return p
}

// plainBaselines are the orders with the ways to backfill.
func (t *tuner) plainBaselines() []*candidate {
	var out []*candidate
	now := t.problem.Spec
	rules := []string{"easy", "conservative"}
	if now.Cluster.Table && !now.Cluster.Exclusive {
		rules = rules[:1] // shares of nodes cannot be reserved
	}
	for _, rule := range rules {
		for _, order := range orders {
			spec := now
			spec.Order, spec.Backfill, spec.Depth = order, rule, 0
			out = append(out, &candidate{name: plainName(order, rule, 0), role: Baseline, spec: spec, id: spec.ID()})
		}
	}
	return out
}

func plainName(order, backfill string, depth int) string {
	if order == "" {
		order = scheduler.OrderNames()[0]
	}
	if backfill == "" {
		backfill = "easy"
	}
	if depth > 0 {
		backfill += ":" + strconv.Itoa(depth)
	}
	return order + " with " + backfill
}

// tryKnown runs the baselines on the tuning windows.
func (t *tuner) tryKnown() error {
	list, err := t.baselines()
	if err != nil {
		return err
	}
	for _, c := range list {
		t.add(c)
	}
	t.stage("%d baselines on %d windows", len(t.candidates)-1, len(t.screening))
	return t.score(t.screening)
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

// score runs all candidates on windows.
func (t *tuner) score(windows []int) error {
	for _, c := range t.candidates {
		if _, err := t.run(on(c, windows)); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// bounds are the constraints: what was asked for, or the defaults.
func (t *tuner) bounds() error {
	list := t.opt.Constraints
	results, err := t.run(on(t.candidates[0], t.tuning))
	if err != nil {
		return err
	}
	for _, c := range list {
		if silent(worstBeside(results, results, c)) {
			return usagef("the constraint %s says nothing: it has no value in any of the %d tuning windows under what runs now; name another metric or group, or leave it out", c, len(t.tuning))
		}
	}
	if list == nil {
		for _, c := range defaultConstraints {
			now := worst(valuesOf(results, c.Metric), c.Relation)
			if now == now { // the site has such a metric
				c.Value = max(c.Value, slack*now)
				list = append(list, c)
			}
		}
	}
	t.goal = newGoal(t.opt.Objectives, list)
	if t.goal.spare, err = t.spare(t.tuning); err != nil {
		return err
	}
	return t.goal.Validate()
}

// spare is in how many windows a candidate may be overloaded though what runs now
// is not: see stat.Spare.
func (t *tuner) spare(windows []int) (int, error) {
	var shaken []int
	for r := range t.opt.Replicas {
		results, err := t.run(t.shaken(windows, r))
		if err != nil {
			return 0, err
		}
		shaken = append(shaken, count(results, overloaded))
	}
	return stat.Spare(len(windows), shaken...), nil
}

// slack is how much worse than now the worst window may be where nobody has set a
// bound: extremes of two runs differ, and a guard is not to forbid every change.
const slack = 1.5

// defaultConstraints hold, or half as much again as it is now.
var defaultConstraints = []search.Constraint{
	{Metric: "wait_max", Relation: search.AtMost, Value: 3 * 24 * 3600},
	{Metric: "share_deviation_max", Relation: search.AtMost, Value: 0.05},
}

// DefaultConstraints says in words what holds when nothing else is asked for.
const DefaultConstraints = "wait_max <= 3d and share_deviation_max <= 0.05, or half as much again as it is now where that is more"
