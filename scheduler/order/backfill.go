package order

import (
	"fmt"
	"slices"
	"strings"
)

// Backfill is a rule that says which jobs may run in front of a blocked one.
type Backfill uint8

const (
	// None: no job overtakes the head of the queue.
	None Backfill = iota
	// FirstFit: each job that fits starts; nothing is held back for any other.
	FirstFit
	// Easy: the first blocked job holds a reservation at the earliest instant
	// it is predicted to fit, and no other may delay that (Lifka 1995).
	Easy
	// Conservative: every waiting job (or the first Depth) holds a
	// reservation, compressed when jobs end early (Mu'alem and Feitelson 2001).
	Conservative
)

var backfillNames = [...]string{"none", "first-fit", "easy", "conservative"}

// Valid says that b is one of the rules.
func (b Backfill) Valid() bool { return int(b) < len(backfillNames) }

// String is the canonical name.
func (b Backfill) String() string { return backfillNames[b] }

// BackfillNames lists the canonical names.
func BackfillNames() []string { return append([]string(nil), backfillNames[:]...) }

// ParseBackfill accepts the canonical names.
func ParseBackfill(s string) (Backfill, error) {
	i := slices.Index(backfillNames[:], strings.ToLower(s))
	if i < 0 {
		return 0, fmt.Errorf("unknown backfill %q: want one of %s (conservative takes a depth as conservative:50)", s, strings.Join(backfillNames[:], ", "))
	}
	return Backfill(i), nil
}
