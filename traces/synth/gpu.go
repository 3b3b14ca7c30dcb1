package synth

import (
	"fmt"
	"math"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
	"orrery/traces/synth/internal/law"
	"orrery/traces/synth/internal/param"
)

// GPUSize is a number of GPUs that jobs ask for, with the run times of such
// jobs.
type GPUSize struct {
	GPUs   int32   // up to a node's, or a multiple of them
	Weight float64 // share of the jobs, relative to the other sizes
	// The logarithm of the seconds is normal with this mean and deviation.
	RuntimeMu, RuntimeSigma float64
}

// GPUParams are the parameters of GPU. Start from DefaultGPU.
type GPUParams struct {
	// Nodes is the number of nodes, all alike, in groups of GroupNodes that
	// share a switch. Assumption: the eight-GPU server with its share of
	// processors and memory for each GPU that vendors sell for training.
	Nodes, GroupNodes int32
	GPUsPerNode       int32
	CPUsPerGPU        int32
	MemPerGPU         int64  // bytes
	GPUModel          string // written to nodes and to jobs

	// Sizes are the bounded jobs. The default's weights and run times are
	// those of the public Philly trace (Jeon et al.: Analysis of large-scale
	// multi-tenant GPU clusters for DNN training workloads, USENIX ATC 2019;
	// 82,247 jobs in its flattened form), by size: shares, and means and
	// deviations of the logarithms of durations above zero. Sizes of which it
	// has fewer than 50 jobs are pooled at 64 GPUs, with the run times of 32.
	Sizes []GPUSize

	// ServiceShare is the share of rows that are services: they stay for a
	// lifetime that is log-normal as well and request no walltime. Their sizes
	// are those of at most one node. Assumptions, all three; that such rows
	// are common beside bounded ones is known of the Alibaba openb-2023 trace,
	// more than half of whose pods are latency sensitive.
	ServiceShare               float64
	ServiceMu, ServiceSigma    float64
	ServiceClass, BoundedClass int32 // priority classes; an assumption

	// MaxRuntime bounds run times and lifetimes; draws beyond it are made
	// again. Assumption: 30 days.
	MaxRuntime model.Duration
	// Load is the expected offered load: GPU-seconds of run time by second and
	// GPU. Arrivals are Poisson on the clock of the daily cycle that Lublin and
	// Feitelson fitted to all jobs; both are assumptions for GPU clusters.
	Load      float64
	StartHour int // hour of the day at which the trace starts, 0 to 23

	// Tenants is the number of tenants, TenantSkew the exponent of the Zipf law
	// by which a job is one of theirs. With 15 and 1.6 the largest has half of
	// the jobs and the four largest have four fifths; of Philly's 15 virtual
	// clusters they have a half and nine tenths. Users of a tenant are drawn
	// likewise; an assumption.
	Tenants        int
	TenantSkew     float64
	UsersPerTenant int
	UserSkew       float64

	// Requests is how users request walltime. Assumption: Philly has none.
	Requests Requests
}

// DefaultGPU is a cluster of a number of nodes with eight GPUs each.
func DefaultGPU(nodes int32) GPUParams {
	p := GPUParams{
		Nodes: nodes, GroupNodes: 16, GPUsPerNode: 8, CPUsPerGPU: 12, MemPerGPU: 128 << 30, GPUModel: "H100",
		Sizes: []GPUSize{
			{1, 0.9317, 6.719, 1.972}, {2, 0.0221, 4.522, 3.268}, {4, 0.0227, 9.106, 2.781}, {8, 0.0200, 9.654, 2.791},
			{16, 0.0024, 9.270, 3.345}, {32, 0.0008, 8.827, 2.468}, {64, 0.0003, 8.827, 2.468},
		},
		ServiceShare: 0.01, ServiceMu: math.Log(3 * 86400), ServiceSigma: 1, ServiceClass: 8, BoundedClass: 4,
		MaxRuntime: 30 * model.Day, Load: 0.8,
		Tenants: 15, TenantSkew: 1.6, UsersPerTenant: 20, UserSkew: 1,
		Requests: Requests{MinAccuracy: 0.1},
	}
	for _, hours := range []model.Duration{1, 2, 4, 8, 12, 24, 48, 72, 96, 168, 336, 720} {
		p.Requests.Values = append(p.Requests.Values, hours*model.Hour)
	}
	return p.fitting()
}

