// Package site generates the workload of a site of several vClusters, with its nodes,
// tenants, dependencies and events. Its batch jobs are those of the model of Lublin and
// Feitelson in package synth, its training jobs those of the GPU clusters there. The
// number of rows follows from the load.
package site

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
	"orrery/traces/synth"
	"orrery/traces/synth/internal/law"
	"orrery/traces/synth/internal/param"
)

// Params are the parameters of Generate. Start from Default. What is
// measured says where; every other number is an assumption.
type Params struct {
	// Nodes is the number of nodes of the site, in dragonfly groups of
	// GroupNodes. Assumption: 64, a few racks.
	Nodes, GroupNodes int32
	// Days is the length of the trace. Day 0 is a Monday.
	Days int32
	// Load is the offered load: node time of all rows by node time of the site,
	// each row as if it ran at its submission, on nodes_min, and counted up to
	// the end of the last day. A part of a node counts by its GPUs. A trace has
	// this load to within one submission of each vCluster.
	Load float64

	// HPC, ML and Service are the shares of the nodes that are home to the
	// vClusters of these names; the rest is home to sensitive. Assumption: one
	// half, three eighths, a tenth.
	HPC, ML, Service float64
	// ServiceLoad and SensitiveLoad are the loads of these two vClusters by the
	// whole site's; hpc and ml take what remains, alike. Assumption: 0.8 and
	// 0.6, since neither tolerates queues.
	ServiceLoad, SensitiveLoad float64
	// Weekend is the rate of submissions on days 6 and 7 by that of other days.
	// Within a day they follow the daily cycle that Lublin and Feitelson fitted
	// to all jobs. Assumption: one half.
	Weekend float64

	// Tenants and the users of each, by Zipf laws; which tenant is the largest
	// differs between vClusters. Assumption: 12 with 1.2, 10 with 1.
	Tenants        int
	TenantSkew     float64
	UsersPerTenant int
	UserSkew       float64

	// HPCRequests and MLRequests are the requests of batch jobs and of training.
	// The last value is the longest run time. Assumption: 24 h and 7 d.
	HPCRequests, MLRequests synth.Requests
	// TrainSizes are the sizes and run times of training jobs. Run times are the
	// fits to the Philly trace that GPUParams has, those of 64 GPUs and more
	// taken from 32. Weights are an assumption: fewer single GPUs than Philly
	// has, since models have grown.
	TrainSizes []synth.GPUSize
	// Groups and DAGs are the shares of the submissions to ml that are task
	// groups and workflows. Ranges is the share of its jobs on whole nodes that
	// use up to twice their nodes, Failures the share that fails. Assumption:
	// 0.04, 0.05, 0.4 and 0.1.
	Groups, DAGs, Ranges, Failures float64

	// Services is the share of the submissions to service that are services,
	// the others being sessions. Standing is the share of the services that are
	// submitted at the start, Reactive that of those whose nodes follow a demand.
	// Assumption: 0.05, 0.2, which is about what a month finds running, and 0.5.
	Services, Standing, Reactive float64
	// Lives of services, sessions and sensitive claims: the logarithm of the
	// seconds is normal, up to Longest. Assumption: medians of 6 d, 1.5 h and
	// 8 h, longest 60 d, 8 h and 3 d.
	ServiceLife, SessionLife, SensitiveLife Life
}

// Life is a log-normal span that is drawn again while it exceeds Longest.
type Life struct {
	Mu, Sigma float64
	Longest   model.Duration
}

