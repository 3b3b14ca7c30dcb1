package metric

import "strings"

// Sense is what the definition of a metric says of its values: which way it is better,
// which is one of Lower, Higher and Neither, and what else holds of it.
type Sense uint8

const (
	Lower   Sense = 1 << iota // less is better
	Higher                    // more is better
	Neither                   // neither is good
	// GrowsWithLog is of what is made of waits and queues: when the cluster is OVERLOADED it
	// goes with the length of the log, so that such a run is not ranked by it.
	GrowsWithLog
	// MeanOverJobs is of a mean over jobs: the mean over two windows is that of their jobs.
	MeanOverJobs
)

// Better is 1 when more is better, -1 when less is, and 0 when neither is good.
func (s Sense) Better() int {
	switch {
	case s&Higher != 0:
		return 1
	case s&Lower != 0:
		return -1
	}
	return 0
}

// String is "lower" or "higher", what is better; "" when neither is.
func (s Sense) String() string {
	return [...]string{"lower", "", "higher"}[1+s.Better()]
}

// SenseOf is what the definition says of a metric of a run, or of a number of a group,
// with or without the group that it is of: "starved", "starved of tenant a". It is 0 of what is neither.
func SenseOf(name string) Sense {
	name, _, ofGroup := strings.Cut(name, " of ")
	if d := definitionOf(name); d != nil && !ofGroup {
		return d.Sense
	}
	if c := ColumnOf(name); c != nil {
		return c.Sense
	}
	return 0
}

// Lengthens says whether a metric goes with the length of the log when the
// cluster is OVERLOADED, so that such a run is not ranked by it.
func Lengthens(name string) bool { return SenseOf(name)&GrowsWithLog != 0 }

// OverJobs says whether a metric is a mean over jobs, so that the mean over two
// windows is that of their jobs.
func OverJobs(name string) bool { return SenseOf(name)&MeanOverJobs != 0 }