// fitting takes out the sizes that exceed the cluster.
func (p GPUParams) fitting() GPUParams {
	var sizes []GPUSize
	for _, s := range p.Sizes {
		if int64(s.GPUs) <= int64(p.Nodes)*int64(p.GPUsPerNode) {
			sizes = append(sizes, s)
		}
	}
	p.Sizes = sizes
	return p
}

// Validate names the first parameter that makes no sense.
func (p *GPUParams) Validate() error {
	positive := func(name string, v, most int64) param.Check {
		return param.That(v >= 1 && v <= most, name, v, fmt.Sprintf("1 to %d", most))
	}
	share := func(name string, v float64) param.Check { return param.That(v >= 0 && v <= 1, name, v, "0 to 1") }
	skew := func(name string, v float64) param.Check { return param.That(v >= 0 && v <= 10, name, v, "0 to 10") }
	class := func(name string, v int32) param.Check { return param.That(v >= 0 && v <= 10, name, v, "0 to 10") }
	checks := []param.Check{
		positive("Nodes", int64(p.Nodes), 1<<20), positive("GroupNodes", int64(p.GroupNodes), 1<<20),
		positive("GPUsPerNode", int64(p.GPUsPerNode), 1024), positive("CPUsPerGPU", int64(p.CPUsPerGPU), 1<<16),
		positive("MemPerGPU", p.MemPerGPU, 1<<50), positive("MaxRuntime", int64(p.MaxRuntime), int64(3650*model.Day)),
		positive("number of Sizes", int64(len(p.Sizes)), 1024),
		share("ServiceShare", p.ServiceShare), class("ServiceClass", p.ServiceClass), class("BoundedClass", p.BoundedClass),
		param.That(p.Load > 0 && p.Load <= 1000, "Load", p.Load, "above 0, up to 1000"),
		param.That(p.StartHour >= 0 && p.StartHour <= 23, "StartHour", p.StartHour, "0 to 23"),
		positive("Tenants", int64(p.Tenants), 1<<16), skew("TenantSkew", p.TenantSkew),
		positive("UsersPerTenant", int64(p.UsersPerTenant), 1<<12), skew("UserSkew", p.UserSkew),
	}
	if err := param.FirstWrong("gpu", checks); err != nil {
		return err
	}
	if err := p.Requests.Validate("gpu", p.MaxRuntime); err != nil {
		return err
	}
	checks = []param.Check{p.drawable("Service", p.ServiceMu, p.ServiceSigma)}
	sum, small := 0.0, false
	for i, s := range p.Sizes {
		at := fmt.Sprintf("Sizes[%d].", i)
		fits := s.GPUs >= 1 && int64(s.GPUs) <= int64(p.Nodes)*int64(p.GPUsPerNode) &&
			(s.GPUs <= p.GPUsPerNode || s.GPUs%p.GPUsPerNode == 0)
		checks = append(checks,
			param.That(fits, at+"GPUs", s.GPUs, "at most a node's, or a multiple of them that the cluster has"),
			param.That(s.Weight >= 0 && s.Weight <= 1e9, at+"Weight", s.Weight, "0 or more"),
			p.drawable(at+"Runtime", s.RuntimeMu, s.RuntimeSigma))
		sum += s.Weight
		small = small || s.GPUs <= p.GPUsPerNode && s.Weight > 0
	}
	return param.FirstWrong("gpu", append(checks,
		param.That(sum > 0, "sum of the weights of Sizes", sum, "more than 0"),
		param.That(small || p.ServiceShare == 0, "ServiceShare", p.ServiceShare, "0 when no size fits a node")))
}