// Default is a month of a site of a number of nodes at a load of 0.9.
func Default(nodes int32) Params {
	hours := func(values ...model.Duration) (r []model.Duration) {
		for _, v := range values {
			r = append(r, v*model.Hour)
		}
		return r
	}
	size := func(gpus int32, weight, mu, sigma float64) synth.GPUSize {
		return synth.GPUSize{GPUs: gpus, Weight: weight, RuntimeMu: mu, RuntimeSigma: sigma}
	}
	hpc := synth.DefaultLublin(wholeProcs).Requests
	hpc.Values = hpc.Values[:len(hpc.Values)-2] // up to 18 hours
	hpc.Values = append(hpc.Values, model.Day)
	return Params{
		Nodes: nodes, GroupNodes: 64, Days: 30, Load: 0.9,
		HPC: 0.5, ML: 0.375, Service: 0.1, ServiceLoad: 0.8, SensitiveLoad: 0.6, Weekend: 0.5,
		Tenants: 12, TenantSkew: 1.2, UsersPerTenant: 10, UserSkew: 1,
		HPCRequests: hpc, MLRequests: synth.Requests{MinAccuracy: 0.2, Values: hours(1, 2, 4, 8, 12, 24, 48, 72, 96, 168)},
		TrainSizes: []synth.GPUSize{
			size(1, 0.45, 6.719, 1.972), size(2, 0.10, 4.522, 3.268), size(4, 0.12, 9.106, 2.781), size(8, 0.20, 9.654, 2.791),
			size(16, 0.06, 9.270, 3.345), size(32, 0.04, 8.827, 2.468), size(64, 0.02, 8.827, 2.468), size(128, 0.008, 8.827, 2.468),
			size(256, 0.002, 8.827, 2.468),
		},
		Groups: 0.04, DAGs: 0.05, Ranges: 0.4, Failures: 0.1,
		Services: 0.05, Standing: 0.2, Reactive: 0.5,
		ServiceLife:   Life{math.Log(6 * 86400), 0.8, 60 * model.Day},
		SessionLife:   Life{math.Log(5400), 1, 8 * model.Hour},
		SensitiveLife: Life{math.Log(8 * 3600), 1, 3 * model.Day},
	}
}

// Validate names the first parameter that makes no sense.
func (p *Params) Validate() error {
	between := func(name string, v, low, high float64) param.Check {
		return param.That(v >= low && v <= high, name, v, fmt.Sprintf("%s to %s", strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64)))
	}
	life := func(name string, l Life) param.Check {
		inside, _ := law.LogNormal(l.Mu, l.Sigma, l.Longest.Seconds())
		return param.That(l.Sigma >= 0 && l.Sigma <= 20 && inside >= 0.01, name, l,
			"a deviation of 0 to 20, and Longest not to be exceeded nearly always")
	}
	checks := []param.Check{
		between("Nodes", float64(p.Nodes), 64, 1<<20), between("GroupNodes", float64(p.GroupNodes), 1, 1<<20),
		between("Days", float64(p.Days), 1, 3650), between("Load", p.Load, 0.001, 100),
		between("HPC", p.HPC, 0.25, 0.9), between("ML", p.ML, 0.2, 0.7), between("Service", p.Service, 0.05, 0.5),
		between("HPC+ML+Service", p.HPC+p.ML+p.Service, 0.5, 0.98),
		between("ServiceLoad", p.ServiceLoad, 0, 1), between("SensitiveLoad", p.SensitiveLoad, 0, 1), between("Weekend", p.Weekend, 0, 10),
		between("Tenants", float64(p.Tenants), 2, 1<<12), between("TenantSkew", p.TenantSkew, 0, 10),
		between("UsersPerTenant", float64(p.UsersPerTenant), 1, 1<<12), between("UserSkew", p.UserSkew, 0, 10),
		between("Groups", p.Groups, 0, 1), between("DAGs", p.DAGs, 0, 1), between("Groups+DAGs", p.Groups+p.DAGs, 0, 1),
		between("Ranges", p.Ranges, 0, 1), between("Failures", p.Failures, 0, 1),
		between("Services", p.Services, 0, 1), between("Standing", p.Standing, 0, 1), between("Reactive", p.Reactive, 0, 1),
		between("number of HPCRequests", float64(len(p.HPCRequests.Values)), 1, 1024),
		between("number of MLRequests", float64(len(p.MLRequests.Values)), 1, 1024),
		life("ServiceLife", p.ServiceLife), life("SessionLife", p.SessionLife), life("SensitiveLife", p.SensitiveLife),
	}
	if err := param.FirstWrong("site", checks); err != nil {
		return err
	}
	if err := cmp.Or(p.HPCRequests.Validate("site", 0), p.MLRequests.Validate("site", 0)); err != nil {
		return err
	}
	return param.FirstWrong("site", p.sizeChecks())
}

// sizeChecks are the conditions on TrainSizes.
func (p *Params) sizeChecks() []param.Check {
	var checks []param.Check
	one := 0.0 // weight of the sizes that every site has room for
	longest := p.MLRequests.Values[len(p.MLRequests.Values)-1].Seconds()
	for _, s := range p.TrainSizes {
		inside, _ := law.LogNormal(s.RuntimeMu, s.RuntimeSigma, longest)
		checks = append(checks,
			param.That(s.GPUs >= 1 && (s.GPUs <= mlGPUs || s.GPUs%mlGPUs == 0), "GPUs of TrainSizes", s.GPUs, "at most a node's 8, or a multiple"),
			param.That(s.Weight >= 0 && s.Weight <= 1e9, "Weight of TrainSizes", s.Weight, "0 or more"),
			param.That(s.RuntimeSigma >= 0 && inside >= 0.01, "run time of TrainSizes", s, "not nearly always longer than requests"))
		if s.GPUs <= mlGPUs {
			one += s.Weight
		}
	}
	return append(checks, param.That(one > 0, "weight of TrainSizes of one node", one, "more than 0"))
}

