package swf

import (
	"bytes"
	"fmt"
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

// add takes a comment line, which starts with ';'. unread quotes a value that
// was not understood and therefore counts as unknown.
func (h *header) add(file string, n int64, line []byte) (unread string, err error) {
	text := string(bytes.TrimRight(line, " \t\r"))
	if h.bytes += len(text); h.bytes <= maxHeader {
		h.lines = append(h.lines, strings.ToValidUTF8(text, "?"))
	}
	key, value, ok := headerField(text)
	if !ok {
		return "", nil
	}
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
	default:
		return "", nil
	}
	if err != nil {
		return "", &traces.DataError{File: file, Line: n, Column: key, Found: excerpt([]byte(value)),
			Expected: "a whole number that fits", Mend: "correct the header line or take it out"}
	}
	if !understood(key, value) {
		unread = fmt.Sprintf("line %d: %s: %s", n, key, excerpt([]byte(value)))
	}
	return unread, nil
}

// understood says whether a value that people may write words in was taken; an
// empty one, and -1 for a number, say that it is not known.
func understood(key, value string) bool {
	word := firstWord(value)
	if key == "TimeZoneString" {
		return value == "" || isZone(value)
	}
	return word == "" || word == "-1" || digits([]byte(word))
}

// firstWord is the first word of a value, without the punctuation behind it.
func firstWord(value string) string {
	word, _, _ := strings.Cut(value, " ")
	return strings.TrimRight(word, ".,;")
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
	word := firstWord(value)
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
