package workload

import (
	"cmp"
	"container/heap"
	"math/bits"
	"slices"
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/hostlist"
)

// What happens at one instant, in this order: what is freed counts first, and a job that starts at its submission never waits.
const (
	ended = iota
	submitted
	left // the queue, without a start
	started
)

// change is what a job does to the queue and to what is held.
type change struct {
	at   model.Time
	size int32
	what int8
}

// usage is what one tenant held.
type usage struct {
	jobs     int64
	unitTime float64 // µs
}

// collector takes the jobs one by one.
type collector struct {
	s      *Stats
	zone   *time.Location
	epoch  model.Time
	nodes  []traces.Node
	all    []change
	work   []work
	sizes  []int64
	runs   []int64
	asked  []int64
	waits  []int64
	ratios []float64
	by     [4]map[string]*usage // tenant, account, group, user
	ran    []onNodes
	seen   bool // the changes are in order
	stated bool // the capacity is not what the jobs held themselves
}

// work is what a job brought: units × time.
type work struct {
	at     model.Time
	amount float64 // units × µs
}

// onNodes are GPUs that a job held on each of its nodes.
type onNodes struct {
	start, end model.Time
	nodes      string
	each       int32
}

var columnsOfTenants = [4]string{"tenant", "account", "group", "user"}

// add takes a job.
func (c *collector) add(j *traces.Job) {
	s := c.s
	size := c.size(j)
	if s.Jobs == 0 || int64(j.Submit) < s.FirstUS {
		s.FirstUS = int64(j.Submit)
	}
	s.Jobs++
	s.LastUS = max(s.LastUS, int64(j.Submit))
	s.EndUS = max(s.EndUS, int64(j.Submit))
	at := c.clock(j.Submit)
	s.Hours[at.Hour()]++
	day := (int(at.Weekday()) + 6) % 7
	if s.EpochUS == nil {
		day = int(int64(j.Submit) / int64(model.Day) % 7)
	}
	s.Weekdays[max(day, 0)]++
	s.Beyond.add(j)
	if endedByPolicy(j) {
		s.Cut++
	}
	if size > 0 {
		c.sizes = append(c.sizes, size)
	}
	if j.Walltime.OK {
		c.asked = append(c.asked, int64(j.Walltime.V))
	}
	amount := 0.0
	if j.Runtime.OK {
		c.runs = append(c.runs, int64(j.Runtime.V))
		amount = float64(size) * float64(j.Runtime.V)
		c.work = append(c.work, work{j.Submit, amount})
		c.accuracy(j)
	}
	for k, name := range [4]string{j.Tenant, j.Account, j.Group, j.User} {
		if k == 2 { // of a task, not of people
			continue
		}
		if c.by[k] == nil {
			c.by[k] = map[string]*usage{}
		}
		u := c.by[k][name]
		if u == nil {
			u = &usage{}
			c.by[k][name] = u
		}
		u.jobs++
		u.unitTime += amount
	}
	c.times(j, size)
}

// times notes when the job waited and ran, as far as that is recorded.
func (c *collector) times(j *traces.Job, size int64) {
	small := int32(min(size, 1<<30))
	end := j.End
	if !end.OK && j.Start.OK && j.Runtime.OK {
		end = traces.Some(j.Start.V.Add(j.Runtime.V))
	}
	switch {
	case j.Start.OK && end.OK && end.V >= j.Start.V && j.Start.V >= j.Submit:
		c.s.Started++
		c.waits = append(c.waits, int64(j.Start.V.Sub(j.Submit)))
		c.s.EndUS = max(c.s.EndUS, int64(end.V))
		c.all = append(c.all, change{j.Submit, small, submitted}, change{j.Start.V, small, started}, change{end.V, small, ended})
		if j.RecordedNodes != "" && j.GPUsPerNode.V > 0 {
			c.ran = append(c.ran, onNodes{j.Start.V, end.V, j.RecordedNodes, j.GPUsPerNode.V})
		}
	case j.CancelledAt.OK && j.CancelledAt.V >= j.Submit:
		c.all = append(c.all, change{j.Submit, small, submitted}, change{j.CancelledAt.V, small, left})
	}
}

