package columns

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// converter makes values of the texts in a row. The first error stands.
type converter struct {
	m       *Mapping
	clocks  []format.Clock // one for each source
	row     *format.Row
	width   int64           // of the sample, µs
	moments []format.Moment // of the row, one for each source
	err     error
}

// wrong notes that a source cannot be read.
func (c *converter) wrong(s *source, column int, expected string) traces.Value {
	if c.err != nil {
		return traces.Value{Null: true}
	}
	mend := "correct the value, or leave the row out; a word that stands for no value is named with --null"
	if column >= 0 {
		c.err = c.row.Wrong(column, expected, mend)
	} else {
		c.err = &traces.DataError{Column: s.column.Name, Found: format.Excerpt(s.value), Expected: expected, Mend: "correct --set"}
	}
	return traces.Value{Null: true}
}

// value is that of a source in the row; column is where it stands there, -1 for a
// constant.
func (c *converter) value(s *source, column int) traces.Value {
	text := s.value
	if column >= 0 {
		text = strings.TrimSpace(c.row.Fields[column])
	}
	if s.column.Type == traces.String {
		return c.text(s, column, text)
	}
	if slices.Contains(c.m.nulls, text) {
		return traces.Value{Null: true}
	}
	switch {
	case s.column.Type == traces.Bool:
		switch strings.ToLower(text) {
		case "true", "1", "yes":
			return traces.Value{Number: 1}
		case "false", "0", "no":
			return traces.Value{}
		}
		return c.wrong(s, column, "true or false")
	case s.column.Type == traces.Double:
		return c.real(s, column, text)
	case s.column.Type == traces.Timestamp && s.unit.special == asText:
		return c.instant(s, column, text)
	case s.unit.special == asText:
		d, err := model.ParseDuration(text)
		if err != nil {
			return c.wrong(s, column, "a span such as 90s, 1h30m or 1-02:03:04")
		}
		return traces.Value{Number: int64(d)}
	}
	return c.whole(s, column, text)
}

func (c *converter) text(s *source, column int, text string) traces.Value {
	if column >= 0 {
		var err error
		if text, err = c.row.Text(column); err != nil && c.err == nil {
			c.err = err
		}
	}
	if text == `\N` || text == "NULL" || slices.Contains(c.m.nulls[len(nullWords):], text) {
		text = ""
	}
	return traces.Value{Null: text == "", Text: text}
}

// instant reads an instant in words. Which one a local time is that occurred twice is known with the rest of the row.
func (c *converter) instant(s *source, column int, text string) traces.Value {
	clock := &c.clocks[s.index]
	clock.Turn(c.row.N)
	m, rules, needZone, ok := clock.Moment(text)
	switch {
	case ok:
		for _, r := range rules {
			c.row.Repair(r)
		}
		c.moments[s.index] = m
		return traces.Value{Number: int64(m.At().V)}
	case needZone:
		v := c.wrong(s, column, format.NeedsZone)
		var e *traces.DataError
		if errors.As(c.err, &e) && e.Expected == format.NeedsZone {
			e.Mend = format.MendZone
		}
		return v
	}
	return c.wrong(s, column, format.InstantForms)
}

func (c *converter) real(s *source, column int, text string) traces.Value {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return c.wrong(s, column, "a number")
	}
	if s.unit.special == perTime {
		x = float64(x * float64(c.width))
	}
	if s.unit.num != 1 {
		x = float64(x * float64(s.unit.num))
	}
	if s.unit.den != 1 {
		x /= float64(s.unit.den)
	}
	return traces.RealValue(x)
}

// mostDigits bounds a decimal number: more do not fit any column.
const mostDigits = 36

// whole is a decimal number times the unit, rounded down where it is no whole one, or
// up where it counts things.
func (c *converter) whole(s *source, column int, text string) traces.Value {
	digits, fraction, _ := strings.Cut(text, ".")
	n, ok := new(big.Int).SetString(digits+fraction, 10)
	if !ok || len(text) > mostDigits || strings.Contains(text, "_") || strings.HasPrefix(fraction, "-") || strings.HasPrefix(fraction, "+") {
		return c.wrong(s, column, "a number")
	}
	n.Mul(n, big.NewInt(s.unit.num))
	den := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)
	den.Mul(den, big.NewInt(s.unit.den))
	rest := new(big.Int)
	n.DivMod(n, den, rest) // rounds down
	if rest.Sign() != 0 {
		switch {
		case s.unit.name == "milli":
			c.row.Repair(s.column.Name + "-rounded-up")
			n.Add(n, big.NewInt(1))
		case s.column.Unit == "µs":
			c.row.Repair(format.RuleRounded)
		case s.unit == bare:
			return c.wrong(s, column, "a whole number")
		default:
			c.row.Repair(s.column.Name + "-rounded-down")
		}
	}
	limit := int64(math.MaxInt64)
	switch s.column.Type {
	case traces.Int32:
		limit = math.MaxInt32
	case traces.Timestamp:
		limit = 1 << 60
	}
	if !n.IsInt64() || n.Int64() > limit || n.Int64() < -limit {
		return c.wrong(s, column, "a number that fits the column")
	}
	return traces.Value{Number: n.Int64()}
}
