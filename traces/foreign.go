package traces

import (
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// lay says how a column of ours lies in a given file. Other writers store the
// same thing differently: every column optional, instants in ms or ns or as
// plain integers, small counts in 64 bits.
type lay struct {
	index    int // leaf column in the file, -1 when the file lacks it
	kind     parquet.Kind
	optional bool  // may hold nulls
	unsigned bool  // a number without sign
	mul, div int64 // stored instant * mul / div is in µs
}

// layOf finds the column in the file, or says why what it finds there cannot
// be read as this column.
func layOf(file *parquet.File, c *Column) (l lay, found string) {
	l = lay{index: -1, mul: 1, div: 1}
	root := file.Root().Column(c.Name)
	if root == nil {
		return l, ""
	}
	if !root.Leaf() {
		return l, "a nested column"
	}
	if root.Repeated() {
		return l, "a repeated column"
	}
	l.index, l.optional, l.kind = root.Index(), root.Optional(), root.Type().Kind()
	logical := format.LogicalTypeValue(nil)
	if t := root.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	if !l.accepts(c.Type, logical) {
		return l, describe(l.kind, logical)
	}
	return l, ""
}

// accepts decides whether the stored type can be read as typ and notes the
// conversion.
func (l *lay) accepts(typ ColumnType, logical format.LogicalTypeValue) bool {
	switch typ {
	case Timestamp:
		if l.kind != parquet.Int64 {
			return false
		}
		switch t := logical.(type) {
		case nil:
			return true
		case *format.TimestampType:
			return l.timeUnit(t)
		case *format.IntType:
			return t.IsSigned
		}
		return false
	case Int64, Int32:
		if l.kind != parquet.Int64 && l.kind != parquet.Int32 {
			return false
		}
		switch t := logical.(type) {
		case nil:
			return true
		case *format.IntType:
			l.unsigned = !t.IsSigned
			return true
		}
		return false
	case Double:
		return l.kind == parquet.Double || l.kind == parquet.Float
	case Bool:
		return l.kind == parquet.Boolean
	case String:
		if l.kind != parquet.ByteArray {
			return false
		}
		switch logical.(type) {
		case nil, *format.StringType, *format.JsonType, *format.EnumType:
			return true
		}
	}
	return false
}

func (l *lay) timeUnit(t *format.TimestampType) bool {
	switch t.Unit.Value.(type) {
	case *format.MilliSeconds:
		l.mul = 1000
	case *format.MicroSeconds:
	case *format.NanoSeconds:
		l.div = 1000
	default:
		return false
	}
	return true
}

func describe(kind parquet.Kind, logical format.LogicalTypeValue) string {
	if logical == nil {
		return kind.String()
	}
	return fmt.Sprintf("%s annotated %s", kind, logical)
}

// number brings a stored integer to the unit and sign of the column. The
// second result is false when it does not fit typ.
func (l *lay) number(raw int64, typ ColumnType) (int64, bool) {
	if l.unsigned {
		if l.kind == parquet.Int32 {
			raw = int64(uint32(raw))
		} else if raw < 0 {
			return 0, false
		}
	}
	switch typ {
	case Timestamp:
		if l.mul > 1 && (raw > maxInstant/l.mul || raw < -maxInstant/l.mul) {
			return 0, false
		}
		raw *= l.mul
		if l.div > 1 {
			raw = floorDiv(raw, l.div)
		}
		return raw, finite(raw)
	case Int32:
		return raw, raw > math.MinInt32 && raw <= math.MaxInt32
	}
	return raw, raw != math.MinInt64
}

// floorDiv rounds towards the past, so that the order of instants is kept.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// wanted words the types that accepts accepts.
func wanted(typ ColumnType) string {
	switch typ {
	case Timestamp:
		return "a timestamp (INT64 in ms, µs or ns, or a plain INT64 of µs since 1970 UTC)"
	case Int64, Int32:
		return "a whole number (INT64 or INT32)"
	case Double:
		return "a floating-point number (DOUBLE or FLOAT)"
	case Bool:
		return "a BOOLEAN"
	}
	return "text (BYTE_ARRAY annotated as a string)"
}

// mendType tells how to store a column so that it is accepted.
func mendType(typ ColumnType, name string) string {
	sql := map[ColumnType]string{Timestamp: "TIMESTAMPTZ", Int64: "BIGINT", Int32: "INTEGER", Double: "DOUBLE", Bool: "BOOLEAN", String: "VARCHAR"}[typ]
	return fmt.Sprintf("write the column again with that type, in SQL CAST(%q AS %s)", name, sql)
}
