package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
)

// Transfer is a phase of I/O.
type Transfer struct {
	Bytes   float64
	Seconds float64
}

// BandwidthFit is seconds = Latency + bytes ÷ Rate. Its figures are valid for the bytes of the
// transfers.
type BandwidthFit struct {
	Rate    Figure // bytes/s
	Latency Figure // s
}

const (
	leastTransfers = 10
	leastSizes     = 2.0 // largest ÷ smallest transfer, without the tenth at either end, from which a latency is told
	mostPairs      = 500_000
)

// Bandwidth fits transfers of one kind, such as the checkpoints of a class of jobs, by the median
// of the slopes of all pairs (Theil and Sen), whose interval is from the spread of
// Kendall's rank correlation. Where all have about one size, latency and rate cannot be told from each other: the rate is then
// the median of bytes ÷ time, at that size alone, and the latency is refused.
func Bandwidth(transfers []Transfer) (BandwidthFit, error) {
	var out BandwidthFit
	sizes := make([]float64, len(transfers))
	for i, x := range transfers {
		if !(x.Bytes > 0) || !finite(x.Bytes) || !(x.Seconds > 0) || !finite(x.Seconds) {
			return out, fmt.Errorf("transfer %d: found %v bytes in %v s, want positive numbers", i, x.Bytes, x.Seconds)
		}
		sizes[i] = x.Bytes
	}
	if n := len(transfers); n < leastTransfers {
		r := fewer("bandwidth", n, leastTransfers, "transfers", "record more checkpoints or stagings, of two sizes at least")
		return BandwidthFit{Figure{Refused: r}, Figure{Refused: r}}, nil
	}
	valid := Range{slices.Min(sizes), slices.Max(sizes)}
	if !(Quantile(0.9, sizes) >= leastSizes*Quantile(0.1, sizes)) {
		rates := make([]float64, len(transfers))
		for i, x := range transfers {
			rates[i] = x.Bytes / x.Seconds
		}
		out.Rate.Estimate = middle(rates, "transfers")
		out.Rate.Valid = valid
		out.Latency = refused(Refusal{What: "latency of transfers", Found: fmt.Sprintf("sizes from %.3g to %.3g bytes", valid.Low, valid.High),
			Want: "sizes that differ by a factor of 2", Obtain: "record transfers of a small and a large job"})
		return out, nil
	}
	return theilSen(transfers, valid), nil
}

func theilSen(transfers []Transfer, valid Range) BandwidthFit {
	n := len(transfers)
	stride := 1 + int(float64(n)*float64(n)/(2*mostPairs)) // of many, each transfer is paired with each stride-th one behind it
	type pair struct {
		slope float64
		i, j  int
	}
	var pairs []pair
	for i := range transfers {
		for j := i + 1; j < n; j += stride {
			if a, b := transfers[i], transfers[j]; a.Bytes != b.Bytes {
				pairs = append(pairs, pair{(b.Seconds - a.Seconds) / (b.Bytes - a.Bytes), i, j})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.slope, b.slope) })
	count := len(pairs)
	slope := (pairs[(count-1)/2].slope + pairs[count/2].slope) / 2
	// How the pairs of each transfer lie about the slope says how far chance moves their middle.
	// Noise may grow with the size.
	over, of := make([]float64, n), make([]float64, n)
	for _, p := range pairs {
		sign := float64(cmp.Compare(p.slope, slope))
		over[p.i], over[p.j] = over[p.i]+sign, over[p.j]+sign
		of[p.i]++
		of[p.j]++
	}
	square := 0.0
	for i := range over {
		if of[i] > 0 {
			square += over[i] * over[i] / of[i] / of[i] / float64(n)
		}
	}
	m := float64(n)
	off := libm.StudentQuantile((1+Confidence)/2, m-2) * math.Sqrt(4*square/m) * float64(count)
	low := pairs[max(0, int(math.Floor((float64(count)-off)/2)))].slope
	high := pairs[min(count-1, int(math.Ceil((float64(count)+off)/2)))].slope
	if !(low > 0) {
		r := &Refusal{What: "bandwidth", Found: "times that do not grow with the bytes beyond the noise", Want: "larger transfers, or steadier ones", Obtain: "record transfers of larger jobs, or on an idle store"}
		return BandwidthFit{Figure{Refused: r}, Figure{Refused: r}}
	}
	rest := make([]float64, n)
	off2 := make([]float64, n)
	for i, x := range transfers {
		rest[i] = x.Seconds - slope*x.Bytes
	}
	latency := middle(rest, "transfers")
	// The latency moves with the slope about the middle of the sizes.
	sizes := make([]float64, n)
	for i, x := range transfers {
		sizes[i] = x.Bytes
		off2[i] = math.Abs(rest[i]-latency.Value) / x.Seconds
	}
	at := Median(sizes)
	below, above := latency.Value-latency.Low, latency.High-latency.Value
	latency.Low = latency.Value - math.Hypot(below, (high-slope)*at)
	latency.High = latency.Value + math.Hypot(above, (slope-low)*at)
	latency.Valid, latency.Residual = valid, Median(off2)
	rate := Estimate{Band: hwmodel.Band{Value: 1 / slope, Low: 1 / high, High: 1 / low}, N: n, Units: "transfers", Residual: Median(off2), Valid: valid}
	return BandwidthFit{Figure{Estimate: rate}, Figure{Estimate: latency}}
}
