package traces

import (
	"errors"
	"io"
	"iter"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"orrery/internal/pagecheck"
	"orrery/scheduler/model"
)

const blockRows = 512 // rows decoded at a time

// rows iterates over whole rows in file order, column by column in blocks. It
// goes through the library's values rather than its typed pages, so that it
// shares no decoding with the column path of Source and each checks the other
// in the tests.
func (t *tableReader[R]) rows(epoch model.Time) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		r := rowReader[R]{t: t, epoch: epoch, check: t.checker(), values: make([]parquet.Value, blockRows)}
		block := make([]R, blockRows)
		for g, group := range t.parquet.RowGroups() {
			if err := r.open(g); err != nil {
				yield(nil, err)
				return
			}
			for left := group.NumRows(); left > 0; {
				n := int(min(left, blockRows))
				if err := r.read(block[:n]); err != nil {
					r.close()
					yield(nil, err)
					return
				}
				for i := range block[:n] {
					if !yield(&block[i], nil) {
						r.close()
						return
					}
				}
				left -= int64(n)
			}
			r.close()
		}
	}
}

// rowReader holds the open columns of one row group.
type rowReader[R any] struct {
	t      *tableReader[R]
	epoch  model.Time
	check  *pagecheck.Checker
	cols   []valueColumn
	values []parquet.Value
	row    int64 // rows read
}

type valueColumn struct {
	pages  parquet.Pages
	page   parquet.Page
	reader parquet.ValueReader
	seen   seenTexts
}

// seenTexts are the first few texts that a column has, of which many have no more.
type seenTexts map[string]string

// of is a text in memory of its own, that of an earlier row where there is one.
func (t *seenTexts) of(b []byte) string {
	if s, ok := (*t)[string(b)]; ok {
		return s
	}
	s := string(b)
	if *t == nil {
		*t = seenTexts{}
	}
	if len(*t) < 16 {
		(*t)[s] = s
	}
	return s
}

func (r *rowReader[R]) open(group int) error {
	r.cols = make([]valueColumn, len(r.t.fields))
	for i := range r.cols {
		l := &r.t.lays[i]
		if l.index < 0 {
			continue
		}
		pages, err := chunkPages(r.check, group, l, r.t.path, r.t.fields[i].Name)
		if err != nil {
			r.close()
			return err
		}
		r.cols[i].pages = pages
	}
	return nil
}

func (r *rowReader[R]) close() {
	for i := range r.cols {
		c := &r.cols[i]
		if c.pages != nil {
			parquet.Release(c.page)
			_ = c.pages.Close() // read only
		}
	}
	r.cols = nil
}

// read fills the block from all columns.
func (r *rowReader[R]) read(block []R) error {
	for i := range r.cols {
		f := &r.t.fields[i]
		if r.cols[i].pages == nil {
			c := cell{null: true}
			if f.fallback != nil {
				c = *f.fallback
			}
			for k := range block {
				f.store(&block[k], c)
			}
			continue
		}
		if err := r.column(i, block); err != nil {
			return err
		}
	}
	r.row += int64(len(block))
	return nil
}

// column reads one column of the block.
func (r *rowReader[R]) column(i int, block []R) error {
	f, c, path := &r.t.fields[i], &r.cols[i], r.t.path
	for done := 0; done < len(block); {
		if c.reader == nil {
			parquet.Release(c.page)
			c.page = nil
			page, err := readPage(c.pages, path, f.Name)
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = corrupt(path, "in column "+f.Name, "the rows end early")
				}
				return err
			}
			c.page, c.reader = page, page.Values()
		}
		n, err := readValues(c.reader, r.values[:len(block)-done], path, f.Name)
		for k, v := range r.values[:n] {
			if err := r.set(i, &block[done+k], v, r.row+int64(done+k)+1); err != nil {
				return err
			}
		}
		done += n
		switch {
		case errors.Is(err, io.EOF):
			c.reader = nil
		case err != nil:
			return err
		case n == 0:
			return corrupt(path, "in column "+f.Name, "a page without progress")
		}
	}
	return nil
}

func readValues(v parquet.ValueReader, buf []parquet.Value, path, column string) (n int, err error) {
	defer guard(path, "in column "+column, &err)
	n, err = v.ReadValues(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		err = corrupt(path, "in column "+column, err)
	}
	return n, err
}

// set converts one value and stores it in its row.
func (r *rowReader[R]) set(i int, row *R, v parquet.Value, number int64) error {
	f := &r.t.fields[i]
	if v.IsNull() {
		c := cell{null: true}
		if !f.Optional {
			if f.fallback == nil || r.t.ours {
				return nullError(r.t.path, f.Name, number)
			}
			c = *f.fallback
		}
		f.store(row, c)
		return nil
	}
	c := cell{}
	switch f.Type {
	case String:
		c.s = r.cols[i].seen.of(v.ByteArray())
		c.null = c.s == ""
	case Double:
		d := v.Double()
		if r.t.lays[i].kind == parquet.Float {
			d = float64(v.Float())
		}
		c.n = int64(math.Float64bits(d))
	case Bool:
		c.n = boolBit(v.Boolean())
	default:
		raw := v.Int64()
		if r.t.lays[i].kind == parquet.Int32 {
			raw = int64(v.Int32())
		}
		n, ok := r.t.lays[i].number(raw, f.Type)
		if !ok || f.spans && !finite(n) {
			return rangeError(r.t.path, &f.Column, number, strconv.FormatInt(raw, 10))
		}
		if f.Type == Timestamp {
			n -= int64(r.epoch)
		}
		c.n = n
	}
	f.store(row, c)
	return nil
}
