package plan

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// MostUnheeded is the share of the work of a trace whose requests a replay may leave unmet
// unless it is allowed more. A single job beyond it is told first and does not refuse the
// replay: one odd row is no reason to do without all others.
const MostUnheeded = 0.01

// Unheeded is a resource that rows of a trace request and a replay does not give them.
type Unheeded struct {
	Resource string  `json:"resource"`
	Fate     string  `json:"fate"` // "ignored", or "rejected" where the cluster is too small
	Jobs     int64   `json:"jobs"`
	Of       int64   `json:"of_jobs"`       // that the replay has
	Share    float64 `json:"share_of_work"` // 0 to 1
	Found    string  `json:"found"`         // in words
	Mend     string  `json:"mend"`          // the flag or the key that helps
	First    []int64 `json:"first_ids,omitempty"`
}

// String is one sentence.
func (u *Unheeded) String() string {
	what := "ask for " + u.Resource + ", which the replay ignores"
	if u.Fate == fateRejected {
		what = "can never run on this cluster and are rejected"
	}
	text := fmt.Sprintf("%d of %d jobs (%s of the work) %s", u.Jobs, u.Of, percent(u.Share), what)
	if u.Found != "" {
		text += ": " + u.Found
	}
	return text
}

const (
	fateIgnored  = "ignored"
	fateRejected = "rejected"
)

// percent is a share with two digits at least.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", float64(100*share)) }

// UnheededError refuses a replay of which too much would not be what the trace asks for.
type UnheededError struct {
	Trace  string
	Strict bool // any job that can never run refuses the replay
	Found  []Unheeded
}

// Error says what was found, and what helps.
func (e *UnheededError) Error() string {
	var b strings.Builder
	most := "more than " + percent(MostUnheeded)
	if e.Strict {
		most = "some"
	}
	fmt.Fprintf(&b, "%s asks for what this cluster does not have, for %s of the work:", e.Trace, most)
	for i := range e.Found {
		u := &e.Found[i]
		fmt.Fprintf(&b, "\n  %s (first ids: %d): %s", u, u.First, u.Mend)
	}
	if e.Strict {
		b.WriteString("\nor have few of them rejected at their submission (--infeasible reject, or infeasible: reject in an experiment)")
	}
	b.WriteString("\nor go on all the same with --allow-unheeded (replay: {allow_unheeded: true} in an experiment, allow_unheeded: true in a run of a gate): the result then says so first")
	return b.String()
}

// request is a resource that a row of the jobs table may ask for and that contends: jobs
// wait for one another because of it. What only orders or limits jobs (partition, quality
// of service, tenant, class) is a policy, and is told among the ignored columns.
type request struct {
	resource  string
	columns   []string // of the jobs table, any of which asks for it
	attribute bool     // they are attributes of a batch
	// kind is what rows ask for of it; while all rows agree they ask for nothing. Nil where each
	// row asks for something.
	kind func(b *traces.Batch, i int) int64
	// inRow says whether a row makes the request.
	inRow func(p *Resolved, b *traces.Batch, i int) bool
	// ignored says whether a run may take no notice of it.
	ignored func(p *Resolved) bool
	mend    string
}

