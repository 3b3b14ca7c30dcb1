package calibrate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"orrery/capture"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
)

// A job tells what a cap costs where it ran under a limit that does not bind it, and again under
// one that may: the same work, on the same GPU and number of nodes. The limit of a node is that of
// its inventory records.

// boundAt is the part of the limit from which on a job that draws so much is held back by it.
const boundAt = 0.97

// limits are those of GPUs in W, by node, ascending by time.
type limits map[string][]limitFrom

type limitFrom struct {
	at    model.Time
	watts float64
}

func limitsOf(src *Source) (limits, error) {
	list, err := capture.Inventories(src.Events)
	if err != nil {
		return nil, err
	}
	out := limits{}
	for _, r := range list {
		least := math.Inf(1)
		for _, g := range r.GPUs {
			if w := fact(&r, g.Index, capture.FactPowerLimit); w > 0 {
				least = min(least, w)
			}
		}
		if finite(least) {
			out[r.Node] = append(out[r.Node], limitFrom{r.At, least})
		}
	}
	return out, nil
}

// fact is a number that an inventory tells of a GPU, 0 for none.
func fact(r *capture.Recorded, gpu int32, name string) float64 {
	x, err := strconv.ParseFloat(r.OfGPU(gpu, name), 64)
	if err != nil || !finite(x) {
		return 0
	}
	return max(0, x)
}

// of is the limit of all the nodes at an instant; false where they differ or one says none.
func (l limits) of(nodes []string, at model.Time) (watts float64, known bool) {
	for i, n := range nodes {
		here := 0.0
		for _, x := range l[n] {
			if x.at <= at {
				here = x.watts
			}
		}
		if here == 0 || i > 0 && here != watts {
			return 0, false
		}
		watts = here
	}
	return watts, len(nodes) > 0
}

// capped is how long a run took under a limit, and what it drew on a GPU.
type capped struct {
	limit, seconds float64
	draw           float64 // 0 where it was not measured
}

// caps are the throughput of classes under caps.
func caps(src *Source, jobs *jobTable, seen *observed) ([]Finding, error) {
	limit, err := limitsOf(src)
	if err != nil {
		return nil, err
	}
	draw := drawsOfJobs(seen)
	var out []Finding
	for c := range src.Classes {
		runs := map[string]map[string][]capped{} // by GPU and work
		about := Finding{Unit: "factor", From: model.Never}
		for i := range jobs.list {
			j := &jobs.list[i]
			gpu := gpuOf(src, j.nodes)
			watts, known := limit.of(j.nodes, j.start)
			if j.class != c || !j.complete || j.ran <= 0 || gpu == "" || j.start == model.Never || !known || j.clock > 0 {
				continue
			}
			if runs[gpu] == nil {
				runs[gpu] = map[string][]capped{}
			}
			work := fmt.Sprint(j.what, len(j.nodes))
			runs[gpu][work] = append(runs[gpu][work], capped{watts, j.ran.Seconds(), draw[i]})
			about.From, about.To = min(about.From, j.start), max(about.To, j.start.Add(j.ran))
		}
		found, err := capsOf(c, runs, about)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// drawsOfJobs are the medians of what jobs drew on a GPU at work, as read, by their rows.
func drawsOfJobs(seen *observed) map[int]float64 {
	watts := map[int][]float64{}
	for _, spans := range seen.spans {
		for i := range spans {
			if spans[i].State == fit.StateActive {
				for _, s := range spans[i].Samples {
					watts[spans[i].Job] = append(watts[spans[i].Job], s.Watts)
				}
			}
		}
	}
	out := map[int]float64{}
	for _, job := range slices.Sorted(maps.Keys(watts)) {
		out[job] = fit.Median(watts[job])
	}
	return out
}

// capsOf is the table of a class by the GPU of which most is known: GPUs answer caps each in
// their own way.
func capsOf(class int, runs map[string]map[string][]capped, about Finding) ([]Finding, error) {
	var rows []fit.CapRow
	var of string
	for _, gpu := range slices.Sorted(maps.Keys(runs)) {
		var here []fit.CapRow
		for _, work := range slices.Sorted(maps.Keys(runs[gpu])) {
			here = append(here, capRows(runs[gpu][work])...)
		}
		if len(here) > len(rows) {
			rows, of = here, gpu
		}
	}
	to := Target{Type: -1, Class: class, Key: Caps}
	if len(rows) == 0 {
		return nil, nil // every job ran under one limit, and nothing is claimed
	}
	table, err := fit.CapTable(rows)
	if err != nil {
		return []Finding{refused(to, err.Error(), "runs of the same work under limits below what it draws, and under one above", "run jobs again under nvidia-smi --power-limit, on nodes whose agent records its inventory")}, nil
	}
	var out []Finding
	for _, p := range table.Table {
		if p.X >= 1 {
			continue
		}
		band, known := table.Speed(p.X)
		if !known {
			continue
		}
		f := about
		f.Target = to
		f.Draw = round4(p.X)
		f.Figure.Band, f.Figure.N, f.Figure.Units = band, len(rows), "pairs of runs"
		f.Rows = int64(len(rows))
		f.Valid = fmt.Sprintf("caps of %s from %.2f of the draw on; other GPUs answer caps in their own way", of, table.Floor)
		out = append(out, f)
	}
	return out, nil
}

// capRows are runs of one work under lower limits than the highest, relative to those under it.
func capRows(runs []capped) (out []fit.CapRow) {
	highest := 0.0
	for _, r := range runs {
		highest = max(highest, r.limit)
	}
	var seconds, watts []float64
	for _, r := range runs {
		if r.limit == highest {
			if seconds = append(seconds, r.seconds); r.draw > 0 {
				watts = append(watts, r.draw)
			}
		}
	}
	draw := fit.Median(watts)
	if len(watts) == 0 || draw >= boundAt*highest {
		return nil // what it draws without a cap is not known
	}
	for _, r := range runs {
		if r.limit < highest {
			out = append(out, fit.CapRow{X: r.limit / draw, Speed: fit.Median(seconds) / r.seconds})
		}
	}
	return out
}
