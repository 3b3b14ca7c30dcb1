package metric

import "math/big"

func (r *reduction) jainWait() value {
	return r.jain(func(u *perUser) *moments { return &u.wait }, r.wait.n)
}

func (r *reduction) jainBounded() value {
	return r.jain(func(u *perUser) *moments { return &u.bounded }, r.bounded.n)
}

// jain is the index over the users' means, (Σx)²/(m·Σx²), which lies in
// [1/m, 1]. The means are rounded down to 2^-20 of their unit (µs, or 2^-20
// of a slowdown), so that the sums are integers and the order of users does
// not matter.
func (r *reduction) jain(of func(*perUser) *moments, jobs int64) value {
	m, named := int64(0), int64(0)
	total, squares := new(big.Int), new(big.Int)
	for i := range r.users {
		u := of(&r.users[i])
		if u.n == 0 {
			continue
		}
		m++
		named += u.n
		x := product(u.total.big(), bigOne)
		x.Quo(x, big.NewInt(u.n))
		total.Add(total, x)
		squares.Add(squares, x.Mul(x, x))
	}
	note := left(jobs-named, "name no user")
	if m == 0 {
		return undefined("no job to measure names a user")
	}
	if total.Sign() == 0 {
		return value{x: 1, ok: true, count: named, note: note}
	}
	return ratio(product(total, total), product(big.NewInt(m), squares), named, note, "")
}
