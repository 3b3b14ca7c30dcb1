package swf

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"orrery/traces"
)

// header is what the comment lines of a log say, as far as an import uses it.
// The first of repeated keys counts. Zero values mean that it does not say.
type header struct {
	unixStart int64 // seconds since 1970; 0 counts as unknown, as generators write it
	zone      string
	maxProcs  int32
	maxNodes  int32
	lines     []string // all of it, to be kept with the bundle
	bytes     int
}

// maxHeader bounds what of the comments is kept; logs have a few kilobytes.
const maxHeader = 64 << 10

// add takes a comment line, which starts with ';'.
func (h *header) add(file string, n int64, line []byte) error {
	text := string(bytes.TrimRight(line, " \t\r"))
	if h.bytes += len(text); h.bytes <= maxHeader {
		h.lines = append(h.lines, strings.ToValidUTF8(text, "?"))
	}
	key, value, ok := headerField(text)
	if !ok {
		return nil
	}
	var err error
	switch key {
	case "UnixStartTime":
		err = headerNumber(&h.unixStart, value, maxSeconds)
	case "MaxProcs":
		err = headerNumber(&h.maxProcs, value, math.MaxInt32)
	case "MaxNodes":
		err = headerNumber(&h.maxNodes, value, math.MaxInt32)
	case "TimeZoneString":
		if h.zone == "" && isZone(value) {
			h.zone = value
		}
	}
	if err != nil {
		return &traces.DataError{File: file, Line: n, Column: key, Found: excerpt([]byte(value)),
			Expected: "a whole number that fits", Mend: "correct the header line or take it out"}
	}
	return nil
}

// headerField splits "; Key: value". Lines that are indented further continue
// the value before them, and anything else is free text: neither is a field.
func headerField(text string) (key, value string, ok bool) {
	text = strings.TrimLeft(text, ";")
	if strings.HasPrefix(text, "  ") || strings.HasPrefix(text, "\t") {
		return "", "", false
	}
	key, value, ok = strings.Cut(strings.TrimSpace(text), ":")
	return key, strings.TrimSpace(value), ok
}

// headerNumber reads the first word of a value, unless an earlier line gave
// one. What is no number counts as unknown, since people write words there, and
// so do negative numbers; a number that does not fit is an error.
func headerNumber[T int32 | int64](to *T, value string, most int64) error {
	word, _, _ := strings.Cut(value, " ")
	word = strings.TrimRight(word, ".,;")
	if *to != 0 || word == "" || !digits([]byte(word)) {
		return nil
	}
	v, err := strconv.ParseInt(word, 10, 64)
	if err == nil && v > most {
		err = strconv.ErrRange
	}
	if err == nil {
		*to = T(v)
	}
	return err
}

// isZone says whether s looks like a name of the IANA time zone database. It
// is not looked up: the database of this machine is not that of the next.
func isZone(s string) bool {
	for _, c := range s {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/_+-", c)) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
