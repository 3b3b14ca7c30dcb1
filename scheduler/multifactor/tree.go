package multifactor

import (
	"fmt"
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/quota/halflife"
)

// Defaults of Sharing, as in slurm.conf(5).
const (
	DefaultHalfLife = 7 * model.Day
	defaultPeriod   = 5 * model.Minute
)

// Sharing says how the fair share factor comes from usage.
type Sharing struct {
	HalfLife  model.Duration // PriorityDecayHalfLife, 0 for the default, Forever for no decay
	Period    model.Duration // PriorityCalcPeriod, 0 for the default
	Dampening int32          // FairShareDampeningFactor of the classic algorithm, 0 for 1
	// FairTree ranks users by their accounts, Slurm's own default; otherwise the
	// factor is the classic one (NO_FAIR_TREE of PriorityFlags).
	FairTree bool
}

// Association is an account or a user in it, as sacctmgr(1) lists them. Users
// run jobs, accounts have associations below them.
type Association struct {
	Parent int32 // index of its account, before its own; -1 below the root
	Shares int64 // Fairshare, of those with the same parent
	User   bool
}

// Tree is the usage of all associations and the fair share factors that come
// from it. Use takes constant time, but for the first call after the end of a
// period; Freeze takes time in proportion to the associations, with FairTree
// and a logarithm. Neither allocates.
type Tree struct {
	of      []association
	below   []int32 // children by parent, the root's first
	first   []int32 // where the children of i-1 begin in below
	list    []int32 // scratch of the ranking
	users   int64
	tick    model.Duration
	left    halflife.Factor
	half    model.Duration // Forever for no decay
	damping int64
	ranked  bool
	started bool
	next    model.Time // end of the period
}

type association struct {
	Association
	siblings int64 // shares of all with this parent
	shares   part62
	held     int64 // units of usage per microsecond
	since    model.Time
	recent   int64 // used up to since, decayed up to the begin of the period
	used     int64 // recent, with all below it, as of the last Freeze
	level    level
	effect   part62
	factor   model.Fixed
}

// part62 is a number from 0 to 1 with 62 fraction bits.
type part62 int64

const one62 part62 = 1 << 62

// NewTree checks the associations and gives each the factor of one that has
// used nothing.
func NewTree(list []Association, s *Sharing) (*Tree, error) {
	t := &Tree{
		of: make([]association, len(list)), list: make([]int32, 0, len(list)),
		tick: s.Period, damping: max(1, int64(s.Dampening)), ranked: s.FairTree, left: halflife.One,
	}
	if t.tick <= 0 {
		t.tick = defaultPeriod
	}
	half := s.HalfLife
	if half <= 0 {
		half = DefaultHalfLife
	}
	t.half = half
	if half != model.Forever {
		t.left = halflife.Left(int64(t.tick), int64(half))
	}
	sums := make([]int64, len(list)+1) // shares by parent, the root's first
	for i, a := range list {
		if err := check(list, i); err != nil {
			return nil, err
		}
		t.of[i].Association = a
		sums[a.Parent+1] += a.Shares
		if a.User {
			t.users++
		}
	}
	t.family()
	for i := range t.of {
		a := &t.of[i]
		a.siblings = sums[a.Parent+1]
		a.shares = t.sharesOf(a.Parent).of(a.Shares, a.siblings)
	}
	t.rate()
	return t, nil
}

// maxShares keeps sums within an int64: 2^32 associations of 2^31 shares.
const maxShares = 1<<31 - 1

func check(list []Association, i int) error {
	a := list[i]
	switch {
	case a.Parent < -1 || int(a.Parent) >= i:
		return fmt.Errorf("association %d has the parent %d: name one that stands before it, or -1 for the root", i, a.Parent)
	case a.Parent >= 0 && list[a.Parent].User:
		return fmt.Errorf("association %d has the parent %d, which is a user: name an account", i, a.Parent)
	case a.Shares < 0 || a.Shares > maxShares:
		return fmt.Errorf("association %d has %d shares: give 0 to %d", i, a.Shares, int64(maxShares))
	}
	return nil
}

