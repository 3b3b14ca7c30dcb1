package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
)

// StepRow is a measured training step of a job on a placement. Rows are compared at one batch
// per GPU.
type StepRow struct {
	Batch   int     // samples per GPU
	Nodes   int     // K
	Fullest int     // GPUs on the node with the most of them
	GPUs    int     // of all nodes
	Step    float64 // s, Sync included
	Sync    float64 // s of the step, synchronisation that is not hidden under computation
}

func (r StepRow) check(i int) error {
	if r.Nodes < 1 || r.Fullest < 1 || r.GPUs < r.Fullest || r.GPUs > r.Nodes*r.Fullest || r.Nodes == 1 && r.GPUs != r.Fullest {
		return fmt.Errorf("row %d: found %d GPUs on %d nodes with %d on the fullest, want a placement", i, r.GPUs, r.Nodes, r.Fullest)
	}
	if !(r.Step > 0) || !finite(r.Step) || !(r.Sync >= 0) || r.Sync > r.Step {
		return fmt.Errorf("row %d: found a step of %v s with %v s of synchronisation, want a positive time that holds the other", i, r.Step, r.Sync)
	}
	return nil
}

// spread says whether the row is the measurement on two GPUs of two nodes.
func (r StepRow) spread() bool { return r.Nodes == 2 && r.GPUs == 2 }

// mostFactor is the largest factor that is believed; larger ones are of a spread measurement
// close to 0.
const mostFactor = 10

// PackedNoise is the half-width of bands on one node: steps that were measured twice differ by
// less in nine of ten (Sia, two series on one system of A100).
const PackedNoise = 0.055

// NetworkFactors are the factors h(K, m) of a system: for each pair the median over jobs,
// batches and placements of how many times the spread synchronisation a job waited beyond its
// packed one. Batches whose spread synchronisation is too small to matter tell no factor. The
// job that is predicted is left out of the jobs.
func NetworkFactors(jobs [][]StepRow) ([]hwmodel.NetworkFactor, error) {
	type pair struct{ nodes, fullest int }
	seen := map[pair][]float64{}
	var order []pair
	for j, rows := range jobs {
		for i, r := range rows {
			if err := r.check(i); err != nil {
				return nil, fmt.Errorf("job %d: %w", j, err)
			}
		}
		for _, batch := range batches(rows) {
			spread, packed := inputs(batch)
			one, known := packed[1]
			if spread == nil || !known || *spread <= hwmodel.NetworkMatters*(one.Step-one.Sync) {
				continue
			}
			for _, r := range batch {
				sync, known := packed[r.Fullest]
				if r.Nodes == 1 || !known {
					continue
				}
				p := pair{r.Nodes, r.Fullest}
				if seen[p] == nil {
					order = append(order, p)
				}
				seen[p] = append(seen[p], min(mostFactor, max(0, (r.Sync-sync.Sync) / *spread)))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b pair) int { return cmp.Or(cmp.Compare(a.nodes, b.nodes), cmp.Compare(a.fullest, b.fullest)) })
	var out []hwmodel.NetworkFactor
	for _, p := range order {
		out = append(out, hwmodel.NetworkFactor{Nodes: p.nodes, Fullest: p.fullest, Factor: Median(seen[p])})
	}
	return out, nil
}

// batches are the rows of each batch, ascending.
func batches(rows []StepRow) (out [][]StepRow) {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b StepRow) int { return cmp.Compare(a.Batch, b.Batch) })
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Batch == sorted[0].Batch {
			n++
		}
		out, sorted = append(out, sorted[:n]), sorted[n:]
	}
	return out
}

// inputs are what a placement is predicted from, of rows of one batch: the spread
// synchronisation, nil where it was not measured, and the packed rows by GPUs.
func inputs(batch []StepRow) (spread *float64, packed map[int]StepRow) {
	packed = map[int]StepRow{}
	for _, r := range batch {
		switch {
		case r.spread():
			sync := r.Sync
			spread = &sync
		case r.Nodes == 1:
			packed[r.GPUs] = r
		}
	}
	return spread, packed
}

