package format

import (
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"orrery/scheduler/model"
	"orrery/traces"
)

// nulls are the spellings of a missing value that logs use.
var nulls = []string{"", "NaN", "nan", "NULL", "null", "None", "none", `\N`, "N/A", "[N/A]", "NA", "-", "Unknown", "None assigned", "[Not Supported]", "no reading"}

// Missing says whether a text stands for no value.
func Missing(text string) bool { return slices.Contains(nulls, text) }

// Cells reads the wanted columns of a row, by their places in Layout.Columns. The first
// error stands, and what is read after it counts for nothing: callers ask for Err once.
// A column that the file lacks is missing in every row.
type Cells struct {
	*Row
	Err error

	extra map[string]string
}

// CellsOf reads a row.
func CellsOf(r *Row) *Cells { return &Cells{Row: r} }

// Fail notes that a column cannot be read.
func (c *Cells) Fail(k int, expected string) {
	if c.Err != nil {
		return
	}
	if c.At[k] < 0 || c.At[k] >= len(c.Fields) {
		c.Err = &traces.DataError{File: c.file, Line: c.Line, Found: strconv.Itoa(len(c.Fields)) + " fields", Expected: expected, Mend: "fetch the file again if it was cut short"}
		return
	}
	c.Err = c.Wrong(c.At[k], expected, "correct the value, or leave the row out")
}

// Raw is the text of a column, without blanks around it; "" when it is not there.
func (c *Cells) Raw(k int) string {
	if c.At[k] < 0 || c.At[k] >= len(c.Fields) {
		return ""
	}
	return strings.TrimSpace(c.Fields[c.At[k]])
}

// Has says whether a column holds a value.
func (c *Cells) Has(k int) bool { return !Missing(c.Raw(k)) }

// Text is a column of text, as it is written.
func (c *Cells) Text(k int) string {
	s := c.Raw(k)
	if !utf8.ValidString(s) {
		c.Fail(k, "text in UTF-8")
		return ""
	}
	return strings.Clone(s)
}

// Name is a column of text in which the spellings of no value are none.
func (c *Cells) Name(k int) string {
	if s := c.Text(k); !Missing(s) {
		return s
	}
	return ""
}

// Word is one of several words: the one that stands for it in the pairs.
func (c *Cells) Word(k int, pairs ...string) string {
	text := c.Raw(k)
	var known []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == text {
			return pairs[i+1]
		}
		known = append(known, pairs[i])
	}
	last := len(known) - 1
	c.Fail(k, strings.Join(known[:last], ", ")+" or "+known[last])
	return ""
}

// whole is a number without a fraction; "4.0" is one.
func (c *Cells) whole(k int, low, high int64) (int64, bool) {
	text := c.Raw(k)
	if Missing(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		x, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			c.Fail(k, "a whole number")
			return 0, false
		}
		n = int64(x)
	}
	if n < low || n > high {
		c.Fail(k, bounds(low, high))
		return 0, false
	}
	return n, true
}

func bounds(low, high int64) string {
	if low == 0 && high == MostCount {
		return "a number from 0 to 2^30"
	}
	if low == 0 && high == 1<<40 {
		return "seconds from the start of the trace"
	}
	return "a number from " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10)
}

// Whole is a whole number that must be there.
func (c *Cells) Whole(k int, low, high int64) int64 {
	n, ok := c.whole(k, low, high)
	if !ok {
		c.Fail(k, "a whole number")
	}
	return n
}

// MostCount bounds what a node or a job can have of anything.
const MostCount = 1 << 30

// Count is a number of things that must be there, 0 to 2^30.
func (c *Cells) Count(k int) int32 { return int32(c.Whole(k, 0, MostCount)) }

// OptCount is a number of things, null when there is none.
func (c *Cells) OptCount(k int) traces.Opt[int32] {
	n, ok := c.whole(k, 0, MostCount)
	return traces.Opt[int32]{V: int32(n), OK: ok}
}

// OptWhole is a whole number, null when there is none.
func (c *Cells) OptWhole(k int, low, high int64) traces.Opt[int64] {
	n, ok := c.whole(k, low, high)
	return traces.Opt[int64]{V: n, OK: ok}
}

// OptReal is a finite number, null when there is none.
func (c *Cells) OptReal(k int) traces.Opt[float64] {
	text := c.Raw(k)
	if Missing(text) {
		return traces.Opt[float64]{}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		c.Fail(k, "a number")
		return traces.Opt[float64]{}
	}
	return traces.Some(x)
}

// Real is a finite number that must be there.
func (c *Cells) Real(k int) float64 {
	x := c.OptReal(k)
	if !x.OK {
		c.Fail(k, "a number")
	}
	return x.V
}

