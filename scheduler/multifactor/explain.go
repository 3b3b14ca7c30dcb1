package multifactor

import "orrery/scheduler/model"

// Column of an explanation, in the order of the columns of sprio(1) -l.
type Column uint8

// Columns of sprio, each with a weight of its own but nice.
const (
	ColumnSite Column = iota
	ColumnAge
	ColumnAssoc
	ColumnFairShare
	ColumnJobSize
	ColumnPartition
	ColumnQOS
	ColumnNice
	ColumnTRES // of all resources together
	NumColumns
)

// String is the name of the column in lower case.
func (c Column) String() string {
	return [NumColumns]string{"site", "age", "assoc", "fairshare", "jobsize", "partition", "qos", "nice", "tres"}[c]
}

// Term is one column of an explanation: Value times Weight, and what it adds to
// the priority. Site and nice have values in points, nice with a weight of -1. So
// have resources, with a weight of 1, unless one of them alone has a weight.
type Term struct {
	Value  model.Fixed
	Weight int64
	Adds   model.Fixed // points
}

// Explain returns the terms of the priority of a job; their sum, truncated and
// within the bounds, is the priority. Numbers from 2^31 points on saturate.
func Explain(w *Weights, in *Inputs) (t [NumColumns]Term) {
	for _, c := range [...]struct {
		at     Column
		weight uint32
		adds   points
	}{
		{ColumnAge, w.Age, w.age(in)},
		{ColumnAssoc, w.Assoc, part(w.Assoc, in.Assoc)},
		{ColumnFairShare, w.FairShare, w.fairShare(in)},
		{ColumnJobSize, w.JobSize, w.jobSize(in)},
		{ColumnPartition, w.Partition, part(w.Partition, in.Partition)},
		{ColumnQOS, w.QOS, part(w.QOS, in.QOS)},
	} {
		if c.weight > 0 {
			t[c.at] = Term{model.Ratio(int64(c.adds), int64(c.weight)<<fraction), int64(c.weight), c.adds.fixed()}
		}
	}
	t[ColumnSite] = Term{whole(in.Site).fixed(), int64(w.Site), w.site(in).fixed()}
	t[ColumnNice] = Term{whole(in.Nice).fixed(), -1, (-whole(in.Nice)).fixed()}
	t[ColumnTRES] = w.explainTRES(in)
	return t
}

func (w *Weights) explainTRES(in *Inputs) Term {
	adds, only, set := w.tres(in), 0, 0
	for i, weight := range w.TRES[:min(len(w.TRES), len(in.TRES))] {
		if weight != 0 {
			only, set = i, set+1
		}
	}
	switch set {
	case 0:
		return Term{}
	case 1:
		const one = 1 << (32 - fraction)
		return Term{model.Fixed(part(one, in.TRES[only])), int64(w.TRES[only]), adds.fixed()}
	}
	return Term{adds.fixed(), 1, adds.fixed()}
}

// fixed has eight fraction bits more than points, and saturates.
func (p points) fixed() model.Fixed {
	const shift = model.FractionBits - fraction
	const most = points(1<<31-1) << fraction
	return model.Fixed(min(max(p, -most), most)) << shift
}
