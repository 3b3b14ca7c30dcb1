package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
)

// Peak is what a type of GPU reaches at most, by its data sheet, dense.
type Peak struct {
	Bandwidth float64 // of memory, GB/s
	Compute   float64 // at the precision of the jobs, TFLOP/s
}

func (p Peak) known() bool {
	return p.Bandwidth > 0 && p.Compute > 0 && finite(p.Bandwidth) && finite(p.Compute)
}

// TypeRow is the measured throughput of a job on one GPU of a type, both numbered from 0.
type TypeRow struct {
	Type, Job  int
	Throughput float64 // in a unit of the job's own; ratios of one job alone have a meaning
}

// Types predicts the throughput of a job on a type of GPU that was not measured, from types
// that were:
//
//	log throughput = a + w_b · log bandwidth + w_f · log compute    ridge toward 0.5 and 0.3
//	log throughput = a + w · log bandwidth + (1 - w) · log compute  w from 0 to 1
//	log throughput = mean of the two nearest types
//
// a and the weights are those of a job. The answer is the median of the three. Its band is conformal: each known type is left out in
// turn, and 90 % of the residuals, as parts of 0.25 + distance, lie within it, the distance
// being that of the type to the nearest other one in log bandwidth and log compute. So the band
// is wider the farther a type is from the known ones.
type Types struct {
	peaks []Peak
	rows  []TypeRow
	known []int // types with rows, ascending
	score float64
	form  predictor
	own   float64 // what is added to the distance of a type
}

// predictor is the log of the throughput of a job on a type, from the rows of this job.
type predictor func(peaks []Peak, own []TypeRow, of Peak) float64

const (
	leastTypes    = 4
	ridgeStrength = 1.0
	ridgeBand     = 0.5 // toward which the weight of the bandwidth is drawn
	ridgeCompute  = 0.3
	ownDistance   = 0.25
	coverage      = 0.9
)

// NewTypes checks the measurements and finds the width of bands.
func NewTypes(peaks []Peak, rows []TypeRow) (*Types, error) {
	return newTypes(peaks, rows, middleOfThree, ownDistance)
}

func newTypes(peaks []Peak, rows []TypeRow, form predictor, own float64) (*Types, error) {
	for i, p := range peaks {
		if !p.known() {
			return nil, fmt.Errorf("type %d: found %v GB/s and %v TFLOP/s, want positive numbers", i, p.Bandwidth, p.Compute)
		}
	}
	seen := map[[2]int]bool{}
	for i, r := range rows {
		if r.Type < 0 || r.Type >= len(peaks) || r.Job < 0 || !(r.Throughput > 0) || !finite(r.Throughput) {
			return nil, fmt.Errorf("row %d: found type %d, job %d, throughput %v, want a type below %d and a positive throughput: a failed run is no measurement",
				i, r.Type, r.Job, r.Throughput, len(peaks))
		}
		if seen[[2]int{r.Type, r.Job}] {
			return nil, fmt.Errorf("row %d: found type %d with job %d again, want one row: take the median", i, r.Type, r.Job)
		}
		seen[[2]int{r.Type, r.Job}] = true
	}
	t := &Types{peaks: peaks, rows: rows, known: typesOf(rows), form: form, own: own}
	if len(t.known) < leastTypes {
		return nil, tooFew("types of GPUs with measurements", len(t.known), leastTypes)
	}
	t.score = conformal(t.scores())
	return t, nil
}