// Number is a whole number that must be there, of any sign, as a double.
func (c *Cells) Number(k int) traces.Opt[float64] {
	return traces.Some(float64(c.Whole(k, -1<<53, 1<<53)))
}

// OptSpan is a decimal number of units, null when there is none. It is rounded down to µs.
func (c *Cells) OptSpan(k int, unit model.Duration) traces.Opt[model.Duration] {
	text := c.Raw(k)
	if Missing(text) {
		return traces.Opt[model.Duration]{}
	}
	d, exact, ok := Decimal(text, unit)
	if !ok {
		c.Fail(k, "a number")
		return traces.Opt[model.Duration]{}
	}
	if !exact {
		c.Repair(RuleRounded)
	}
	return traces.Some(d)
}

// Span is a decimal number of units that must be there.
func (c *Cells) Span(k int, unit model.Duration) model.Duration {
	d := c.OptSpan(k, unit)
	if !d.OK {
		c.Fail(k, "a number")
	}
	return d.V
}

// OptAt is an instant as a decimal number of units since the zero of the log, null when
// there is none.
func (c *Cells) OptAt(k int, unit model.Duration) traces.Opt[model.Time] {
	d := c.OptSpan(k, unit)
	return traces.Opt[model.Time]{V: model.Time(d.V), OK: d.OK}
}

// Instant is an instant as a decimal number of units that must be there.
func (c *Cells) Instant(k int, unit model.Duration) model.Time {
	return model.Time(c.Span(k, unit))
}

// Since is a whole number of seconds from the zero of a log whose zero is its start.
func (c *Cells) Since(k int) model.Time {
	n, ok := c.whole(k, 0, 1<<40)
	if !ok {
		c.Fail(k, "seconds from the start of the trace")
	}
	return model.Time(n) * model.Time(model.Second)
}

// OptWhen is an instant in words, null when there is none.
func (c *Cells) OptWhen(k int, clock *Clock) traces.Opt[model.Time] {
	if c.Err != nil || !c.Has(k) {
		return traces.Opt[model.Time]{}
	}
	at, err := clock.At(c.Row, c.At[k])
	if err != nil {
		c.Err = err
		return traces.Opt[model.Time]{}
	}
	return traces.Some(at)
}

// When is an instant in words that must be there.
func (c *Cells) When(k int, clock *Clock) model.Time {
	at := c.OptWhen(k, clock)
	if !at.OK {
		c.Fail(k, InstantForms)
	}
	return at.V
}

// Keep puts a value that no column of the table takes into extra, unless it is missing.
func (c *Cells) Keep(name, value string) {
	if Missing(value) || !utf8.ValidString(value) {
		return
	}
	if c.extra == nil {
		c.extra = map[string]string{}
	}
	c.extra[name] = value
}

// Extra is the JSON of what was kept, and of the columns that are not wanted.
func (c *Cells) Extra() string {
	c.Row.kept = true
	for i, name := range c.Header {
		if i < len(c.Fields) && name != "" && !slices.Contains(c.At, i) {
			c.Keep(name, strings.TrimSpace(c.Fields[i]))
		}
	}
	if len(c.extra) == 0 {
		return ""
	}
	text, err := json.Marshal(c.extra) // keys ascending
	if err != nil {
		return "" // strings always can be written
	}
	return string(text)
}

// mostSpan bounds instants and spans, in µs: within 36,000 years.
const mostSpan = 1 << 60

// Decimal is a decimal number of units in µs, rounded down, and whether that is exact. A
// number with an exponent goes by way of a double.
func Decimal(text string, unit model.Duration) (d model.Duration, exact, ok bool) {
	digits, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(fraction) > 17 || strings.ContainsAny(fraction, "eE+-_") || digits == "" {
		x, err := strconv.ParseFloat(text, 64)
		x = math.Floor(float64(x * float64(unit)))
		if err != nil || math.IsNaN(x) || math.Abs(x) > mostSpan || strings.ContainsAny(text, "xXpP_") {
			return 0, false, false
		}
		return model.Duration(x), true, true
	}
	if n > mostSpan/int64(unit) || n < -mostSpan/int64(unit) {
		return 0, false, false
	}
	d = model.Duration(n) * unit
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return d, true, true
	}
	part, err := strconv.ParseUint(fraction, 10, 64)
	if err != nil {
		return 0, false, false
	}
	over := uint64(1)
	for range fraction {
		over *= 10
	}
	high, low := bits.Mul64(part, uint64(unit))
	whole, rest := bits.Div64(high, low, over) // part < over
	if digits[0] != '-' {
		return d + model.Duration(whole), rest == 0, true
	}
	if rest != 0 {
		whole++
	}
	return d - model.Duration(whole), rest == 0, true
}
