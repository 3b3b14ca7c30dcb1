// Package sample makes the capture of a small site: jobs, nodes and the telemetry of its GPUs, as
// orrery-agent writes it, from a model of the site whose figures are known. It is for trying
// what follows a capture where there is no GPU, and for tests of it. It must not know files.
package sample

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
)

// GPU is a model of GPUs with what it draws and how fast it is.
type GPU struct {
	Name       string
	Idle, Held float64    // W
	Draw       [3]float64 // W at work, by class
	Speed      [3]float64 // relative, by class
	Base, Busy float64    // W of a node beyond its GPUs, idle and for each GPU at work
}

// Site is what is made. Its classes of work are those of Classes.
type Site struct {
	Days   int
	Nodes  [2]int // of each GPU
	GPUs   [2]GPU
	Spread [3]float64 // time of a step on two nodes ÷ that on one, by class
	State  [3]float64 // B of a load and of a checkpoint, by class
	Read   float64    // B/s of a job that loads
	Write  float64    // B/s of one that writes a checkpoint
}

// Classes are the classes of work, by the beginning of the names of jobs.
var Classes = [3]string{"bert", "llama", "vision"}

// Tenants are those to which jobs are charged.
var Tenants = [3]string{"speech", "vision", "search"}

// PerNode is the number of GPUs of a node, and Window the time for which a row stands.
const (
	PerNode = 4
	Window  = 30 * model.Second
)

// Small is six nodes for three days. Its figures are assumptions of about the size of published
// ones (docs/HARDWARE.md).
var Small = Site{
	Days: 3, Nodes: [2]int{4, 2},
	GPUs: [2]GPU{
		{Name: "H100", Idle: 70, Held: 111, Draw: [3]float64{520, 610, 430}, Speed: [3]float64{1, 1, 1}, Base: 640, Busy: 60},
		{Name: "A100", Idle: 54, Held: 93, Draw: [3]float64{310, 360, 280}, Speed: [3]float64{0.50, 0.45, 0.58}, Base: 450, Busy: 50},
	},
	Spread: [3]float64{1.22, 1.12, 1.04}, State: [3]float64{150e9, 280e9, 110e9}, Read: 1.5e9, Write: 0.9e9,
}

// epoch is Monday, 2 November 2026, 00:00 UTC.
const epoch = model.Time(1_793_577_600_000_000)

const (
	names      = 6                 // of jobs of a class
	load       = 8 * Window        // in which a job reads
	every      = 2 * model.Hour    // between checkpoints
	jobSpread  = 0.08              // of the draw between jobs
	noise      = 0.02              // of a reading
	rateSpread = 0.06              // of transfers between jobs
	between    = 27 * model.Minute // mean time between submissions
)

// Capture is what was made.
type Capture struct {
	Meta  traces.Meta
	Nodes []traces.Node
	Jobs  []traces.Job
	site  *Site
	runs  []run
	seed  uint64
}

// run is a job with its place.
type run struct {
	class, gpu int
	gpus       []int // numbers over all nodes
	start, end model.Time
	factor     float64 // of its draw
	rate       float64 // of what it reads and writes
}

// Make draws a capture of a site.
func Make(site *Site, seed uint64) *Capture {
	c := &Capture{site: site, seed: seed, Meta: traces.Meta{Source: "orrery capture sample: made by a model, nothing was measured", Epoch: epoch, EpochKnown: true, TimeZone: "UTC", Sorted: true}}
	for g, count := range site.Nodes {
		for n := range count {
			c.Nodes = append(c.Nodes, traces.Node{Name: fmt.Sprintf("%s-%d", []string{"new", "old"}[g], n+1), GPUModel: site.GPUs[g].Name, GPUs: PerNode, CPUs: 64, Memory: 512 << 30,
				Group: "rack", Fingerprint: site.GPUs[g].Name, Up: true})
		}
	}
	c.schedule()
	return c
}

// typeOf is the number of the GPU of a node.
func (c *Capture) typeOf(node int) int {
	if node < c.site.Nodes[0] {
		return 0
	}
	return 1
}