// Placement is the model of a job at one batch per GPU, from its packed rows, its row on two
// GPUs of two nodes where it has one, and the factors of other jobs on the system. Other rows
// are not used. The widths of bands are PackedNoise and SpreadError of the other jobs, or the
// caller's own.
func Placement(rows []StepRow, factors []hwmodel.NetworkFactor, packedError, spreadError float64) (hwmodel.Placement, error) {
	for i, r := range rows {
		if err := r.check(i); err != nil {
			return hwmodel.Placement{}, err
		}
		if r.Batch != rows[0].Batch {
			return hwmodel.Placement{}, fmt.Errorf("row %d: found the batch %d after %d, want rows of one batch", i, r.Batch, rows[0].Batch)
		}
	}
	spread, packed := inputs(rows)
	out := hwmodel.Placement{Spread: spread, Factors: factors, PackedError: packedError, SpreadError: spreadError}
	for _, r := range rows {
		if r.Nodes == 1 {
			out.Packed = append(out.Packed, hwmodel.PackedStep{GPUs: r.GPUs, Compute: r.Step - packed[r.GPUs].Sync, Sync: packed[r.GPUs].Sync})
		}
	}
	slices.SortStableFunc(out.Packed, func(a, b hwmodel.PackedStep) int { return cmp.Compare(a.GPUs, b.GPUs) })
	return out, out.Validate()
}

// SpreadError is the half-width of bands on several nodes that 90 % of the rows of the jobs lie
// in, each job predicted with the factors of the others.
func SpreadError(jobs [][]StepRow) (float64, error) {
	if len(jobs) < 2 {
		return 0, tooFew("jobs on the system", len(jobs), 2)
	}
	var all []float64
	for j, rows := range jobs {
		factors, err := NetworkFactors(slices.Concat(jobs[:j], jobs[j+1:]))
		if err != nil {
			return 0, err
		}
		c, err := CheckPlacement(rows, factors)
		if err != nil {
			return 0, fmt.Errorf("job %d: %w", j, err)
		}
		all = append(all, distances(c.Errors)...)
	}
	if len(all) == 0 {
		return 0, tooFew("steps on several nodes", 0, 1)
	}
	return min(1, Quantile(errorPart, all)), nil
}

// PlacementCheck is how far predictions of one job are off.
type PlacementCheck struct {
	Errors  []float64 // of each row on several nodes, predicted ÷ measured - 1
	Refused int       // rows that the model does not answer
}

// Median and P90 are quantiles of the distances.
func (c PlacementCheck) Median() float64 { return Quantile(0.5, distances(c.Errors)) }

// P90 is what nine in ten distances stay below.
func (c PlacementCheck) P90() float64 { return Quantile(0.9, distances(c.Errors)) }

func distances(errs []float64) []float64 {
	out := make([]float64, len(errs))
	for i, e := range errs {
		out[i] = math.Abs(e)
	}
	return out
}

// CheckPlacement predicts the rows of a job on several nodes from its packed rows, its spread
// row and the factors of other jobs. The spread row itself is not counted.
func CheckPlacement(rows []StepRow, factors []hwmodel.NetworkFactor) (PlacementCheck, error) {
	var out PlacementCheck
	for _, batch := range batches(rows) {
		if !slices.ContainsFunc(batch, func(r StepRow) bool { return r.Nodes == 1 }) {
			out.Refused += len(batch)
			continue
		}
		p, err := Placement(batch, factors, 0, 0)
		if err != nil {
			return out, err
		}
		for _, r := range batch {
			if r.Nodes == 1 || r.spread() {
				continue
			}
			b, known := p.Step(r.Nodes, r.Fullest)
			if !known {
				out.Refused++
				continue
			}
			out.Errors = append(out.Errors, b.Value/r.Step-1)
		}
	}
	return out, nil
}
