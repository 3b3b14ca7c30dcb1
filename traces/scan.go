package traces

import (
	"errors"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"orrery/scheduler/model"
)

// scan passes the next n rows of a column of booleans or reals to set, with the
// place in the scan and the number of the row, from 1. Such columns are few
// and not worth the typed pages.
func (c *cursor) scan(n int, set func(i int, row int64, v parquet.Value) error) (err error) {
	defer guard(c.path, "in column "+c.column.Name, &err)
	if c.buf == nil {
		c.buf = make([]parquet.Value, blockRows)
	}
	for done := 0; done < n; {
		if err := c.need(); err != nil {
			return err
		}
		want := min(n-done, c.view.rows, len(c.buf))
		if c.view.empty {
			for i := range want {
				if err := set(done+i, c.row+int64(i)+1, parquet.Value{}); err != nil {
					return err
				}
			}
			c.take(want, 0)
			done += want
			continue
		}
		got, err := readValues(c.values, c.buf[:want], c.path, c.column.Name)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if got == 0 {
			return corrupt(c.path, "in column "+c.column.Name, "a page without progress")
		}
		for i, v := range c.buf[:got] {
			if err := set(done+i, c.row+int64(i)+1, v); err != nil {
				return err
			}
		}
		c.take(got, 0)
		done += got
	}
	return nil
}

// bools fills dst with the next rows: 0 and 1, nulls as -1.
func (c *cursor) bools(dst []int8) error {
	if c.lay.index < 0 {
		fill(dst, -1)
		return nil
	}
	return c.scan(len(dst), func(i int, _ int64, v parquet.Value) error {
		dst[i] = -1
		if !v.IsNull() {
			dst[i] = int8(boolBit(v.Boolean()))
		}
		return nil
	})
}

// shares fills dst with the next rows of numbers from 0 to 1, nulls as
// Absent64.
func (c *cursor) shares(dst []model.Fixed) error {
	if c.lay.index < 0 {
		fill(dst, model.Fixed(Absent64))
		return nil
	}
	return c.scan(len(dst), func(i int, row int64, v parquet.Value) error {
		if v.IsNull() {
			dst[i] = model.Fixed(Absent64)
			return nil
		}
		x := v.Double()
		if c.lay.kind == parquet.Float {
			x = float64(v.Float())
		}
		if !(x >= 0 && x <= 1) { // NaN as well
			return &DataError{File: c.path, Row: row, Column: c.column.Name, Found: strconv.FormatFloat(x, 'g', -1, 64),
				Expected: "a share from 0 to 1", Mend: "correct the value or drop the row"}
		}
		dst[i] = model.FixedOf(x)
		return nil
	})
}
