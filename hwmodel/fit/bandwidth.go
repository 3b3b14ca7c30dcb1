package fit

import (
	"fmt"
	"slices"

	"orrery/hwmodel"
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
)

// Bandwidth fits transfers of one kind, such as the checkpoints of a class of jobs, by the median
// of the slopes of all pairs (Theil and Sen), whose interval is from the spread of
// Kendall's rank correlation. Transfers are in the order of time: where neighbours are slow or fast
// together, the intervals widen. Where all have about one size, latency and rate cannot be told from each other: the rate is then
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
	seconds := make([]float64, len(transfers))
	for i, x := range transfers {
		seconds[i] = x.Seconds
	}
	l, known := theilSen(sizes, seconds)
	if !known || !(l.slope.Low > 0) {
		r := &Refusal{What: "bandwidth", Found: "times that do not grow with the bytes beyond the noise", Want: "larger transfers, or steadier ones", Obtain: "record transfers of larger jobs, or on an idle store"}
		return BandwidthFit{Figure{Refused: r}, Figure{Refused: r}}, nil
	}
	of := Estimate{N: len(transfers), Units: "transfers", Residual: l.residual, Valid: valid}
	perByte, latency := of, of
	perByte.Band, latency.Band = l.slope, l.level
	perByte, latency = widened(perByte, l.left), widened(latency, l.left)
	if !(perByte.Low > 0) {
		r := &Refusal{What: "bandwidth", Found: "times that do not grow with the bytes beyond times in which the store is busy", Want: "transfers over a longer time", Obtain: "record for longer"}
		return BandwidthFit{Figure{Refused: r}, Figure{Refused: r}}, nil
	}
	out.Rate.Estimate, out.Latency.Estimate = of, latency
	out.Rate.Band = hwmodel.Band{Value: 1 / perByte.Value, Low: 1 / perByte.High, High: 1 / perByte.Low}
	return out, nil
}
