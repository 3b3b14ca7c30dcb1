package transform

import (
	"cmp"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
)

// load changes how much is asked of the cluster. The load of a trace is
//
//	sum(units × runtime) / (capacity × span)
//
// over the jobs that ran, with span from the first submission to the last; jobs
// of a warm start are left out and stay as they are.
type load struct {
	to       *big.Rat
	by       string
	unit     string // "" for what fits the trace
	capacity int64  // 0 for the trace's own
	seed     uint64
}

// Ways to change the load.
const (
	byInterarrival = "interarrival"
	byUsers        = "users"
	byRuntime      = "runtime"
)

// Units of loads.
const (
	unitProcessors = "processors"
	unitNodes      = "nodes"
	unitGPUs       = "gpus"
)

func newLoad(p *params) step {
	return load{
		to: p.share("to"), by: p.word("by", byInterarrival, byInterarrival, byUsers, byRuntime),
		unit:     p.word("unit", "", unitProcessors, unitNodes, unitGPUs),
		capacity: p.whole("capacity", 0, 1, 1<<40), seed: p.seed(),
	}
}

// Load is what a trace asks of a cluster.
type Load struct {
	Unit     string
	Capacity int64          // in units
	Work     *big.Int       // unit·µs
	Span     model.Duration // from the first submission to the last
	Silent   int64          // jobs that ran and do not say how much they took
	nodeCPUs int32
}

// Value is the load, nil when nothing is submitted at different instants.
func (l *Load) Value() *big.Rat {
	if l.Span <= 0 {
		return nil
	}
	c := new(big.Int).Mul(big.NewInt(l.Capacity), big.NewInt(int64(l.Span)))
	return new(big.Rat).SetFrac(l.Work, c)
}

// Load measures the trace in a unit (processors, nodes or gpus), "" for GPUs where
// most jobs ask for them, else for nodes where the trace has a table of them or
// states nothing else, and processors otherwise; capacity 0 takes the cluster's own
// size. It costs a pass over the rows, and another one where the unit is found out.
func (s *Set) Load(unit string, capacity int64) (*Load, error) {
	l := &Load{Unit: unit, Capacity: capacity}
	if err := l.size(s); err != nil {
		return nil, err
	}
	sum, first, last := wide{}, model.AbsentTime, model.AbsentTime
	for j, err := range s.Rows() {
		if err != nil {
			return nil, err
		}
		if s.warm(j) {
			continue
		}
		if first == model.AbsentTime {
			first = j.Submit
		}
		last = j.Submit
		if j.Runtime.OK && j.Runtime.V > 0 {
			n := l.units(j)
			if n <= 0 {
				l.Silent++
				continue
			}
			sum.add(uint64(n), uint64(j.Runtime.V))
		}
	}
	if first == model.AbsentTime {
		return nil, errEmpty
	}
	l.Work, l.Span = sum.int(), last.Sub(first)
	return l, nil
}

// size settles the unit and the capacity.
func (l *Load) size(s *Set) error {
	var cpus, gpus int64
	for i := range s.Nodes {
		cpus += int64(s.Nodes[i].CPUs)
		gpus += int64(s.Nodes[i].GPUs)
		l.nodeCPUs = max(l.nodeCPUs, s.Nodes[i].CPUs)
	}
	nodes := cmp.Or(int64(len(s.Nodes)), int64(s.Meta.MaxNodes))
	found := l.Unit == ""
	if found {
		onGPUs, err := s.onGPUs()
		switch {
		case err != nil:
			return err
		case onGPUs:
			l.Unit = unitGPUs
		case len(s.Nodes) > 0 || s.Meta.MaxProcs == 0 && nodes > 0:
			l.Unit = unitNodes
		default:
			l.Unit = unitProcessors
		}
	}
	own := map[string]int64{unitProcessors: cmp.Or(cpus, int64(s.Meta.MaxProcs)), unitNodes: nodes, unitGPUs: gpus}
	l.Capacity = cmp.Or(l.Capacity, own[l.Unit])
	switch {
	case l.Capacity <= 0 && found && l.Unit == unitGPUs:
		return fmt.Errorf("most jobs ask for GPUs, and the trace does not say how many there are: give capacity=N, or another unit (unit=nodes)")
	case l.Capacity <= 0:
		return fmt.Errorf("the trace does not say how many %s there are: give capacity=N", l.Unit)
	}
	return nil
}

// onGPUs says whether more than half of the jobs that ran ask for GPUs.
func (s *Set) onGPUs() (bool, error) {
	var ran, asked int64
	for j, err := range s.Rows() {
		if err != nil {
			return false, err
		}
		if s.warm(j) || !j.Runtime.OK || j.Runtime.V <= 0 {
			continue
		}
		ran++
		if j.GPUsPerNode.V > 0 {
			asked++
		}
	}
	return 2*asked > ran, nil
}

