package kpa

import "orrery/scheduler/model"

// grain is the span of one entry of the delay window.
const grain = 2 * model.Second

// window is the largest value of the last so many grains; with none of them, the one recorded last.
type window struct {
	length  int64 // in grains
	entries []entry
}

// entry is the largest value of one grain. Values decrease from entry to entry.
type entry struct{ grain, value int64 }

// resize sets the span; entries beyond it leave with the next value.
func (w *window) resize(d model.Duration) { w.length = int64(d / grain) }

// record takes in a value and answers the largest of the window.
func (w *window) record(now model.Time, value int64) int64 {
	at := int64(now) / int64(grain)
	first := 0
	for first < len(w.entries) && w.entries[first].grain <= at-w.length {
		first++
	}
	n := copy(w.entries, w.entries[first:])
	for n > 0 && w.entries[n-1].value <= value {
		n--
	}
	w.entries = append(w.entries[:n], entry{at, value})
	return w.entries[0].value
}
