package hostlist

import (
	"fmt"
	"iter"
	"strconv"
)

// List is names in a fixed order, to write sets of them by their places.
type List struct {
	names []string
	end   []int32 // last place of the run of numbers that a place is in
}

// NewList is the list of names, which must not change afterwards. Cost: a look at
// each name.
func NewList(names []string) *List {
	l := &List{names: names, end: make([]int32, len(names))}
	for i := len(names) - 1; i >= 0; i-- {
		l.end[i] = int32(i)
		if i+1 == len(names) {
			continue
		}
		head, digits, tail := numbered(names[i])
		h, d, t := numbered(names[i+1])
		if digits != "" && h == head && t == tail && d == successor(digits) {
			l.end[i] = l.end[i+1]
		}
	}
	return l
}

// ReadList is the list that Append wrote of all its places, of most names at most.
func ReadList(text string, most int) (*List, error) {
	var names []string
	for _, term := range Terms(text, ",") {
		list, err := Expand(term, most-len(names))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", term, err)
		}
		if names = append(names, list...); len(names) > most {
			return nil, fmt.Errorf("%q: %w", term, ErrMany)
		}
	}
	return NewList(names), nil
}

// Len is the number of names.
func (l *List) Len() int { return len(l.names) }

// Name is the name at a place, its number where there is none.
func (l *List) Name(i int) string {
	if i < 0 || i >= len(l.names) {
		return strconv.Itoa(i)
	}
	return l.names[i]
}

// Append appends the names at ranges of places, both ends included: neighbours that
// differ in one number share brackets, as in n[1-3,7],m1, and a place without a name
// is its number. Cost: the runs of numbers among them.
func (l *List) Append(dst []byte, ranges iter.Seq2[int, int]) []byte {
	g := folded{dst: dst, mark: len(dst)}
	for lo, hi := range ranges {
		for lo <= hi {
			if lo < 0 || lo >= len(l.names) {
				g.add(strconv.Itoa(lo), "", "", "")
				lo++
				continue
			}
			last := min(int(l.end[lo]), hi)
			head, first, tail := numbered(l.names[lo])
			through := ""
			if last > lo {
				_, through, _ = numbered(l.names[last])
			}
			g.add(head, first, through, tail)
			lo = last + 1
		}
	}
	g.flush()
	return g.dst
}

// All appends all names.
func (l *List) All(dst []byte) []byte {
	return l.Append(dst, func(yield func(int, int) bool) { yield(0, len(l.names)-1) })
}

// folded gathers the numbers of one term.
type folded struct {
	dst        []byte
	mark       int // where the text began
	head, tail string
	inside     []byte
	open, many bool
}

// add adds the names from first to last ("" for first alone) between head and tail.
func (g *folded) add(head, first, last, tail string) {
	if g.open && first != "" && len(g.inside) > 0 && head == g.head && tail == g.tail {
		g.inside = append(g.inside, ',')
		g.many = true
	} else {
		g.flush()
		g.open, g.many, g.head, g.tail, g.inside = true, false, head, tail, g.inside[:0]
	}
	g.inside = append(g.inside, first...)
	if last != "" {
		g.inside = append(append(g.inside, '-'), last...)
		g.many = true
	}
}

// flush writes the term.
func (g *folded) flush() {
	if !g.open {
		return
	}
	g.open = false
	if len(g.dst) > g.mark {
		g.dst = append(g.dst, ',')
	}
	g.dst = append(g.dst, g.head...)
	if g.many {
		g.dst = append(append(append(g.dst, '['), g.inside...), ']')
	} else {
		g.dst = append(g.dst, g.inside...)
	}
	g.dst = append(g.dst, g.tail...)
}
