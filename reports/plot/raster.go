package plot

import (
	"errors"
	"fmt"
)

// Raster adds up which nodes were busy when, in pixels: each pixel ends with
// the exact unit-time allocated inside it. Adding a rectangle costs a constant
// number of additions whatever its size, and memory is proportional to the
// pixels, so that ten million jobs cost no more than ten.
//
// It keeps second differences: a rectangle's cover of the pixels is the
// product of a trapezoid in time and one over the nodes, each of which has at
// most four jumps; Finish sums them up twice.
type Raster struct {
	Cols, Rows int
	FromUS     int64 // µs since the trace's epoch
	ColUS      int64 // µs covered by a column
	RowNodes   int32 // nodes covered by a row
	Nodes      int32
	// Name is what a node is called; nil calls it by its number from 0.
	Name func(node int) string
	// What the rows are, "" for nodes.
	What string
	// Jobs says that what is added are jobs on nodes, one unit each, and not units of them.
	Jobs bool

	toUS     int64
	capacity []int64 // units in each row
	sum      []int64 // (Cols+1) x (Rows+1), differences until Finish
	finished bool
}

// NewRaster prepares a raster of at most cols x rows pixels over a span of
// time and the nodes 0 to len(units)-1, units[i] being the units of node i.
func NewRaster(span Window, units []int32, cols, rows int) (*Raster, error) {
	if span.empty() || len(units) == 0 || cols < 1 || rows < 1 {
		return nil, errors.New("raster: needs a span of time, a node and a pixel")
	}
	n := int32(len(units))
	r := &Raster{
		FromUS: span.FromUS, toUS: span.ToUS, Nodes: n,
		ColUS:    (span.ToUS - span.FromUS + int64(cols) - 1) / int64(cols),
		RowNodes: (n + int32(rows) - 1) / int32(rows),
	}
	r.Cols = int((span.ToUS - span.FromUS + r.ColUS - 1) / r.ColUS)
	r.Rows = int((n + r.RowNodes - 1) / r.RowNodes)
	r.capacity = make([]int64, r.Rows)
	for i, u := range units {
		r.capacity[i/int(r.RowNodes)] += int64(u)
	}
	r.sum = make([]int64, (r.Cols+1)*(r.Rows+1))
	return r, nil
}

// Add counts units units on each of the nodes lo to hi, both included, over
// [start, end) in microseconds. What lies outside the raster is left out; a
// node it does not have is an error.
func (r *Raster) Add(start, end int64, lo, hi, units int32) error {
	if lo < 0 || hi < lo || hi >= r.Nodes {
		return fmt.Errorf("raster: nodes %d-%d are not among the %d nodes of the cluster", lo, hi, r.Nodes)
	}
	start, end = max(start, r.FromUS), min(end, r.toUS)
	if end <= start {
		return nil
	}
	xs, dx := trapezoid(start-r.FromUS, end-r.FromUS, r.ColUS)
	ys, dy := trapezoid(int64(lo), int64(hi)+1, int64(r.RowNodes))
	stride := r.Cols + 1
	for j, y := range ys {
		if dy[j] == 0 || y > r.Rows {
			continue
		}
		w := dy[j] * int64(units)
		row := r.sum[y*stride : (y+1)*stride]
		for i, x := range xs {
			if x <= r.Cols {
				row[x] += dx[i] * w
			}
		}
	}
	return nil
}

// trapezoid gives the jumps of the function that says how much of [a, b) lies
// in cell i = [i*w, (i+1)*w).
func trapezoid(a, b, w int64) (at [4]int, jump [4]int64) {
	c0, c1 := a/w, (b-1)/w
	at = [4]int{int(c0), int(c0 + 1), int(c1), int(c1 + 1)}
	if c0 == c1 {
		return at, [4]int64{b - a, 0, 0, a - b}
	}
	first, last := (c0+1)*w-a, b-c1*w
	return at, [4]int64{first, w - first, last - w, -last}
}

// Finish turns the differences into sums. Calls after the first do nothing;
// Add must not be called any more.
func (r *Raster) Finish() {
	if r.finished {
		return
	}
	r.finished = true
	stride := r.Cols + 1
	for y := 0; y <= r.Rows; y++ {
		row := r.sum[y*stride : (y+1)*stride]
		for x := 1; x <= r.Cols; x++ {
			row[x] += row[x-1]
		}
		if y > 0 {
			for x, v := range r.sum[(y-1)*stride : y*stride] {
				row[x] += v
			}
		}
	}
}

// UnitTime is the unit·µs allocated inside pixel (x, y), y counted from node
// 0. Finish must have been called.
func (r *Raster) UnitTime(x, y int) int64 { return r.sum[y*(r.Cols+1)+x] }

// Most is the largest Occupancy, and at least 1: of a raster of jobs how many there are on
// a node.
func (r *Raster) Most() float64 {
	most := 1.0
	for y := range r.Rows {
		for x := range r.Cols {
			most = max(most, r.Occupancy(x, y))
		}
	}
	return most
}

// Occupancy is the share of the pixel's unit-time that was allocated, 0 to 1; of a
// raster of jobs how many ran on each of its nodes.
func (r *Raster) Occupancy(x, y int) float64 {
	width := min(r.ColUS, r.toUS-r.FromUS-int64(x)*r.ColUS)
	all := float64(width) * float64(r.capacity[y])
	if all <= 0 {
		return 0
	}
	return float64(r.UnitTime(x, y)) / all
}
