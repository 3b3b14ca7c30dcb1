package profiles

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"orrery/internal/spelling"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// Bytes is a size, written with its unit: 96GiB.
type Bytes int64

// Rate is in bytes a second, written 200GB/s.
type Rate int64

// Power is in watts, written 1.2kW.
type Power int64

// unit is a suffix and what it multiplies by.
type unit struct {
	suffix string
	scale  int64
}

// unitsOf lists the suffixes of a type of size, the largest first, and an
// example for errors.
func unitsOf(t reflect.Type) (units []unit, example string) {
	if t == reflect.TypeFor[Power]() {
		return []unit{{"MW", 1e6}, {"kW", 1e3}, {"W", 1}}, "700W or 1.2kW"
	}
	units = []unit{{"PiB", 1 << 50}, {"PB", 1e15}, {"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}, {"B", 1}}
	if t == reflect.TypeFor[Bytes]() {
		return units, "80GiB or 512GB"
	}
	for i := range units {
		units[i].suffix += "/s"
	}
	return units, "200GB/s or 10GiB/s"
}

// parseScalar reads text into v. It accepts what formatScalar writes, and the
// other spellings of the same.
func parseScalar(text string, v reflect.Value, f field) error {
	zero := f.tag("zero")
	if zero != "" && text == zero {
		v.SetZero()
		return nil
	}
	if v.Kind() == reflect.Pointer {
		x := reflect.New(v.Type().Elem())
		if err := parseValue(text, x.Elem(), f); err != nil {
			return err
		}
		v.Set(x)
		return nil
	}
	if err := parseValue(text, v, f); err != nil {
		return err
	}
	if zero != "" && v.IsZero() && f.tag("same") == "" {
		return fmt.Errorf("found %s, want %s, or more than 0: a 0 is not taken for %[2]s", text, zero)
	}
	return nil
}

// parseValue reads text into v, which is no pointer.
func parseValue(text string, v reflect.Value, f field) error {
	switch kindOf(v.Type()) {
	case aBool:
		return parseBool(text, v)
	case aWhole:
		return parseWhole(text, v, f)
	case aNumber:
		return parseNumber(text, v, f)
	case aSpan:
		return parseSpan(text, v, f)
	case aSize:
		return parseSize(text, v)
	case anAmount:
		a, err := ParseAmount(text)
		if err != nil {
			return fmt.Errorf("%w%s", err, orZero(f))
		}
		v.Set(reflect.ValueOf(a))
		return nil
	}
	return parseText(text, v, f)
}

func parseBool(text string, v reflect.Value) error {
	if text != "true" && text != "false" {
		return fmt.Errorf("found %q, want true or false", text)
	}
	v.SetBool(text == "true")
	return nil
}

func parseWhole(text string, v reflect.Value, f field) error {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && v.OverflowInt(n):
		return fmt.Errorf("found %s, which is out of range", text)
	case err != nil, octalLike(text), strings.HasPrefix(text, "+"):
		return fmt.Errorf("found %q, want a whole number%s%s", text, orZero(f), InDigits(text))
	}
	v.SetInt(n)
	return nil
}

// likeNumber is text that YAML or another reader may take for a number. It begins with a digit, behind a sign or a point.
var likeNumber = regexp.MustCompile(`^[-+]?\.?[0-9][0-9a-fA-FxXoObBpP_.,+-]*$`)

// thousands are digits in groups of three.
var thousands = regexp.MustCompile(`^[-+]?[0-9]{1,3}(,[0-9]{3})+$`)

// numeric says whether a text is a number in any notation.
func numeric(text string) bool {
	if _, ok := wholeIn(text); ok {
		return true
	}
	_, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	return err == nil && likeNumber.MatchString(text)
}

// wholeIn is the whole number that a text may stand for in a notation that is not read: 1e3, 1_000, 0x10, 010, 1.0.
func wholeIn(text string) (n int64, ok bool) {
	if !likeNumber.MatchString(text) {
		return 0, false
	}
	text = strings.ReplaceAll(text, "_", "")
	if thousands.MatchString(text) {
		text = strings.ReplaceAll(text, ",", "")
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil { // 010 is 10
		return n, true
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	return int64(x), true
}

// InDigits says what to write instead of a whole number in another notation, such as 1e3, 0x10 or 010: the
// end of a sentence. It is empty for text that is no whole number, and is not asked about one in digits.
func InDigits(text string) string {
	n, ok := wholeIn(text)
	switch {
	case !ok:
		return ""
	case octalLike(text):
		return fmt.Sprintf(": write %d without a leading 0, which some readers take for octal", n)
	}
	return fmt.Sprintf(": write %d", n)
}

func parseNumber(text string, v reflect.Value, f field) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) || strings.ContainsAny(text, "xXpP_+") || octalLike(text) {
		return fmt.Errorf("found %q, want a number%s%s", text, orZero(f), InDigits(text))
	}
	if x == 0 {
		x = 0 // without a sign
	}
	v.SetFloat(x)
	return nil
}

// octalLike says whether a number begins with a 0 that another digit follows.
func octalLike(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	return len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
}

func parseSpan(text string, v reflect.Value, f field) error {
	if text == "0" {
		text = "0s"
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%w%s", err, orZero(f))
	}
	if d == model.Forever {
		return fmt.Errorf("found %q, want a span that ends%s", text, orZero(f))
	}
	v.SetInt(int64(d))
	return nil
}

// ParseBytes reads a size with its unit, as 64MiB.
func ParseBytes(text string) (b Bytes, err error) {
	err = parseSize(text, reflect.ValueOf(&b).Elem())
	return b, err
}

func parseSize(text string, v reflect.Value) error {
	units, example := unitsOf(v.Type())
	number, scale := text, int64(0)
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.suffix); ok {
			number, scale = strings.TrimSpace(n), u.scale
			break
		}
	}
	if text == "0" {
		scale = 1
	}
	if strings.Trim(number, "0123456789.") != "" || len(number) > 24 || scale == 0 {
		return fmt.Errorf("found %q, want a number and its unit, for example %s", text, example)
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return fmt.Errorf("found %q, want a number and its unit, for example %s", text, example)
	}
	r.Mul(r, new(big.Rat).SetInt64(scale))
	if !r.IsInt() || !r.Num().IsInt64() {
		return fmt.Errorf("found %q, want a whole multiple of %s below 2^63", text, units[len(units)-1].suffix)
	}
	v.SetInt(r.Num().Int64())
	return nil
}

