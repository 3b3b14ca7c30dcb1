package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"orrery/profiles"
	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
	"orrery/sim/metric"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// sitePlan is a site in the words of the packages that run it.
type sitePlan struct {
	core  site.Config
	world world.SiteConfig
	names SiteNames
	// targets are the waits within which jobs should start, by class.
	targets []model.Duration
	early   int64 // reservations that the trace announces, known from the beginning on
	// unheeded counts events of the trace, in the order of translate.IgnoredEvents.
	unheeded [len(translate.IgnoredEvents)]int64
}

// SiteNames are the names behind the ids of results.
type SiteNames struct {
	VClusters, Tenants []string
	Profiles           []string // of each vCluster
}

// clusterFile is a cluster file as it was read.
type clusterFile struct {
	cluster *profiles.Cluster
	alone   siteOfFile // as it is where the trace adds nothing; none if that is no site
}

// siteOfFile is a cluster file with all its nodes and tenants.
type siteOfFile struct {
	canonical json.RawMessage
	site      *profiles.Site
}

func readSite(raw json.RawMessage) (*clusterFile, error) {
	c, err := profiles.ParseCluster("site", raw)
	if err != nil {
		return nil, siteError{err}
	}
	f := &clusterFile{cluster: c}
	if alone, err := resolved(c); err == nil { // else the trace mends it, or on says it again
		f.alone = alone
	}
	return f, nil
}

func resolved(c *profiles.Cluster) (siteOfFile, error) {
	res, err := c.Resolve()
	if err != nil {
		return siteOfFile{}, siteError{err}
	}
	return siteOfFile{c.JSON(), res}, nil
}

// on is the site of the file on a trace, whose nodes and tenants stand in for those
// that the file leaves out. A run adds to what it gets, and no other sees that.
func (f *clusterFile) on(src Tables) (siteOfFile, error) {
	whole := f.alone
	if c := completed(f.cluster, src); c != f.cluster || whole.site == nil {
		var err error
		if whole, err = resolved(c); err != nil {
			return whole, err
		}
	}
	own := *whole.site
	own.Constraints, own.Reservations = slices.Clone(own.Constraints), slices.Clone(own.Reservations)
	whole.site = &own
	return whole, nil
}

// site turns a cluster file into a plan.
func (s Spec) site(p *plan, f *clusterFile, src Tables) error {
	whole, err := f.on(src)
	if err != nil {
		return err
	}
	res := whole.site
	p.spec.Site = whole.canonical
	sp := &sitePlan{targets: res.TargetWait[:]}
	if sp.core, err = coreOf(res); err != nil {
		return err
	}
	route, err := routeOf(&f.cluster.Routing, res, src.Info())
	if err != nil {
		return err
	}
	if sp.world, err = s.worldOf(res, p, src); err != nil {
		return err
	}
	sp.world.Rows.Route = route
	for i := range res.VClusters {
		sp.names.VClusters = append(sp.names.VClusters, res.VClusters[i].Name)
		sp.names.Profiles = append(sp.names.Profiles, res.Profiles[i].Name)
	}
	for i := range res.Tenants {
		sp.names.Tenants = append(sp.names.Tenants, res.Tenants[i].Name)
	}
	for _, e := range src.Events() {
		if e.Kind == "reservation" && e.Time > 0 {
			sp.early++
		}
		if i := translate.IgnoredAt(e.Kind); i >= 0 {
			sp.unheeded[i]++
		}
	}
	sp.core.Prices = pricesOf(res.Price, sp.world.Changes)
	sp.core.Max = ceilingOf(&res.Site, sp.world.Changes)
	sp.core.Extend = p.world.Policy.Overrun == translate.Extend
	p.site = sp
	p.world.Cluster = unitsOfSite(res)
	return nil
}