// requests are those resources. Memory of nodes is not among them: a cluster that states
// none has as much as its jobs need, and one that does gives it or rejects the job.
var requests = []request{
	{ // IgnoredGPUs has its place
		resource: "GPUs", columns: []string{"gpus_per_node"},
		inRow: func(p *Resolved, b *traces.Batch, i int) bool {
			u := &p.World.Units
			return b.GPUsPerNode[i] > 0 && (!u.PerNode || u.NoGPUs || b.NodesMin[i] <= 0)
		},
		ignored: func(p *Resolved) bool { return p.Site == nil },
		mend:    "give --gpus-per-node beside --nodes and --cores-per-node, or a cluster file (--cluster) with gpus under node_types",
	},
	{
		resource: "a number of GPUs in all", attribute: true, columns: []string{"gpus_total"},
		inRow: func(p *Resolved, b *traces.Batch, i int) bool {
			return translate.GPUsInAll(b, i) > 0 && (p.Site == nil || b.NodesMin[i] <= 0)
		},
		ignored: func(*Resolved) bool { return true }, // but for rows of a site that name nodes
		mend:    "import the log with nodes_min or gpus_per_node too (--column), and give --gpus-per-node or a cluster file with gpus",
	},
	{
		resource: "shares of a GPU", attribute: true, columns: []string{"gpu_milli"},
		inRow: func(_ *Resolved, b *traces.Batch, i int) bool {
			return b.GPUsPerNode[i] <= 1 && b.Attr.GPUMilli[i] > 0 && b.Attr.GPUMilli[i] < model.WholeGPU
		},
		ignored: func(p *Resolved) bool { return p.Site == nil || !p.Site.Core.Site.Amounts },
		mend:    "write sharing: resources in the cluster file (--cluster): each share takes a whole GPU now",
	},
	{
		resource: "GPUs of different types", attribute: true, columns: []string{"gpu_type", "gpu_types"},
		kind: func(b *traces.Batch, i int) int64 {
			return int64(b.Attr.Text[traces.TextGPUType][i])<<32 + int64(b.Attr.Text[traces.TextGPUTypes][i])
		},
		inRow: func(_ *Resolved, b *traces.Batch, i int) bool {
			return b.Attr.Text[traces.TextGPUType][i] >= 0 || b.Attr.Text[traces.TextGPUTypes][i] >= 0
		},
		ignored: func(p *Resolved) bool { return p.Site == nil || len(p.Site.World.Rows.GPUTypes) == 0 },
		mend:    "give a cluster file (--cluster) with gpu under node_types",
	},
	{
		resource: "node features", attribute: true, columns: []string{"features"},
		inRow:   func(_ *Resolved, b *traces.Batch, i int) bool { return b.Attr.Text[traces.TextFeatures][i] >= 0 },
		ignored: func(p *Resolved) bool { return p.Site == nil || p.Site.World.Rows.NoFeatures },
		mend:    "give a cluster file (--cluster) with features under node_types",
	},
	{
		resource: "nodes by name", attribute: true, columns: []string{"node_include"},
		inRow:   func(_ *Resolved, b *traces.Batch, i int) bool { return b.Attr.Text[traces.TextNodeInclude][i] >= 0 },
		ignored: func(p *Resolved) bool { return p.Site == nil || p.Site.World.Rows.NoNodeNames },
		mend:    "give a cluster file (--cluster) that has these nodes",
	},
}

// Judge adds up how much of the work of a trace asks for what a run does not give. The
// work of a row is its run time times the largest of its processors, GPUs and nodes; of a
// trace in which no row ran, each row counts as much as any other.
type Judge struct {
	p         *Resolved
	unmet     []*request // that are ignored, and that some row may make
	ignored   []tally    // by unmet
	rejected  tally
	all       tally
	asked     capacity // the most that a rejected row asks for
	types     []string // of GPUs that rejected rows ask for and no node has, the first few
	attribute bool
}

// firstIDs is how many jobs are named as examples.
const firstIDs = 5

// tally counts rows and their work, in 128 bits.
type tally struct {
	jobs   int64
	hi, lo uint64
	first  []int64
	kind   int64 // of the last row
	differ bool  // another row was of another kind
}

func (t *tally) add(hi, lo uint64, id int64) {
	t.jobs++
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, lo, 0)
	t.hi, _ = bits.Add64(t.hi, hi, carry)
	if len(t.first) < firstIDs {
		t.first = append(t.first, id)
	}
}

// of is the share of all that t is.
func (t *tally) of(all *tally) float64 {
	switch {
	case all.jobs == 0:
		return 0
	case all.hi == 0 && all.lo == 0:
		return float64(t.jobs) / float64(all.jobs)
	}
	return t.work() / all.work()
}

func (t *tally) work() float64 { return float64(float64(t.hi)*(1<<64)) + float64(t.lo) }

// Judge is for the rows of a trace under p.
func (p *Resolved) Judge(info traces.Info) *Judge {
	j := &Judge{p: p}
	for k := range requests {
		q := &requests[k]
		if !q.ignored(p) || !q.mayAsk(info) {
			continue
		}
		j.unmet = append(j.unmet, q)
		j.attribute = j.attribute || q.attribute
	}
	j.ignored = make([]tally, len(j.unmet))
	return j
}

// mayAsk says whether some row of a trace may make the request.
func (q *request) mayAsk(info traces.Info) bool {
	return info.Filled == nil || // it is not known which columns are filled
		slices.ContainsFunc(info.Filled, func(f traces.Filled) bool { return slices.Contains(q.columns, f.Column) })
}

// Columns are those of the jobs table that the judge looks at, and those by which it is told what jobs
// held; attributes says whether one that rows may ask by is among the attributes of a batch.
func (j *Judge) Columns() (names []string, attributes bool) {
	names = []string{"id", "submit", "start", "runtime", "walltime", "cancelled_at", "procs_requested", "procs_allocated", "nodes_min", "cpus_per_node", "gpus_per_node", "gpu_milli", "mem_per_node", "gpus_total"}
	for _, q := range j.unmet {
		names = append(names, q.columns...)
	}
	return names, j.attribute
}

