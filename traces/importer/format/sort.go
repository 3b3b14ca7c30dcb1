package format

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"

	"orrery/internal/disk"
	"orrery/scheduler/model"
)

// heldBytes is about how much memory the rows take that are sorted at a time.
const heldBytes = 16 << 20

// Sorter sorts rows by their instants, those of one instant in the order in which they
// came. What does not fit in memory waits in temporary files, sorted run by run. The zero
// value is empty.
type Sorter[R any] struct {
	rows []heldRow[R]
	most int
	runs []*os.File
}

// heldRow is exported to gob by its fields.
type heldRow[R any] struct {
	Place Place
	At    model.Time
	Row   R
}

// Add takes a row.
func (s *Sorter[R]) Add(place Place, at model.Time, r *R) error {
	if s.most == 0 {
		s.most = max(heldBytes/int(reflect.TypeFor[heldRow[R]]().Size()), 1)
	}
	place.Repaired = slices.Clone(place.Repaired)
	s.rows = append(s.rows, heldRow[R]{place, at, *r})
	if len(s.rows) < s.most {
		return nil
	}
	return s.spill()
}

func (s *Sorter[R]) order() {
	slices.SortStableFunc(s.rows, func(a, b heldRow[R]) int { return cmp.Compare(a.At, b.At) })
}

// spill writes the rows in memory to a file.
func (s *Sorter[R]) spill() error {
	s.order()
	f, err := os.CreateTemp("", "orrery-sort-*")
	if err != nil {
		return sorting(err)
	}
	disk.Temporary(f.Name())
	s.runs = append(s.runs, f)
	out := bufio.NewWriterSize(f, 256<<10)
	enc := gob.NewEncoder(out)
	for i := range s.rows {
		if err := enc.Encode(&s.rows[i]); err != nil {
			return sorting(err)
		}
	}
	clear(s.rows)
	s.rows = s.rows[:0]
	if err := out.Flush(); err != nil {
		return sorting(err)
	}
	return nil
}

func sorting(err error) error {
	return &disk.TemporaryError{Err: fmt.Errorf("sorting a log that is not in order of time: %w", err)}
}

// Each goes through the rows in order.
func (s *Sorter[R]) Each(fn func(*Place, model.Time, *R) error) error {
	s.order()
	if len(s.runs) == 0 {
		for i := range s.rows {
			h := &s.rows[i]
			if err := fn(&h.Place, h.At, &h.Row); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.rows = nil
	var m merge[R]
	for i, f := range s.runs {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		r := &run[R]{dec: gob.NewDecoder(bufio.NewReaderSize(f, 64<<10)), number: i}
		if ok, err := r.next(); err != nil {
			return err
		} else if ok {
			m = append(m, r)
		}
	}
	heap.Init(&m)
	for len(m) > 0 {
		r := m[0]
		if err := fn(&r.head.Place, r.head.At, &r.head.Row); err != nil {
			return err
		}
		ok, err := r.next()
		switch {
		case err != nil:
			return err
		case ok:
			heap.Fix(&m, 0)
		default:
			heap.Pop(&m)
		}
	}
	return nil
}

// Close removes the files.
func (s *Sorter[R]) Close() {
	for _, f := range s.runs {
		_ = f.Close()           // only read
		_ = os.Remove(f.Name()) // it lies in the system's temporary directory
	}
	s.runs, s.rows = nil, nil
}

// run is a sorted file.
type run[R any] struct {
	dec    *gob.Decoder
	head   heldRow[R]
	number int
}

func (r *run[R]) next() (ok bool, err error) {
	r.head = heldRow[R]{} // gob leaves what is zero
	err = r.dec.Decode(&r.head)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// merge is a heap of runs by their first rows.
type merge[R any] []*run[R]

func (m merge[R]) Len() int { return len(m) }

func (m merge[R]) Less(i, j int) bool {
	return m[i].head.At < m[j].head.At || m[i].head.At == m[j].head.At && m[i].number < m[j].number
}

func (m merge[R]) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface.
func (m *merge[R]) Push(x any) { *m = append(*m, x.(*run[R])) }

// Pop implements heap.Interface.
func (m *merge[R]) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