// onlySite refuses the settings of a plain cluster beside a cluster file.
func (s Spec) onlySite() error {
	for _, set := range []struct {
		name string
		set  bool
	}{
		{"the size of the cluster", s.Cluster != ClusterSpec{}}, {"order", s.Order != ""}, {"backfill", s.Backfill != ""}, {"depth", s.Depth != 0},
		{"event order", s.EventOrder != ""}, {"cycle", s.Cycle != 0}, {"phase", s.Phase != 0},
		{"quorum latency", s.QuorumLatency != 0}, {"quorum jitter", s.QuorumJitter != 0},
	} {
		if set.set {
			return usagef("%s: a cluster file says this itself, or the profiles of its vClusters do", set.name)
		}
	}
	return nil
}

// completed is c with what the tables of the trace say of nodes and tenants.
func completed(c *profiles.Cluster, src Tables) *profiles.Cluster {
	if len(c.Groups) == 0 && len(src.Nodes()) > 0 {
		var rows []profiles.NodeRow
		for _, n := range src.Nodes() {
			rows = append(rows, profiles.NodeRow{
				Name: n.Name, Group: n.Group, Type: n.Type, GPUModel: n.GPUModel, GPUs: n.GPUs, CPUs: n.CPUs,
				Memory: n.Memory, Fingerprint: n.Fingerprint, VCluster: n.VCluster, Up: n.Up,
			})
		}
		c = c.WithNodes(src.Info().Name+", table nodes", rows)
	}
	if len(c.Tenants) == 0 && len(src.Tenants()) > 0 {
		var tenants []profiles.Tenant
		for _, t := range src.Tenants() {
			tenants = append(tenants, profiles.Tenant{
				Name: t.Name, MaxNodes: t.MaxNodes.V, MaxConcurrent: t.MaxConcurrent.V, FairShare: t.FairShare.V,
				Burst: t.Burst.V, GPUHours: t.GPUHours.V, NodeHours: t.NodeHours.V,
			})
		}
		c = c.WithTenants(src.Info().Name+", table tenants", tenants)
	}
	return c
}

// PartsOf are the groups that a cluster has, on a trace with a table of tenants.
func PartsOf(c *profiles.Cluster, tenants []traces.Tenant) *metric.Parts {
	p := &metric.Parts{}
	for i := range c.VClusters {
		p.VClusters = append(p.VClusters, c.VClusters[i].Name)
	}
	for i := range c.Tenants {
		p.Tenants = append(p.Tenants, c.Tenants[i].Name)
	}
	if len(c.Tenants) == 0 {
		for i := range tenants {
			p.Tenants = append(p.Tenants, tenants[i].Name)
		}
	}
	for _, x := range c.Classes {
		p.Promised = append(p.Promised, x.Class)
	}
	return p
}

// unitsOfSite is the site as results describe it: a unit is a node, or a GPU
// where these are shared out.
func unitsOfSite(s *profiles.Site) model.Cluster {
	c := model.Cluster{Units: make([]int32, len(s.Nodes)), Whole: !s.Shared}
	for i := range s.Nodes {
		c.Units[i] = 1
		if s.Shared {
			c.Units[i] = max(1, s.Nodes[i].GPUs)
		}
	}
	return c
}

// coreOf is the configuration of the scheduler core.
func coreOf(s *profiles.Site) (site.Config, error) {
	c := site.Config{Site: &s.Site, Shared: s.Shared, CheckpointBandwidth: int64(s.Agents.CheckpointBandwidth), Price: s.Price}
	c.Quota, c.AssocPriority = booksOf(s), s.AssocPriority
	for i := range s.Profiles {
		p, err := policyOf(&s.Profiles[i], &s.Agents)
		if err != nil {
			return c, usagef("vCluster %s: %v", s.VClusters[i].Name, err)
		}
		c.Policies = append(c.Policies, p)
	}
	if err := c.Validate(); err != nil {
		return c, &UsageError{err.Error()}
	}
	return c, nil
}