func (c *collector) accuracy(j *traces.Job) {
	a := &c.s.Accuracy
	if !j.Walltime.OK || j.Walltime.V <= 0 {
		a.NoRequest++
		return
	}
	ratio := float64(j.Runtime.V) / float64(j.Walltime.V)
	a.Jobs++
	if ratio > 1 {
		a.Exceeded++
	}
	a.Tenths[min(int(ratio*10), 9)]++
	a.Mean += ratio
	c.ratios = append(c.ratios, ratio)
}

func (c *collector) sortChanges() {
	if !c.seen {
		slices.SortStableFunc(c.all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what)) })
		c.seen = true
	}
}

// peak is the most that was held at once, for longer than no time.
func (c *collector) peak() (most int64) {
	c.sortChanges()
	held := int64(0)
	for i := range c.all {
		switch x := &c.all[i]; x.what {
		case started:
			held += int64(x.size)
		case ended:
			held -= int64(x.size)
		}
		if i+1 == len(c.all) || c.all[i+1].at > c.all[i].at {
			most = max(most, held)
		}
	}
	return most
}

// finish turns what was collected into numbers.
func (c *collector) finish(tenants []traces.Tenant) {
	s := c.s
	for _, v := range c.sizes {
		if v > s.Capacity && c.stated {
			s.TooLarge++
		}
	}
	for _, v := range c.runs {
		if v == 0 {
			s.ZeroTime++
		}
	}
	s.Sizes = distribution(c.sizes, s.Jobs, doubled)
	s.Runtimes = distribution(c.runs, s.Jobs, spans)
	s.Requests = distribution(c.asked, s.Jobs, spans)
	s.Waits, s.MeanWait = distribution(c.waits, s.Jobs, spans), meanOf(c.waits)
	if a := &s.Accuracy; a.Jobs > 0 {
		slices.Sort(c.ratios)
		a.Median, a.Mean = c.ratios[(len(c.ratios)-1)/2], a.Mean/float64(a.Jobs)
	}
	c.shares(tenants)
	c.bins()
	c.sweep()
	c.scatter()
}

// spans are the bounds of the buckets of times.
func spans(v int64) int64 {
	for _, d := range []model.Duration{model.Second, 10 * model.Second, model.Minute, 10 * model.Minute, 30 * model.Minute, model.Hour, 3 * model.Hour, 12 * model.Hour, model.Day, 7 * model.Day} {
		if v <= int64(d) {
			return int64(d)
		}
	}
	return 1<<63 - 1
}

// doubled are 1, 2, 4, 8 and so on.
func doubled(v int64) int64 { return 1 << bits.Len64(uint64(max(v, 1)-1)) }

func distribution(values []int64, jobs int64, bound func(int64) int64) (d Distribution) {
	d.Known, d.Unknown = int64(len(values)), jobs-int64(len(values))
	if len(values) == 0 {
		return d
	}
	slices.Sort(values)
	rank := func(percent int) int64 { return values[max((len(values)*percent+99)/100, 1)-1] }
	d.P10, d.P50, d.P90, d.P99, d.Max = rank(10), rank(50), rank(90), rank(99), values[len(values)-1]
	for _, v := range values {
		b := bound(v)
		if n := len(d.Buckets); n == 0 || d.Buckets[n-1].UpTo != b {
			d.Buckets = append(d.Buckets, Bucket{UpTo: b})
		}
		d.Buckets[len(d.Buckets)-1].Jobs++
	}
	return d
}

// mostTenants have a row of their own.
const mostTenants = 20

