package multifactor

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

const (
	minute = model.Minute
	hour   = model.Hour
	day    = model.Day
)

// TestTerms has a row per formula, computed by hand.
func TestTerms(t *testing.T) {
	of := func(amount, whole int64) Part { return Part{amount, whole} }
	size := func(nodes, cpus int64, limit model.Duration) Inputs {
		return Inputs{Size: Size{of(nodes, 8), of(cpus, 512), limit}}
	}
	for _, c := range []struct {
		name string
		w    Weights
		in   Inputs
		want int64
	}{
		{"nothing", Weights{}, Inputs{}, 1},
		{"age, half of seven days", Weights{Age: 1000}, Inputs{Age: 84 * hour}, 500},
		{"age, full", Weights{Age: 1000}, Inputs{Age: 7 * day}, 1000},
		{"age, over", Weights{Age: 1000}, Inputs{Age: 30 * day}, 1000},
		{"age, half of an hour", Weights{Age: 1000, MaxAge: hour}, Inputs{Age: 30 * minute}, 500},
		{"age, whole seconds", Weights{Age: 3600, MaxAge: hour}, Inputs{Age: 7*model.Second + 999999}, 7},
		{"age, not yet eligible", Weights{Age: 1000}, Inputs{Age: -hour}, 1},
		{"fair share", Weights{FairShare: 10000}, Inputs{FairShare: model.One / 4}, 2500},
		{"size, 2 of 8 nodes and 100 of 512 CPUs", Weights{JobSize: 500}, size(2, 100, 0), 111}, // 500 (.25 + .1953125) / 2
		{"size, small favoured", Weights{JobSize: 500, FavorSmall: true}, size(2, 100, 0), 388},
		{"size, all", Weights{JobSize: 500}, size(8, 512, 0), 500},
		{"size, all, small favoured", Weights{JobSize: 500, FavorSmall: true}, size(8, 512, 0), 1},
		{"size, nodes only", Weights{JobSize: 500}, size(2, 0, 0), 125},
		{"size to 5 minutes", Weights{JobSize: 500, SizeToTime: true}, size(2, 100, 5*minute), 25},
		{"size to 5 minutes, CPUs", Weights{JobSize: 512, SizeToTime: true}, size(2, 256, 5*minute), 51}, // 256 / 5
		{"size to half a minute", Weights{JobSize: 500, SizeToTime: true}, size(2, 100, minute/2), 125},
		{"size to 4:01 minutes", Weights{JobSize: 500, SizeToTime: true}, size(2, 100, 4*minute+1), 25},
		{"size to time, small favoured", Weights{JobSize: 500, SizeToTime: true, FavorSmall: true}, size(2, 100, 5*minute), 475},
		{"size to no limit", Weights{JobSize: 500, SizeToTime: true, FavorSmall: true}, size(2, 100, model.Forever), 500},
		{"partition", Weights{Partition: 2000}, Inputs{Partition: of(30, 100)}, 600},
		{"quality of service", Weights{QOS: 3000}, Inputs{QOS: of(21, 70)}, 900},
		{"qualities of service without priorities", Weights{QOS: 3000}, Inputs{}, 1},
		{"association", Weights{Assoc: 700}, Inputs{Assoc: of(40, 100)}, 280},
		{"site", Weights{Site: 1}, Inputs{Site: 77}, 77},
		{"site, against", Weights{Site: 1, Age: 100}, Inputs{Site: -77, Age: 7 * day}, 23},
		{"nice", Weights{Age: 1000}, Inputs{Age: 7 * day, Nice: 137}, 863},
		{"nicer than any other", Weights{Age: 1000}, Inputs{Age: 7 * day, Nice: 2000}, 1},
		{"favoured by an administrator", Weights{}, Inputs{Nice: -50}, 50},
		{"resources", Weights{TRES: []int32{1111, 222, 3333}}, // 216.992 + 1.11 + 312.469
			Inputs{TRES: []Part{of(100, 512), of(20480, 4096000), of(6, 64)}}, 530},
		{"resources that cost", Weights{Age: 1000, TRES: []int32{-1000}}, Inputs{Age: 7 * day, TRES: []Part{of(1, 4)}}, 750},
		{"more than 32 bits", Weights{Age: math.MaxUint32, QOS: math.MaxUint32}, Inputs{Age: 7 * day, QOS: of(1, 1)}, math.MaxUint32},
		{"sums truncate, terms do not", Weights{Age: 1, QOS: 1}, Inputs{Age: 84 * hour, QOS: of(1, 2)}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, Priority(&c.w, &c.in))
			require.Equal(t, c.want, explained(&c.w, &c.in))
		})
	}
}

// explained is the priority by the terms of the explanation.
func explained(w *Weights, in *Inputs) int64 {
	var sum big.Int
	for _, t := range Explain(w, in) {
		sum.Add(&sum, big.NewInt(int64(t.Adds)))
	}
	sum.Rsh(&sum, model.FractionBits)
	if w.Age == math.MaxUint32 {
		return math.MaxUint32 // the terms themselves saturate
	}
	return max(1, sum.Int64())
}