// schedule draws jobs and starts them in their order as soon as there is room.
func (c *Capture) schedule() {
	total := len(c.Nodes) * PerNode
	free := make([]model.Time, total) // when each GPU is free
	at, earliest := model.Time(0), model.Time(0)
	end := model.Time(0).Add(model.Duration(c.site.Days) * model.Day)
	for id := uint64(0); ; id++ {
		d := draw.New(c.seed, draw.StreamOf("sample job"), id, 0)
		if at = at.Add(model.Duration(d.Exponential() * float64(between))); at >= end {
			return
		}
		class, which := int(d.IntN(3)), int(d.IntN(names))
		wants := 1 << (1 + d.IntN(2)) // 2 or 4 GPUs
		spread := d.Bool(0.3)
		work := float64(model.Hour) * (0.5 + 0.6*float64(which)) * (1 + 0.01*d.Normal())
		gpus, when := c.place(free, max(at, earliest), wants, spread)
		node := gpus[0] / PerNode
		kind := c.typeOf(node)
		r := run{class: class, gpu: kind, gpus: gpus, start: aligned(when), factor: 1 + jobSpread*max(-2, min(2, d.Normal())), rate: 1 + rateSpread*max(-2, min(2, d.Normal()))}
		took := work / c.site.GPUs[kind].Speed[class]
		if spread && gpus[len(gpus)-1]/PerNode != node {
			took *= c.site.Spread[class]
		}
		r.end = r.start.Add(aligned(model.Duration(took)) + load)
		for _, g := range gpus {
			free[g] = r.end
		}
		earliest = r.start
		c.add(id, at, class, which, &r)
	}
}

func aligned[T model.Time | model.Duration](t T) T {
	return (t + T(Window) - 1) / T(Window) * T(Window)
}

// place finds GPUs of one kind that are free soonest: on one node, or half of them on each of
// two. Of equal ones the first.
func (c *Capture) place(free []model.Time, at model.Time, wants int, spread bool) (best []int, when model.Time) {
	when = model.Never
	try := func(gpus []int) {
		soonest := at
		for _, g := range gpus {
			soonest = max(soonest, free[g])
		}
		if soonest < when {
			best, when = slices.Clone(gpus), soonest
		}
	}
	soon := func(node, count int) []int {
		var all []int
		for g := node * PerNode; g < (node+1)*PerNode; g++ {
			all = append(all, g)
		}
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(free[a], free[b]) })
		return slices.Sorted(slices.Values(all[:count]))
	}
	for n := range c.Nodes {
		if !spread {
			try(soon(n, wants))
			continue
		}
		for m := n + 1; m < len(c.Nodes) && c.typeOf(m) == c.typeOf(n); m++ {
			try(append(soon(n, wants/2), soon(m, wants/2)...))
		}
	}
	return best, when
}

// add notes a job.
func (c *Capture) add(id uint64, at model.Time, class, which int, r *run) {
	c.runs = append(c.runs, *r)
	var nodes []string
	for _, g := range r.gpus {
		if name := c.Nodes[g/PerNode].Name; !slices.Contains(nodes, name) {
			nodes = append(nodes, name)
		}
	}
	ran := r.end.Sub(r.start)
	list := nodes[0]
	if len(nodes) > 1 {
		list += "," + nodes[1]
	}
	n := int32(len(nodes))
	c.Jobs = append(c.Jobs, traces.Job{ID: int64(id) + 1, Name: fmt.Sprintf("%s-%d", Classes[class], which), User: []string{"ann", "bob", "eve"}[which%3], Tenant: Tenants[which%3], Kind: "bounded", Submit: at, Start: traces.Some(r.start), End: traces.Some(r.end),
		Runtime: traces.Some(ran), Walltime: traces.Some(ran*2 + model.Hour), NodesMin: traces.Some(n), NodesMax: traces.Some(n), GPUsPerNode: traces.Some(int32(len(r.gpus)) / n),
		NodesAllocated: traces.Some(n), GPUsAllocated: traces.Some(int32(len(r.gpus))), GPUsTotal: traces.Some(int32(len(r.gpus))), RecordedNodes: list, ExitState: "COMPLETED", Checkpoint: "auto"})
}

