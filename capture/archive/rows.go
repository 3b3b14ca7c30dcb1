package archive

import (
	"errors"
	"iter"
	"slices"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Telemetry iterates over the rows of all bundles by time, with absolute instants. A bundle is open only
// while its rows are due, so that memory does not grow with their number. A row is valid until the next. Values that are no
// measurements of their columns are left out, and counted.
func (s *Set) Telemetry() iter.Seq2[*traces.Telemetry, error] {
	return merged(&s.LeftOut, s.parts, (*traces.Bundle).Telemetry, func(t *traces.Telemetry) *model.Time { return &t.Time })
}

// Instances iterates over the rows of GPU instances of MIG in the same way. They are parts of GPUs of Telemetry, and not to be added to these.
func (s *Set) Instances() iter.Seq2[*traces.Instance, error] {
	return merged(&s.LeftOutMIG, s.instances, (*traces.Bundle).Instances, func(i *traces.Instance) *model.Time { return &i.Time })
}

// measured is a row of measurements, some of which may be none.
type measured[R any] interface {
	*R
	LeaveOut(tell func(column, why string, v float64))
}

// merged goes through a table of bundles by time.
func merged[R any, P measured[R]](left *traces.Counts, parts []part, rows func(*traces.Bundle) iter.Seq2[*R, error], at func(*R) *model.Time) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		*left = nil
		var open []*reader[R]
		defer func() {
			for _, r := range open {
				r.stop()
				_ = r.b.Close() // read only
			}
		}()
		for next := 0; next < len(parts) || len(open) > 0; {
			first := earliest(open, at)
			if next < len(parts) && (first < 0 || parts[next].first <= *at(&open[first].row)) {
				r, err := begin(parts[next].path, rows, at)
				if err != nil {
					yield(nil, err)
					return
				}
				if r.ok {
					open = append(open, r)
				}
				next++
				continue
			}
			r := open[first]
			P(&r.row).LeaveOut(left.Values)
			if !yield(&r.row, nil) {
				return
			}
			if err := r.advance(at); err != nil {
				yield(nil, err)
				return
			}
			if !r.ok {
				r.stop()
				_ = r.b.Close() // read only
				open = slices.Delete(open, first, first+1)
			}
		}
	}
}

// reader is an open bundle with its next row.
type reader[R any] struct {
	next func() (*R, error, bool)
	stop func()
	b    *traces.Bundle
	row  R
	ok   bool
}

func (r *reader[R]) advance(at func(*R) *model.Time) error {
	row, err, ok := r.next()
	if err != nil {
		return err
	}
	if r.ok = ok; ok {
		r.row = *row
		*at(&r.row) = r.b.Meta().Epoch.Add(model.Duration(*at(row)))
	}
	return nil
}

func begin[R any](path string, rows func(*traces.Bundle) iter.Seq2[*R, error], at func(*R) *model.Time) (*reader[R], error) {
	b, err := traces.Open(path)
	if err != nil {
		return nil, err
	}
	r := &reader[R]{b: b}
	r.next, r.stop = iter.Pull2(rows(b))
	if err := r.advance(at); err != nil {
		r.stop()
		return nil, errors.Join(err, b.Close())
	}
	if !r.ok {
		r.stop()
		return r, b.Close()
	}
	return r, nil
}

// earliest is the reader with the earliest row, the first opened of several; -1 without any.
func earliest[R any](open []*reader[R], at func(*R) *model.Time) int {
	best := -1
	for i, r := range open {
		if best < 0 || *at(&r.row) < *at(&open[best].row) {
			best = i
		}
	}
	return best
}
