package reports

import (
	"cmp"
	"math"
	"slices"

	"orrery/reports/plot"
	"orrery/sim/record"
)

// mostRangesPerJob bounds the node ranges that a page embeds: with more
// fragments than this on average the allocations are summed up instead.
const mostRangesPerJob = 5

// detail keeps single allocations for drawing them one by one. It gives up for
// good, and frees what it has, when there are more than it may keep; a nil
// detail has given up from the start.
type detail struct {
	most   int
	gaveUp bool

	facts map[int32]jobFacts
	rows  []allocation
	lo    []int32
	len   []int32
	units []int32 // held on each node of the range, where jobs share nodes

	shared bool
	first  []int32 // row of the first GPU of each node, when rows are GPUs; nil when they are nodes
}

// jobFacts is what the page says of a job beside its allocation.
type jobFacts struct {
	wait  int64 // µs, record.Absent when it never started
	user  int32
	state uint8
}

// allocation is one attempt; its ranges are lo[first:first+ranges].
type allocation struct {
	job, procs    int32
	id            int64
	start, end    int64 // µs since the trace's epoch
	first, ranges int32
}

func newDetail(most int, jobs int64, shared bool) *detail {
	d := &detail{most: most, shared: shared, facts: map[int32]jobFacts{}}
	if jobs > int64(most) {
		d.giveUp()
	}
	return d
}

func (d *detail) giveUp() { *d = detail{gaveUp: true} }

func (d *detail) addJobs(c *record.Columns) {
	if d.gaveUp {
		return
	}
	for i := range c.Len() {
		d.facts[c.Job[i]] = jobFacts{c.Wait[i], c.User[i], c.State[i]}
	}
}

func (d *detail) addAttempt(c *record.AttemptColumns, i int) {
	if d.gaveUp {
		return
	}
	if len(d.rows) >= d.most || len(d.lo) > mostRangesPerJob*d.most || c.ID[i] > math.MaxInt32 || c.ID[i] < 0 {
		d.giveUp()
		return
	}
	d.rows = append(d.rows, allocation{
		job: c.Job[i], procs: c.Procs[i], id: c.ID[i], start: c.Start[i], end: c.End[i], first: int32(len(d.lo)),
	})
}

// addRange adds nodes to the attempt added last, joining ranges that differ
// in their shares alone.
func (d *detail) addRange(lo, hi, units int32) {
	if d.gaveUp {
		return
	}
	last := &d.rows[len(d.rows)-1]
	if k := len(d.lo) - 1; !d.shared && last.ranges > 0 && d.lo[k]+d.len[k] == lo {
		d.len[k] += hi - lo + 1
		return
	}
	last.ranges++
	d.lo = append(d.lo, lo)
	d.len = append(d.len, hi-lo+1)
	if d.shared {
		d.units = append(d.units, units)
	}
}

// finish sorts by start; it returns nil when there is nothing to show singly. Where jobs
// share nodes, units being those of each node, rows become GPUs: drawn on nodes the
// jobs of a node would cover each other.
func (d *detail) finish(units []int32) *detail {
	if d.gaveUp || len(d.rows) == 0 {
		return nil
	}
	slices.SortStableFunc(d.rows, func(a, b allocation) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.job, b.job))
	})
	if d.shared && !d.byGPU(units) {
		return nil
	}
	return d
}

// Limits of rows for single GPUs: nodes that are shared more finely are summed up.
const (
	mostUnitsPerNode = 16
	mostGPURows      = 1 << 17
)