// Row takes in row i of b, which is rejected if it can never run.
func (j *Judge) Row(b *traces.Batch, i int, rejected bool) {
	if j.p.Warm.Left(b, i) || b.Runtime[i] == model.AbsentDuration && b.CancelledAt[i] == model.AbsentTime && !rejected {
		return // no job of this run
	}
	hi, lo := workOf(b, i)
	j.all.add(hi, lo, b.ID[i])
	if rejected {
		j.rejected.add(hi, lo, b.ID[i])
		j.asked.raise(b, i)
		j.typesOf(b, i)
		return
	}
	for k, q := range j.unmet {
		if q.attribute && (b.Attr == nil || b.Attr.Len() == 0) || !q.inRow(j.p, b, i) {
			continue
		}
		if t := &j.ignored[k]; q.kind != nil {
			kind := q.kind(b, i)
			t.differ = t.differ || t.jobs > 0 && kind != t.kind
			t.kind = kind
		}
		j.ignored[k].add(hi, lo, b.ID[i])
	}
}

// typesOf notes the types of GPUs that row i asks for and no node has.
func (j *Judge) typesOf(b *traces.Batch, i int) {
	if j.p.Site == nil || len(j.p.Site.World.Rows.GPUTypes) == 0 || b.Attr == nil || b.Attr.Len() == 0 {
		return
	}
	for _, c := range [...]traces.TextColumn{traces.TextGPUType, traces.TextGPUTypes} {
		k := b.Attr.Text[c][i]
		if k < 0 {
			continue
		}
		text := b.Attr.Texts.Of(c)[k]
		has := slices.ContainsFunc(strings.Split(text, "|"), func(name string) bool { return slices.Contains(j.p.Site.World.Rows.GPUTypes, name) })
		if !has && len(j.types) < firstIDs && !slices.Contains(j.types, text) {
			j.types = append(j.types, text)
		}
	}
}

// workOf is the run time of row i in µs times its size.
func workOf(b *traces.Batch, i int) (hi, lo uint64) {
	nodes := int64(max(b.NodesMin[i], 1))
	procs := int64(b.ProcsRequested[i])
	if procs <= 0 {
		procs = max(int64(b.ProcsAllocated[i]), nodes*int64(max(b.CPUsPerNode[i], 0)))
	}
	size := max(nodes, procs, nodes*int64(max(b.GPUsPerNode[i], 0)), int64(translate.GPUsInAll(b, i)))
	return bits.Mul64(uint64(max(b.Runtime[i], 0)), uint64(size))
}

// Unheeded lists what was found, resource by resource; beyond says whether any of it is
// more than a run may leave unmet without being allowed to.
func (j *Judge) Unheeded(lacking []translate.Lack) (found []Unheeded, beyond bool) {
	add := func(resource, fate, text, mend string, t *tally) {
		if t.jobs == 0 {
			return
		}
		u := Unheeded{resource, fate, t.jobs, j.all.jobs, t.of(&j.all), text, mend, t.first}
		most := MostUnheeded
		if fate == fateRejected && j.p.Strict {
			most = 0
		}
		if u.Share > most || most == 0 {
			found, beyond = append(found, u), beyond || u.Jobs > 1 || most == 0
		}
	}
	for k, q := range j.unmet {
		if q.kind != nil && !j.ignored[k].differ {
			continue
		}
		add(q.resource, fateIgnored, "", q.mend, &j.ignored[k])
	}
	text, mend := j.asked.beyond(j.p)
	if len(j.types) > 0 {
		text = fmt.Sprintf("GPUs of type %s, of which no node has any (there are %s)", strings.Join(j.types, ", "), strings.Join(j.p.Site.World.Rows.GPUTypes, ", "))
	}
	for i := range lacking {
		text, mend = with(text, lacking[i].String()), with(mend, lacking[i].Mend())
	}
	add("more than the cluster has", fateRejected, cmp.Or(text, unexplained), cmp.Or(mend, mendSite), &j.rejected)
	return found, beyond
}