// policyOf is a profile in the words of the core.
func policyOf(p *profiles.Profile, a *profiles.Agents) (site.Policy, error) {
	out := site.Policy{
		AsCoded: p.Mode == "as-coded", Reference: p.ReferenceWait, Cycle: p.Cycle, Phase: p.Phase, Expected: p.Energy == "expected",
		Depth: int(p.Depth), MaxUserTests: int(p.BFMaxJobUser), ConformanceFirst: p.Selection == "conformance-first",
		Window: backfill.Window{Length: p.BFWindow, Resolution: p.BFResolution, Interval: p.BFInterval, Tests: int(p.BFMaxJobTest)},
	}
	var err error
	switch p.Order {
	case "score":
		raw := [score.NumFactors]float64{
			p.Weights.Priority, p.Weights.WaitTime, p.Weights.FairShare, p.Weights.Topology, p.Weights.DataReadiness,
			p.Weights.Backlog, p.Weights.Energy, p.Weights.Checkpoint, p.Weights.Conformance,
		}
		if out.AsCoded {
			out.Weights, err = score.Raw(raw)
		} else {
			out.Weights, err = score.Normalise(raw)
		}
	case "multifactor":
		out.Ranking, out.Multifactor = site.ByMultifactor, multifactorOf(&p.Multifactor)
	default:
		out.Ranking = site.ByOrder
		out.Order, err = order.Parse(p.Order)
	}
	if err != nil {
		return out, err
	}
	if p.MinScore != nil {
		out.MinScore = model.FixedOf(*p.MinScore)
	}
	if !out.AsCoded {
		if out.Backfill, err = order.ParseBackfill(p.Backfill); err != nil {
			return out, err
		}
	}
	if out.Backfill == order.Conservative && out.Depth == 0 {
		out.Depth = site.AllJobs
	}
	out.Preempts = p.Preemption.Enabled
	out.Preemption = preemptionOf(&p.Preemption, a)
	return out, nil
}

func multifactorOf(m *profiles.Multifactor) multifactor.Weights {
	w := multifactor.Weights{
		Age: uint32(m.Age), FairShare: uint32(m.FairShare), JobSize: uint32(m.JobSize), Partition: uint32(m.Partition), QOS: uint32(m.QOS),
		Assoc: uint32(m.Assoc), Site: uint32(m.Site), MaxAge: m.MaxAge, FavorSmall: m.FavorSmall, SizeToTime: m.SizeToTime,
		Sharing: multifactor.Sharing{HalfLife: m.HalfLife, FairTree: m.FairTree},
	}
	if m.HalfLife == 0 {
		w.Sharing.HalfLife = model.Forever // none never forgets
	}
	if !m.FairTree {
		w.Sharing.Dampening = m.Dampening
	}
	tres := [site.NumTRES]int32{site.TRESNode: m.TRES.Node, site.TRESCPU: m.TRES.CPU, site.TRESMemory: m.TRES.Memory, site.TRESGPU: m.TRES.GPU}
	if tres != [site.NumTRES]int32{} {
		w.TRES = tres[:]
	}
	return w
}

func preemptionOf(p *profiles.Preemption, a *profiles.Agents) preempt.Config {
	c := preempt.DefaultConfig()
	c.KillGrace, c.Bandwidth = a.KillGrace, int64(a.CheckpointBandwidth)
	if !p.Enabled {
		return c
	}
	if p.Rule == "banded" {
		c.Rule = preempt.Banded
	}
	c.MaxVictims, c.NearCompletion, c.Timeout, c.Extension = p.MaxVictims, p.NearCompletion, p.Timeout, model.FixedOf(p.Extension)
	c.Deferral, c.DeferralsAuto, c.DeferralsManual = p.Deferral, p.DeferralsAuto, p.DeferralsOwn
	return c
}

// booksOf is the accounting, of which a site has one.
func booksOf(s *profiles.Site) quota.Config {
	q := quota.Config{Tenants: s.Tenants, QOS: s.QOS, Partitions: s.Partitions, Nodes: int32(len(s.Nodes))}
	for i := range s.Nodes {
		q.GPUs += int64(max(1, s.Nodes[i].GPUs))
	}
	q.Tick, q.Window, q.HalfLife = s.Tick, s.Usage.Window, s.Usage.HalfLife
	q.Usage = usageOf(&s.Usage)
	q.Unknown = quota.Unknown(slices.Index([]string{"none", "neutral", "reject"}, s.Unknown))
	return q
}

