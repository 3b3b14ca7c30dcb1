package format

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	pqformat "github.com/parquet-go/parquet-go/format"

	"orrery/internal/pagecheck"
	"orrery/traces"
)

// ParquetColumns are the names of the columns of a Parquet file; of nested ones the path
// with dots.
func ParquetColumns(path string) (names []string, err error) {
	defer caught(path, &err)
	f, raw, err := openParquet(path)
	if err != nil {
		return nil, err
	}
	defer raw.Close() // only read
	for _, c := range f.Schema().Columns() {
		names = append(names, strings.Join(c, "."))
	}
	return names, nil
}

func openParquet(path string) (*pagecheck.Parquet, io.Closer, error) {
	raw, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := raw.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, raw.Close())
	}
	f, err := pagecheck.Open(raw, st.Size())
	if err != nil {
		return nil, nil, errors.Join(damagedParquet(path, err), raw.Close())
	}
	return f, raw, nil
}

func damagedParquet(path string, cause any) error {
	return &traces.DataError{File: path, Found: "damaged Parquet data", Expected: "a whole Parquet file", Mend: "fetch the file again", Cause: fmt.Errorf("%v", cause)}
}

// caught turns a panic of the library on malformed input into an error.
func caught(path string, err *error) {
	if p := recover(); p != nil {
		*err = damagedParquet(path, p)
	}
}

// ParquetRows goes through the rows of a Parquet file as text: the values of a repeated
// column stand between blanks, a missing value is the empty text, instants are µs since
// 1970.
func ParquetRows(f File, wanted []string, fn func(*Row) error) (err error) {
	defer caught(f.Name, &err)
	file, raw, err := openParquet(f.Path)
	if err != nil {
		return err
	}
	defer raw.Close() // only read
	f.Bad.Reading(f.Name)
	var names []string
	for _, c := range file.Schema().Columns() {
		names = append(names, strings.Join(c, "."))
	}
	row, err := NewRow(f, names, wanted, "row")
	if err != nil {
		return err
	}
	units := timeUnits(file.Schema())
	fields := make([]string, len(names))
	values := make([]parquet.Row, 256)
	for i := range file.Groups() {
		group, err := file.Group(i)
		if err != nil {
			return damagedParquet(f.Name, err)
		}
		rows := group.Rows()
		for {
			n, err := rows.ReadRows(values)
			for _, v := range values[:n] {
				clear(fields)
				writeText(fields, v, units)
				row.Next(row.N+1, fields)
				if err := f.Pass(fn(row)); err != nil {
					return errors.Join(err, rows.Close())
				}
			}
			if errors.Is(err, io.EOF) || n == 0 && err == nil {
				break
			}
			if err != nil {
				return errors.Join(damagedParquet(f.Name, err), rows.Close())
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	f.Bad.columnsLeftOut(row.leftOut())
	return nil
}

// timeUnits is how many of a column's units are in a µs, negative for the other way; 0 for
// columns that are no instant.
func timeUnits(s *parquet.Schema) []int64 {
	var out []int64
	for _, path := range s.Columns() {
		leaf, ok := s.Lookup(path...)
		unit := int64(0)
		if ok {
			if t := leaf.Node.Type().LogicalType(); t != nil {
				unit = timeUnit(t)
			}
		}
		out = append(out, unit)
	}
	return out
}

// writeText writes the values of a row as text.
func writeText(fields []string, row parquet.Row, units []int64) {
	for _, v := range row {
		k := v.Column()
		if v.IsNull() || k < 0 || k >= len(fields) {
			continue
		}
		text := ""
		switch v.Kind() {
		case parquet.Boolean:
			text = strconv.FormatBool(v.Boolean())
		case parquet.Int32, parquet.Int64:
			n := v.Int64()
			switch u := units[k]; {
			case u < 0:
				n *= -u
			case u > 1:
				n /= u
			}
			text = strconv.FormatInt(n, 10)
		case parquet.Float:
			text = strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
		case parquet.Double:
			text = strconv.FormatFloat(v.Double(), 'g', -1, 64)
		default:
			text = string(v.ByteArray())
		}
		if fields[k] != "" {
			fields[k] += " "
		}
		fields[k] += text
	}
}

// ColumnsMatch compares the columns of a Parquet file with those that a format has.
func ColumnsMatch(h Head, wanted ...string) Match {
	if h.Columns == nil {
		return No(0, 0, "a file that is not Parquet", "Parquet", "name another file")
	}
	found, required := 0, 0
	for _, w := range wanted {
		if strings.HasSuffix(w, "?") {
			continue
		}
		required++
		for _, c := range h.Columns {
			if c == w {
				found++
				break
			}
		}
	}
	if found < required {
		return No(100*found/required, 0, "the columns "+Excerpt(strings.Join(h.Columns, ",")), "columns "+strings.Join(wanted, ","), "name another file")
	}
	return Match{Percent: 100}
}

// timeUnit is that of a logical type, 0 when it is no instant.
func timeUnit(t *pqformat.LogicalType) int64 {
	stamp, ok := t.Value.(*pqformat.TimestampType)
	if !ok {
		return 0
	}
	switch stamp.Unit.Value.(type) {
	case *pqformat.MilliSeconds:
		return -1000
	case *pqformat.NanoSeconds:
		return 1000
	}
	return 1
}
