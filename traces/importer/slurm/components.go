package slurm

import (
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Rules about the components of a heterogeneous job.
const (
	ruleComponent  = "heterogeneous-job-component" // dropped: it is in the row of the first
	ruleJoined     = "heterogeneous-job-joined"
	ruleTakenApart = "heterogeneous-job-taken-apart" // kept as a job of its own: what it asks for cannot be one request with the others
)

// joiner makes one job of the components of a heterogeneous job, 800+0, 800+1 ..., which Slurm starts together: it asks for
// the nodes of all, each as large as the largest asks for. Components in different partitions, or that ask for different types of
// GPUs or features, are jobs of their own. Those of one job follow one another but for steps.
type joiner struct {
	sink *format.Sink

	base  string
	job   traces.Job
	place format.Place
	next  int // offset
}

// component takes the number of a heterogeneous job and the offset of a component apart.
func component(id string) (base string, offset int, ok bool) {
	base, rest, ok := strings.Cut(id, "+")
	offset, err := strconv.Atoi(rest)
	return base, offset, ok && err == nil && offset >= 0
}

// component takes a component.
func (t *joiner) component(at *format.Place, j *traces.Job, base string, offset int) error {
	if offset > 0 && t.base == base && offset == t.next && t.join(j) {
		t.next++
		return t.sink.Job(at, j, ruleComponent)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if n, err := strconv.ParseInt(base, 10, 64); err == nil && offset == 0 {
		j.ID = n
	}
	if offset > 0 {
		at.Repaired = append(slices.Clone(at.Repaired), ruleTakenApart)
	}
	t.base, t.job, t.place, t.next = base, *j, *at, offset+1
	t.place.Repaired = slices.Clone(at.Repaired)
	return nil
}

// flush hands over the job under way.
func (t *joiner) flush() error {
	if t.base == "" {
		return nil
	}
	t.base = ""
	return t.sink.Job(&t.place, &t.job, "")
}

// join adds a component, if it and those before it can be one request.
func (t *joiner) join(j *traces.Job) bool {
	one := &t.job
	if one.Partition != j.Partition || one.QOS != j.QOS || one.GPUType != j.GPUType || one.Features != j.Features || one.Reservation != j.Reservation || one.Submit != j.Submit ||
		one.Start != j.Start || !one.NodesMin.OK || !j.NodesMin.OK {
		return false
	}
	if !slices.Contains(t.place.Repaired, ruleJoined) {
		t.place.Repaired = append(t.place.Repaired, ruleJoined)
	}
	if larger(&one.CPUsPerNode, j.CPUsPerNode) || larger(&one.GPUsPerNode, j.GPUsPerNode) || larger(&one.MemPerNode, j.MemPerNode) {
		if !slices.Contains(t.place.Repaired, "uneven-nodes-rounded-up") {
			t.place.Repaired = append(t.place.Repaired, "uneven-nodes-rounded-up")
		}
	}
	add(&one.NodesMin, j.NodesMin)
	add(&one.ProcsRequested, j.ProcsRequested)
	add(&one.ProcsAllocated, j.ProcsAllocated)
	add(&one.NodesAllocated, j.NodesAllocated)
	add(&one.GPUsAllocated, j.GPUsAllocated)
	one.Exclusive = traces.Opt[bool]{V: one.Exclusive.V || j.Exclusive.V, OK: one.Exclusive.OK || j.Exclusive.OK}
	add(&one.GPUsTotal, j.GPUsTotal)
	one.End, one.Runtime, one.Walltime = later(one.End, j.End), later(one.Runtime, j.Runtime), later(one.Walltime, j.Walltime)
	one.CancelledAt = later(one.CancelledAt, j.CancelledAt)
	if j.RecordedNodes != "" {
		one.RecordedNodes = strings.TrimPrefix(one.RecordedNodes+","+j.RecordedNodes, ",")
	}
	return true
}

// larger takes the larger of two requests of a node, and says whether they differ.
func larger[N int32 | int64](to *traces.Opt[N], n traces.Opt[N]) bool {
	differ := *to != n
	*to = traces.Opt[N]{V: max(to.V, n.V), OK: to.OK || n.OK}
	return differ
}

func add(to *traces.Opt[int32], n traces.Opt[int32]) {
	*to = traces.Opt[int32]{V: int32(min(int64(to.V)+int64(n.V), format.MostCount)), OK: to.OK || n.OK}
}

func later[T model.Time | model.Duration](a, b traces.Opt[T]) traces.Opt[T] {
	return traces.Opt[T]{V: max(a.V, b.V), OK: a.OK || b.OK}
}