// byGPU gives each allocation the lowest GPUs of its nodes that are free, in the order of
// starts: which of them it had is not recorded. Jobs without GPUs are recorded like those
// that hold whole nodes, and may share them: a job for which too few GPUs are free is drawn
// over those that are free next. It is false where there are too many rows, or a job holds
// more of a node than there is.
func (d *detail) byGPU(units []int32) bool {
	first := make([]int32, len(units)+1)
	for i, u := range units {
		if first[i+1] = first[i] + u; u > mostUnitsPerNode || first[i+1] > mostGPURows {
			return false
		}
	}
	free := make([]int64, first[len(units)]) // when the GPU is next free
	for i := range free {
		free[i] = math.MinInt64
	}
	var lo, length []int32
	for i := range d.rows {
		a := &d.rows[i]
		begin := len(lo)
		for k := a.first; k < a.first+a.ranges; k++ {
			for node := d.lo[k]; node < d.lo[k]+d.len[k]; node++ {
				left := d.units[k]
				for g := first[node]; g < first[node+1] && left > 0; g++ {
					if free[g] > a.start {
						continue
					}
					free[g] = a.end
					left--
					if n := len(lo) - 1; n >= begin && lo[n]+length[n] == g {
						length[n]++
						continue
					}
					lo, length = append(lo, g), append(length, 1)
				}
				switch {
				case d.units[k] > units[node]:
					return false
				case d.units[k] < units[node]: // a job without GPUs has taken them
				case left == units[node] && left > 0: // perhaps a job without GPUs
					left = 1
				default:
					left = 0
				}
				for ; left > 0; left-- {
					g := first[node] + soonest(free[first[node]:first[node+1]])
					free[g] = max(free[g], a.end)
					lo, length = append(lo, g), append(length, 1)
				}
			}
		}
		a.first, a.ranges = int32(begin), int32(len(lo)-begin)
	}
	if len(lo) > 2*mostRangesPerJob*d.most {
		return false
	}
	d.lo, d.len, d.first = lo, length, first
	return true
}

// soonest is the place of the smallest.
func soonest(times []int64) int32 {
	best := 0
	for i, t := range times {
		if t < times[best] {
			best = i
		}
	}
	return int32(best)
}

// bars are the allocations as the Gantt figure takes them.
func (d *detail) bars() []plot.Bar {
	if d == nil {
		return nil
	}
	var out []plot.Bar
	for _, a := range d.rows {
		for k := a.first; k < a.first+a.ranges; k++ {
			out = append(out, plot.Bar{Job: a.job, StartUS: a.start, EndUS: a.end, Lo: d.lo[k], Hi: d.lo[k] + d.len[k] - 1})
		}
	}
	return out
}

// pageColumn is one column of the data in the page: its name and length, and
// whether differences are stored.
type pageColumn struct {
	Name  string `json:"name"`
	N     int    `json:"n"`
	Delta bool   `json:"delta,omitempty"`

	values []int32
}

// columns gives the allocations in whole seconds, as the page keeps them; ok
// is false when an instant does not fit into 32 bits.
func (d *detail) columns() (cols []pageColumn, ok bool) {
	n := len(d.rows)
	names := []string{"start", "dur", "id", "wait", "user", "procs", "state", "ranges", "lo", "len"}
	cols = make([]pageColumn, len(names))
	for i, name := range names {
		cols[i] = pageColumn{Name: name, N: n, Delta: name == "start" || name == "id"}
	}
	for _, a := range d.rows {
		f, known := d.facts[a.job]
		wait := int32(-1)
		if known && f.wait != record.Absent {
			wait = int32(min(seconds(f.wait), math.MaxInt32))
		}
		start, end := seconds(a.start), seconds(a.end)
		if start < math.MinInt32 || end > math.MaxInt32 {
			return nil, false
		}
		for i, v := range []int32{int32(start), int32(end - start), int32(a.id), wait, f.user, a.procs, int32(f.state), a.ranges} {
			cols[i].values = append(cols[i].values, v)
		}
		cols[8].values = append(cols[8].values, d.lo[a.first:a.first+a.ranges]...)
		cols[9].values = append(cols[9].values, d.len[a.first:a.first+a.ranges]...)
	}
	cols[8].N, cols[9].N = len(d.lo), len(d.len)
	return cols, true
}

// seconds rounds microseconds to whole seconds, halves up.
func seconds(us int64) int64 {
	s := us / 1_000_000
	if r := us % 1_000_000; r >= 500_000 {
		s++
	} else if r < -500_000 {
		s--
	}
	return s
}

// planes writes each column as four planes of bytes, lowest first: bytes of
// one weight are alike, which is what the compressor wants.
func planes(cols []pageColumn) []byte {
	var out []byte
	for _, c := range cols {
		prev := int32(0)
		diffs := make([]uint32, len(c.values))
		for i, v := range c.values {
			diffs[i] = uint32(v - prev)
			if c.Delta {
				prev = v
			}
		}
		for p := range 4 {
			for _, v := range diffs {
				out = append(out, byte(v>>(8*p)))
			}
		}
	}
	return out
}
