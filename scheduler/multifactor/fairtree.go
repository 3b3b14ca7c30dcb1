package multifactor

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// level is the level fair share of an association, shares over usage among its
// siblings, as a number with 64 fraction bits of which 48 significant ones
// count: those that agree in them are tied. Equal fractions always agree.
type level struct{ whole, part uint64 }

var unused = level{whole: math.MaxUint64}

// levelOf is the level fair share from parts of shares and of usage.
func levelOf(shares, usage part62) level {
	switch {
	case shares == 0:
		return level{}
	case usage == 0:
		return unused
	}
	whole := uint64(shares) / uint64(usage)
	part, _ := bits.Div64(uint64(shares)%uint64(usage), 0, uint64(usage))
	return level{whole, part}.rounded()
}

// rounded keeps 48 significant bits.
func (l level) rounded() level {
	const keep = 48
	size := 64 + bits.Len64(l.whole)
	if l.whole == 0 {
		size = bits.Len64(l.part)
	}
	drop := size - keep
	if drop <= 0 {
		return l
	}
	// The half of the last bit kept stands in part, since whole is below 2^63.
	half := level{part: 1 << (drop - 1)}
	if drop > 64 {
		half = level{whole: 1 << (drop - 65)}
	}
	var carry uint64
	l.part, carry = bits.Add64(l.part, half.part, 0)
	l.whole += half.whole + carry
	if drop >= 64 {
		return level{whole: l.whole >> (drop - 64) << (drop - 64)}
	}
	l.part = l.part >> drop << drop
	return l
}

// before orders siblings: the highest level first, users before accounts of
// the same, then by index.
func (t *Tree) before(i, j int32) int {
	a, b := &t.of[i], &t.of[j]
	if c := cmp.Or(cmp.Compare(b.level.whole, a.level.whole), cmp.Compare(b.level.part, a.level.part)); c != 0 {
		return c
	}
	if a.User != b.User {
		if a.User {
			return -1
		}
		return 1
	}
	return cmp.Compare(i, j)
}

// ranking is a walk down the tree.
type ranking struct {
	t     *Tree
	rank  int64 // of the user before
	place int64 // of the next user, counted from the last
}

// rank gives each user its rank over the number of users, as in the page "Fair
// Tree Fairshare Algorithm": siblings in the order of their level, all of an
// account before the next one.
func (t *Tree) rank(all int64) {
	for i := range t.of {
		a := &t.of[i]
		around := all
		if a.Parent >= 0 {
			around = t.of[a.Parent].used
		}
		a.level = levelOf(one62.of(a.Shares, a.siblings), one62.of(a.used, around))
	}
	t.list = append(t.list[:0], t.children(-1)...)
	r := ranking{t: t, rank: t.users, place: t.users}
	r.walk(t.list, false)
}

// walk ranks siblings and the users below them. tied says that the first of them
// shares the rank of the user before: a user and an account of the same level
// do, and so do users of the same level; the children of accounts of the same
// level are siblings.
func (r *ranking) walk(siblings []int32, tied bool) {
	t := r.t
	//detlint:total the comparison ends in the index
	slices.SortFunc(siblings, t.before)
	for i := 0; i < len(siblings); i++ {
		a := &t.of[siblings[i]]
		if i > 0 {
			tied = a.level == t.of[siblings[i-1]].level
		}
		if a.User {
			r.user(a, tied)
			continue
		}
		begin := len(t.list)
		t.list = append(t.list, t.children(siblings[i])...)
		for i+1 < len(siblings) && t.of[siblings[i+1]].level == a.level {
			i++
			t.list = append(t.list, t.children(siblings[i])...)
		}
		r.walk(t.list[begin:], tied)
	}
}

func (r *ranking) user(a *association, tied bool) {
	if !tied {
		r.rank = r.place
	}
	r.place--
	a.factor = model.Ratio(r.rank, r.t.users)
}