// units is what a job takes, 0 when it does not say.
func (l *Load) units(j *traces.Job) int64 {
	procs := int64(max(j.ProcsRequested.V, 0))
	if procs == 0 {
		procs = int64(max(j.ProcsAllocated.V, 0))
	}
	nodes := int64(max(j.NodesMin.V, 0))
	switch l.Unit {
	case unitNodes:
		if nodes == 0 && l.nodeCPUs > 0 {
			nodes = (procs + int64(l.nodeCPUs) - 1) / int64(l.nodeCPUs)
		}
		return nodes
	case unitGPUs:
		return max(nodes, 1) * int64(max(j.GPUsPerNode.V, 0))
	}
	if procs == 0 {
		procs = nodes * int64(max(j.CPUsPerNode.V, 1))
	}
	return procs
}

// wide is a sum of products of 64 bits each, in 128.
type wide struct{ hi, lo uint64 }

func (w *wide) add(x, y uint64) {
	hi, lo := bits.Mul64(x, y)
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi += hi + carry
}

func (w *wide) int() *big.Int {
	n := new(big.Int).SetUint64(w.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w.lo))
}

func (l load) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	if err := in.needsJobs("load"); err != nil {
		return nil, err
	}
	was, err := in.Load(l.unit, l.capacity)
	if err != nil {
		return nil, err
	}
	value := was.Value()
	if value == nil || value.Sign() == 0 {
		return nil, fmt.Errorf("the trace has no load to scale: %s unit·µs of work are submitted within %s", was.Work, was.Span)
	}
	if was.Silent > 0 {
		why := fmt.Sprintf("do not say how many %s they took", was.Unit)
		if was.Unit == unitGPUs {
			why = "ask for no GPUs"
		}
		a.note(fmt.Sprintf("%d jobs that ran %s and add nothing to the load", was.Silent, why))
	}
	var out *Set
	switch l.by {
	case byInterarrival:
		out, err = in.spread(ratioOf(new(big.Rat).Quo(value, l.to)), a)
	case byRuntime:
		out, err = in.lengthen(ratioOf(new(big.Rat).Quo(l.to, value)), a)
	default:
		out, err = l.users(in, was, a)
	}
	if err != nil {
		return nil, err
	}
	now, err := out.Load(l.unit, l.capacity)
	if err != nil {
		return nil, err
	}
	achieved := "none"
	if v := now.Value(); v != nil {
		achieved = decimal(v)
	}
	a.note(fmt.Sprintf("load %s to %s of %d %s, by %s; asked for %s", decimal(value), achieved, was.Capacity, was.Unit, l.by, decimal(l.to)))
	return out, nil
}

// lengthen multiplies run times and requests.
func (s *Set) lengthen(by ratio, a *Account) (*Set, error) {
	out := *s
	out.Rows = within(s.edit(a, func(j *traces.Job) bool {
		if s.warm(j) {
			return true
		}
		if j.Runtime.OK {
			was := j.Runtime.V
			j.Runtime.V = model.Duration(by.span(int64(was)))
			if j.End.OK {
				j.End.V = j.End.V.Add(j.Runtime.V - was) // both below 73,000 years, or the row is refused
			}
		}
		if j.Walltime.OK {
			j.Walltime.V = model.Duration(by.span(int64(j.Walltime.V)))
		}
		a.change("run time and request multiplied", j.ID)
		return true
	}))
	return &out, nil
}

var (
	userStream  = draw.StreamOf("order of users in a change of load")
	shiftStream = draw.StreamOf("weeks by which a copied user is shifted")
)

// crowd is a user in a change of load.
type crowd struct {
	name  string
	work  wide
	order uint64
	takes int64 // times the user is in the result
}