// drawable says whether enough of a log-normal is within MaxRuntime for draws
// to fall inside before long.
func (p *GPUParams) drawable(name string, mu, sigma float64) param.Check {
	inside, _ := law.LogNormal(mu, sigma, p.MaxRuntime.Seconds())
	return param.That(sigma >= 0 && sigma <= 20 && inside >= 0.01, name+"Mu, "+name+"Sigma", [2]float64{mu, sigma},
		"a deviation of 0 to 20, and MaxRuntime not to be exceeded nearly always")
}

// meanArea is the expected GPU-seconds of a row.
func (p *GPUParams) meanArea() float64 {
	bound := p.MaxRuntime.Seconds()
	mean := func(mu, sigma float64) float64 {
		probability, expectation := law.LogNormal(mu, sigma, bound)
		return expectation / probability
	}
	all, one := 0.0, 0.0 // weights of all sizes, and of those within a node
	area, gpus := 0.0, 0.0
	for _, s := range p.Sizes {
		all += s.Weight
		area += s.Weight * float64(s.GPUs) * mean(s.RuntimeMu, s.RuntimeSigma)
		if s.GPUs <= p.GPUsPerNode {
			one += s.Weight
			gpus += s.Weight * float64(s.GPUs)
		}
	}
	total := (1 - p.ServiceShare) * area / all
	if p.ServiceShare > 0 {
		total += p.ServiceShare * gpus / one * mean(p.ServiceMu, p.ServiceSigma)
	}
	return total
}

// Streams of the draws of GPU; the entity is the number of the job.
var (
	streamGPUGap     = draw.StreamOf("synth.gpu.gap")
	streamGPUKind    = draw.StreamOf("synth.gpu.kind")
	streamGPUSize    = draw.StreamOf("synth.gpu.size")
	streamGPURuntime = draw.StreamOf("synth.gpu.runtime")
	streamGPURequest = draw.StreamOf("synth.gpu.request")
	streamGPUTenant  = draw.StreamOf("synth.gpu.tenant")
)

// GPU is a workload of n jobs and services for a cluster of GPU nodes; the
// fields of GPUParams say what is measured and what assumed. Requests are in
// nodes and GPUs on each; procs_requested is the GPUs in all, for clusters
// that schedule single GPUs.
func GPU(p GPUParams, n int64, seed uint64) (*Workload, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	c := Content{MaxNodes: p.Nodes, MaxProcs: p.Nodes * p.GPUsPerNode, Nodes: p.table()}
	shared := &gpuTables{
		p: &p, seed: seed, cycle: wholeSample.DailyCycle(),
		meanGap: p.meanArea() / p.Load / float64(c.MaxProcs),
		tenant:  draw.NewZipf(p.Tenants, p.TenantSkew),
		user:    draw.NewZipf(p.UsersPerTenant, p.UserSkew),
	}
	for t := range p.Tenants {
		shared.tenants = append(shared.tenants, fmt.Sprintf("tenant%02d", t+1))
		for u := range p.UsersPerTenant {
			shared.users = append(shared.users, fmt.Sprintf("%s-user%02d", shared.tenants[t], u+1))
		}
	}
	c.Begin = func() func(*traces.Job) {
		g := &gpu{gpuTables: shared}
		g.arrivals = newArrivals(shared.cycle, p.StartHour, func(n uint64) float64 {
			s := draw.New(seed, streamGPUGap, n, 0)
			return s.Exponential() * shared.meanGap
		})
		return g.next
	}
	return New("gpu", n, seed, p, c)
}

// table is the nodes.
func (p *GPUParams) table() []traces.Node {
	nodes := make([]traces.Node, p.Nodes)
	for i := range nodes {
		nodes[i] = traces.Node{
			Name: fmt.Sprintf("n%05d", i), Group: fmt.Sprintf("g%03d", int32(i)/p.GroupNodes), Type: "gpu-node",
			GPUModel: p.GPUModel, GPUs: p.GPUsPerNode, CPUs: p.GPUsPerNode * p.CPUsPerGPU,
			Memory: int64(p.GPUsPerNode) * p.MemPerGPU, Up: true,
		}
	}
	return nodes
}

