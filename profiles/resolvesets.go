package profiles

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// limits takes over everything that has no nodes in it.
func (r *resolver) limits() {
	s, c := r.site, r.c
	s.PowerCap, s.Bandwidth, s.SensitivePool, s.UserSessions = int64(c.PowerCap), int64(c.StorageBandwidth), c.SensitivePool, c.UserSessions
	s.CountIdle, s.Sheds = c.PowerCapScope == "site", c.OverPowerCap == "shed"
	for i := range c.Tenants {
		s.Tenants = append(s.Tenants, model.Tenant{Name: c.Tenants[i].Name, Limits: c.Tenants[i].limits()})
		s.AssocPriority = append(s.AssocPriority, c.Tenants[i].Priority)
	}
	s.Associations = c.Associations
	for i := range c.QOS {
		q := &c.QOS[i]
		out := model.QOS{
			Name: q.Name, Priority: q.Priority, Class: q.Class, MaxWall: q.MaxWall, MaxNodes: q.MaxNodes,
			GroupNodes: q.GroupNodes, GroupJobs: q.GroupJobs, UserJobs: q.UserJobs, UserNodes: q.UserNodes,
			UserPending: q.UserPending, MaxGPUs: q.MaxGPUs, GroupGPUs: q.GroupGPUs, UserGPUs: q.UserGPUs, UsageFactor: model.FixedOf(q.UsageFactor), PreemptGrace: q.PreemptGrace,
		}
		for j := range c.QOS {
			if slices.Contains(q.Preempts, c.QOS[j].Name) {
				out.PreemptsQOS = append(out.PreemptsQOS, model.QOSID(j))
			}
		}
		s.QOS = append(s.QOS, out)
	}
}

func (t *Tenant) limits() model.Limits {
	return model.Limits{
		MaxNodes: t.MaxNodes, MaxConcurrent: t.MaxConcurrent, MaxGPUs: t.MaxGPUs,
		FairShare: model.FixedOf(t.FairShare), Burst: model.FixedOf(t.Burst),
		GPUBudget: hours(t.GPUHours), NodeBudget: hours(t.NodeHours),
	}
}

// vclusters takes over the vClusters and gives each its home.
func (r *resolver) vclusters() {
	list := r.c.VClusters
	if len(list) == 0 {
		one := NewVCluster("default", Nodes{"all"})
		p, err := Load(one.Profile.Name)
		if err != nil {
			panic(err) // it is part of the program
		}
		one.Profile.Inline = &p
		list = []VCluster{one}
	}
	var counted []int // vClusters that take what is left
	for i := range list {
		v := &list[i]
		r.site.Profiles = append(r.site.Profiles, *v.Profile.Inline)
		r.site.VClusters = append(r.site.VClusters, model.VCluster{
			Name: v.Name, Lend: v.Lend, Borrow: v.Borrow, MaxLent: model.FixedOf(v.MaxLent), Grace: v.Grace,
		})
		for j, term := range v.Home {
			if _, ok := count(term); ok {
				if len(counted) == 0 || counted[len(counted)-1] != i {
					counted = append(counted, i)
				}
				continue
			}
			r.settle(i, of(fmt.Sprintf("vclusters[%d].home", i), v.Home, j), term)
		}
	}
	next := model.NodeID(0)
	for _, i := range counted {
		for j, term := range list[i].Home {
			if n, ok := count(term); ok {
				next = r.take(i, of(fmt.Sprintf("vclusters[%d].home", i), list[i].Home, j), n, next)
			}
		}
	}
}

// agree notes profiles that cannot be together on one site: accounts are kept
// once, victims leave by one clock, and reservations of whole nodes need whole
// nodes.
func (r *resolver) agree() {
	def := Default()
	r.site.Tick, r.site.Usage = def.AccountingTick, def.Usage
	ticks, counts, shares, exits := -1, -1, -1, -1 // the vClusters that said so first
	r.associations(slices.ContainsFunc(r.site.Profiles, func(p Profile) bool { return p.Backfill == "slurm" && p.Order == "multifactor" }))
	for i := range r.site.Profiles {
		p := &r.site.Profiles[i]
		if r.site.Shared && p.Backfill == "conservative" {
			r.problems.add(profileKey(i, "backfill"), "found conservative, which reserves whole nodes and cannot divide them: use backfill: easy, or sharing: whole")
		}
		if p.Backfill == "slurm" {
			r.slurm(i, p)
		}
		if p.Preemption.Enabled {
			r.same(&exits, i, "all victims of a site have the same time to leave", "preemption.timeout", "preemption.extension", "preemption.deferral",
				"preemption.deferrals_auto", "preemption.deferrals_manual")
		}
		if p.Order == "multifactor" {
			r.same(&shares, i, "a site keeps one tree of accounts", "multifactor.half_life", "multifactor.fair_tree", "multifactor.dampening")
		}
		if p.Order == "score" || p.Order == "multifactor" { // others keep no account
			r.same(&ticks, i, "a site keeps one account", "accounting_tick")
			r.site.Tick = r.site.Profiles[ticks].AccountingTick
		}
		if p.Order == "score" && p.Mode == "documented" { // others take usage as they find it
			r.same(&counts, i, "a site keeps one account", "usage.rule", "usage.window", "usage.half_life")
			r.site.Usage = r.site.Profiles[counts].Usage
		}
	}
}

