package site

import (
	"fmt"
	"math"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
	"orrery/traces/synth"
)

// Streams of the rows; the entity is the submission and the attempt
// the task, 0 for what its tasks have in common.
var (
	streamUser    = draw.StreamOf("synth.site.who")
	streamSize    = draw.StreamOf("synth.site.size")
	streamRuntime = draw.StreamOf("synth.site.runtime")
	streamRequest = draw.StreamOf("synth.site.request")
	streamTraits  = draw.StreamOf("synth.site.traits")
	streamEnd     = draw.StreamOf("synth.site.end")
	streamHold    = draw.StreamOf("synth.site.hold")
)

func (s *site) source(stream draw.Stream, u *unit, task int) draw.Source {
	return draw.New(s.seed, stream, entity(int(u.part), u.n), uint64(task))
}

// row makes a task of a submission.
func (s *site) row(u *unit, task int, j *traces.Job) {
	identity := s.source(streamUser, u, 0)
	tenant := s.tenantOf(int(u.part), s.tenant.Rank(&identity))
	user := tenant*s.p.UsersPerTenant + s.user.Rank(&identity)
	*j = traces.Job{
		ID: int64(u.first) + int64(task), Kind: "bounded", User: s.users[user], Tenant: s.names[tenant], Account: s.names[tenant],
		VCluster: names[u.part], QOS: "normal", Submit: u.submit,
		ExitState: "COMPLETED", ExitCode: traces.Some(int32(0)), Sensitive: traces.Some(u.part == sensitive),
	}
	switch u.part {
	case hpc:
		s.batch(u, j)
	case ml:
		s.training(u, task, j)
	case service:
		s.serving(u, j)
	default:
		s.sensitiveJob(u, j)
	}
}

// What jobs of hpc ask for beside each GPU: batch codes run on whatever node has
// the GPUs, so it is what every kind of node here has. Assumption.
const (
	portableCPUs   = 14
	portableMemory = 128 << 30
)

// layOut gives a job nodes with so many GPUs on each. Who takes a part of a
// node asks for the same part of its processors and memory.
func layOut(j *traces.Job, part, nodes, gpus int32) {
	t := &nodeTypes[part]
	j.NodesMin, j.NodesMax = traces.Some(nodes), traces.Some(nodes)
	j.GPUsPerNode = traces.Some(gpus)
	j.CPUsPerNode = traces.Some(t.cpus / t.gpus * gpus)
	j.MemPerNode = traces.Some(t.memory / int64(t.gpus) * int64(gpus))
	if part == hpc {
		j.CPUsPerNode, j.MemPerNode = traces.Some(portableCPUs*gpus), traces.Some(portableMemory*int64(gpus))
	}
	j.ProcsRequested = traces.Some(nodes * gpus)
	j.Exclusive = traces.Some(gpus == t.gpus)
	j.Topology = "any"
	if nodes > 1 {
		j.Topology = "tight"
	}
}

// traits are what a job does to its surroundings.
type traits struct {
	busyLow, busyHigh float64 // share of the GPUs' TDP
	io                float64 // B/s of each node, mean of an exponential law
	commLow, commHigh float64 // of jobs on several nodes
	data              float64 // share of jobs that stage data in
}

// traitsOf jobs by vCluster. All of it is an assumption.
var traitsOf = [parts]traits{
	{0.4, 0.9, 50e6, 0.1, 0.5, 0.5},
	{0.5, 0.95, 300e6, 0.05, 0.35, 1},
	{0.1, 0.6, 10e6, 0.05, 0.1, 0.3},
	{0.4, 0.9, 100e6, 0.1, 0.3, 0},
}

// datasets that jobs stage in, in GB, and how much of them is on the hot tier.
// Few values, since a dataset is shared. Assumption.
var (
	datasets = [...]int64{10, 100, 500, 1000, 5000, 20000}
	hotParts = [...]int64{0, 50, 90, 100} // percent
)

