package record

import (
	"math/bits"
	"strconv"

	"orrery/scheduler/model"
)

// AppendNodes appends the nodes of p to dst as ascending ranges, like
// "0-3,7", and returns the longer slice. Cost is proportional to the words or
// shares of the placement.
func AppendNodes(dst []byte, p *model.Placement) []byte {
	r := ranges{dst: dst, mark: len(dst)}
	for _, w := range p.Words {
		base, m := w.Word*64, w.Mask
		for m != 0 {
			lo := int32(bits.TrailingZeros64(m))
			n := int32(bits.TrailingZeros64(^(m >> lo)))
			r.add(base+lo, base+lo+n-1)
			if lo+n >= 64 {
				break
			}
			m &^= 1<<(lo+n) - 1
		}
	}
	for _, s := range p.Shares {
		r.add(int32(s.Node), int32(s.Node))
	}
	return r.finish()
}

// ranges writes ascending intervals, joining those that touch.
type ranges struct {
	dst    []byte
	mark   int // where the text began
	lo, hi int32
	open   bool
}

func (r *ranges) add(lo, hi int32) {
	if r.open && lo == r.hi+1 {
		r.hi = hi
		return
	}
	r.flush()
	r.lo, r.hi, r.open = lo, hi, true
}

func (r *ranges) flush() {
	if !r.open {
		return
	}
	if len(r.dst) > r.mark {
		r.dst = append(r.dst, ',')
	}
	r.dst = appendNode(r.dst, uint32(r.lo))
	if r.hi > r.lo {
		r.dst = appendNode(append(r.dst, '-'), uint32(r.hi))
	}
}

// appendNode appends the number of a node, which on most machines is short.
func appendNode(dst []byte, n uint32) []byte {
	switch {
	case n < 10:
		return append(dst, byte('0'+n))
	case n < 100:
		return append(dst, byte('0'+n/10), byte('0'+n%10))
	case n < 1000:
		return append(dst, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
	case n < 10000:
		return append(dst, byte('0'+n/1000), byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10))
	}
	return strconv.AppendUint(dst, uint64(n), 10)
}

func (r *ranges) finish() []byte {
	r.flush()
	return r.dst
}

// AppendShares appends the units that p holds on each of its nodes, in node
// order and run-length encoded: "4x3,1" is 4 units on each of three nodes,
// then 1 unit on a fourth. It appends nothing when whole nodes are held.
func AppendShares(dst []byte, p *model.Placement) []byte {
	mark := len(dst)
	for i := 0; i < len(p.Shares); {
		u, j := p.Shares[i].Units, i+1
		for j < len(p.Shares) && p.Shares[j].Units == u {
			j++
		}
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(u), 10)
		if j-i > 1 {
			dst = append(dst, 'x')
			dst = strconv.AppendInt(dst, int64(j-i), 10)
		}
		i = j
	}
	return dst
}