// associations notes those that have no effect, and tenants that are none of them.
func (r *resolver) associations(own bool) {
	if len(r.c.Associations) == 0 {
		return
	}
	if !own {
		r.problems.add("associations", "found %d, which count with backfill: slurm and order: multifactor only: leave them out", len(r.c.Associations))
		return
	}
	for i := range r.c.Tenants {
		name := r.c.Tenants[i].Name
		if !slices.ContainsFunc(r.c.Associations, func(a Association) bool { return a.Account == name && a.User == "" }) {
			r.problems.add(fmt.Sprintf("tenants[%d].name", i), "found %s, which is no account among the associations: add it there, or its jobs have no fair share", name)
		}
	}
}

// slurm notes what Slurm's own schedulers do not know.
func (r *resolver) slurm(i int, p *Profile) {
	add := func(key, format string, args ...any) { r.problems.add(profileKey(i, key), format, args...) }
	switch {
	case len(r.site.Profiles) > 1:
		add("backfill", "found slurm beside %d other vClusters: one controller has one vCluster, with partitions", len(r.site.Profiles)-1)
	case p.Order != "multifactor" && p.Order != "fcfs":
		add("order", "found %s, and Slurm orders by multifactor or fcfs: use one of them, or another backfill", p.Order)
	case p.Cycle > 0:
		add("cycle", "found %s, and Slurm has clocks of its own: leave it out", formatSpan(p.Cycle))
	case p.Preemption.Enabled:
		add("preemption.enabled", "found true, which backfill: slurm does not follow yet: use backfill: easy or conservative")
	case len(r.c.Services) > 0:
		r.problems.add("services", "found %d, and backfill: slurm has no services that change their size: leave them out, or use another backfill", len(r.c.Services))
	case p.Slurm.BFWindow < p.Slurm.BFResolution:
		add("slurm.bf_window", "found %s, want at least bf_resolution, %s", formatSpan(p.Slurm.BFWindow), formatSpan(p.Slurm.BFResolution))
	case r.c.Sharing == "gpus":
		r.problems.add("sharing", "found gpus, and Slurm divides nodes by all resources or not at all: use resources or whole")
	}
}

func profileKey(i int, key string) string {
	return join(fmt.Sprintf("vclusters[%d].profile", i), key)
}

// same notes the first of the keys in which the profile of vCluster i differs
// from that of vCluster first, which is i itself while it is -1.
func (r *resolver) same(first *int, i int, why string, keys ...string) {
	if *first < 0 {
		*first = i
	}
	one, two := reflect.ValueOf(&r.site.Profiles[*first]).Elem(), reflect.ValueOf(&r.site.Profiles[i]).Elem()
	for _, key := range keys {
		if was, is := lookup(one, key), lookup(two, key); was != is {
			r.problems.add(profileKey(i, key), "found %s, and that of %s is %s: %s, give them the same", is, r.site.VClusters[*first].Name, was, why)
			return
		}
	}
}

// settle makes the nodes of a term the home of vCluster i.
func (r *resolver) settle(i int, path, term string) {
	for n := range r.members(path, term) {
		node := &r.site.Nodes[n]
		if node.Home >= 0 && node.Home != model.VClusterID(i) {
			r.problems.add(path, "names the node %s, which is home of %s: each node has one home", node.Name, r.owner(node.Home))
			return
		}
		node.Home = model.VClusterID(i)
	}
}

// owner is the name of a vCluster that may not be taken over yet.
func (r *resolver) owner(id model.VClusterID) string {
	if int(id) < len(r.c.VClusters) {
		return r.c.VClusters[id].Name
	}
	return "another vCluster"
}

