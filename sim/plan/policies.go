package plan

import (
	"slices"

	"orrery/profiles"
	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
	"orrery/scheduler/slurm"
	"orrery/sim/world"
	"orrery/sim/world/translate"
)

// coreOf is the configuration of the scheduler core.
func coreOf(s *profiles.Site, seed uint64) (site.Config, error) {
	c := site.Config{Site: &s.Site, RejectOverLimit: s.RejectOverLimit, Shared: s.Shared, CheckpointBandwidth: int64(s.Agents.CheckpointBandwidth), Price: s.Price}
	c.Quota, c.AssocPriority = booksOf(s), s.AssocPriority
	for _, a := range s.Associations {
		c.Associations = append(c.Associations, slurm.Association(a))
	}
	for i := range s.Profiles {
		p, err := policyOf(&s.Profiles[i], &s.Agents, i, len(s.Profiles))
		if err != nil {
			return c, usagef("vCluster %s: %v", s.VClusters[i].Name, err)
		}
		if p.Slurm != nil {
			p.Slurm.Linear = !s.Shared
			drawPhases(p.Slurm, seed)
		}
		c.Policies = append(c.Policies, p)
	}
	if err := c.Validate(); err != nil {
		return c, &UsageError{err.Error()}
	}
	return c, nil
}

// Policies are what the core is told of each vCluster of a file, whose profiles are
// part of it.
func Policies(c *profiles.Cluster) ([]site.Policy, error) {
	var out []site.Policy
	for i := range c.VClusters {
		p, err := policyOf(c.VClusters[i].Profile.Inline, &c.Agents, i, len(c.VClusters))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// policyOf is the profile of the vCluster at a place in the file, of n, in the words of the
// core.
func policyOf(p *profiles.Profile, a *profiles.Agents, place, n int) (site.Policy, error) {
	asCoded := p.Mode == "as-coded"
	out := site.Policy{
		AsCoded: asCoded, Reference: p.ReferenceWait, Cycle: p.Cycle, Phase: phaseOf(p, place, n), Private: p.Reservations == "private", Expected: p.Energy == "expected",
		Depth: int(p.Depth), MaxUserTests: int(p.BFMaxJobUser), ConformanceFirst: p.Selection == "conformance-first", LeastFragmentation: p.Selection == "least-fragmentation",
		Window: backfill.Window{Length: p.BFWindow, Resolution: p.BFResolution, Interval: p.BFInterval, Tests: int(p.BFMaxJobTest)},
	}
	var err error
	switch p.Order {
	case "score":
		raw := [score.NumFactors]float64{
			p.Weights.Priority, p.Weights.WaitTime, p.Weights.FairShare, p.Weights.Topology, p.Weights.DataReadiness,
			p.Weights.Backlog, p.Weights.Energy, p.Weights.Checkpoint, p.Weights.Conformance,
		}
		if asCoded {
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
	switch {
	case p.Backfill == "slurm":
		out.Slurm = slurmOptionsOf(p)
	case !asCoded:
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

// phaseOf is when the passes of a vCluster begin: what the profile says, else those of the
// n vClusters are spread over the cycle, so that they do not meet.
func phaseOf(p *profiles.Profile, place, n int) model.Duration {
	if p.Phase != nil {
		return *p.Phase
	}
	return p.Cycle * model.Duration(place) / model.Duration(n)
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
	c.MaxVictims, c.MaxTries, c.NearCompletion, c.Timeout, c.Extension = p.MaxVictims, p.MaxTries, p.NearCompletion, p.Timeout, model.FixedOf(p.Extension)
	c.Deferral, c.DeferralsAuto, c.DeferralsManual = p.Deferral, p.DeferralsAuto, p.DeferralsOwn
	return c
}

// booksOf is the accounting, of which a site has one.
func booksOf(s *profiles.Site) quota.Config {
	q := quota.Config{Tenants: s.Tenants, QOS: s.QOS, Partitions: s.Partitions, Nodes: int32(len(s.Nodes)), UserSessions: s.UserSessions}
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

// maxLimitsOf is the most that the site and its changes ever grant.
func maxLimitsOf(s *model.Site, changes []translate.Change) site.MaxLimits {
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
			for _, l := range [...][2]*int32{{&t.MaxNodes, &c.Limits.MaxNodes}, {&t.MaxConcurrent, &c.Limits.MaxConcurrent}, {&t.MaxGPUs, &c.Limits.MaxGPUs}} {
				if *l[0] != 0 && (*l[1] == 0 || *l[1] > *l[0]) {
					*l[0] = *l[1]
				}
			}
		}
	}
	return site.MaxLimits{Caps: &caps, Tenants: tenants}
}

// mayFail are the nodes that may be down at some time.
func mayFail(nodes int, w *world.SiteConfig) model.NodeSet {
	out := model.NewNodeSet(nodes)
	if len(w.Faults.Lives) > 0 {
		for n := range nodes {
			out.Add(model.NodeID(n))
		}
	}
	for i := range w.Faults.Shared {
		for _, n := range w.Faults.Shared[i].Nodes {
			out.Add(n)
		}
	}
	for i := range w.Changes {
		if c := &w.Changes[i]; c.Kind == translate.NodeFails {
			out.Add(c.Node)
		}
	}
	return out
}
