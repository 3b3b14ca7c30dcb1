package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/plain"
	"orrery/scheduler/site"
	"orrery/sim/world/translate"
)

// Takeover is an instant from which another core decides, of another configuration. It has
// followed the one before it, and goes on from what is committed and in flight.
type Takeover struct {
	At   model.Time
	Core plain.Config
	Site *site.Config // instead of Core, on a site
}

// MostTakeovers bounds the cores that one run keeps beside the one that decides.
const MostTakeovers = 16

// canonicalScenario is the one spelling of a scenario inside a spec.
func canonicalScenario(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	s, err := profiles.ParseScenario(profiles.SpecScenario, raw)
	if err != nil {
		return nil, fmt.Errorf("the scenario of the spec: %w", err)
	}
	if s.Empty() {
		return nil, nil
	}
	return s.JSON(), nil
}

// readScenario reads the scenario of a spec, nil where there is none.
func readScenario(raw json.RawMessage) (*profiles.Scenario, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	s, err := profiles.ParseScenario(profiles.SpecScenario, raw)
	if err != nil {
		return nil, siteError{err}
	}
	return s, nil
}

// instants are those of the events for which is is true, ascending.
func instants(s *profiles.Scenario, is func(e *profiles.ScenarioEvent) bool) []model.Time {
	var out []model.Time
	for i := range s.Events {
		if is(&s.Events[i]) {
			out = append(out, model.Time(s.Events[i].Time))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// onPlain lets a scenario change the policy of a plain cluster.
func (p *Resolved) onPlain(s *profiles.Scenario) error {
	for i := range s.Events {
		switch e := &s.Events[i]; {
		case e.Kind == profiles.EventOrder || e.Kind == profiles.EventBackfill:
		case e.Kind == profiles.EventProfile:
			return siteError{s.Wrong(i, "found a profile, and the run is of a plain cluster, which has none: change its order or its backfill, or replay with --cluster or --profile first")}
		default:
			return siteError{s.Wrong(i, "found the kind %s, which is for a site, and the run is of a plain cluster: replay with --cluster or --profile first", e.Kind)}
		}
	}
	if len(s.Without.Tenants) > 0 {
		return usagef("found the tenant %s to leave out, and a plain cluster has no tenants: name users or jobs, or replay with --cluster or --profile first", s.Without.Tenants[0])
	}
	last := p.Core
	for _, at := range instants(s, func(*profiles.ScenarioEvent) bool { return true }) {
		c := last
		for i := range s.Events {
			if e := &s.Events[i]; model.Time(e.Time) == at {
				if err := change(&c, e); err != nil {
					return siteError{s.Wrong(i, "%v", err)}
				}
			}
		}
		if c.Order == last.Order && c.Backfill == last.Backfill && c.Depth == last.Depth {
			continue
		}
		if err := c.Validate(); err != nil {
			return &UsageError{err.Error()}
		}
		if c.Backfill == order.Conservative && p.World.Units.PerNode && !p.World.Cluster.Whole {
			return usagef("conservative backfilling plans with counts and cannot reserve shares of single nodes: use easy, or a run with --exclusive")
		}
		if p.Core.Sequential {
			return usagef("the run is of the sequential event order, under which a policy cannot change on the way: use a run of the batch order")
		}
		p.Takeovers = append(p.Takeovers, Takeover{At: at, Core: c})
		if err := p.fewTakeovers(); err != nil {
			return err
		}
		last = c
	}
	return nil
}

// change is the event of a plain cluster.
func change(c *plain.Config, e *profiles.ScenarioEvent) (err error) {
	if e.Kind == profiles.EventOrder {
		c.Order, err = order.Parse(e.Value)
		return err
	}
	word, depth, deep := strings.Cut(e.Value, ":")
	if c.Backfill, err = order.ParseBackfill(word); err != nil {
		return err
	}
	if c.Depth = 0; deep {
		if c.Depth, err = strconv.Atoi(depth); err != nil || c.Depth < 1 {
			return fmt.Errorf("found the depth %q, want 1 or more, such as conservative:50", depth)
		}
	}
	return nil
}

// fewTakeovers refuses more than a run may keep in memory.
func (p *Resolved) fewTakeovers() error {
	if n := len(p.Takeovers); n > MostTakeovers {
		return usagef("the scenario changes what the scheduler goes by at more than %d instants, the last one at %s: make several runs of it", MostTakeovers, p.Takeovers[n-1].At)
	}
	return nil
}

// onSiteUnder lets a scenario happen on a site: p.Site is that of the file alone.
func (p *Resolved) onSiteUnder(s *profiles.Scenario, file *profiles.Cluster, src Tables) error {
	for i := range s.Events {
		if k := s.Events[i].Kind; k == profiles.EventOrder || k == profiles.EventBackfill {
			return siteError{s.Wrong(i, "found the kind %s, and the run is of a site, whose vClusters have profiles: use the kind profile", k)}
		}
	}
	base, nodes := p.Site.Core, p.Site.Core.Site.Nodes
	whole, err := p.siteUnder(s, file, src, nodes, math.MaxInt64, false)
	if err != nil {
		return err
	}
	exit, tells := p.Site.World.Exit, p.Site.World.Rows.TellCheckpoint
	p.Site = whole
	if len(whole.World.Site.Nodes) == len(nodes) {
		base.Site = whole.World.Site
	}
	p.Site.Core = base
	p.World.Cluster = unitsOfSite(&profiles.Site{Site: *whole.World.Site, Shared: base.Shared})
	if p.Site.World.Outages, err = outagesOf(s, whole.World.Outages); err != nil {
		return err
	}
	preempts := preemptsAny(&base)
	last := &base
	decisive, err := decisiveInstants(s, &base)
	if err != nil {
		return err
	}
	for _, at := range decisive {
		then, err := p.siteUnder(s, file, src, nodes, at, true)
		if err != nil {
			return err
		}
		c := then.Core
		if len(c.Site.Nodes) == len(whole.World.Site.Nodes) {
			c.Site = whole.World.Site
		}
		if sameDecider(last, &c) {
			continue
		}
		if preemptsAny(&c) {
			if preempts && !reflect.DeepEqual(exit, then.World.Exit) {
				return usagef("at %s the profile changes how preempted jobs leave their nodes (the keys of preemption): on the way that cannot change; give both profiles the same", at)
			}
			preempts, exit, tells = true, then.World.Exit, true
		}
		if c.Slurm() != nil || p.Site.Core.Slurm() != nil {
			return usagef("the scenario changes profiles, limits or nodes at %s, which backfill: slurm does not follow yet: its clocks and shares would begin anew; use backfill: easy or conservative", at)
		}
		p.Takeovers = append(p.Takeovers, Takeover{At: at, Site: &c})
		if err := p.fewTakeovers(); err != nil {
			return err
		}
		last = &c
	}
	p.Site.World.Exit, p.Site.World.Rows.TellCheckpoint = exit, tells
	return nil
}

// mostDecisive bounds the instants at which a scheduler may be told of anything but nodes.
const mostDecisive = 256

// decisiveInstants are those at which what the scheduler goes by may change beyond what facts tell it:
// profiles, the nodes that there are, the most that is ever granted, and prices where it looks ahead.
func decisiveInstants(s *profiles.Scenario, base *site.Config) ([]model.Time, error) {
	ahead := slices.ContainsFunc(base.Policies, func(p site.Policy) bool { return p.Expected }) ||
		slices.ContainsFunc(s.Events, func(e profiles.ScenarioEvent) bool {
			return e.Profile.Inline != nil && e.Profile.Inline.Energy == "expected"
		})
	list := instants(s, func(e *profiles.ScenarioEvent) bool {
		switch e.Kind {
		case profiles.EventProfile, profiles.EventAdd, "quota", "power_cap", "storage_bandwidth", "sensitive_pool":
			return true
		case "price":
			return ahead
		}
		return false
	})
	if len(list) > mostDecisive {
		return nil, usagef("the scenario changes limits, prices, profiles or the number of nodes at %d instants, want at most %d", len(list), mostDecisive)
	}
	return list, nil
}

// siteUnder is the plan of the site as a scenario leaves it at an instant, with its profiles or
// with those of the file, whose nodes come before those that it adds. These are down until their
// instant.
func (p *Resolved) siteUnder(s *profiles.Scenario, file *profiles.Cluster, src Tables, nodes []model.Node, until model.Time, withProfiles bool) (*Site, error) {
	c, err := completed(file, src).Under(s, until, withProfiles)
	if err != nil {
		return nil, siteError{err}
	}
	res, err := c.Resolve()
	if err != nil {
		return nil, siteError{err}
	}
	added := s.Added(until)
	for i := range nodes { // or the facts until then would be about others
		if res.Nodes[i].Name != nodes[i].Name {
			return nil, usagef("the added nodes are in front of node %s: give their group a name that comes behind those of the site", nodes[i].Name)
		}
	}
	for i, at := range added {
		n := len(nodes) + i
		res.Nodes[n].State = model.Down
		for k := range res.Changes { // of all nodes, before there are these
			if c := &res.Changes[k]; c.Nodes != nil && c.At < at {
				c.Nodes.Remove(model.NodeID(n))
			}
		}
		up := profiles.Change{At: at, Kind: "up", Tenant: -1, Nodes: model.NewNodeSet(len(res.Nodes))}
		up.Nodes.Add(model.NodeID(n))
		res.Changes = append(res.Changes, up)
	}
	slices.SortStableFunc(res.Changes, func(a, b profiles.Change) int { return cmp.Compare(a.At, b.At) })
	return p.siteOf(res, c, src)
}

// sameDecider says whether two configurations decide alike. The price of energy over time matters
// where a profile looks ahead.
func sameDecider(a, b *site.Config) bool {
	x, y := *a, *b
	if !slices.ContainsFunc(append(slices.Clone(a.Policies), b.Policies...), func(p site.Policy) bool { return p.Expected }) {
		x.Prices, y.Prices = site.PriceSeries{}, site.PriceSeries{}
	}
	if len(x.Site.Nodes) != len(y.Site.Nodes) {
		return false
	}
	x.Site, y.Site = nil, nil
	return reflect.DeepEqual(x, y)
}

func preemptsAny(c *site.Config) bool {
	return slices.ContainsFunc(c.Policies, func(p site.Policy) bool { return p.Preempts })
}

// outagesOf are the outages of the quorum that a trace tells of and those of a scenario.
func outagesOf(s *profiles.Scenario, list []translate.Outage) ([]translate.Outage, error) {
	out := slices.Clone(list)
	for i := range s.Events {
		e := &s.Events[i]
		if e.Kind != profiles.EventOutage {
			continue
		}
		length, err := e.Length()
		if err != nil {
			return nil, siteError{s.Wrong(i, "%v", err)}
		}
		at := model.Time(e.Time)
		out = append(out, translate.Outage{From: at, Until: at.Add(length)})
	}
	slices.SortStableFunc(out, func(a, b translate.Outage) int { return cmp.Compare(a.From, b.From) })
	return out, nil
}
