package naive_test

import (
	"testing"

	"orrery/scheduler/site"

	"pgregory.net/rapid"
)

// TestSiteAgainstNaive holds the core of a site against the naive implementation on
// small worlds, from plain ones to those with everything at once.
func TestSiteAgainstNaive(t *testing.T) {
	for _, c := range []struct {
		name string
		with naiveFeature
	}{
		{"plain", 0},
		{"easy", withEasy},
		{"groups", withEasy | withGroups},
		{"sensitive", withEasy | withGroups | withSensitive},
		{"constraints", withEasy | withConstraints},
		{"hold", withEasy | withHold | withCancels},
		{"rankings", withEasy | withRankings | withGroups},
		{"prices", withEasy | withRankings | withPrices},
		{"limits", withEasy | withRankings | withLimits},
		{"qos", withEasy | withRankings | withQOS},
		{"partitions", withEasy | withRankings | withPartitions},
		{"caps", withEasy | withCaps},
		{"dependencies", withEasy | withDependencies | withCancels},
		{"node states", withEasy | withNodeStates},
		{"reservations", withEasy | withReservations},
		{"cycles", withEasy | withCycles | withRankings},
		{"lanes", withEasy | withVClusters},
		{"conflicts", withEasy | withVClusters | withConflicts | withCancels},
		{"borrowing", withEasy | withVClusters | withBorrowing},
		{"ranges", withEasy | withRanges | withGroups},
		{"gpus", withEasy | withGPUs | withSensitive},
		{"preemption", withEasy | withPreemption},
		{"reclaim", withEasy | withPreemption | withBorrowing | withVClusters},
		{"limits, lanes", withEasy | withVClusters | withLimits | withQOS | withPartitions | withBorrowing | withConflicts},
		{"caps, preemption", withEasy | withCaps | withPreemption | withVClusters | withConflicts | withBorrowing},
		{"caps, gpus", withEasy | withCaps | withGPUs | withPreemption | withNodeStates},
		{"caps, amounts", withEasy | withCaps | withAmounts | withGPUs | withServices | withVClusters | withConflicts},
		{"caps, states", withEasy | withCaps | withNodeStates | withCycles | withRankings | withReservations},
		{"caps, ranges", withEasy | withCaps | withRanges | withVClusters | withConflicts},
		{"preemption, gpus", withEasy | withPreemption | withGPUs | withGroups | withSensitive | withReservations},
		{"preemption, states", withEasy | withPreemption | withNodeStates | withGroups | withConflicts | withVClusters | withReservations},
		{"all but min score", everyFeature &^ (withConservative | withMinScore | withGPUs | withAmounts)},
		{"all but min score, gpus", everyFeature &^ (withConservative | withMinScore | withAmounts)},
		{"overdue", withEasy | withOverdue | withVClusters | withConflicts},
		{"conservative", withConservative | withOverdue},
		{"conservative, rankings", withEasy | withConservative | withRankings | withGroups | withSensitive},
		{"conservative, caps", withConservative | withCaps},
		{"conservative, caps, lanes", withEasy | withOverdue | withConservative | withCaps | withVClusters | withConflicts | withCancels | withRanges},
		{"conservative, cycles", withEasy | withConservative | withCaps | withCycles | withRankings | withVClusters | withBorrowing | withHold},
		{"conservative, states", withConservative | withNodeStates | withReservations | withConstraints | withConflicts},
		{"conservative, limits", withConservative | withLimits | withQOS | withPartitions | withDependencies | withRankings},
		{"conservative, bounds", withConservative | withBounds | withOverdue},
		{"conservative, bounds, cycles", withEasy | withConservative | withBounds | withCycles | withRankings | withVClusters | withConflicts | withCancels | withRanges},
		{"conservative, bounds, caps", withConservative | withBounds | withCaps | withNodeStates | withReservations | withLimits | withQOS},
		{"days", withDays | withCycles | withRankings | withVClusters | withHold},
		{"days, conservative", withDays | withEasy | withConservative | withBounds | withCycles | withRankings | withVClusters | withNodeStates | withCancels},
		{"days, min score", withDays | withEasy | withCycles | withRankings | withMinScore | withReservations | withLimits},
		{"conservative, preemption", withConservative | withPreemption | withVClusters | withBorrowing | withReservations},
		{"everything on whole nodes", everyFeature &^ (withGPUs | withAmounts)},
		{"everything on shared nodes", everyFeature &^ withAmounts},
		{"amounts", withAmounts},
		{"amounts, easy", withEasy | withAmounts | withGPUs | withSensitive},
		{"amounts without gpus", withEasy | withAmounts | withGroups | withConstraints | withRankings},
		{"amounts, lanes", withEasy | withAmounts | withGPUs | withVClusters | withBorrowing | withConflicts | withCancels | withNodeStates},
		{"amounts, preemption", withEasy | withAmounts | withGPUs | withPreemption | withVClusters | withBorrowing | withReservations},
		{"amounts, services", withEasy | withAmounts | withGPUs | withServices | withRanges | withVClusters | withConflicts | withCaps},
		{"amounts, limits", withEasy | withAmounts | withGPUs | withLimits | withQOS | withPartitions | withRankings},
		{"everything on amounts", everyFeature},
		{"services", withEasy | withServices},
		{"services, groups", withEasy | withServices | withGroups | withSensitive | withConstraints},
		{"services, gpus", withEasy | withServices | withGPUs | withSensitive | withGroups},
		{"services, limits", withEasy | withServices | withLimits | withQOS | withPartitions | withSensitive},
		{"services, caps", withEasy | withServices | withCaps | withRanges},
		{"services, rankings", withEasy | withServices | withRankings | withGroups | withLimits | withMinScore},
		{"services, cycles", withEasy | withServices | withCycles | withRankings | withHold},
		{"services, lanes", withEasy | withServices | withVClusters | withBorrowing | withSensitive},
		{"services, conflicts", withEasy | withServices | withVClusters | withConflicts | withCancels | withBorrowing | withLimits | withCaps},
		{"services, preemption", withEasy | withServices | withPreemption | withVClusters | withBorrowing | withGroups},
		{"services, states", withEasy | withServices | withReservations | withNodeStates | withOverdue | withSensitive},
		{"services, conservative", withServices | withConservative | withOverdue},
		{"services, conservative, caps", withServices | withConservative | withCaps | withVClusters | withConflicts | withReservations},
		{"services, conservative, power", withServices | withConservative | withCaps},
		{"services, conservative, bounds", withEasy | withServices | withConservative | withBounds | withCycles | withRankings | withNodeStates},
		{"services, days", withDays | withServices | withEasy | withConservative | withCycles | withVClusters | withBorrowing},
		{"scaled", withEasy | withServices | withScaled | withVClusters | withBorrowing},
		{"scaled, reclaim", withEasy | withServices | withScaled | withVClusters | withBorrowing | withPreemption},
		{"scaled, conflicts", withEasy | withServices | withScaled | withVClusters | withBorrowing | withPreemption | withConflicts | withCancels | withNodeStates | withReservations},
		{"scaled, limits", withEasy | withServices | withScaled | withVClusters | withBorrowing | withLimits | withQOS | withPartitions | withCaps},
		{"scaled, amounts", withEasy | withServices | withScaled | withVClusters | withBorrowing | withAmounts | withGPUs | withPreemption},
		{"scaled, everything", everyFeature | withScaled},
		{"min score", withEasy | withRankings | withMinScore},
		{"homes", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption},
		{"homes, full", withEasy | withVClusters | withHomes | withCycles | withBorrowing | withLimits | withConflicts | withCancels},
		{"homes, full, dependencies", withEasy | withVClusters | withHomes | withCycles | withBorrowing | withLimits | withQOS | withRankings | withDependencies | withCaps},
		{"homes, borrowing", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withBorrowing | withConflicts | withCancels},
		{"homes, limits", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withLimits | withQOS | withPartitions | withDependencies},
		{"homes, caps", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withBorrowing | withCaps | withPrices | withRanges},
		{"homes, states", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withBorrowing | withNodeStates | withReservations | withSensitive | withGroups | withOverdue},
		{"homes, gpus", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withBorrowing | withGPUs | withSensitive | withLimits},
		{"homes, services", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withBorrowing | withServices | withScaled | withCaps | withLimits},
		{"homes, gpus, qos", withEasy | withVClusters | withHomes | withCycles | withRankings | withGPUs | withLimits | withQOS},
		{"homes, amounts", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withBorrowing | withAmounts | withGPUs | withLimits},
		{"homes, days", withDays | withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withBorrowing | withLimits | withCaps},
		{"homes, everything", everyFeature&^withConservative | withScaled | withHomes},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawNaive(t, c.with)
				if err := w.cfg.Validate(); err != nil {
					t.Fatal(err)
				}
				if diff := w.run(site.New(w.cfg), w.naive()); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}
