package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/site"
	"orrery/sim/hosting"
	"orrery/sim/metric"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Site is a site in the words of the packages that run it.
type Site struct {
	Core  site.Config
	World world.SiteConfig
	Names SiteNames
	// Services of the cluster file, in its order.
	Services []hosting.Config
	// Targets are the waits within which jobs should start, by class.
	Targets []model.Duration
	Energy  *Energy // nil where no power is known
	early   int64   // reservations that the trace announces, known from the beginning on
	// unheeded counts events of the trace, in the order of translate.IgnoredEvents.
	unheeded [len(translate.IgnoredEvents)]int64
	// cramped counts the caps on power that leave no room beside idle nodes, and is the first
	// of them in words.
	cramped struct {
		caps int64
		text string
	}
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
	c, err := profiles.ParseSite("site", raw)
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
	text := c.JSON()
	if len(text) > profiles.MaxText { // or the spec could not be read again
		return siteOfFile{}, usagef("the cluster file with the nodes and tenants of the trace has %d bytes, want at most %d: leave out tenants that have no limits of their own", len(text), profiles.MaxText)
	}
	return siteOfFile{text, res}, nil
}

// on is the site of the file on a trace, whose nodes and tenants stand in for those
// that the file leaves out. A run adds to what it gets, and no other sees that.
func (f *clusterFile) on(src Tables) (siteOfFile, error) {
	whole := f.alone
	if err := zeroLimits(f.cluster, src); err != nil {
		return whole, err
	}
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

// siteOf turns the site of a cluster file into a plan. Reservations that the trace
// announces become part of it, which knows them from the beginning on.
func (p *Resolved) siteOf(res *profiles.Site, file *profiles.Cluster, src Tables) (*Site, error) {
	var err error
	if err := countsCPUs(res.Nodes, src.Info()); err != nil {
		return nil, err
	}
	sp, cap := &Site{Targets: res.TargetWait[:]}, res.PowerCap
	if res.Hardware.Slow { // the core holds no start back
		res.PowerCap = 0
	}
	if sp.Core, err = coreOf(res, p.Spec.Seed); err != nil {
		return nil, err
	}
	route, err := routeOf(&file.Routing, res, src.Info())
	if err != nil {
		return nil, err
	}
	announced, err := happenings(&res.Site, src)
	if err != nil {
		return nil, err
	}
	res.Reservations = append(res.Reservations, announced.Reservations...)
	if sp.World, err = p.worldOf(res, cap, announced, src); err != nil {
		return nil, err
	}
	sp.World.Rows.Route = route
	if sp.Energy = energyOf(&sp.World, res.Hardware, src); sp.Energy != nil {
		sp.World.Power.Tariffs, sp.World.Power.PUE = sp.Energy.Tariffs, sp.Energy.PUE
	}
	sp.World.Rows.NoFeatures = file.OfSizes()
	sp.World.Rows.NoNodeNames = file.OfSizes() && len(file.Groups) > 0
	for i := range res.VClusters {
		sp.Names.VClusters = append(sp.Names.VClusters, res.VClusters[i].Name)
		sp.Names.Profiles = append(sp.Names.Profiles, res.Profiles[i].Name)
	}
	for i := range res.Tenants {
		sp.Names.Tenants = append(sp.Names.Tenants, res.Tenants[i].Name)
	}
	for _, e := range src.Events() {
		if e.Kind == "reservation" && e.Time > 0 {
			sp.early++
		}
		if i := translate.IgnoredAt(e.Kind); i >= 0 {
			sp.unheeded[i]++
		}
	}
	if sp.Services, err = servicesOf(file.Services, res, src); err != nil {
		return nil, err
	}
	sp.Core.Prices = pricesOf(res.Price, sp.World.Changes)
	sp.Core.Max = maxLimitsOf(&res.Site, sp.World.Changes)
	if res.CountIdle {
		sp.lookAtCaps(res)
		sp.Core.Max.MayFail = mayFail(len(res.Nodes), &sp.World)
	}
	sp.Core.Extend = p.World.Policy.Overrun == translate.Extend
	return sp, nil
}

// lookAtCaps counts the caps on power, at the beginning and later, that leave no job room.
func (p *Site) lookAtCaps(res *profiles.Site) {
	caps := []int64{res.PowerCap}
	for i := range p.World.Changes {
		if c := &p.World.Changes[i]; c.Kind == translate.PowerChange {
			caps = append(caps, c.Value)
		}
	}
	for _, cap := range caps {
		if why := res.Cramped(cap); why != "" {
			p.cramped.caps++
			p.cramped.text = cmp.Or(p.cramped.text, fmt.Sprintf("%dW %s", cap, why))
		}
	}
}

// countsCPUs refuses nodes without CPUs where rows ask for some: none of them could run, and
// a file that leaves node_types out says nothing of what its nodes have.
func countsCPUs(nodes []model.Node, info traces.Info) error {
	if !info.Fills("cpus_per_node") || slices.ContainsFunc(nodes, func(n model.Node) bool { return n.CPUs > 0 }) {
		return nil
	}
	return siteError{&profiles.Error{Problems: []profiles.Problem{{
		Key: "groups", Text: "the nodes have 0 CPUs, and rows of " + info.Name + " ask for some (cpus_per_node), so none of these could run: say how many each has, by cpus under node_types and type under groups",
	}}}}
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

// zeroLimits refuses a limit of 0 in the table of tenants, which keeps all jobs of a tenant out:
// null is no limit, and there is no other that is not more than 0.
func zeroLimits(c *profiles.Cluster, src Tables) error {
	if len(c.Tenants) > 0 { // the file has its own
		return nil
	}
	for i, t := range src.Tenants() {
		for _, limit := range []struct {
			column string
			zero   bool
		}{
			{"max_nodes", t.MaxNodes == traces.Some[int32](0)}, {"max_concurrent", t.MaxConcurrent == traces.Some[int32](0)},
			{"gpu_hours", t.GPUHours == traces.Some(0.0)}, {"node_hours", t.NodeHours == traces.Some(0.0)},
		} {
			if limit.zero {
				return &traces.DataError{
					File: src.Info().Name + ", table tenants", Row: int64(i) + 1, Column: limit.column, Found: "0", Expected: "more than 0, or null for no limit",
					Mend: "give the tenants in the cluster file, or leave the limit out: one of 0 keeps all jobs of " + t.Name + " out, and cannot be replayed",
				}
			}
		}
	}
	return nil
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

// SiteOn is the site of a file with the nodes, tenants and reservations that a trace
// tells of; nil for no trace.
func SiteOn(c *profiles.Cluster, src Tables) (*profiles.Site, error) {
	if src != nil {
		if err := zeroLimits(c, src); err != nil {
			return nil, err
		}
		c = completed(c, src)
	}
	s, err := c.Resolve()
	if err != nil || src == nil {
		return s, err
	}
	announced, err := happenings(&s.Site, src)
	s.Reservations = append(s.Reservations, announced.Reservations...)
	return s, err
}

// canonicalSite is the one spelling of a cluster file inside a spec.
func canonicalSite(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	c, err := profiles.ParseSite("site", raw)
	if err != nil {
		return nil, fmt.Errorf("the site of the spec: %w", err)
	}
	return c.JSON(), nil
}