func typesOf(rows []TypeRow) []int {
	var out []int
	for _, r := range rows {
		out = append(out, r.Type)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Throughput is that of a job on GPUs of another type; false where fewer than two known types
// have run the job, or the peaks are not positive. A ratio of types is this band ÷ the measured
// throughput on the other one.
func (t *Types) Throughput(job int, of Peak) (hwmodel.Band, bool) {
	if !of.known() {
		return hwmodel.Band{}, false
	}
	v, known := t.predict(t.rows, job, of)
	if !known {
		return hwmodel.Band{}, false
	}
	half := t.score * (t.own + t.Distance(of))
	return hwmodel.Band{Value: libm.Exp(v), Low: libm.Exp(v - half), High: libm.Exp(v + half)}, true
}

// Distance is how far a type is from the nearest known one, in log bandwidth and log compute.
func (t *Types) Distance(of Peak) float64 { return distance(t.peaks, t.known, of) }

// scores are the residuals of each known type, left out, as parts of 0.25 + distance.
func (t *Types) scores() (out []float64) {
	for _, left := range t.known {
		rest := slices.DeleteFunc(slices.Clone(t.rows), func(r TypeRow) bool { return r.Type == left })
		scale := t.own + distance(t.peaks, typesOf(rest), t.peaks[left])
		for _, r := range t.rows {
			if r.Type != left {
				continue
			}
			if v, known := t.predict(rest, r.Job, t.peaks[left]); known {
				out = append(out, math.Abs(v-math.Log(r.Throughput))/scale)
			}
		}
	}
	return out
}

// conformal is the value that 90 % of further scores stay below, with the correction for the
// number of scores.
func conformal(scores []float64) float64 {
	if len(scores) == 0 {
		return math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(scores))
	rank := int(math.Ceil(coverage*float64(len(sorted)+1))) - 1
	return sorted[min(rank, len(sorted)-1)]
}

func distance(peaks []Peak, among []int, of Peak) float64 {
	least := math.Inf(1)
	for _, t := range among {
		least = min(least, apart(peaks[t], of))
	}
	return least
}

func apart(a, b Peak) float64 {
	return math.Abs(math.Log(a.Bandwidth/b.Bandwidth)) + math.Abs(math.Log(a.Compute/b.Compute))
}

func (t *Types) predict(rows []TypeRow, job int, of Peak) (float64, bool) {
	own := slices.DeleteFunc(slices.Clone(rows), func(r TypeRow) bool { return r.Job != job })
	if len(own) < 2 {
		return 0, false
	}
	return t.form(t.peaks, own, of), true
}

func middleOfThree(peaks []Peak, own []TypeRow, of Peak) float64 {
	return Median([]float64{ridge(peaks, own, of), roofline(peaks, own, of), nearestTwo(peaks, own, of)})
}

// centred are log bandwidth, log compute and log throughput of rows, less their means.
func centred(peaks []Peak, rows []TypeRow) (b, f, y []float64, means [3]float64) {
	for _, r := range rows {
		b = append(b, math.Log(peaks[r.Type].Bandwidth))
		f = append(f, math.Log(peaks[r.Type].Compute))
		y = append(y, math.Log(r.Throughput))
	}
	for i, column := range [][]float64{b, f, y} {
		for _, x := range column {
			means[i] += x / float64(len(rows))
		}
		for j := range column {
			column[j] -= means[i]
		}
	}
	return b, f, y, means
}

// ridge has two weights, which few rows do not draw far from those of most jobs.
func ridge(peaks []Peak, own []TypeRow, of Peak) float64 {
	b, f, y, means := centred(peaks, own)
	bb, bf, ff, by, fy := ridgeStrength, 0.0, ridgeStrength, 0.0, 0.0
	for i := range b {
		left := y[i] - ridgeBand*b[i] - ridgeCompute*f[i]
		bb, bf, ff = bb+b[i]*b[i], bf+b[i]*f[i], ff+f[i]*f[i]
		by, fy = by+b[i]*left, fy+f[i]*left
	}
	determinant := bb*ff - bf*bf
	wb, wf := ridgeBand+(ff*by-bf*fy)/determinant, ridgeCompute+(bb*fy-bf*by)/determinant
	return means[2] + wb*(math.Log(of.Bandwidth)-means[0]) + wf*(math.Log(of.Compute)-means[1])
}

// roofline has one weight between bandwidth and compute.
func roofline(peaks []Peak, own []TypeRow, of Peak) float64 {
	b, f, y, means := centred(peaks, own)
	var over, under float64
	for i := range b {
		d := b[i] - f[i]
		over, under = over+d*(y[i]-f[i]), under+d*d
	}
	w := 0.5
	if under > 0 {
		w = min(1, max(0, over/under))
	}
	return means[2] + w*(math.Log(of.Bandwidth)-means[0]) + (1-w)*(math.Log(of.Compute)-means[1])
}

// nearestTwo is the mean of the two nearest types that have run the job.
func nearestTwo(peaks []Peak, own []TypeRow, of Peak) float64 {
	sorted := slices.Clone(own)
	slices.SortStableFunc(sorted, func(a, b TypeRow) int {
		return cmp.Or(cmp.Compare(apart(peaks[a.Type], of), apart(peaks[b.Type], of)), cmp.Compare(a.Type, b.Type))
	})
	return (math.Log(sorted[0].Throughput) + math.Log(sorted[1].Throughput)) / 2
}
