package swf

import (
	"bytes"
	"strconv"
)

// number is a decimal number taken apart: sign, the digits before the point
// without leading zeros, and those behind it without trailing ones.
type number struct {
	negative bool
	whole    []byte
	fraction []byte
}

// maxExponent bounds the scientific notation that splitNumber expands; no
// number beyond it fits a field.
const maxExponent = 40

// splitNumber reads what the fast path of the parser does not: a plus sign,
// a point, an exponent ("1e+05" as R writes it), more than 18 digits. It
// answers false for anything that is not a decimal number.
func splitNumber(token []byte) (number, bool) {
	var n number
	s := token
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		n.negative = s[0] == '-'
		s = s[1:]
	}
	exponent := 0
	if i := bytes.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(string(s[i+1:]))
		if err != nil || e > maxExponent || e < -maxExponent {
			return n, false
		}
		exponent, s = e, s[:i]
	}
	before, after, _ := bytes.Cut(s, []byte{'.'})
	if len(before)+len(after) == 0 || !digits(before) || !digits(after) {
		return n, false
	}
	n.whole, n.fraction = before, after
	if exponent != 0 {
		n.whole, n.fraction = shift(before, after, exponent)
	}
	n.whole = bytes.TrimLeft(n.whole, "0")
	n.fraction = bytes.TrimRight(n.fraction, "0")
	return n, true
}

// shift moves the decimal point by e places, to the right when e > 0.
func shift(before, after []byte, e int) (whole, fraction []byte) {
	all := append(append([]byte{}, before...), after...)
	point := len(before) + e
	if point < 0 {
		all = append(bytes.Repeat([]byte{'0'}, -point), all...)
		point = 0
	}
	if point > len(all) {
		all = append(all, bytes.Repeat([]byte{'0'}, point-len(all))...)
	}
	return all[:point], all[point:]
}

// integer is the part before the point as an int64 with the sign; it answers
// false on overflow.
func (n *number) integer() (int64, bool) {
	if len(n.whole) == 0 {
		return 0, true
	}
	v, err := strconv.ParseInt(string(n.whole), 10, 64)
	if n.negative {
		v = -v
	}
	return v, err == nil
}

// micros is the number in millionths, rounded half away from zero; exact is
// false when there was something to round. Numbers up to maxSeconds fit.
func (n *number) micros() (v int64, exact, ok bool) {
	v, ok = n.integer()
	if !ok || v > maxSeconds || v < -maxSeconds {
		return 0, false, false
	}
	if v < 0 {
		v = -v
	}
	unit := int64(100_000)
	v *= 1_000_000
	exact = len(n.fraction) <= 6
	for i, c := range n.fraction {
		if i == 6 {
			if c >= '5' {
				v++
			}
			break
		}
		v += int64(c-'0') * unit
		unit /= 10
	}
	if n.negative {
		v = -v
	}
	return v, exact, true
}

// floor is the largest whole number that is not above n.
func (n *number) floor() (int64, bool) {
	v, ok := n.integer()
	if n.negative && len(n.fraction) > 0 {
		v--
	}
	return v, ok
}

// appendTo writes the number as JSON wants it.
func (n *number) appendTo(b []byte) []byte {
	if n.negative && len(n.whole)+len(n.fraction) > 0 {
		b = append(b, '-')
	}
	if len(n.whole) == 0 {
		b = append(b, '0')
	}
	b = append(b, n.whole...)
	if len(n.fraction) > 0 {
		b = append(append(b, '.'), n.fraction...)
	}
	return b
}

func digits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