// shares takes the first column that at least half of the jobs fill.
func (c *collector) shares(tenants []traces.Tenant) {
	t := &c.s.Tenants
	var of map[string]*usage
	for k, m := range c.by {
		named := c.s.Jobs
		if none := m[""]; none != nil {
			named -= none.jobs
		}
		if m != nil && 2*named >= c.s.Jobs && c.s.Jobs > 0 {
			t.By, of = columnsOfTenants[k], m
			break
		}
	}
	fair := map[string]float64{}
	for i := range tenants {
		if tenants[i].FairShare.OK {
			fair[tenants[i].Name] = tenants[i].FairShare.V
		}
	}
	total := 0.0
	for name, u := range of { //detlint:ordered rows are sorted below
		t.Rows = append(t.Rows, Tenant{Name: name, Jobs: u.jobs, UnitHours: u.unitTime / float64(model.Hour)})
	}
	slices.SortStableFunc(t.Rows, func(a, b Tenant) int {
		return cmp.Or(cmp.Compare(b.UnitHours, a.UnitHours), cmp.Compare(b.Jobs, a.Jobs), strings.Compare(a.Name, b.Name))
	})
	for i := range t.Rows {
		total += t.Rows[i].UnitHours
	}
	if len(t.Rows) > mostTenants {
		rest := Tenant{Name: "all others"}
		for _, r := range t.Rows[mostTenants-1:] {
			rest.Jobs, rest.UnitHours = rest.Jobs+r.Jobs, rest.UnitHours+r.UnitHours
		}
		t.Rows = append(t.Rows[:mostTenants-1], rest)
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		if total > 0 {
			r.Share = r.UnitHours / total
		}
		if f, ok := fair[r.Name]; ok && t.By == "tenant" {
			r.FairShare = &f
		}
	}
}

// widths of bins that people read; there are at most mostBins.
var widths = []model.Duration{model.Second, 10 * model.Second, model.Minute, 5 * model.Minute, 10 * model.Minute, 30 * model.Minute, model.Hour, 3 * model.Hour, 6 * model.Hour, 12 * model.Hour, model.Day, 7 * model.Day, 28 * model.Day}

const mostBins = 600

// bins lays out the time from the first submission to the end.
func (c *collector) bins() {
	s := c.s
	span := model.Duration(s.EndUS - s.FirstUS)
	width := widths[len(widths)-1]
	for _, w := range widths {
		if span/w < mostBins {
			width = w
			break
		}
	}
	if n := span/width + 1; n > mostBins*100 {
		width = span/mostBins + 1
	}
	for at := s.FirstUS; at <= s.EndUS && s.Jobs > 0; at += int64(width) {
		s.Load = append(s.Load, Bin{StartUS: at, WidthUS: int64(width)})
	}
	if len(s.Load) == 0 {
		return
	}
	room := float64(s.Capacity) * float64(width)
	for _, w := range c.work {
		s.Load[c.bin(w.at)].Offered += w.amount / room
	}
	for i := range c.all {
		if c.all[i].what == submitted {
			s.Load[c.bin(c.all[i].at)].Submitted++
		}
	}
}

func (c *collector) bin(t model.Time) int {
	return int((int64(t) - c.s.FirstUS) / c.s.Load[0].WidthUS)
}

// sizesWaiting answers what the smallest waiting job is.
type sizesWaiting struct {
	order sizeHeap
	count map[int32]int
}

func (w *sizesWaiting) add(size int32) {
	if w.count[size]++; w.count[size] == 1 {
		heap.Push(&w.order, size)
	}
}

// least is the smallest size, false when none waits.
func (w *sizesWaiting) least() (int32, bool) {
	for len(w.order) > 0 && w.count[w.order[0]] == 0 {
		heap.Pop(&w.order)
	}
	if len(w.order) == 0 {
		return 0, false
	}
	return w.order[0], true
}

type sizeHeap []int32