// The vClusters of a site.
const (
	hpc = iota
	ml
	service
	sensitive
	parts
)

var names = [parts]string{"hpc", "ml", "service", "sensitive"}

// mlGPUs is the number of GPUs of a node of ml, and of sensitive.
const mlGPUs = 8

// nodeTypes is the kind of node that each vCluster has. Sizes are those of
// servers that vendors sell: four modules of a GPU and a processor to a node
// (GH200, 96 GB), eight GPUs of 80 GB (H100), four of 40 GB (A100). TDP is the
// vendor's of the GPU (H100 SXM 700 W, A100 SXM 400 W) and of what a module of
// GH200 is commonly limited to; base is what the rest of a node draws, an
// assumption.
var nodeTypes = [parts]nodeType{
	{name: "gh200x4", gpu: "GH200", gpus: 4, cpus: 288, memory: 864 << 30, tdp: 700, base: 300},
	{name: "h100x8", gpu: "H100", gpus: mlGPUs, cpus: 112, memory: 2048 << 30, tdp: 700, base: 1500},
	{name: "a100x4", gpu: "A100", gpus: 4, cpus: 64, memory: 512 << 30, tdp: 400, base: 400},
	{name: "h100x8", gpu: "H100", gpus: mlGPUs, cpus: 112, memory: 2048 << 30, tdp: 700, base: 1500},
}

type nodeType struct {
	name, gpu  string
	gpus, cpus int32
	memory     int64 // bytes
	tdp, base  int64 // W
}

// Generate makes a month, or Days, of a site with four vClusters: hpc (rigid batch
// jobs by the model of Lublin and Feitelson), ml (training, with ranges,
// checkpoints, task groups and workflows), service (services without an end,
// and sessions) and sensitive (claims of class 10). It comes with its nodes,
// tenants, dependencies and what reactive services demand. The number of rows follows
// from the load, to which these count with their least nodes.
//
// Memory grows with the submissions, 24 bytes each. docs/TRACE-FORMAT.md says
// which columns are filled; the others are null.
func Generate(p Params, seed uint64) (*synth.Workload, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	s := newSite(&p, seed)
	rows := s.plan()
	return synth.New("site", rows, seed, p, s.content())
}

// content is what the planned submissions make.
func (s *site) content() synth.Content {
	c := synth.Content{MaxNodes: s.p.Nodes, Nodes: s.nodeTable(), Tenants: s.tenantTable(), Events: s.events(), Deps: s.deps}
	for _, n := range c.Nodes {
		c.MaxProcs += n.GPUs
	}
	c.Begin = func() func(*traces.Job) {
		unit, task := 0, 0
		return func(j *traces.Job) {
			u := &s.units[unit]
			s.row(u, task, j)
			if task++; task == int(u.tasks) {
				unit, task = unit+1, 0
			}
		}
	}
	return c
}

// site is what all iterations share.
type site struct {
	p         *Params
	seed      uint64
	batchJobs synth.LublinClass // of hpc
	cycle     *law.Cycle
	days      []float64 // probability that a submission falls on day 0 to i
	home      [parts]int32
	tenant    *draw.Zipf
	user      *draw.Zipf
	names     []string // of tenants
	users     []string
	units     []unit // in order of submission
}

// unit is what is submitted at once: a job, a task group or a workflow.
type unit struct {
	submit model.Time
	first  int32 // id of its first row
	n      int32 // number within its vCluster, the key of its draws
	tasks  int16
	part   int8
	shape  int8 // single, array or dag; for service: service or session
}

// largest is the most nodes that a job of a vCluster asks for: a quarter of its
// home, so that such jobs start within days. Assumption.
func (s *site) largest(part int) int32 { return max(s.home[part]/4, 1) }

// wholeProcs is the cluster to which Lublin and Feitelson fitted their model.
const wholeProcs = 128

// hpcProcs is the cluster, in nodes, to which the model of Lublin and
// Feitelson is put: the 128 that it was fitted to, or less on small sites.
func (s *site) hpcProcs() int32 { return min(wholeProcs, max(s.largest(hpc), 12)) }