func usageOf(u *profiles.Usage) quota.Usage {
	return quota.Usage(slices.Index([]string{"instantaneous", "rolling", "decay"}, u.Rule))
}

// pricesOf is the series of prices that the changes announce.
func pricesOf(start model.Fixed, changes []translate.Change) site.PriceSeries {
	at, price := []model.Time{0}, []model.Fixed{start}
	for i := range changes {
		c := &changes[i]
		switch {
		case c.Kind != translate.PriceChange:
		case c.At == at[len(at)-1]:
			price[len(price)-1] = model.Fixed(c.Value)
		default:
			at, price = append(at, c.At), append(price, model.Fixed(c.Value))
		}
	}
	return site.NewPriceSeries(at, price)
}

// ceilingOf is the most that the site and its changes ever grant.
func ceilingOf(s *model.Site, changes []translate.Change) site.MaxLimits {
	caps := site.Caps{Power: s.PowerCap, Bandwidth: s.Bandwidth, Sensitive: s.SensitivePool}
	tenants := slices.Clone(s.Tenants)
	raise := func(cap *int64, to int64) {
		if *cap != 0 && (to == 0 || to > *cap) {
			*cap = to
		}
	}
	for i := range changes {
		switch c := &changes[i]; c.Kind {
		case translate.PowerChange:
			raise(&caps.Power, c.Value)
		case translate.BandwidthChange:
			raise(&caps.Bandwidth, c.Value)
		case translate.PoolChange:
			pool := int64(caps.Sensitive)
			raise(&pool, c.Value)
			caps.Sensitive = int32(pool)
		case translate.LimitsChange:
			t := &tenants[c.Tenant].Limits
			for _, l := range [...][2]*int32{{&t.MaxNodes, &c.Limits.MaxNodes}, {&t.MaxConcurrent, &c.Limits.MaxConcurrent}} {
				if *l[0] != 0 && (*l[1] == 0 || *l[1] > *l[0]) {
					*l[0] = *l[1]
				}
			}
		}
	}
	return site.MaxLimits{Caps: &caps, Tenants: tenants}
}

