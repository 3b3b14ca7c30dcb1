package service

import (
	"math/bits"

	"orrery/scheduler/model"
)

// Latency is a distribution of spans in bins that are at most 1/32 wide of what is in them,
// so that a percentile is off by that at most. The zero value is empty.
type Latency struct {
	bins    [binCount]float64
	N       float64 // requests with a known span
	Unknown float64 // and those that are longer than it is known
	Sum     float64 // µs, of the known
	Most    model.Duration
}

const (
	perPower = 32
	binCount = perPower * (64 - 5)
)

// bin of a span: exact below 64 µs, then 32 of equal width for each power of two.
func bin(d model.Duration) int {
	v := uint64(max(d, 0))
	if v < 2*perPower {
		return int(v)
	}
	power := bits.Len64(v) - 6 // v>>power is in [32, 64)
	return power*perPower + int(v>>power)
}

// edge is the largest span of a bin.
func edge(i int) model.Duration {
	if i < 2*perPower {
		return model.Duration(i)
	}
	power := i/perPower - 1
	low := uint64(i-power*perPower) << power
	return model.Duration(low + 1<<power - 1)
}

// Add takes in so many requests with a span, Forever where it is not known how long it is.
func (l *Latency) Add(d model.Duration, n float64) {
	if d == model.Forever {
		l.Unknown += n
		return
	}
	l.bins[bin(d)] += n
	l.N += n
	l.Sum += float64(n * float64(d))
	l.Most = max(l.Most, d)
}

// Mean of the known ones is 0 where there are none.
func (l *Latency) Mean() model.Duration {
	if l.N == 0 {
		return 0
	}
	return model.Duration(l.Sum / l.N)
}

// Percentile is the span that a share of the requests, 0 to 1, does not exceed: the upper
// end of its bin. Those of unknown length count as longer than all others: false where the
// percentile is one of them, or where there is no request.
func (l *Latency) Percentile(share float64) (model.Duration, bool) {
	all := l.N + l.Unknown
	left := float64(share * all)
	for i, n := range l.bins {
		if left -= n; n > 0 && left <= 1e-9*all {
			return min(edge(i), l.Most), true
		}
	}
	return 0, false
}
