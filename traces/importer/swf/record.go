package swf

import "strconv"

// maxFields is the width of the widest dialect.
const maxFields = 21

// record is one data line as parsed, before any rule judges it: the standard
// fields (instants and spans in µs, the others as written), and the text of
// what a dialect has beyond them. Slices point into the line.
type record struct {
	v       [standardFields]int64
	rounded bool // a time had digits finer than a microsecond

	// text holds the fields of kind decimal that have a fraction, as JSON
	// numbers, by decimalSlot; fractions has the bit of each such field.
	text      [3][]byte
	fractions uint32

	more [maxFields - standardFields][]byte
}

// badField says which token of a line is not of its field's type.
type badField struct {
	field int
	token []byte
}

// parse fills r from one line and returns the number of fields on it, which
// may be more than maxFields: those beyond are counted and not kept. When a
// token is not a number of its field's type, bad says which. The caller judges
// the number of fields first. It allocates only for numbers in scientific
// notation and for decimals with a fraction.
func (r *record) parse(line []byte) (n int, bad *badField) {
	r.rounded, r.fractions = false, 0
	pos := 0
	for i := range standardFields {
		for pos < len(line) && isBlank(line[pos]) {
			pos++
		}
		if pos == len(line) {
			return i, bad
		}
		start := pos
		if line[pos] == '-' {
			pos++
		}
		first := pos
		var v int64
		for pos < len(line) {
			d := line[pos] - '0'
			if d > 9 {
				break
			}
			v = v*10 + int64(d)
			pos++
		}
		if pos == first || pos-first > 18 || v > limit[i] || pos < len(line) && !isBlank(line[pos]) {
			for pos < len(line) && !isBlank(line[pos]) {
				pos++
			}
			if !r.parseOther(i, line[start:pos]) && bad == nil {
				bad = &badField{field: i, token: line[start:pos]}
			}
			continue
		}
		if first > start {
			v = -v
		}
		r.v[i] = v * scale[i]
	}
	if pos == len(line) {
		return standardFields, bad
	}
	return standardFields + r.rest(line[pos:]), bad
}

// rest keeps the fields of a dialect and counts all that follow the standard
// ones.
func (r *record) rest(line []byte) int {
	n, pos := 0, 0
	for {
		for pos < len(line) && isBlank(line[pos]) {
			pos++
		}
		if pos == len(line) {
			return n
		}
		start := pos
		for pos < len(line) && !isBlank(line[pos]) {
			pos++
		}
		if n < len(r.more) {
			r.more[n] = line[start:pos]
		}
		n++
	}
}

// parseOther is the slow path: tokens that are not plain integers of up to 18
// digits.
func (r *record) parseOther(i int, token []byte) bool {
	n, ok := splitNumber(token)
	if !ok {
		return false
	}
	if fields[i].kind == seconds {
		v, exact, ok := n.micros()
		r.v[i], r.rounded = v, r.rounded || !exact
		return ok && v <= maxSeconds*scale[i] && v >= -maxSeconds*scale[i]
	}
	v, ok := n.floor()
	r.v[i] = v
	if !ok || v > limit[i] || v < -limit[i] {
		return false
	}
	if len(n.fraction) == 0 {
		return true
	}
	if fields[i].kind != decimal {
		return false
	}
	if n.negative { // -0.5 is not the -1 that means missing
		r.v[i] = min(v, -2)
		return true
	}
	slot := decimalSlot(i)
	r.text[slot] = n.appendTo(r.text[slot][:0])
	r.fractions |= 1 << i
	return true
}

// decimalSlot is the place of a field of kind decimal in record.text.
func decimalSlot(i int) int {
	switch i {
	case fAvgCPU:
		return 0
	case fUsedMem:
		return 1
	}
	return 2
}

// appendDecimal writes field i, of kind decimal and not missing, as a JSON
// number.
func (r *record) appendDecimal(b []byte, i int) []byte {
	if r.fractions&(1<<i) != 0 {
		return append(b, r.text[decimalSlot(i)]...)
	}
	return strconv.AppendInt(b, r.v[i], 10)
}

// isBlank says whether c separates fields; a carriage return does, so that
// files with DOS line ends read alike.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }
