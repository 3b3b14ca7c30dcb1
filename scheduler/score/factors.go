package score

import (
	"math"

	"orrery/scheduler/model"
)

// half is the value of a factor of which nothing is known.
const half = model.One / 2

// PriorityOf is f1: class/10, for classes 0 to 10.
func PriorityOf(class int32) model.Fixed {
	return model.Ratio(int64(min(max(class, 0), model.SensitiveClass)), model.SensitiveClass)
}

// BurstEnds is the utilisation of a site from which a burst allowance adds nothing to a share.
const BurstEnds = (4*model.One + 4) / 5 // 0.8, rounded up

// FairShareOf is f3: max(0, (e-usage)/e), the part of its share that a tenant
// does not use. share and usage are fractions of the nodes; e is the share, or
// while utilisation u (of the site) is below 0.8, share * (1 + b (0.8-u)/0.8)
// with b = allowanceOf(burst). One half without a share.
func FairShareOf(share, burst, usage, utilisation model.Fixed) model.Fixed {
	if share <= 0 {
		return half
	}
	effective, allowance := share, allowanceOf(burst)
	// (0.8-u)/0.8 is (4-5u)/4, in which nothing is rounded before the end.
	if slack := 4*model.One - 5*utilisation.Clamp(0, model.One); slack > 0 && allowance > 0 {
		extra := allowance.Mul((slack + 2) / 4)
		effective = share.Mul(model.One + min(extra, math.MaxInt64-model.One))
	}
	if usage >= effective {
		return 0
	}
	return model.Ratio(int64(effective-max(usage, 0)), int64(effective))
}

// allowanceOf is what a burst limit adds: 1.5 is up to 150 % of the share, hence
// 0.5 on top. 0 for none, and for limits below 1.
func allowanceOf(burst model.Fixed) model.Fixed { return max(0, burst-model.One) }

// TopologyOf is f4: 1 - needed/groups, where needed is the fewest of the site's
// groups whose nodes could hold the request, at least 1. One half on a site
// without groups.
func TopologyOf(needed, groups int32) model.Fixed {
	if groups <= 0 {
		return half
	}
	return model.One - model.Ratio(int64(min(max(needed, 1), groups)), int64(groups))
}

// DataOf is f5: the fraction of the input on the hot tier, one half when it is
// unknown (negative).
func DataOf(ready model.Fixed) model.Fixed {
	if ready < 0 {
		return half
	}
	return min(ready, model.One)
}

// BacklogOf is f6: min(1, queued/running), both GPU time; 0 when nothing runs.
// Sums that saturate at model.Forever are as good as any.
func BacklogOf(queued, running model.Duration) model.Fixed {
	if running <= 0 {
		return 0
	}
	return min(model.One, model.Ratio(int64(max(queued, 0)), int64(running)))
}

// EnergyOf is f7: 1 - price, of a price from 0 to 1.
func EnergyOf(price model.Fixed) model.Fixed { return model.One - price.Clamp(0, model.One) }

// Minutes that a checkpoint takes when its size or the bandwidth is unknown.
const (
	autoMinutes   = 5
	manualMinutes = 10
)

// CheckpointOf is f8: 1/(1+minutes) to write one checkpoint of so many bytes at
// bandwidth B/s; 5 minutes (auto) or 10 (manual) when either is 0; 0 for jobs
// that has no checkpoints. Bandwidths beyond 7e16 B/s count as that.
func CheckpointOf(kind model.Checkpoint, bytes, bandwidth int64) model.Fixed {
	switch {
	case kind != model.CheckpointAuto && kind != model.CheckpointManual:
		return 0
	case bytes > 0 && bandwidth > 0:
	case kind == model.CheckpointAuto:
		return model.Ratio(1, 1+autoMinutes)
	default:
		return model.Ratio(1, 1+manualMinutes)
	}
	perMinute := 60 * min(bandwidth, math.MaxInt64/120)
	return model.Ratio(perMinute, perMinute+min(bytes, math.MaxInt64/2))
}

// ConformanceOf is f9: min(1, largest/nodes), where largest is the number of free
// nodes that the job may use in the largest conformance group of these.
func ConformanceOf(largest, nodes int32) model.Fixed {
	if nodes <= 0 {
		return model.One
	}
	return min(model.One, model.Ratio(int64(max(largest, 0)), int64(nodes)))
}