// surround draws power, traffic, communication and data. Power is that of the
// GPUs plus the same share of the rest of the nodes.
func (s *site) surround(u *unit, task int, j *traces.Job) {
	d, kind, node := s.source(streamTraits, u, task), &traitsOf[u.part], &nodeTypes[u.part]
	nodes, gpus := int64(j.NodesMin.V), int64(j.GPUsPerNode.V)
	busy := d.Uniform(kind.busyLow, kind.busyHigh)
	draws := float64(nodes*gpus) * (busy*float64(node.tdp) + float64(node.base)/float64(node.gpus))
	j.Power = traces.Some(int64(math.Round(draws)))
	j.IODemand = traces.Some(int64(math.Round(kind.io*d.Exponential()*float64(nodes)/1e6)) * 1e6)
	comm := d.Uniform(kind.commLow, kind.commHigh)
	if nodes == 1 {
		comm = 0
	}
	j.CommFraction = traces.Some(math.Round(comm*1000) / 1000)
	if d.Bool(kind.data) {
		size := datasets[d.IntN(int64(len(datasets)))]
		hot := size * 1e7 * hotParts[d.IntN(int64(len(hotParts)))]
		j.Mounts = fmt.Sprintf(`{"cold":%d,"hot":%d}`, size*1e9-hot, hot)
	}
}

// checkpoint gives a job checkpoints of a share of its GPUs' memory, in MB.
// Assumption: a twentieth to a half.
func checkpoint(j *traces.Job, by string, gpuMemory float64, d *draw.Source) {
	j.Checkpoint = by
	size := d.Uniform(0.05, 0.5)
	if by != "none" {
		j.CkptBytes = traces.Some(int64(size*gpuMemory*float64(j.ProcsRequested.V)/1e6) * 1e6)
	}
}

func requeue(j *traces.Job, policy string, most int32) {
	j.Requeue, j.RequeueMax = policy, traces.Some(most)
}

// pick is the index of the interval that u in [0, 1) falls in.
func pick(u float64, shares ...float64) int {
	for i, x := range shares {
		if u -= x; u < 0 {
			return i
		}
	}
	return len(shares)
}

// batch is a rigid job of hpc, on whole nodes. Sizes and run times are of the
// class of all jobs of Lublin and Feitelson, a processor of theirs being a
// node. Assumptions: classes 2, 4 and 6 of a fifth, three fifths and a fifth;
// checkpoints by the system, by the application or none of a fifth, three
// tenths and a half; one in fifty may not start for up to 12 hours; one in
// twenty asks for local storage; two in a hundred fail.
func (s *site) batch(u *unit, j *traces.Job) {
	size, run, request := s.source(streamSize, u, 0), s.source(streamRuntime, u, 0), s.source(streamRequest, u, 0)
	nodes := min(s.batchJobs.Size(s.hpcProcs(), &size), s.home[hpc])
	layOut(j, hpc, nodes, nodeTypes[hpc].gpus)
	longest := s.p.HPCRequests.Values[len(s.p.HPCRequests.Values)-1]
	runtime := s.batchJobs.Runtime(nodes, math.Log(longest.Seconds()), &run)
	s.setTimes(j, runtime, &s.p.HPCRequests, &request)
	if nodes <= 4 && j.Walltime.V <= 30*model.Minute {
		j.QOS = "debug"
	}
	d := s.source(streamEnd, u, 0)
	j.Name = "batch"
	j.Class = traces.Some([...]int32{2, 4, 6}[pick(d.Float64(), 0.2, 0.6)])
	checkpoint(j, [...]string{"auto", "manual", "none"}[pick(d.Float64(), 0.2, 0.3)], 96e9, &d)
	requeue(j, "on-node-failure", 2)
	if d.Bool(0.02) {
		j.Eligible = traces.Some(u.submit.Add(model.Duration(1+d.IntN(12)) * model.Hour))
	}
	if d.Bool(0.05) {
		j.Features = "nvme"
	}
	fail(j, d.Bool(0.02))
	s.surround(u, 0, j)
	s.putOff(u, j)
}

