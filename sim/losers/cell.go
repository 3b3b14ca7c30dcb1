package losers

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
)

// Cell holds sums over the jobs of a run that agree in six names. A name is "" where the
// log or the cluster gives the jobs none: a log does not tell that from an empty name.
type Cell struct {
	Runtime   string `json:"runtime"` // class of run times, as metric.RuntimeName
	Size      string `json:"size"`    // class of sizes, as metric.SizeName
	User      string `json:"user,omitempty"`
	Tenant    string `json:"tenant,omitempty"`
	Partition string `json:"partition,omitempty"`
	VCluster  string `json:"vcluster,omitempty"`

	Jobs      int64 `json:"jobs"`
	Unstarted int64 `json:"unstarted,omitempty"` // of these, that never started
	Waits     Sum   `json:"waits"`               // of those that started
	Work      int64 `json:"work"`                // unit·s: units asked for × run time in whole seconds
}

// dimensions are what groups are by, in the order in which names are crossed.
var dimensions = [...]struct {
	by string
	of func(*Cell) string
}{
	{"user", func(c *Cell) string { return c.User }},
	{"tenant", func(c *Cell) string { return c.Tenant }},
	{"partition", func(c *Cell) string { return c.Partition }},
	{"vcluster", func(c *Cell) string { return c.VCluster }},
	{"runtime", func(c *Cell) string { return c.Runtime }},
	{"size", func(c *Cell) string { return c.Size }},
}

// Compare orders cells by their names.
func (c *Cell) Compare(o *Cell) int {
	for k := range dimensions {
		if by := strings.Compare(dimensions[k].of(c), dimensions[k].of(o)); by != 0 {
			return by
		}
	}
	return 0
}

// Sort puts cells in the order of their names.
func Sort(cells []Cell) {
	slices.SortStableFunc(cells, func(a, b Cell) int { return a.Compare(&b) })
}

// add adds the numbers of another cell.
func (c *Cell) add(o *Cell) {
	c.Jobs += o.Jobs
	c.Unstarted += o.Unstarted
	c.Waits = c.Waits.Plus(o.Waits)
	c.Work += o.Work
}

// meanWait of the jobs that started, in seconds; 0 without one.
func (c *Cell) meanWait() float64 {
	if c.Jobs == c.Unstarted {
		return 0
	}
	return c.Waits.Over(c.Jobs - c.Unstarted)
}

// Sum is an exact sum of times in two parts, because µs alone overflow in large logs. US
// is from 0 to 999,999, for sums below 0 too.
type Sum struct {
	S  int64 `json:"s"`
	US int64 `json:"us,omitempty"`
}

const second = 1_000_000 // µs

// Add adds a time in µs.
func (s *Sum) Add(us int64) { *s = s.Plus(Sum{us / second, us % second}) }

// Plus is s + o.
func (s Sum) Plus(o Sum) Sum { return Sum{s.S + o.S, s.US + o.US}.normal() }

// Minus is s - o.
func (s Sum) Minus(o Sum) Sum { return Sum{s.S - o.S, s.US - o.US}.normal() }

// normal brings US into its range, from less than a second below it or above it.
func (s Sum) normal() Sum {
	if s.US < 0 {
		s.S, s.US = s.S-1, s.US+second
	}
	if s.US >= second {
		s.S, s.US = s.S+1, s.US-second
	}
	return s
}

// Compare orders sums.
func (s Sum) Compare(o Sum) int { return cmp.Or(cmp.Compare(s.S, o.S), cmp.Compare(s.US, o.US)) }

// Seconds is the sum as a number.
func (s Sum) Seconds() float64 { return float64(s.S) + float64(s.US)/second }

// Over is the sum in seconds divided by n, rounded once, so that a mean wait is the same
// number as in the table of metrics.
func (s Sum) Over(n int64) float64 {
	us := new(big.Int).Mul(big.NewInt(s.S), big.NewInt(second))
	us.Add(us, big.NewInt(s.US))
	x, _ := new(big.Rat).SetFrac(us, new(big.Int).Mul(big.NewInt(n), big.NewInt(second))).Float64()
	return x
}
