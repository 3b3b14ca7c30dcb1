package site

import (
	"fmt"
	"iter"
	"math"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
	"orrery/traces"
	"orrery/traces/synth"
)

var streamNode = draw.StreamOf("synth.site.node")

// newSite makes the tables of names and laws.
func newSite(p *Params, seed uint64) *site {
	whole := synth.DefaultLublin(wholeProcs).Classes[0]
	s := &site{p: p, seed: seed, batchJobs: whole, cycle: whole.DailyCycle(),
		tenant: draw.NewZipf(p.Tenants, p.TenantSkew), user: draw.NewZipf(p.UsersPerTenant, p.UserSkew)}
	left := p.Nodes
	for part, share := range []float64{p.HPC, p.ML, p.Service} {
		s.home[part] = int32(math.Round(share * float64(p.Nodes)))
		left -= s.home[part]
	}
	s.home[sensitive] = left
	sum := 0.0
	for day := range p.Days {
		weight := 1.0
		if day%7 >= 5 {
			weight = p.Weekend
		}
		sum += weight
		s.days = append(s.days, sum)
	}
	for t := range p.Tenants {
		s.names = append(s.names, fmt.Sprintf("tenant%02d", t+1))
		for u := range p.UsersPerTenant {
			s.users = append(s.users, fmt.Sprintf("%s-user%02d", s.names[t], u+1))
		}
	}
	return s
}

// nodeTable lists the nodes, vCluster after vCluster. Assumption: of the nodes
// of a kind 85 in a hundred have the current fingerprint, ten the one before it
// and five an unknown one; all of sensitive have the current one.
func (s *site) nodeTable() []traces.Node {
	nodes := make([]traces.Node, 0, s.p.Nodes)
	for part, t := range nodeTypes {
		for i := range s.home[part] {
			n := traces.Node{
				Name: fmt.Sprintf("%s%05d", names[part], i), Group: fmt.Sprintf("%s-g%03d", names[part], i/s.p.GroupNodes),
				Type: t.name, GPUModel: t.gpu, GPUs: t.gpus, CPUs: t.cpus, Memory: t.memory,
				Fingerprint: t.name + "-current", VCluster: names[part], Up: true,
			}
			s := draw.New(s.seed, streamNode, uint64(len(nodes)), 0)
			switch u := s.Float64(); {
			case part == sensitive || u < 0.85:
			case u < 0.95:
				n.Fingerprint = t.name + "-previous"
			default:
				n.Fingerprint = ""
			}
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// tenantOf is the tenant of a rank within a vCluster: the largest of one is a
// middling one of the next. Sensitive work is of two tenants.
func (s *site) tenantOf(part, rank int) int {
	t := len(s.names)
	if part == sensitive {
		return t - 1 - rank%2
	}
	return (rank + part*t/3) % t
}

// tenantTable grants each tenant a share by the 0.7th power of what it is
// expected to use, so that the largest use more than their share; a burst of
// half as much again; node and GPU time for its share of the load; and, hard,
// two and a half times its share of the nodes, in which the largest job fits,
// and twice its share of the nodes as running jobs, at least 64. All of it is
// an assumption.
func (s *site) tenantTable() []traces.Tenant {
	use := make([]float64, len(s.names))
	for part := range parts {
		for rank := range use {
			use[s.tenantOf(part, rank)] += float64(libm.Pow(float64(rank+1), -s.p.TenantSkew) * float64(s.home[part]))
		}
	}
	sum := 0.0
	for i := range use {
		use[i] = libm.Pow(use[i], 0.7)
		sum += use[i]
	}
	gpus := 0.0
	for part, t := range nodeTypes {
		gpus += float64(s.home[part] * t.gpus)
	}
	hours := 24 * float64(s.p.Days) * s.p.Load
	tenants := make([]traces.Tenant, len(use))
	for i := range tenants {
		share := math.Round(1000*use[i]/sum) / 1000
		nodes := share * float64(s.p.Nodes)
		tenants[i] = traces.Tenant{
			Name:          s.names[i],
			MaxNodes:      traces.Some(max(int32(math.Ceil(2.5*nodes)), min(s.hpcProcs(), s.home[hpc]), s.largest(ml))),
			MaxConcurrent: traces.Some(max(int32(math.Ceil(2*nodes)), 64)),
			FairShare:     traces.Some(share), Burst: traces.Some(1.5),
			GPUHours: traces.Some(math.Round(share * gpus * hours)), NodeHours: traces.Some(math.Round(nodes * hours)),
		}
	}
	return tenants
}

// deps yields the edges of all workflows.
func (s *site) deps() iter.Seq[traces.Dep] {
	return func(yield func(traces.Dep) bool) {
		for i := range s.units {
			u := &s.units[i]
			if u.part != ml || u.shape != shapeDAG {
				continue
			}
			for task := 1; task < int(u.tasks); task++ {
				on, condition := dagEdge(int(u.tasks), task)
				if !yield(traces.Dep{Job: int64(u.first) + int64(task), On: int64(u.first) + int64(on), Condition: condition}) {
					return
				}
			}
		}
	}
}