// users leaves users out, or copies them, until the load is as near as whole
// users bring it. All copies of a user move by the same number of whole weeks
// (days in a log of less than two weeks), around the end of the log.
func (l load) users(in *Set, was *Load, a *Account) (*Set, error) {
	jobs, err := in.jobs()
	if err != nil {
		return nil, err
	}
	all, index := l.crowd(in, jobs, was)
	if all == nil {
		return nil, fmt.Errorf("no job names its user: scale by %s or %s", byInterarrival, byRuntime)
	}
	l.choose(all, was)
	a.reset()
	period, periods := wrap(was.Span)
	offset := offsetOf(jobs)
	instants, _ := timeFields()
	var out []traces.Job
	deps, events := slices.Clone(in.Deps), slices.Clone(in.Events)
	_, said := demandsOf(in.Events)
	copies := int64(0)
	first := model.AbsentTime
	for i := range jobs {
		j := &jobs[i]
		a.read()
		if in.warm(j) {
			a.keep()
			out = append(out, *j)
			continue
		}
		if first == model.AbsentTime {
			first = j.Submit
		}
		u := &all[index[userOf(j)]]
		if u.takes == 0 {
			a.drop("user left out", j.ID)
			continue
		}
		a.keep()
		out = append(out, *j)
		copies = max(copies, u.takes)
		for k := int64(1); k < u.takes; k++ {
			a.Added++
			a.keep()
			c := l.copyOf(j, k, offset)
			if at := j.Submit.Sub(first); at < period*model.Duration(periods) {
				src := draw.New(l.seed, shiftStream, u.order, uint64(k))
				by := period * model.Duration(1+src.IntN(max(periods-1, 1)))
				move(instants, &c, (at+by)%(period*model.Duration(periods))-at)
			}
			out = append(out, c)
			events = said.follow(events, j.ID, c.ID, c.Submit.Sub(j.Submit))
		}
	}
	for k := int64(1); k < copies; k++ {
		for _, d := range in.Deps {
			deps = append(deps, traces.Dep{Job: d.Job + k*offset, On: d.On + k*offset, Condition: d.Condition})
		}
	}
	if copies > 1 {
		a.note(fmt.Sprintf("copies have USER~N as their user and ids raised by a multiple of %d", offset))
	}
	set := *in
	set.Rows, set.Deps, set.Events = sorted(out), deps, inOrder(events)
	return &set, nil
}

// userOf is whose job it is; one without a user is a user of its own.
func userOf(j *traces.Job) string {
	if j.User == "" {
		return "\x00" + strconv.FormatInt(j.ID, 10)
	}
	return j.User
}

// crowd sums the work of each user; nil when there is none.
func (l load) crowd(in *Set, jobs []traces.Job, was *Load) (all []crowd, index map[string]int) {
	index = map[string]int{}
	named := false
	for i := range jobs {
		j := &jobs[i]
		if in.warm(j) {
			continue
		}
		named = named || j.User != ""
		name := userOf(j)
		k, ok := index[name]
		if !ok {
			k = len(all)
			index[name] = k
			all = append(all, crowd{name: name, order: draw.At(l.seed, userStream, uint64(draw.StreamOf(name)), 0, 0)})
		}
		if j.Runtime.OK && j.Runtime.V > 0 {
			all[k].work.add(uint64(max(was.units(j), 0)), uint64(j.Runtime.V))
		}
	}
	if !named {
		return nil, nil
	}
	return all, index
}

// choose says how often each user is in the result: the whole part of the
// factor, and once more for users in drawn order while that brings the work
// nearer to what is asked for.
func (l load) choose(all []crowd, was *Load) {
	factor := new(big.Rat).Quo(l.to, was.Value())
	whole := new(big.Int).Quo(factor.Num(), factor.Denom())
	left := new(big.Rat).Mul(new(big.Rat).Sub(factor, new(big.Rat).SetInt(whole)), new(big.Rat).SetInt(was.Work))
	order := make([]int, len(all))
	for i := range all {
		order[i], all[i].takes = i, whole.Int64()
	}
	slices.SortFunc(order, func(a, b int) int { //detlint:total no two indexes are equal
		return cmp.Or(cmp.Compare(all[a].order, all[b].order), cmp.Compare(a, b))
	})
	for _, i := range order {
		w := new(big.Rat).SetInt(all[i].work.int())
		after := new(big.Rat).Sub(left, w)
		if new(big.Rat).Abs(after).Cmp(left) < 0 || w.Sign() == 0 && left.Sign() > 0 {
			all[i].takes++
			left = after
		}
		if left.Sign() <= 0 {
			return
		}
	}
}

// wrap is the longest of a week, a day and an hour that a span holds twice, and
// how often; a span of less holds one of itself.
func wrap(span model.Duration) (period model.Duration, times int64) {
	for _, p := range []model.Duration{week, model.Day, model.Hour} {
		if span >= 2*p {
			return p, int64(span / p)
		}
	}
	return span + 1, 1
}

const week = 7 * model.Day

// offsetOf is a power of ten above all ids.
func offsetOf(jobs []traces.Job) int64 {
	most := int64(0)
	for i := range jobs {
		most = max(most, jobs[i].ID)
	}
	return powerAbove(most)
}

func powerAbove(n int64) int64 {
	p := int64(10)
	for p <= n && p < 1e17 {
		p *= 10
	}
	return p
}

func (l load) copyOf(j *traces.Job, k, offset int64) traces.Job {
	c := *j
	c.ID += k * offset
	suffix := "~" + strconv.FormatInt(k+1, 10)
	for _, name := range []*string{&c.User, &c.Group, &c.DAG} {
		if *name != "" {
			*name += suffix
		}
	}
	if c.AfterJob.OK {
		c.AfterJob.V += k * offset
	}
	return c
}