// gpuTables is what all iterations share.
type gpuTables struct {
	p            *GPUParams
	seed         uint64
	cycle        *law.Cycle
	meanGap      float64 // seconds on the clock of the cycle
	tenant, user *draw.Zipf
	tenants      []string
	users        []string // of tenant after tenant
}

// gpu makes the rows of one iteration.
type gpu struct {
	*gpuTables
	arrivals
}

func (g *gpu) next(j *traces.Job) {
	n := g.arrivals.n
	submit := g.arrivals.next()
	kind := draw.New(g.seed, streamGPUKind, n, 0)
	pick := draw.New(g.seed, streamGPUSize, n, 0)
	run := draw.New(g.seed, streamGPURuntime, n, 0)
	request := draw.New(g.seed, streamGPURequest, n, 0)
	identity := draw.New(g.seed, streamGPUTenant, n, 0)
	tenant := g.tenant.Rank(&identity)
	user := tenant*g.p.UsersPerTenant + g.user.Rank(&identity)
	*j = traces.Job{
		ID: int64(n) + 1, Kind: "bounded", Tenant: g.tenants[tenant], User: g.users[user], Submit: submit,
		GPUType: g.p.GPUModel, Class: traces.Some(g.p.BoundedClass),
	}
	if kind.Bool(g.p.ServiceShare) {
		j.Kind = "service"
		j.Class = traces.Some(g.p.ServiceClass)
		g.shape(j, g.size(&pick, g.p.GPUsPerNode).GPUs)
		j.Runtime = traces.Some(g.runtime(g.p.ServiceMu, g.p.ServiceSigma, &run))
		return
	}
	size := g.size(&pick, math.MaxInt32)
	g.shape(j, size.GPUs)
	j.Runtime = traces.Some(g.runtime(size.RuntimeMu, size.RuntimeSigma, &run))
	if walltime, ok := g.p.Requests.Request(j.Runtime.V, &request); ok {
		j.Walltime = traces.Some(walltime)
	}
}

// size draws one of the sizes of up to most GPUs.
func (g *gpu) size(s *draw.Source, most int32) *GPUSize {
	sum := 0.0
	for i := range g.p.Sizes {
		if g.p.Sizes[i].GPUs <= most {
			sum += g.p.Sizes[i].Weight
		}
	}
	u := s.Float64() * sum
	last := 0
	for i := range g.p.Sizes {
		size := &g.p.Sizes[i]
		if size.GPUs > most || size.Weight == 0 {
			continue
		}
		last = i
		if u -= size.Weight; u < 0 {
			break
		}
	}
	return &g.p.Sizes[last]
}

// shape lays the GPUs out over nodes.
func (g *gpu) shape(j *traces.Job, gpus int32) {
	nodes, perNode := int32(1), gpus
	if gpus > g.p.GPUsPerNode {
		nodes, perNode = gpus/g.p.GPUsPerNode, g.p.GPUsPerNode
		j.Topology = "tight"
	}
	j.NodesMin = traces.Some(nodes)
	j.GPUsPerNode = traces.Some(perNode)
	j.CPUsPerNode = traces.Some(perNode * g.p.CPUsPerGPU)
	j.MemPerNode = traces.Some(int64(perNode) * g.p.MemPerGPU)
	j.ProcsRequested = traces.Some(gpus)
}

// runtime draws a log-normal span, in whole seconds rounded down.
func (g *gpu) runtime(mu, sigma float64, s *draw.Source) model.Duration {
	for {
		x := libm.Exp(float64(sigma*s.Normal()) + mu)
		if x <= g.p.MaxRuntime.Seconds() {
			return model.Duration(x) * model.Second
		}
	}
}