func (h sizeHeap) Len() int           { return len(h) }
func (h sizeHeap) Less(i, k int) bool { return h[i] < h[k] }
func (h sizeHeap) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *sizeHeap) Push(x any)        { *h = append(*h, x.(int32)) }
func (h *sizeHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// sweep goes through time once: what is held and waits in each bin, and what is idle meanwhile.
func (c *collector) sweep() {
	s := c.s
	if s.Started == 0 {
		s.Idle.Why = "no row has a recorded start and end"
		return
	}
	s.Idle.Known = true
	var held, waiting int64
	var idle float64 // units × µs
	sizes := sizesWaiting{count: map[int32]int{}}
	for i := range c.all {
		x := &c.all[i]
		switch x.what {
		case submitted:
			waiting++
			sizes.add(x.size)
		case left, started:
			waiting--
			sizes.count[x.size]--
			if x.what == started {
				held += int64(x.size)
			}
		case ended:
			held -= int64(x.size)
		}
		if i+1 == len(c.all) || c.all[i+1].at == x.at {
			continue
		}
		span := c.all[i+1].at.Sub(x.at)
		c.spread(x.at, c.all[i+1].at, held, waiting)
		if free := max(s.Capacity-held, 0); waiting > 0 {
			s.Idle.WaitingUS += int64(span)
			idle += float64(free) * float64(span)
			if least, any := sizes.least(); any && int64(least) <= free {
				s.Idle.FitsUS += int64(span)
			}
		}
	}
	if s.Idle.WaitingUS > 0 {
		s.Idle.Share = idle / float64(s.Capacity) / float64(s.Idle.WaitingUS)
	}
	s.Idle.UnitHours = idle / float64(model.Hour)
}

// spread adds a stretch without changes to the bins that it touches.
func (c *collector) spread(from, to model.Time, held, waiting int64) {
	width := c.s.Load[0].WidthUS
	for k := c.bin(from); k < len(c.s.Load); k++ {
		b := &c.s.Load[k]
		part := float64(min(int64(to), b.StartUS+width)-max(int64(from), b.StartUS)) / float64(width)
		if part <= 0 {
			return
		}
		b.Held += float64(part * float64(held) / float64(c.s.Capacity))
		b.Waiting += float64(part * float64(waiting))
		b.WaitingMax = max(b.WaitingMax, waiting)
	}
}

// scatter follows the GPUs of each node.
func (c *collector) scatter() {
	g := &c.s.GPUs
	at := map[string]int{}
	for i := range c.nodes {
		at[c.nodes[i].Name] = i
		g.GPUs += int64(c.nodes[i].GPUs)
	}
	switch {
	case g.GPUs == 0:
		g.Why = "the trace has no nodes with GPUs"
		return
	case len(c.ran) == 0:
		g.Why = "no row says on which nodes its GPUs were"
		return
	}
	type step struct {
		at   model.Time
		node int32
		by   int32
	}
	var steps []step
	for i := range c.ran {
		r := &c.ran[i]
		list, err := hostlist.ReadList(r.nodes, len(c.nodes))
		if err != nil {
			continue
		}
		g.Jobs++
		for k := range list.Len() {
			if n, known := at[list.Name(k)]; known {
				steps = append(steps, step{r.start, int32(n), r.each}, step{r.end, int32(n), -r.each})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	held := make([]int32, len(c.nodes))
	idle, scattered := g.GPUs, int64(0)
	lone := func(n int32) int64 { // idle on a node in part use
		if held[n] <= 0 {
			return 0
		}
		return int64(max(c.nodes[n].GPUs-held[n], 0))
	}
	var idleTime, scatteredTime, time float64
	for i := range steps {
		x := &steps[i]
		free := max(c.nodes[x.node].GPUs-held[x.node], 0)
		scattered -= lone(x.node)
		held[x.node] += x.by
		scattered += lone(x.node)
		idle += int64(max(c.nodes[x.node].GPUs-held[x.node], 0) - free)
		if i+1 < len(steps) {
			span := float64(steps[i+1].at.Sub(x.at))
			time += span
			idleTime += float64(span * float64(idle))
			scatteredTime += float64(span * float64(scattered))
		}
	}
	if g.Known = time > 0; !g.Known {
		g.Why = "its jobs took no time"
		return
	}
	g.Idle = idleTime / time
	if idleTime > 0 {
		g.Scattered = scatteredTime / idleTime
	}
}