// with is two parts of a message, either of which may be empty.
func with(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// What is said of rows that can never run where nothing better is known.
const (
	unexplained = "no nodes that they may use have all that they ask for, or a limit is below it"
	mendSite    = "correct node_types, groups, partitions or the limits in the cluster file"
)

// IgnoredGPUs counts the rows whose GPUs the run ignores.
func (j *Judge) IgnoredGPUs() int64 {
	for k, q := range j.unmet {
		if q == &requests[0] {
			return j.ignored[k].jobs
		}
	}
	return 0
}

// capacity is a size by which requests are told from what a cluster has; 0 where it is not
// known.
type capacity struct{ processors, nodes, cpus, gpus, memory int64 }

// raise makes c as large as what row i asks for.
func (c *capacity) raise(b *traces.Batch, i int) {
	nodes := int64(max(b.NodesMin[i], 1))
	c.processors = max(c.processors, int64(b.ProcsRequested[i]))
	c.nodes = max(c.nodes, int64(b.NodesMin[i]))
	c.cpus = max(c.cpus, int64(translate.CPUsPerNode(b, i)))
	c.gpus = max(c.gpus, int64(b.GPUsPerNode[i]), (int64(translate.GPUsInAll(b, i))+nodes-1)/nodes)
	if b.Attr != nil && b.Attr.Len() > 0 {
		c.memory = max(c.memory, b.Attr.MemPerNode[i])
	}
}

// capacityOf is what a cluster has: in all of processors and nodes, and the most on a node.
func capacityOf(p *Resolved) (c capacity) {
	if p.Site != nil {
		nodes := p.Site.Core.Site.Nodes
		c.nodes = int64(len(nodes))
		for i := range nodes {
			n := &nodes[i]
			c.processors += int64(n.CPUs)
			c.cpus, c.gpus, c.memory = max(c.cpus, int64(n.CPUs)), max(c.gpus, int64(n.GPUs)), max(c.memory, n.Memory)
		}
		return c
	}
	u := &p.World.Units
	per := int64(max(u.CPUs, 1))
	c.processors = p.World.Cluster.Total() * per
	if p.Spec.Cluster.Procs > 0 {
		return c // its nodes are none of the log
	}
	c.nodes = int64(len(p.World.Cluster.Units))
	for _, n := range p.World.Cluster.Units {
		c.cpus, c.gpus = max(c.cpus, int64(n)*per), max(c.gpus, int64(n)*int64(u.GPUs))
	}
	return c
}

// Holds is what nodes have in all. Nodes that jobs share count as none: one is held once for
// each of its jobs.
func Holds(nodes []model.Node, shared bool) (has traces.Held) {
	for i := range nodes {
		n := &nodes[i]
		has.Add(traces.Held{int64(n.CPUs), 1, 1000 * int64(n.GPUs), n.Memory})
	}
	if shared {
		has[1] = 0
	}
	return has
}

// RuleBeyond counts by how much the jobs of a log held more at once than the cluster has.
const RuleBeyond = "held-beyond-cluster"

// Beyond says of what more was held at once, by the recorded starts and ends, than the cluster
// of p has. Nodes count where jobs take whole ones.
func (p *Resolved) Beyond(held *traces.Peaks) (out []Ignored) {
	var has traces.Held
	switch {
	case p.Site != nil:
		has = Holds(p.Site.Core.Site.Nodes, p.Site.Core.Shared)
	default:
		c := capacityOf(p)
		has[0], has[2] = c.processors, 1000*p.World.Cluster.Total()*int64(p.World.Units.GPUs)
	}
	for i, unit := range traces.HeldUnits {
		by := int64(1)
		if unit == "GPUs" {
			by = 1000
		}
		if excess := held.Most[i] - has[i]; has[i] > 0 && excess > 0 {
			out = append(out, Ignored{Rule: RuleBeyond, Count: (excess + by - 1) / by, Doc: fmt.Sprintf(
				"at most %d %s were held at once in the log, from %s on, and the cluster has %d: waits are longer than they were", (held.Most[i]+by-1)/by, unit, held.At[i], has[i]/by)})
		}
	}
	return out
}

// beyond says in words what the rows that can never run ask for, most of all, and what the
// cluster has.
func (c *capacity) beyond(p *Resolved) (text, mend string) {
	has := capacityOf(p)
	var parts []string
	for _, x := range []struct {
		want, has int64
		what      string
		known     bool
	}{
		{c.processors, has.processors, "processors", has.processors > 0},
		{c.nodes, has.nodes, "nodes", has.nodes > 0},
		{c.cpus, has.cpus, "processors on a node", has.cpus > 0},
		{c.gpus, has.gpus, "GPUs on a node", p.Site != nil || p.World.Units.PerNode && !p.World.Units.NoGPUs},
		{c.memory, has.memory, "bytes of memory on a node", has.memory > 0},
	} {
		if x.known && x.want > x.has {
			parts = append(parts, fmt.Sprintf("up to %d %s, of which there are %d", x.want, x.what, x.has))
		}
	}
	text = strings.Join(parts, "; ")
	switch {
	case p.Site != nil && text == "":
		return "", ""
	case p.Site != nil:
		return text, "give larger or more nodes, under node_types and groups in a cluster file or by the flags of the cluster"
	case p.Spec.Cluster.Table:
		return text, "correct the nodes table, or give a cluster file (--cluster)"
	case p.Spec.Cluster.Procs > 0:
		return text, "give a larger --procs, or a cluster file (--cluster)"
	}
	return text, "give larger --nodes or --cores-per-node, or a cluster file (--cluster)"
}
