package multifactor

import "orrery/scheduler/model"

// Term is one line of an explanation: Value times Weight, and what it adds to
// the priority. Nice has a weight of -1, and its value is in points.
type Term struct {
	Name   string // as the column of sprio(1), in lower case
	Value  model.Fixed
	Weight int64
	Adds   model.Fixed // points
}

// Explain appends the terms of the priority of a job to dst, in the order of
// the columns of sprio, one for each weight that is set; their sum, truncated
// and within the bounds, is the priority. Numbers beyond 2^31 points saturate.
func Explain(dst []Term, w *Weights, in *Inputs) []Term {
	for _, t := range []struct {
		name   string
		weight uint32
		adds   points
	}{
		{"age", w.Age, w.age(in)},
		{"assoc", w.Assoc, part(w.Assoc, in.Assoc)},
		{"fairshare", w.FairShare, w.fairShare(in)},
		{"jobsize", w.JobSize, w.jobSize(in)},
		{"partition", w.Partition, part(w.Partition, in.Partition)},
		{"qos", w.QOS, part(w.QOS, in.QOS)},
	} {
		if t.weight > 0 {
			dst = append(dst, Term{t.name, model.Ratio(int64(t.adds), int64(t.weight)<<fraction), int64(t.weight), t.adds.fixed()})
		}
	}
	for i, weight := range w.TRES[:min(len(w.TRES), len(in.TRES))] {
		one := Weights{TRES: []int32{weight}}
		adds := one.tres(&Inputs{TRES: in.TRES[i : i+1]})
		value := part(1<<(32-fraction), in.TRES[i])
		dst = append(dst, Term{"tres", model.Fixed(value), int64(weight), adds.fixed()})
	}
	if in.Site != 0 && w.Site > 0 {
		dst = append(dst, Term{"site", whole(in.Site).fixed(), int64(w.Site), w.site(in).fixed()})
	}
	if in.Nice != 0 {
		dst = append(dst, Term{"nice", whole(in.Nice).fixed(), -1, (-whole(in.Nice)).fixed()})
	}
	return dst
}

// fixed has eight fraction bits more than points, and saturates.
func (p points) fixed() model.Fixed {
	const shift = model.FractionBits - fraction
	const most = points(1)<<(63-shift) - 1
	return model.Fixed(min(max(p, -most), most)) << shift
}