// maxText bounds a text, in bytes.
const maxText = 4096

func parseText(text string, v reflect.Value, f field) error {
	if len(text) > maxText {
		return fmt.Errorf("a text of %d bytes, want at most %d", len(text), maxText)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) && r != '\n' {
			return fmt.Errorf("a text with the character %U, want printable ones", r)
		}
	}
	if f.tag("of") == "orders" {
		if o, err := order.Parse(text); err == nil {
			text = o.String()
		}
	}
	if words := f.words(); words != nil && !slices.Contains(words, text) {
		return fmt.Errorf("found %q%s, want %s", text, spelling.Hint(text, words), oneOf(words))
	}
	v.SetString(text)
	return nil
}

func orZero(f field) string {
	if z := f.tag("zero"); z != "" {
		return ", or " + z
	}
	return ""
}

// formatScalar is the one way in which a value is written.
func formatScalar(v reflect.Value, f field) string {
	if zero := f.tag("zero"); zero != "" && v.IsZero() {
		return zero
	}
	v = reflect.Indirect(v)
	switch kindOf(v.Type()) {
	case aBool:
		return strconv.FormatBool(v.Bool())
	case aWhole:
		return strconv.FormatInt(v.Int(), 10)
	case aNumber:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case aSpan:
		return formatSpan(model.Duration(v.Int()))
	case aSize:
		return formatSize(v)
	case anAmount:
		return amountIn(v).String()
	}
	return v.String()
}

// formatSpan writes 90d, 1h30m, 1d2h or 1.5s.
func formatSpan(d model.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
		d = -d
	}
	for _, u := range []struct {
		of   model.Duration
		name string
	}{{model.Day, "d"}, {model.Hour, "h"}, {model.Minute, "m"}} {
		if n := d / u.of; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d %= u.of
		}
	}
	if d > 0 {
		fraction := strings.TrimRight(fmt.Sprintf("%06d", d%model.Second), "0")
		if fraction != "" {
			fraction = "." + fraction
		}
		fmt.Fprintf(&b, "%d%ss", d/model.Second, fraction)
	}
	return b.String()
}

// formatSize uses the largest unit of which v is a whole multiple.
func formatSize(v reflect.Value) string {
	units, _ := unitsOf(v.Type())
	n := v.Int()
	for _, u := range units {
		if n != 0 && n%u.scale == 0 {
			return strconv.FormatInt(n/u.scale, 10) + u.suffix
		}
	}
	return "0"
}

// literal says whether a value stands in JSON without quotes.
func literal(v reflect.Value, text string) bool {
	switch kindOf(v.Type()) {
	case aBool, aWhole, aNumber, anAmount:
		return text == "true" || text == "false" || strings.Trim(text, "-0123456789.e+") == ""
	}
	return false
}

// Span is a span of time as files write it: 1d2h30m.
func Span(d model.Duration) string { return formatSpan(d) }