// family lists the children of each association, and of the root.
func (t *Tree) family() {
	t.first = make([]int32, len(t.of)+2)
	for i := range t.of {
		t.first[t.of[i].Parent+2]++
	}
	for i := 1; i < len(t.first); i++ {
		t.first[i] += t.first[i-1]
	}
	at := append([]int32(nil), t.first...)
	t.below = make([]int32, len(t.of))
	for i := range t.of {
		p := t.of[i].Parent + 1
		t.below[at[p]] = int32(i)
		at[p]++
	}
}

// children of association p, -1 for the root.
func (t *Tree) children(p int32) []int32 { return t.below[t.first[p+1]:t.first[p+2]] }

func (t *Tree) sharesOf(parent int32) part62 {
	if parent < 0 {
		return one62
	}
	return t.of[parent].shares
}

// of is x times a/b for 0 <= a <= b, and 0 when there is no b.
func (x part62) of(a, b int64) part62 {
	if b <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(x), uint64(a))
	q, _ := bits.Div64(hi, lo, uint64(b))
	return part62(q)
}

// nextTick is the end of the period in which now lies, a multiple of it since
// the epoch of the trace.
func (t *Tree) nextTick(now model.Time) model.Time {
	past := model.Duration(now) % t.tick
	if past < 0 {
		past += t.tick
	}
	return now.Add(t.tick - past)
}

// Use says that user i holds more units from now on, or fewer: the billing
// TRES of a job, added at its start and taken off at its end. Usage is in units
// times microseconds and must stay below 2^63 in all.
func (t *Tree) Use(i int32, more int64, now model.Time) {
	t.pass(now)
	a := &t.of[i]
	a.charge(now)
	a.held += more
}

// pass decays everything used so far at the end of each period up to now; what
// is used within a period does not decay yet.
func (t *Tree) pass(now model.Time) {
	if !t.started {
		t.started, t.next = true, t.nextTick(now)
		for i := range t.of {
			t.of[i].since = now
		}
	}
	for t.next <= now {
		idle := true
		for i := range t.of {
			a := &t.of[i]
			a.charge(t.next)
			a.recent = t.left.Of(a.recent)
			idle = idle && a.recent == 0 && a.held == 0
		}
		if t.next = t.next.Add(t.tick); idle && t.next <= now { // nothing is left to decay: on to the last period
			t.next = t.next.Add(now.Sub(t.next) / t.tick * t.tick)
		}
	}
}

// charge adds what a has used since the last time.
func (a *association) charge(now model.Time) {
	if d := int64(now.Sub(a.since)); d > 0 {
		a.recent += a.held * d
		a.since = now
	}
}

// Freeze computes the factors of all users as of now; they hold until the next
// one.
func (t *Tree) Freeze(now model.Time) {
	t.pass(now)
	for i := range t.of {
		t.of[i].charge(now)
	}
	t.rate()
}

func (t *Tree) rate() {
	var all int64
	for i := range t.of {
		t.of[i].used = t.of[i].recent
	}
	for i := len(t.of) - 1; i >= 0; i-- {
		if p := t.of[i].Parent; p >= 0 {
			t.of[p].used += t.of[i].used
		} else {
			all += t.of[i].used
		}
	}
	t.factors(all)
}

// factors computes those of all associations from what is used, in all and below each.
func (t *Tree) factors(all int64) {
	if t.ranked {
		t.rank(all)
		return
	}
	for i := range t.of {
		t.classic(&t.of[i], all)
	}
}

// classic is 2^(-(usage / shares) / dampening), as in the page "Classic
// Fairshare Algorithm". Usage is the effective one: an association's own part
// of all usage, moved towards that of its account by its shares among its
// siblings.
func (t *Tree) classic(a *association, all int64) {
	a.effect = one62.of(a.used, all)
	if a.Parent >= 0 {
		a.effect += (t.of[a.Parent].effect - a.effect).of(a.Shares, a.siblings)
	}
	const spare = 16 // bits for the dampening
	if whole := int64(a.shares>>spare) * t.damping; whole > 0 {
		a.factor = model.Fixed(halflife.Left(int64(a.effect>>spare), whole) >> (63 - model.FractionBits))
	} else {
		a.factor = 0
	}
}

// Factor is the fair share factor of association i, 0 to 1, as of the last
// Freeze. With FairTree accounts have none.
func (t *Tree) Factor(i int32) model.Fixed { return t.of[i].factor }
