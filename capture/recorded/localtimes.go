package recorded

import (
	"time"

	"orrery/traces"
	"orrery/traces/localtime"
)

// localTimes are those of rows in the order of a log.
type localTimes struct {
	walls []time.Time // of each row, as times in UTC that show the same date and clock
	dated []bool      // the row has one
}

func (l *localTimes) add(wall time.Time, dated bool) {
	l.walls, l.dated = append(l.walls, wall), append(l.dated, dated)
}

// How far rows of one round lie apart at most.
const (
	sameRound = time.Second
	mostRound = 256 // lines
)

// resolve sets the times of rows. In an hour that comes twice the order of the rows of a GPU says which is meant, or the order of another GPU
// whose row stands beside it; what neither says is counted as ambiguous.
func (l *localTimes) resolve(o Options, rows []traces.Telemetry) []traces.Telemetry {
	zone := localtime.In(o.Zone)
	all := make([]localtime.Reading, len(rows))
	byGPU := map[int32][]int{}
	var gpus []int32
	for i := range rows {
		if !l.dated[i] {
			continue
		}
		all[i] = zone.Read(l.walls[i])
		gpu := rows[i].GPU.V
		if byGPU[gpu] == nil {
			gpus = append(gpus, gpu)
		}
		byGPU[gpu] = append(byGPU[gpu], i)
	}
	for _, gpu := range gpus {
		series := make([]localtime.Reading, 0, len(byGPU[gpu]))
		for _, i := range byGPU[gpu] {
			series = append(series, all[i])
		}
		localtime.Series(series, true)
		for k, i := range byGPU[gpu] {
			all[i] = series[k]
		}
	}
	for i := range rows {
		if !l.dated[i] {
			continue
		}
		r := &all[i]
		if r.How == localtime.Ambiguous {
			l.borrow(rows, all, i)
		}
		if rule := r.How.Rule(); rule != "" {
			o.noted(rule, l.walls[i].Format("2006-01-02 15:04:05"))
		}
		rows[i].Time = r.Instant()
	}
	return l.yield(o, rows, all)
}

// ruleYields counts rows of a time that never was where another row of the GPU shows the instant that it would be moved to.
const ruleYields = "row of a local time that never was, for whose instant there is another"

// yield leaves out such rows.
func (l *localTimes) yield(o Options, rows []traces.Telemetry, all []localtime.Reading) []traces.Telemetry {
	var gaps localtime.Gaps[place]
	moved := func(i int) bool { return l.dated[i] && all[i].How == localtime.Skipped }
	kind := func(i int) func() place {
		return func() place { return place{rows[i].Node, rows[i].GPU, rows[i].Time} }
	}
	for range 2 {
		for i := range rows {
			gaps.Look(moved(i), kind(i))
		}
	}
	if !gaps.Any() {
		return rows
	}
	kept := rows[:0]
	for i := range rows {
		if gaps.Yields(moved(i), kind(i)) {
			o.left(ruleYields, l.walls[i].Format("2006-01-02 15:04:05"), 1)
			continue
		}
		kept = append(kept, rows[i])
	}
	return kept
}

// borrow reads an ambiguous time as a row of another GPU of the same round is read.
func (l *localTimes) borrow(rows []traces.Telemetry, all []localtime.Reading, i int) {
	for _, step := range [...]int{-1, 1} {
		for k := i + step; k >= 0 && k < len(rows) && max(i-k, k-i) <= mostRound; k += step {
			if d := l.walls[k].Sub(l.walls[i]); !l.dated[k] || d > sameRound || d < -sameRound || rows[k].GPU == rows[i].GPU {
				break
			}
			if all[k].How != localtime.ByOrder {
				continue
			}
			apart := all[k].Instant().Sub(all[i].At[0])
			second := all[i].At[1].Sub(all[i].At[0])
			if all[i].How = localtime.ByOrder; apart > second/2 {
				all[i].At[0] = all[i].At[1]
			}
			all[i].N = 1
			return
		}
	}
}