// recorded adds what the trace says of changes to those of the cluster file,
// which come first at one instant, and its reservations to those of the site, which
// know them from the beginning on. Prices in money are put on the scale from the
// lowest to the highest of the trace.
func recorded(w *world.SiteConfig, site *model.Site, src Tables) error {
	if len(src.Events()) == 0 && len(src.Prices()) == 0 {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	span := func(x float64) { low, high = min(low, x), max(high, x) }
	for _, p := range src.Prices() {
		span(p.Price)
	}
	for _, e := range src.Events() {
		if x, err := strconv.ParseFloat(e.Value, 64); e.Kind == "price" && err == nil {
			span(x)
		}
	}
	if !(low < high) { // one price, or none
		high = low + 1
	}
	more, err := translate.ReadEvents(src.Info().Name, site, src.Events(), src.Prices(), translate.PriceScale{Low: low, High: high})
	if err != nil {
		return err
	}
	w.Changes = append(w.Changes, more.Changes...)
	slices.SortStableFunc(w.Changes, func(a, b translate.Change) int { return cmp.Compare(a.At, b.At) })
	w.Outages = more.Outages
	site.Reservations = append(site.Reservations, more.Reservations...)
	return nil
}

// worldOf is the configuration of the simulated world.
func (s Spec) worldOf(res *profiles.Site, p *plan, src Tables) (world.SiteConfig, error) {
	a := &res.Agents
	w := world.SiteConfig{
		Site: &res.Site, Seed: s.Seed, Expected: p.world.Expected, Latency: res.Quorum.Latency, Jitter: res.Quorum.Jitter,
		Rows: translate.Rows{File: src.Info().Name, GPUTypes: res.GPUTypes, Policy: p.world.Policy, Shared: res.Shared, Warm: p.warm, IgnoreUnknownTenants: true},
		Exit: preemptionOf(&profiles.Preemption{}, a), StartDelay: a.StartDelay, BootDelay: a.BootDelay, ReadBandwidth: int64(a.RestoreBandwidth), Wipe: a.Wipe,
		Visible: a.CompletionDelay, Faults: faultsOf(&res.Failures),
	}
	for i := range res.Profiles { // all that preempt agree
		if res.Profiles[i].Preemption.Enabled {
			w.Exit = preemptionOf(&res.Profiles[i].Preemption, a)
		}
	}
	w.Checkpoints = checkpointsOf(res)
	var err error
	for i := range res.Changes {
		if w.Changes, err = appendChange(w.Changes, &res.Changes[i], len(res.Nodes)); err != nil {
			return w, err
		}
	}
	if err = recorded(&w, &res.Site, src); err != nil {
		return w, err
	}
	if err := w.Validate(); err != nil {
		return w, &UsageError{err.Error()}
	}
	return w, nil
}

// checkpointsOf says when running jobs write checkpoints, nil for never. One of
// no size is written at once and costs nothing.
func checkpointsOf(res *profiles.Site) *preempt.CheckpointConfig {
	i := slices.Index([]string{"value", "young", "daly"}, res.Agents.Checkpoints)
	if i < 0 {
		return nil
	}
	c := preempt.DefaultCheckpointConfig()
	c.Strategy, c.Bandwidth, c.Bytes = preempt.Strategy(i), int64(res.Agents.CheckpointBandwidth), 0
	if res.Failures.MTBF > 0 {
		c.MTBF = res.Failures.MTBF
	}
	return &c
}

// faultsOf is what goes wrong. When nodes break no more is settled with the trace.
func faultsOf(f *profiles.Failures) world.Faults {
	return world.Faults{
		MTBF: f.MTBF, MTTR: f.MTTR, Slow: f.Slow, SlowBy: f.SlowBy, Unresponsive: f.Unresponsive, Partial: f.Partial, Defers: f.Defers,
	}
}

// nodeChanges are the events that are about nodes.
var nodeChanges = map[string]translate.ChangeKind{
	"drain": translate.NodeDrains, "undrain": translate.NodeUndrained, "degraded": translate.NodeDegrades, "down": translate.NodeFails, "up": translate.NodeRepaired,
}

// appendChange turns an event of the cluster file into changes of the world.
func appendChange(dst []translate.Change, c *profiles.Change, nodes int) ([]translate.Change, error) {
	if kind, ok := nodeChanges[c.Kind]; ok {
		for n := c.Nodes.Next(0); n >= 0 && int(n) < nodes; n = c.Nodes.Next(n + 1) {
			dst = append(dst, translate.Change{At: c.At, Kind: kind, Node: n})
		}
		return dst, nil
	}
	out := translate.Change{At: c.At}
	switch c.Kind {
	case "quota":
		out.Kind, out.Tenant, out.Limits = translate.LimitsChange, c.Tenant, c.Limits
	case "price":
		out.Kind, out.Value = translate.PriceChange, int64(c.Price)
	case "power_cap":
		out.Kind, out.Value = translate.PowerChange, c.Amount
	case "storage_bandwidth":
		out.Kind, out.Value = translate.BandwidthChange, c.Amount
	case "sensitive_pool":
		out.Kind, out.Value = translate.PoolChange, c.Amount
	default:
		return dst, siteError{&profiles.Error{Problems: []profiles.Problem{{
			Key: c.Key + ".kind", Text: fmt.Sprintf("found %s, which no replay can change yet: leave the event out", c.Kind),
		}}}}
	}
	return append(dst, out), nil
}

// canonicalSite is the one spelling of a cluster file inside a spec.
func canonicalSite(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	c, err := profiles.ParseCluster("site", raw)
	if err != nil {
		return nil, fmt.Errorf("the site of the spec: %w", err)
	}
	return c.JSON(), nil
}
