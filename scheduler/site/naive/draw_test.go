package naive_test

import (
	"fmt"

	"pgregory.net/rapid"

	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// naiveFeature is something that worlds may have.
type naiveFeature uint32

const (
	withGroups    naiveFeature = 1 << iota // dragonfly groups, fingerprints, topologies
	withVClusters                          // vClusters with home nodes
	withBorrowing
	withConstraints
	withSensitive
	withRanges
	withGPUs
	withLimits
	withQOS
	withPartitions
	withReservations
	withCaps
	withDependencies
	withNodeStates
	withCycles
	withMinScore
	withRankings
	withPreemption
	withConflicts
	withPrices
	withEasy
	withConservative
	withHold
	withCancels
	withOverdue
	withServices              // reactive services with demand
	withBounds                // window, resolution, interval and tests of conservative backfilling
	withAmounts               // shares of CPUs, memory and thousandths of GPUs
	everyFeature naiveFeature = 1<<iota - 1
	// withDays has hours for seconds: worlds of months, with days that bring nothing.
	withDays naiveFeature = 1 << 31
	// withScaled has services that a policy scales: they borrow, give back and are answered.
	withScaled naiveFeature = 1 << 30
	// withHomes has no node without a home, and cycles and scores more often.
	withHomes naiveFeature = 1 << 29
)

// naiveDraw draws a world.
type naiveDraw struct {
	t    *rapid.T
	with naiveFeature
	w    *naiveWorld
	unit model.Duration // of spans
}

func (d *naiveDraw) has(f naiveFeature) bool { return d.with&f != 0 }
func (d *naiveDraw) n(name string, lo, hi int) int {
	return rapid.IntRange(lo, hi).Draw(d.t, name)
}
func (d *naiveDraw) chance(name string, percent int) bool {
	return d.n(name, 0, 99) >= 100-percent
}
func (d *naiveDraw) span(name string, lo, hi int) model.Duration {
	return model.Duration(d.n(name, lo, hi)) * d.unit
}
func (d *naiveDraw) fixed(name string, hi int) model.Fixed {
	return model.Ratio(int64(d.n(name, 0, hi)), 100)
}

// drawNaive draws a world with these features.
func drawNaive(t *rapid.T, with naiveFeature) *naiveWorld {
	d := &naiveDraw{t: t, with: with, w: &naiveWorld{}, unit: model.Second}
	if d.has(withDays) {
		d.unit = model.Hour
		d.w.end = naiveEnd * model.Time(d.unit/model.Second)
	}
	d.st()
	d.policies()
	d.jobs()
	d.changes()
	d.unit = model.Second
	if d.has(withConflicts) {
		d.w.latency = d.span("latency", 0, 4)
		if d.chance("denies", 50) {
			d.w.deny = rapid.Uint64().Draw(t, "deny") & rapid.Uint64().Draw(t, "and")
		}
	}
	d.w.leave = d.span("leave", 1, 8)
	if d.has(withOverdue) {
		d.w.grace = d.span("grace", 0, 5)
	}
	return d.w
}

func (d *naiveDraw) st() {
	st := &model.Site{Constraints: []model.Constraint{{GPUType: -1}}}
	d.w.cfg = site.Config{Site: st, Shared: d.has(withGPUs | withAmounts)}
	st.Amounts = d.has(withAmounts)
	groups, vclusters := 1, 1
	if d.has(withGroups) {
		groups = d.n("groups", 1, 4)
		st.Fingerprints = int32(d.n("fingerprints", 0, 3))
	} else {
		st.Fingerprints = 1
	}
	if d.has(withVClusters) {
		vclusters = d.n("lanes", 1, 3)
	}
	for g := range groups {
		group := model.Group{Name: fmt.Sprint("g", g)}
		for o := range groups {
			if o != g && (o+g)%3 == 1 {
				group.Adjacent = append(group.Adjacent, int32(o))
			}
		}
		st.Groups = append(st.Groups, group)
	}
	if d.has(withGPUs) {
		st.Topologies = []model.GPUTopology{{
			Name:      "quad",
			Bandwidth: [][]int64{{0, 9, 2, 2}, {9, 0, 2, 2}, {2, 2, 0, 9}, {2, 2, 9, 0}},
			NUMA:      []int32{0, 0, 1, 1},
		}, {
			Name:      "odd",
			Bandwidth: [][]int64{{0, 1, 9, 1}, {1, 0, 1, 1}, {9, 1, 0, 1}, {1, 1, 1, 0}},
			NUMA:      []int32{0, 1, 1, 1},
		}}
	}
	gpus := int64(0)
	nodes := d.n("nodes", 1, 9)
	for i := range nodes {
		n := model.Node{Name: fmt.Sprint("n", i), Home: -1, GPUType: -1, Topology: -1, BusyPower: 100, Memory: 10}
		if d.has(withGroups) {
			n.Group = int32(d.n("group", 0, groups-1))
			n.Fingerprint = int32(d.n("fingerprint", -1, int(st.Fingerprints)-1))
		}
		if d.has(withVClusters) {
			n.Home = model.VClusterID(d.n("home", -1, vclusters-1))
		}
		if d.has(withHomes) && n.Home < 0 {
			n.Home = model.VClusterID(i % vclusters)
		}
		if d.has(withGPUs) {
			n.GPUs, n.GPUType, n.Topology = 4, 0, int32(d.n("links", -1, 1))
		}
		if d.has(withConstraints) {
			n.Memory = int64(d.n("memory", 1, 3)) * 10
		}
		if d.has(withCaps) {
			n.BusyPower, n.IdlePower = int64(d.n("watts", 1, 3))*100, 50*int64(d.n("idle watts", 0, 3))
		}
		if d.has(withNodeStates) && d.chance("bad", 15) {
			n.State = model.NodeState(d.n("state", 1, 4))
		}
		if d.has(withAmounts) {
			n.CPUs = int32(d.n("cpus", 2, 8))
			if n.Memory = 10 * int64(d.n("memory", 1, 3)); d.chance("no gpus", 30) {
				n.GPUs, n.GPUType, n.Topology = 0, -1, -1
			}
		}
		gpus += int64(max(1, n.GPUs))
		st.Nodes = append(st.Nodes, n)
	}
	for l := range vclusters {
		v := model.VCluster{Name: fmt.Sprint("v", l)}
		if d.has(withBorrowing) {
			v.Lend, v.Borrow, v.MaxLent = d.chance("lend", 70), d.chance("borrow", 70), d.fixed("lent", 100)
		}
		st.VClusters = append(st.VClusters, v)
	}
	d.shared(st)
	d.w.cfg.Quota = quota.Config{
		Tenants: st.Tenants, QOS: st.QOS, Partitions: st.Partitions, Nodes: int32(nodes), GPUs: gpus,
		Tick: 10 * d.unit, Window: 40 * d.unit,
	}
	if d.has(withLimits) {
		d.w.cfg.Quota.Usage = quota.Usage(d.n("usage", 0, 1))
		d.w.cfg.Quota.Unknown = quota.Unknown(d.n("unknown", 0, 1))
		d.w.cfg.Quota.UserSessions = int32(d.n("user sessions", 0, 2))
		d.w.cfg.RejectOverLimit = d.chance("rejects", 20)
	}
}

// gpuLimit draws a limit in GPUs where nodes have some.
func (d *naiveDraw) gpuLimit(name string) int32 {
	if !d.has(withGPUs) || d.chance("no "+name, 60) {
		return 0
	}
	return int32(d.n(name, 1, 16))
}

func (d *naiveDraw) nodeSet(name string) model.NodeSet {
	set := model.NewNodeSet(len(d.w.cfg.Site.Nodes))
	for n := range d.w.cfg.Site.Nodes {
		if d.chance(name, 60) {
			set.Add(model.NodeID(n))
		}
	}
	return set
}

// shared draws tenants, qualities of service, partitions, reservations and caps.
func (d *naiveDraw) shared(st *model.Site) {
	if d.has(withConstraints) {
		st.Constraints = append(st.Constraints, model.Constraint{GPUType: -1, Memory: 20}, model.Constraint{GPUType: -1, Exclude: d.nodeSet("exclude")})
	}
	if d.has(withLimits) {
		for t := range d.n("tenants", 1, 3) {
			st.Tenants = append(st.Tenants, model.Tenant{Name: fmt.Sprint("t", t), Limits: model.Limits{
				MaxNodes: int32(d.n("max nodes", 0, 9)), MaxConcurrent: int32(d.n("max jobs", 0, 3)), MaxGPUs: d.gpuLimit("max gpus"),
				FairShare: d.fixed("share", 100), Burst: d.fixed("burst", 200),
				GPUBudget: d.span("gpu budget", 0, 300), NodeBudget: d.span("node budget", 0, 100),
			}})
		}
	}
	if d.has(withQOS) {
		for q := range d.n("qos", 1, 2) {
			st.QOS = append(st.QOS, model.QOS{
				Name: fmt.Sprint("q", q), Priority: int64(d.n("qos priority", 0, 5)), MaxNodes: int32(d.n("qos nodes", 0, 9)),
				GroupNodes: int32(d.n("group nodes", 0, 9)), GroupJobs: int32(d.n("group jobs", 0, 4)),
				UserJobs: int32(d.n("user jobs", 0, 3)), UserNodes: int32(d.n("user nodes", 0, 9)),
				MaxGPUs: d.gpuLimit("qos gpus"), GroupGPUs: d.gpuLimit("group gpus"), UserGPUs: d.gpuLimit("user gpus"),
			})
		}
		for q := range st.QOS {
			if d.chance("qos preempts", 30) {
				st.QOS[q].PreemptsQOS = []model.QOSID{model.QOSID(d.n("which", 0, len(st.QOS)-1))}
			}
		}
	}
	if d.has(withPartitions) {
		for p := range d.n("partitions", 1, 3) {
			st.Partitions = append(st.Partitions, model.Partition{
				Name: fmt.Sprint("p", p), Nodes: d.nodeSet("partition"), Tier: int32(d.n("tier", 0, 2)), Factor: int64(d.n("factor", 0, 3)),
				MinNodes: int32(d.n("least", 0, 2)), MaxNodes: int32(d.n("most", 0, 9)), Up: d.chance("up", 90),
			})
		}
	}
	if d.has(withReservations) {
		for r := range d.n("reservations", 1, 2) {
			start := model.Time(d.span("reserved", 0, 60))
			st.Reservations = append(st.Reservations, model.Reservation{
				Name: fmt.Sprint("r", r), Nodes: d.nodeSet("set aside"), Start: start, End: start.Add(d.span("for", 1, 30)), Flex: d.chance("flex", 30),
			})
		}
	}
	if d.has(withSensitive) {
		st.SensitivePool = int32(d.n("pool", 0, 8))
	}
	if d.has(withCaps) {
		st.PowerCap, st.Bandwidth = 100*int64(d.n("power cap", 0, 15)), int64(d.n("bandwidth cap", 0, 10))
		st.CountIdle, st.Sheds = d.chance("idle nodes count", 40), d.chance("sheds", 40)
	}
}

func (d *naiveDraw) policies() {
	for range d.w.cfg.Site.VClusters {
		p := site.Policy{Ranking: site.ByOrder, Reference: 10 * d.unit, Preemption: preempt.DefaultConfig()}
		switch {
		case d.has(withConservative) && !d.w.cfg.Shared && d.chance("conservative", 60):
			p.Backfill, p.Depth = order.Conservative, d.n("depth", 1, 5)
			d.bounds(&p)
		case d.has(withEasy):
			p.Backfill = order.Backfill(d.n("backfill", 0, int(order.Easy)))
		default:
			p.Backfill = order.Backfill(d.n("backfill", 0, int(order.FirstFit)))
		}
		if d.has(withRankings) {
			p.Ranking = site.Ranking(d.n("ranking", 0, 2))
		}
		if d.has(withHomes) && d.chance("score", 70) {
			p.Ranking = site.ByScore
		}
		switch p.Ranking {
		case site.ByOrder:
			p.Order = naiveOrders[d.n("order", 0, len(naiveOrders)-1)]
		case site.ByScore:
			d.score(&p)
		default:
			p.Multifactor = multifactor.Weights{
				Age: uint32(d.n("age", 0, 9)), JobSize: uint32(d.n("size", 0, 9)), Partition: uint32(d.n("partition", 0, 9)),
				QOS: uint32(d.n("qos", 0, 9)), Site: 1, FavorSmall: d.chance("small", 50), MaxAge: 100 * d.unit,
			}
		}
		if d.has(withVClusters) {
			p.Private = d.chance("private", 25)
		}
		if d.has(withCycles) && (d.chance("cycle", 60) || d.has(withHomes) && d.chance("cycle as well", 80)) {
			p.Cycle = d.span("cycle", 2, 9)
			p.Phase = d.span("phase", 0, int(p.Cycle/d.unit)-1)
		}
		if d.has(withPreemption) {
			p.Preempts = d.chance("preempts", 80)
			p.Preemption.NearCompletion = d.span("near", 0, 4)
			p.Preemption.MaxVictims = int32(d.n("victims", 1, 3))
			p.Preemption.MaxTries = int32(d.n("tries", 1, 4))
			p.Preemption.Rule = preempt.Rule(d.n("rule", 0, 1))
		}
		d.w.cfg.Policies = append(d.w.cfg.Policies, p)
	}
	if d.has(withPrices) {
		d.w.cfg.Price = d.fixed("price", 100)
		d.w.cfg.CheckpointBandwidth = int64(d.n("writes", 0, 3)) * 100
	}
}

// bounds draws the parameters of Slurm's backfill, most of them switched off.
func (d *naiveDraw) bounds(p *site.Policy) {
	if !d.has(withBounds) {
		return
	}
	some := func(name string, hi int) model.Duration {
		if d.chance(name+" on", 50) {
			return d.span(name, 1, hi)
		}
		return 0
	}
	p.Window = backfill.Window{Length: some("window", 40), Resolution: some("resolution", 10), Interval: some("interval", 20)}
	if d.chance("few tests", 40) {
		p.Window.Tests = d.n("tests", 1, 6)
	}
	if d.chance("few tests of a user", 40) {
		p.MaxUserTests = d.n("user tests", 1, 3)
	}
}

func (d *naiveDraw) score(p *site.Policy) {
	var raw [score.NumFactors]float64
	for i := range raw {
		raw[i] = float64(d.n("weight", 0, 5))
	}
	raw[0]++
	var err error
	if p.Weights, err = score.Normalise(raw); err != nil {
		d.t.Fatal(err)
	}
	p.Expected = d.has(withPrices) && !d.has(withMinScore) && d.chance("expected", 40)
	if d.has(withMinScore) && d.chance("min", 60) {
		p.MinScore = d.fixed("min score", 80)
	}
}

func (d *naiveDraw) jobs() {
	st := d.w.cfg.Site
	at := model.Time(0)
	deepest := 40
	for i := range d.n("jobs", 1, deepest) {
		at += model.Time(d.span("gap", 0, 5))
		e := naiveErrand{runtime: d.span("runtime", 0, 14), outcome: model.Completed, cancel: model.Never}
		a := &e.Allocation
		*a = model.Allocation{
			Job: model.JobID(i), ID: int64(i), Submit: at, Eligible: at, Tenant: -1, QOS: -1, Partition: -1, Reservation: -1,
			TaskGroup: -1, DAG: -1, User: -1, DataReady: -1, Class: 5,
		}
		a.Walltime = max(d.unit, e.runtime+d.span("over", -2, 6))
		a.NodesMin = int32(d.n("wants", 1, len(st.Nodes)))
		a.NodesMax = a.NodesMin
		d.traits(a)
		d.service(&e)
		d.ties(&e)
		d.w.jobs = append(d.w.jobs, e)
	}
	awaited := map[model.JobID]bool{}
	for i := range d.w.jobs {
		for _, dep := range d.w.jobs[i].Deps {
			awaited[dep.On] = awaited[dep.On] || dep.Condition != model.Mutex
		}
	}
	for i := range d.w.jobs {
		d.w.jobs[i].Awaited = awaited[model.JobID(i)]
	}
}

func (d *naiveDraw) traits(a *model.Allocation) {
	st := d.w.cfg.Site
	a.VCluster = model.VClusterID(d.n("lane", 0, len(st.VClusters)-1))
	if d.has(withGroups) {
		a.Topology = model.Topology(d.n("topology", 0, 2))
	}
	if d.has(withConstraints) {
		a.Constraint = model.ConstraintID(d.n("constraint", 0, len(st.Constraints)-1))
	}
	if d.has(withSensitive) {
		a.Sensitive = d.chance("sensitive", 30)
	}
	if d.has(withRanges) && d.chance("range", 60) {
		a.NodesMax = int32(d.n("up to", int(a.NodesMin), len(st.Nodes)+2))
	}
	if d.has(withGPUs) && d.chance("parts", 70) {
		a.GPUs = int32(d.n("gpus", 1, 4))
	}
	if d.has(withAmounts) && d.chance("amounts", 85) {
		a.CPUs, a.Memory = int32(d.n("cpus asked", 1, 4)), 5*int64(d.n("memory asked", 0, 4))
		if d.has(withGPUs) && d.chance("thousandths", 50) {
			a.GPUs, a.GPUMilli = 0, 100*int32(d.n("milli", 1, 9))
		}
	}
	if d.has(withLimits) {
		a.Tenant = model.TenantID(d.n("tenant", -1, len(st.Tenants)-1))
	}
	if d.has(withQOS) {
		a.QOS = model.QOSID(d.n("of", -1, len(st.QOS)-1))
	}
	if d.has(withQOS | withBounds) {
		a.User = int32(d.n("user", -1, 2))
	}
	if d.has(withLimits) && d.chance("session", 10) {
		a.Kind = model.Session
	}
	if d.has(withPartitions) {
		a.Partition = model.PartitionID(d.n("in", -1, len(st.Partitions)-1))
	}
	if d.has(withReservations) && d.chance("names", 30) {
		a.Reservation = model.ReservationID(d.n("reservation", 0, len(st.Reservations)-1))
	}
	if d.has(withCaps) {
		a.Power, a.IODemand = 100*int64(d.n("power", 0, 4)), int64(d.n("io", 0, 5))
	}
	if d.has(withRankings | withPreemption | withBorrowing) {
		a.Class = int32(d.n("class", 0, 10))
		a.Checkpoint = model.Checkpoint(d.n("checkpoint", 0, 2))
		a.CkptBytes = int64(d.n("bytes", 0, 3)) * 1000
	}
	if d.has(withRankings) {
		a.DataReady = d.fixed("ready", 101) - model.Ratio(1, 100)
		a.Priority, a.Nice = int64(d.n("points", -5, 20)), int64(d.n("nice", -5, 5))
	}
}

// ties draws what binds a job to time and to other jobs.
func (d *naiveDraw) ties(e *naiveErrand) {
	a := &e.Allocation
	if d.has(withHold) && d.chance("later", 30) {
		a.Eligible = a.Submit.Add(d.span("wait", 1, 20))
	}
	if d.has(withCancels) && d.chance("cancels", 20) {
		e.cancel = a.Submit.Add(d.span("withdrawn", 1, 20))
	}
	if !d.has(withDependencies) {
		return
	}
	if d.chance("fails", 30) {
		e.outcome = model.Failed
	}
	if d.chance("never comes", 12) {
		e.gone = rapid.SampledFrom([]model.JobState{model.Completed, model.Failed, model.Rejected}).Draw(d.t, "ended")
	}
	if d.chance("member", 30) {
		a.TaskGroup, a.Index, a.MaxConcurrent = int32(d.n("task group", 0, 1)), int32(a.Job), 2
	}
	for range d.n("deps", 0, 2) {
		if a.Job > 0 && d.chance("waits", 60) {
			a.Deps = append(a.Deps, model.Dependency{On: model.JobID(d.n("on", 0, int(a.Job)-1)), Condition: model.Condition(d.n("condition", 0, 2))})
		} else if d.chance("mutex", 30) && len(a.Deps) == 0 {
			a.Deps = append(a.Deps, model.Dependency{On: -1, Condition: model.Mutex, Mutex: int32(d.n("lock", 0, 1))})
		}
	}
}

func (d *naiveDraw) changes() {
	add := func(f model.Fact) {
		at := model.Time(d.span("when", 0, 80))
		d.w.changes = append(d.w.changes, naiveChange{at, f})
	}
	st := d.w.cfg.Site
	if d.has(withNodeStates) {
		for range d.n("node changes", 0, 8) {
			add(model.Fact{Kind: model.FactNode, Node: model.NodeID(d.n("node", 0, len(st.Nodes)-1)), State: model.NodeState(d.n("becomes", 0, 1)) * model.Draining})
		}
	}
	if d.has(withPrices) {
		for range d.n("prices", 0, 5) {
			add(model.Fact{Kind: model.FactPrice, Value: int64(d.fixed("new price", 100))})
		}
		d.w.knowPrices()
	}
	if d.has(withCaps) {
		for range d.n("caps", 0, 3) {
			add(model.Fact{Kind: model.FactPower, Value: 100 * int64(d.n("new cap", 0, 15))})
			add(model.Fact{Kind: model.FactBandwidth, Value: int64(d.n("new bandwidth", 0, 10))})
		}
	}
	if d.has(withLimits) {
		for range d.n("limit changes", 0, 3) {
			add(model.Fact{Kind: model.FactLimits, Tenant: model.TenantID(d.n("whose", 0, len(st.Tenants)-1)), Limits: &model.Limits{
				MaxNodes: int32(d.n("max nodes", 0, 9)), MaxGPUs: d.gpuLimit("max gpus"), FairShare: d.fixed("share", 100), NodeBudget: d.span("budget", 0, 100),
			}})
		}
	}
	if d.has(withServices) {
		d.demands()
	}
	if d.has(withSensitive) {
		for range d.n("pools", 0, 2) {
			add(model.Fact{Kind: model.FactSensitivePool, Value: int64(d.n("new pool", 0, 8))})
		}
	}
}