// take gives vCluster i the n first nodes from next on that have no home.
func (r *resolver) take(i int, path string, n int, next model.NodeID) model.NodeID {
	wanted := n
	for ; n > 0 && int(next) < len(r.site.Nodes); next++ {
		if r.site.Nodes[next].Home < 0 {
			r.site.Nodes[next].Home = model.VClusterID(i)
			n--
		}
	}
	if n > 0 {
		r.problems.add(path, "found %d, but only %d nodes are left without a home: ask for fewer, or add nodes to groups", wanted, wanted-n)
	}
	return next
}

// members yields the nodes of a term: all, a group, or names. A term that names
// nothing is noted.
func (r *resolver) members(path, term string) iter.Seq[model.NodeID] {
	return func(yield func(model.NodeID) bool) {
		group, isGroup := r.groups[term]
		switch {
		case term == "all" || isGroup:
			for n := range r.site.Nodes {
				if (!isGroup || r.site.Nodes[n].Group == group) && !yield(model.NodeID(n)) {
					return
				}
			}
			return
		case strings.Trim(term, "0123456789") == "":
			r.problems.add(path, "found %q, want groups, names like n[001-256], or all", term)
			return
		}
		names, err := expand(term, MaxNodes)
		if err != nil {
			r.problems.add(path, "%v", err)
			return
		}
		for _, name := range names {
			n, ok := r.nodes[name]
			if !ok {
				r.problems.add(path, "found %q: there is no group and no node %s", term, name)
				return
			}
			if !yield(n) {
				return
			}
		}
	}
}

// set is the nodes of several terms.
func (r *resolver) set(path string, terms Nodes) model.NodeSet {
	if r.named += len(r.site.Nodes); r.named > maxNamed {
		r.problems.add(path, "is one set of nodes too many for a site of %d nodes", len(r.site.Nodes))
		return nil
	}
	s := model.NewNodeSet(len(r.site.Nodes))
	for i, term := range terms {
		for n := range r.members(of(path, terms, i), term) {
			s.Add(n)
		}
	}
	return s
}

// sets takes over what names sets of nodes.
func (r *resolver) sets() {
	for i := range r.c.Partitions {
		p, path := &r.c.Partitions[i], fmt.Sprintf("partitions[%d].nodes", i)
		r.site.Partitions = append(r.site.Partitions, model.Partition{
			Name: p.Name, Nodes: r.set(path, p.Nodes), Tier: p.Tier, Factor: p.Priority,
			MaxWall: p.MaxWall, MinNodes: p.MinNodes, MaxNodes: p.MaxNodes, Up: p.Up,
		})
	}
	for i := range r.c.Reservations {
		v, path := &r.c.Reservations[i], fmt.Sprintf("reservations[%d].nodes", i)
		r.site.Reservations = append(r.site.Reservations, model.Reservation{
			Name: v.Name, Nodes: r.set(path, v.Nodes), Start: model.Time(v.Start), End: model.Time(v.End), Maintenance: v.Maintenance, Flex: v.Flex,
		})
	}
}

// changes takes over the events, in the order of their instants.
func (r *resolver) changes() {
	order := make([]int, len(r.c.Events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.c.Events[a].Time, r.c.Events[b].Time) })
	tenants := slices.Clone(r.c.Tenants)
	for _, i := range order {
		e, path := &r.c.Events[i], fmt.Sprintf("events[%d]", i)
		out := Change{At: model.Time(e.Time), Kind: e.Kind, Key: path, Tenant: -1}
		if slices.Contains(nodeEvents, e.Kind) {
			out.Nodes = r.set(path+".subject", e.Subject)
			r.site.Changes = append(r.site.Changes, out)
			continue
		}
		v, _, err := e.read()
		switch {
		case err != nil:
			r.problems.add(path+".value", "%v", err)
		case e.Kind == "quota":
			id := slices.IndexFunc(tenants, func(t Tenant) bool { return t.Name == e.Subject[0] })
			f, _ := findField(fieldsOf(reflect.TypeFor[Tenant]()), e.Limit)
			reflect.ValueOf(&tenants[id]).Elem().FieldByIndex(f.Index).Set(v)
			out.Tenant, out.Limits = model.TenantID(id), tenants[id].limits()
		case e.Kind == "price":
			out.Price = model.FixedOf(v.Float())
		default:
			out.Amount = v.Int()
		}
		r.site.Changes = append(r.site.Changes, out)
	}
}
