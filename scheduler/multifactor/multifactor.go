// Package multifactor computes the priority that Slurm's plugin
// priority/multifactor gives a job, in integers, so that a site can replay its
// own order as the baseline. It knows numbers only: the factors of jobs and
// the usage of associations; whose they are, and what starts, is decided
// elsewhere.
//
// Formulas are those of the page "Multifactor Priority Plugin" and of the man
// pages slurm.conf(5) and sprio(1), options by their names there. Slurm adds up
// in double precision; here every term is exact to 2^-25 points, so the two
// differ by one point where the true sum lies that close to an integer.
package multifactor

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
)

// defaultMaxAge of Weights, as in slurm.conf(5).
const defaultMaxAge = 7 * model.Day

// Weights says how many points each factor is worth.
type Weights struct {
	Age       uint32 // PriorityWeightAge
	FairShare uint32 // PriorityWeightFairshare
	JobSize   uint32 // PriorityWeightJobSize
	Partition uint32 // PriorityWeightPartition
	QOS       uint32 // PriorityWeightQOS
	Assoc     uint32 // PriorityWeightAssoc
	// Site multiplies the points of the site factor. Slurm adds them as they
	// are, which is a weight of 1.
	Site uint32
	// TRES are the weights of PriorityWeightTRES, which may be negative, in the
	// order of Inputs.TRES.
	TRES []int32

	MaxAge     model.Duration // PriorityMaxAge, 0 for the default
	FavorSmall bool           // PriorityFavorSmall
	// SizeToTime is SMALL_RELATIVE_TO_TIME of PriorityFlags: the size of a job is
	// divided by its time limit.
	SizeToTime bool

	Sharing Sharing // of the fair share factor, see NewTree
}

// Inputs is what the priority of one job depends on. Amounts and what they are
// a part of may be in any unit, the same for both; none is negative, and what
// has no whole counts as a factor of 0.
type Inputs struct {
	Age       model.Duration // since it became eligible; Slurm counts whole seconds
	FairShare model.Fixed    // of its association, 0 to 1: see Tree
	Size      Size
	Partition Part // PriorityJobFactor, of the highest of all partitions
	QOS       Part // Priority of the QOS, of the highest of all
	Assoc     Part // Priority of the association, of the highest of all
	TRES      []Part
	Site      int64 // points of the site factor, of either sign
	Nice      int64
}

// Part is an amount and the whole that it is a part of.
type Part struct{ Amount, Whole int64 }

// Size is how large a job is. CPUs may be counted in any unit of a node, such
// as GPUs; without them the nodes alone decide.
type Size struct {
	Nodes Part // of the cluster
	CPUs  Part // likewise
	Limit model.Duration
}

// points is a number of points with 24 fraction bits; nine terms of 2^32
// points fit easily.
type points int64

const fraction = 24

// Priority is the sum of all terms, truncated, at least 1 (0 is what Slurm
// gives held jobs) and at most 2^32-1.
func Priority(w *Weights, in *Inputs) int64 {
	sum := w.age(in) + w.fairShare(in) + w.jobSize(in) + part(w.Partition, in.Partition) +
		part(w.QOS, in.QOS) + part(w.Assoc, in.Assoc) + w.site(in) + w.tres(in) - whole(in.Nice)
	return int64(min(max(sum>>fraction, 1), math.MaxUint32))
}

// age is min(1, age / PriorityMaxAge).
func (w *Weights) age(in *Inputs) points {
	most := w.MaxAge
	if most <= 0 {
		most = defaultMaxAge
	}
	seconds := max(0, in.Age) / model.Second * model.Second
	return part(w.Age, Part{int64(seconds), int64(most)})
}

func (w *Weights) fairShare(in *Inputs) points {
	return part(w.FairShare, Part{int64(max(0, in.FairShare)), int64(model.One)})
}

// jobSize is the mean of the fractions of the cluster's nodes and CPUs, or what
// is missing to 1 when small jobs are favoured.
func (w *Weights) jobSize(in *Inputs) points {
	s := &in.Size
	var size points
	switch {
	case w.JobSize == 0:
		return 0
	case w.SizeToTime:
		size = s.relative(w.JobSize)
	case s.CPUs.Amount > 0 && s.CPUs.Whole > 0:
		size = (part(w.JobSize, s.Nodes) + part(w.JobSize, s.CPUs)) / 2
	default:
		size = part(w.JobSize, s.Nodes)
	}
	if w.FavorSmall {
		return points(w.JobSize)<<fraction - size
	}
	return size
}

// relative is the larger of the two fractions divided by the minutes of the
// time limit, which Slurm rounds up.
func (s *Size) relative(weight uint32) points {
	minutes := int64(1)
	if s.Limit > model.Minute {
		minutes = (int64(s.Limit)-1)/int64(model.Minute) + 1
	}
	size := max(part(weight, s.Nodes), part(weight, s.CPUs))
	return (size + points(minutes/2)) / points(minutes)
}

// site and nice are points already.
func (w *Weights) site(in *Inputs) points { return whole(in.Site) * points(w.Site) }

// tres adds up the weights of what the job asks for, as parts of what its
// partition has.
func (w *Weights) tres(in *Inputs) (sum points) {
	for i, weight := range w.TRES[:min(len(w.TRES), len(in.TRES))] {
		if weight < 0 {
			sum -= part(uint32(-int64(weight)), in.TRES[i])
		} else {
			sum += part(uint32(weight), in.TRES[i])
		}
	}
	return sum
}

// whole is n as points, within 2^32 of either sign so that no sum overflows.
func whole(n int64) points {
	return points(min(max(n, -math.MaxUint32), math.MaxUint32)) << fraction
}

// part is weight times p, rounded to the nearest; p counts as 1 at most.
func part(weight uint32, p Part) points {
	switch {
	case weight == 0 || p.Amount <= 0 || p.Whole <= 0:
		return 0
	case p.Amount >= p.Whole:
		return points(weight) << fraction
	}
	hi, lo := bits.Mul64(uint64(weight)<<fraction, uint64(p.Amount))
	lo, carry := bits.Add64(lo, uint64(p.Whole)/2, 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(p.Whole))
	return points(q)
}
