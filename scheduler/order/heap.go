package order

import "orrery/scheduler/model"

// Candidate is a waiting job in the order of one pass: the highest tier first, in a
// tier the highest key, and among keys that are too close to tell as the heap's Ties say.
type Candidate struct {
	Key  int64
	Tier int32
	Ref  model.Ref
	At   int32 // where its core keeps it; the heap does not look at it
}

// Ties orders candidates of one tier whose keys do not tell. It must be a total order, and
// agree with keys that do.
type Ties interface {
	Before(a, b model.Ref) bool
}

// Heap is a binary heap of candidates, the best at List[0]. The owner fills List and
// calls Init, or Lead where perhaps only the best is of interest.
type Heap struct {
	List []Candidate
	Ties Ties
	// Tolerance is how far keys may be apart that do not tell: 0 where they are exact, RankNear
	// where they are ranks.
	Tolerance int64
	led       bool // only the best is in its place
}

// Before says whether a comes before b.
func (h *Heap) Before(a, b *Candidate) bool {
	if a.Tier != b.Tier {
		return a.Tier > b.Tier
	}
	if apart := a.Key - b.Key; apart > h.Tolerance || apart < -h.Tolerance {
		return apart > 0
	}
	return h.Ties.Before(a.Ref, b.Ref)
}

// Lead brings the best to the front and orders nothing else until the next Pop. Cost:
// one look at each candidate.
func (h *Heap) Lead() {
	h.led = true
	for i := 1; i < len(h.List); i++ {
		if h.Before(&h.List[i], &h.List[0]) {
			h.List[0], h.List[i] = h.List[i], h.List[0]
		}
	}
}

// Init brings all candidates into order.
func (h *Heap) Init() {
	h.led = false
	for i := len(h.List)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// Push puts one more into a heap that is in order.
func (h *Heap) Push(c Candidate) {
	h.List = append(h.List, c)
	s := h.List
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.Before(&s[i], &s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// Pop takes the best out.
func (h *Heap) Pop() {
	n := len(h.List) - 1
	h.List[0] = h.List[n]
	h.List = h.List[:n]
	if h.led {
		h.Init()
		return
	}
	h.down(0)
}

func (h *Heap) down(i int) {
	s := h.List
	for {
		l := 2*i + 1
		if l >= len(s) {
			return
		}
		if r := l + 1; r < len(s) && h.Before(&s[r], &s[l]) {
			l = r
		}
		if !h.Before(&s[l], &s[i]) {
			return
		}
		s[i], s[l] = s[l], s[i]
		i = l
	}
}
