package record

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"orrery/scheduler/model"
)

// AppendNodes appends the nodes of p to dst as ascending ranges, like
// "0-3,7", and returns the longer slice. Cost is proportional to the words or
// shares of the placement.
func AppendNodes(dst []byte, p *model.Placement) []byte {
	r := ranges{dst: dst, mark: len(dst), hi: -2}
	for _, w := range p.Words {
		base, m := w.Word*64, w.Mask
		if base == r.hi+1 && m == math.MaxUint64 {
			r.hi += 64 // as most words of large jobs do
			continue
		}
		for m != 0 {
			next := m + m&-m // the first run of ones becomes the bit behind it
			r.add(base+int32(bits.TrailingZeros64(m)), base+int32(bits.TrailingZeros64(next))-1)
			m &= next
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
	mark   int   // where the text began
	lo, hi int32 // not written yet; below 0 before the first
}

func (r *ranges) add(lo, hi int32) {
	if lo == r.hi+1 {
		r.hi = hi
		return
	}
	r.flush()
	r.lo, r.hi = lo, hi
}

// flush writes the interval and a comma.
func (r *ranges) flush() {
	if r.hi < 0 {
		return
	}
	if r.hi > r.lo {
		r.dst = appendNode(r.dst, uint32(r.lo), '-')
	}
	r.dst = appendNode(r.dst, uint32(r.hi), ',')
}

func (r *ranges) finish() []byte {
	if r.flush(); len(r.dst) > r.mark {
		return r.dst[:len(r.dst)-1] // without the last comma
	}
	return r.dst
}

// appendNode appends the number of a node and a separator. Placements are written for
// every attempt of a job, so a number of up to seven digits is put together in one word.
func appendNode(dst []byte, n uint32, separator byte) []byte {
	const short = 10000
	if n >= 1000*short {
		return append(strconv.AppendUint(dst, uint64(n), 10), separator)
	}
	text, length := digits(n % short)
	if n >= short {
		head, more := digits(n / short)
		text, length = head|uint64(fourDigits(n%short))<<(8*more), 4+more
	}
	dst = binary.LittleEndian.AppendUint64(dst, text|uint64(separator)<<(8*length))
	return dst[:len(dst)-7+length]
}

// digits are the digits of a number of up to four, the first in the lowest byte, and how many.
func digits(n uint32) (text uint64, length int) {
	const zeros = '0' | '0'<<8 | '0'<<16 | '0'<<24
	four := fourDigits(n)
	leading := bits.TrailingZeros32(four^zeros|1<<24) &^ 7
	return uint64(four >> leading), 4 - leading/8
}

// fourDigits are the digits of a number of up to four with zeros before them.
func fourDigits(n uint32) uint32 { return uint32(pairs[n/100]) | uint32(pairs[n%100])<<16 }

// pairs are the two digits of numbers, the first in the lower byte.
var pairs = func() (list [100]uint16) {
	for n := range list {
		list[n] = uint16('0'+n/10) | uint16('0'+n%10)<<8
	}
	return list
}()

// appendShares appends the units that p holds on each of its nodes, in node
// order and run-length encoded: "4x3,1" is 4 units on each of three nodes,
// then 1 unit on a fourth. It appends nothing when whole nodes are held.
func appendShares(dst []byte, p *model.Placement) []byte {
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
