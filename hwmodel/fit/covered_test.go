package fit

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/scheduler/model/draw"
)

// The records that coverage is counted on. No estimator, no world and no bar was chosen by these
// seeds: where one of them is changed, take other seeds, or the figures say nothing.
const (
	firstSeed = 930_000_000
	seeds     = 1000
)

// records are the seeds.
func records(yield func(uint64) bool) {
	for k := range uint64(seeds) {
		if !yield(firstSeed + k) {
			return
		}
	}
}

// covered counts how many intervals hold the truth.
type covered map[string]tally

type tally struct{ held, of int }

func (c covered) add(name string, held bool) {
	x := c[name]
	x.of++
	if held {
		x.held++
	}
	c[name] = x
}

// share is the part that holds the truth, and the standard error of that part, %.
func (x tally) share() (percent, deviation float64) {
	p := float64(x.held) / float64(x.of)
	return 100 * p, 100 * math.Sqrt(p*(1-p)/float64(x.of))
}

// within asks for a coverage in these records, in %.
func (c covered) within(t *testing.T, least, most float64) { c.asked(t, least, most, 0) }

// about asks for a coverage that these records do not speak against: two standard errors are theirs.
func (c covered) about(t *testing.T, least, most float64) { c.asked(t, least, most, 2) }

func (c covered) asked(t *testing.T, least, most, errors float64) {
	t.Helper()
	require.NotEmpty(t, c)
	for _, name := range slices.Sorted(maps.Keys(c)) {
		p, deviation := c[name].share()
		t.Logf("%s: %.1f ± %.1f %% of %d", name, p, deviation, c[name].of)
		assert.GreaterOrEqual(t, p+errors*deviation, least, name)
		assert.LessOrEqual(t, p-errors*deviation, most, name)
	}
}

func holds(b hwmodel.Band, truth float64) bool { return b.Low <= truth && truth <= b.High }

// law is how units differ.
type law func(*draw.Source) float64

func normal(src *draw.Source) float64 { return src.Normal() }

// heavy is Student's law with 3 degrees of freedom and a variance of 1.
func heavy(src *draw.Source) float64 { return src.Normal() / math.Sqrt(src.Gamma(1.5, 2)) }

// skewed has a median of 0.
func skewed(src *draw.Source) float64 { return src.Exponential() - math.Ln2 }
