package multifactor

import "slices"

// Extend adds associations behind those that are there, whose usage it keeps,
// and computes all factors as of the last Freeze. A list that is made in two
// steps is the same as one made at once. It takes time and allocates in
// proportion to all associations; in case of an error nothing changes.
func (t *Tree) Extend(more []Association) error {
	list := make([]Association, 0, len(t.of)+len(more))
	for i := range t.of {
		list = append(list, t.of[i].Association)
	}
	list = append(list, more...)
	sums := make([]int64, len(list)+1) // shares by parent, the root's first
	for i, a := range list {
		if err := check(list, i); err != nil {
			return err
		}
		sums[a.Parent+1] += a.Shares
	}
	for _, a := range more {
		if a.User {
			t.users++
		}
		t.of = append(t.of, association{Association: a})
	}
	t.list = slices.Grow(t.list[:0], len(t.of))
	t.family()
	for i := range t.of {
		a := &t.of[i]
		a.siblings = sums[a.Parent+1]
		a.shares = t.sharesOf(a.Parent).of(a.Shares, a.siblings)
	}
	all := int64(0)
	for _, i := range t.children(-1) {
		all += t.of[i].used
	}
	t.factors(all)
	return nil
}