// TestExplain names factors and what each adds.
func TestExplain(t *testing.T) {
	w := Weights{Age: 1000, FairShare: 10000, QOS: 3000, Site: 1, TRES: []int32{800}}
	in := Inputs{
		Age: 84 * hour, FairShare: model.One, QOS: Part{1, 4}, Assoc: Part{1, 2},
		TRES: []Part{{3, 4}}, Site: 20, Nice: 8,
	}
	require.Equal(t, [NumColumns]Term{
		ColumnSite:      {20 * model.One, 1, 20 * model.One},
		ColumnAge:       {model.One / 2, 1000, 500 * model.One},
		ColumnFairShare: {model.One, 10000, 10000 * model.One},
		ColumnQOS:       {model.One / 4, 3000, 750 * model.One},
		ColumnNice:      {8 * model.One, -1, -8 * model.One},
		ColumnTRES:      {model.One * 3 / 4, 800, 600 * model.One},
	}, Explain(&w, &in))
	require.EqualValues(t, 500+10000+750+600+20-8, Priority(&w, &in))

	w.TRES, in.TRES = []int32{800, 0, -100}, []Part{{3, 4}, {1, 2}, {1, 4}}
	require.Equal(t, Term{575 * model.One, 1, 575 * model.One}, Explain(&w, &in)[ColumnTRES], "of several resources their points")
	names := ""
	for c := range NumColumns {
		names += c.String() + " "
	}
	require.Equal(t, "site age assoc fairshare jobsize partition qos nice tres ", names)
}

// TestExact compares with rational arithmetic: the priority is the truncated
// sum but for sums within 2^-20 of an integer.
func TestExact(t *testing.T) {
	weight := rapid.OneOf(rapid.Uint32Range(0, 100000), rapid.Uint32())
	some := rapid.Custom(func(t *rapid.T) Part {
		whole := rapid.Int64Range(1, math.MaxInt64).Draw(t, "whole")
		return Part{rapid.Int64Range(0, whole).Draw(t, "amount"), whole}
	})
	rapid.Check(t, func(t *rapid.T) {
		w := Weights{
			FairShare: weight.Draw(t, "fairshare"), JobSize: weight.Draw(t, "jobsize"),
			Partition: weight.Draw(t, "partition"), QOS: weight.Draw(t, "qos"), Assoc: weight.Draw(t, "assoc"),
			TRES: []int32{rapid.Int32().Draw(t, "tres")}, FavorSmall: rapid.Bool().Draw(t, "small"),
		}
		in := Inputs{
			FairShare: model.Fixed(rapid.Int64Range(0, int64(model.One)).Draw(t, "share")),
			Size:      Size{Nodes: some.Draw(t, "nodes"), CPUs: some.Draw(t, "cpus")},
			Partition: some.Draw(t, "part"), QOS: some.Draw(t, "q"), Assoc: some.Draw(t, "a"),
			TRES: []Part{some.Draw(t, "tres")}, Nice: rapid.Int64Range(-10000, 10000).Draw(t, "nice"),
		}
		sum := new(big.Rat).SetInt64(-in.Nice)
		add := func(weight int64, p Part) { sum.Add(sum, term(weight, p)) }
		add(int64(w.FairShare), Part{int64(in.FairShare), int64(model.One)})
		add(int64(w.Partition), in.Partition)
		add(int64(w.QOS), in.QOS)
		add(int64(w.Assoc), in.Assoc)
		add(int64(w.TRES[0]), in.TRES[0])
		size := term(int64(w.JobSize), in.Size.Nodes)
		if in.Size.CPUs.Amount > 0 {
			size.Add(size, term(int64(w.JobSize), in.Size.CPUs))
			size.Quo(size, big.NewRat(2, 1))
		}
		if w.FavorSmall {
			size.Sub(new(big.Rat).SetInt64(int64(w.JobSize)), size)
		}
		sum.Add(sum, size)
		got := Priority(&w, &in)
		tolerance := big.NewRat(1, 1<<20)
		low := truncated(new(big.Rat).Sub(sum, tolerance))
		high := truncated(new(big.Rat).Add(sum, tolerance))
		require.GreaterOrEqual(t, got, low)
		require.LessOrEqual(t, got, high)
	})
}

func term(weight int64, p Part) *big.Rat {
	x := big.NewRat(p.Amount, p.Whole)
	return x.Mul(x, new(big.Rat).SetInt64(weight))
}

func truncated(x *big.Rat) int64 {
	q := new(big.Int).Quo(x.Num(), x.Denom())
	return min(max(q.Int64(), 1), math.MaxUint32)
}

func BenchmarkPriority(b *testing.B) {
	w := Weights{Age: 1000, FairShare: 10000, JobSize: 500, Partition: 2000, QOS: 3000, Assoc: 700, Site: 1, TRES: []int32{1, 2, 3}}
	in := Inputs{
		Age: 84 * hour, FairShare: model.One / 3, Size: Size{Nodes: Part{2, 8}, CPUs: Part{100, 512}},
		Partition: Part{30, 100}, QOS: Part{21, 70}, Assoc: Part{40, 100},
		TRES: []Part{{100, 512}, {1, 3}, {6, 64}}, Nice: 10,
	}
	b.ReportAllocs()
	for range b.N {
		Priority(&w, &in)
	}
}
