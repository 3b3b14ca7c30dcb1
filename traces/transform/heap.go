package transform

import (
	"container/heap"

	"orrery/traces"
)

// rowHeap holds rows back, the earliest submission first, equal ones in the
// order in which they came.
type rowHeap struct {
	rows  []numbered
	spare []*traces.Job
	came  uint64
	out   *traces.Job // the last that was taken, spare at the next push
}

type numbered struct {
	*traces.Job
	came uint64
}

// Len implements heap.Interface.
func (h *rowHeap) Len() int { return len(h.rows) }

// Less implements heap.Interface.
func (h *rowHeap) Less(i, j int) bool {
	a, b := h.rows[i], h.rows[j]
	return a.Submit < b.Submit || a.Submit == b.Submit && a.came < b.came
}

// Swap implements heap.Interface.
func (h *rowHeap) Swap(i, j int) { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }

// Push implements heap.Interface.
func (h *rowHeap) Push(x any) { h.rows = append(h.rows, x.(numbered)) }

// Pop implements heap.Interface.
func (h *rowHeap) Pop() any {
	last := h.rows[len(h.rows)-1]
	h.rows = h.rows[:len(h.rows)-1]
	return last
}

func (h *rowHeap) len() int           { return len(h.rows) }
func (h *rowHeap) first() *traces.Job { return h.rows[0].Job }

// push takes a copy of a row.
func (h *rowHeap) push(j *traces.Job) {
	if h.out != nil {
		h.spare, h.out = append(h.spare, h.out), nil
	}
	row := &traces.Job{}
	if n := len(h.spare); n > 0 {
		row, h.spare = h.spare[n-1], h.spare[:n-1]
	}
	*row = *j
	heap.Push(h, numbered{row, h.came})
	h.came++
}

// pop gives a row that is valid until the next push or pop.
func (h *rowHeap) pop() *traces.Job {
	if h.out != nil {
		h.spare = append(h.spare, h.out)
	}
	h.out = heap.Pop(h).(numbered).Job
	return h.out
}