// Events say how the telemetry was measured.
func (c *Capture) Events() []traces.Event {
	var out []traces.Event
	for _, n := range c.Nodes {
		r := capture.Record{Record: capture.RecordMode, Mode: "prod", Interval: model.Second, Window: Window}
		out = append(out, r.Event(0, n.Name))
	}
	return out
}

// Telemetry hands out a row for each GPU and each node, window by window, with instants since
// the epoch.
func (c *Capture) Telemetry(row func(*traces.Telemetry) error) error {
	by := make([][]int, len(c.Nodes)*PerNode) // jobs of each GPU, ascending
	for i := range c.runs {
		for _, g := range c.runs[i].gpus {
			by[g] = append(by[g], i)
		}
	}
	end := model.Time(0).Add(model.Duration(c.site.Days) * model.Day)
	for at := model.Time(0); at < end; at = at.Add(Window) {
		for n := range c.Nodes {
			kind := &c.site.GPUs[c.typeOf(n)]
			node := kind.Base
			for g := n * PerNode; g < (n+1)*PerNode; g++ {
				for len(by[g]) > 0 && c.runs[by[g][0]].end <= at {
					by[g] = by[g][1:]
				}
				t, works := c.gpu(at, g, by[g], kind)
				if node += t.Power.V; works {
					node += kind.Busy
				}
				if err := row(t); err != nil {
					return err
				}
			}
			d := draw.New(c.seed, draw.StreamOf("sample node"), uint64(n), uint64(at))
			if err := row(&traces.Telemetry{Node: c.Nodes[n].Name, Time: at, Power: traces.Some(rounded(node * (1 + noise*d.Normal()))), Stat: "mean", Width: traces.Some(Window)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// gpu is the row of a GPU.
func (c *Capture) gpu(at model.Time, g int, jobs []int, kind *GPU) (t *traces.Telemetry, works bool) {
	t = &traces.Telemetry{Node: c.Nodes[g/PerNode].Name, GPU: traces.Some(int32(g % PerNode)), Time: at, Stat: "mean", Width: traces.Some(Window),
		SMUtil: traces.Some(0.0), SMActive: traces.Some(0.0), MemUsed: traces.Some(int64(4 << 20))}
	watts := kind.Idle
	if len(jobs) > 0 && c.runs[jobs[0]].start <= at {
		job := jobs[0]
		r := &c.runs[job]
		since := at.Sub(r.start)
		read, written, writing := c.moved(since, r)
		t.MemUsed = traces.Some(int64(40 << 30))
		if g/PerNode != r.gpus[0]/PerNode { // the first node alone reads and writes
			read, written = 0, 0
		}
		t.Processes = capture.Encode([]capture.Process{{PID: 1000 + job, Name: "python", Job: fmt.Sprint(job + 1), Memory: 40 << 30, Read: &read, Written: &written}})
		switch {
		case since < load || writing:
			watts = kind.Held
		default:
			works = true
			watts = kind.Draw[r.class] * r.factor
			t.SMUtil, t.SMActive = traces.Some(0.97), traces.Some(0.62)
		}
	}
	d := draw.New(c.seed, draw.StreamOf("sample reading"), uint64(g), uint64(at))
	t.Power = traces.Some(rounded(watts * (1 + noise*d.Normal())))
	return t, works
}

// moved is what the first process of a job has read and written by the end of the window that
// begins so long after its start, and whether it writes a checkpoint when it begins. Of a load and
// a checkpoint it moves the state of its class.
func (c *Capture) moved(since model.Duration, r *run) (read, written int64, writing bool) {
	size := c.site.State[r.class]
	at := func(rate float64, d model.Duration) float64 { return min(size, rate*r.rate*d.Seconds()) }
	read = int64(at(c.site.Read, since+Window))
	whole, into := since/every, since%every
	if whole >= 1 {
		written = int64(size)*int64(whole-1) + int64(at(c.site.Write, into+Window))
	}
	return read, written, whole >= 1 && at(c.site.Write, into) < size
}

// rounded is a power as drivers give it, in mW.
func rounded(watts float64) float64 { return float64(int64(watts*1000)) / 1000 }