// putOff lets one batch job in a hundred be submitted on hold and be released
// within a day, in whole minutes, and three in a hundred be nice by 100 or 1000
// points. All of it is an assumption.
func (s *site) putOff(u *unit, j *traces.Job) {
	d := s.source(streamHold, u, 0)
	if d.Bool(0.01) {
		j.Hold = traces.Some(true)
		j.Released = traces.Some(u.submit.Add(model.Duration(1+d.IntN(24*60)) * model.Minute))
	}
	if d.Bool(0.03) {
		j.Nice = traces.Some([...]int32{100, 1000}[d.IntN(2)])
	}
}

// setTimes sets the run time and the requested time.
func (s *site) setTimes(j *traces.Job, runtime model.Duration, r *synth.Requests, d *draw.Source) {
	j.Runtime = traces.Some(runtime)
	if walltime, ok := r.Request(runtime, d); ok {
		j.Walltime = traces.Some(walltime)
	}
}

func fail(j *traces.Job, failed bool) {
	if failed {
		j.ExitState, j.ExitCode = "FAILED", traces.Some(int32(1))
	}
}

// span draws a life, in whole seconds rounded down, at least one.
func (l *Life) span(d *draw.Source) model.Duration {
	for {
		if x := libm.Exp(l.Mu + float64(l.Sigma*d.Normal())); x <= l.Longest.Seconds() {
			return max(model.Duration(x), 1) * model.Second
		}
	}
}

// serving is a service or a session. Services take whole nodes, one, two or
// four of 0.7, 0.2 and 0.1, and spread over groups. They start on up to twice as many
// where there is room; reactive ones follow their demand up to two, three or four times as
// many. Sessions take one, two or four GPUs in the same shares. Services are of class
// 8 and always requeued, sessions of class 7 and never; neither has checkpoints.
// All of it is an assumption.
func (s *site) serving(u *unit, j *traces.Job) {
	size, run := s.source(streamSize, u, 0), s.source(streamRuntime, u, 0)
	n := min(int32(1)<<pick(size.Float64(), 0.7, 0.2), s.home[service])
	j.Checkpoint, j.Name, j.Kind = "none", "session", "session"
	if u.shape == shapeService {
		layOut(j, service, n, nodeTypes[service].gpus)
		j.NodesMax = traces.Some(min(2*n, s.home[service]))
		j.Name, j.Kind, j.Topology, j.Class = "service", "service", "spread", traces.Some(int32(8))
		requeue(j, "always", 10)
		if d := s.source(streamReactive, u, 0); d.Bool(s.p.Reactive) {
			j.Name, j.Kind = "reactive", "reactive"
			j.NodesMax = traces.Some(min(n*int32(2+d.IntN(3)), s.home[service]))
		}
		j.Runtime = traces.Some(s.p.ServiceLife.span(&run))
	} else {
		layOut(j, service, 1, n)
		j.Class = traces.Some(int32(7))
		requeue(j, "never", 0)
		j.Runtime = traces.Some(s.p.SessionLife.span(&run))
		j.Walltime = traces.Some(s.p.SessionLife.Longest)
	}
	s.surround(u, 0, j)
}

// sensitiveJob is sensitive work: class 10, on one, two, four or eight whole nodes of
// a half, a quarter, 0.15 and 0.1, never preempted nor requeued, and asking for
// the longest life there is, since such a job cannot be requeued. All of
// it is an assumption.
func (s *site) sensitiveJob(u *unit, j *traces.Job) {
	size, run := s.source(streamSize, u, 0), s.source(streamRuntime, u, 0)
	n := min(int32(1)<<pick(size.Float64(), 0.5, 0.25, 0.15), s.home[sensitive])
	layOut(j, sensitive, n, nodeTypes[sensitive].gpus)
	j.Name, j.Class, j.Checkpoint = "claim", traces.Some(int32(model.SensitiveClass)), "none"
	requeue(j, "never", 0)
	j.Runtime, j.Walltime = traces.Some(s.p.SensitiveLife.span(&run)), traces.Some(s.p.SensitiveLife.Longest)
	s.surround(u, 0, j)
}
