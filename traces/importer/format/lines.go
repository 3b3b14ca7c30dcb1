package format

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"orrery/traces"
)

// EachLine goes through the lines of a text file, without their ends. A line is at most
// 1 MiB long and in UTF-8. Lines that cannot be read are left out.
func EachLine(f File, fn func(n int64, text string) error) error {
	raw, err := f.Open()
	if err != nil {
		return err
	}
	defer raw.Close() // only read
	f.Bad.Reading(f.Name)
	in := bufio.NewReaderSize(raw, 64<<10)
	if mark, err := in.Peek(len(utf8BOM)); err == nil && bytes.Equal(mark, utf8BOM) {
		_, _ = in.Discard(len(utf8BOM)) // it is in the buffer
	}
	var long []byte
	for n := int64(1); ; {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, part...); len(long) > maxRow {
				return LineError(f, n, "a line longer than "+strconv.Itoa(maxRow)+" bytes", "lines that end", "fetch the file again")
			}
			continue
		}
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		if end && len(line) == 0 {
			return nil
		}
		text := strings.TrimRight(string(line), "\r\n")
		if !utf8.ValidString(text) {
			err = LineError(f, n, Excerpt(text), "text in UTF-8", "convert the file, for example with iconv")
		} else {
			err = fn(n, text)
		}
		if err := f.Pass(err); err != nil {
			return err
		}
		if end {
			return nil
		}
		long = long[:0]
		n++
	}
}

// LineError is the complaint about a line.
func LineError(f File, line int64, found, expected, mend string) *traces.DataError {
	return &traces.DataError{File: f.Name, Line: line, Found: found, Expected: expected, Mend: mend}
}

// No is the match of a file that is not of a format.
func No(percent int, line int64, found, expected, mend string) Match {
	return Match{Percent: percent, Err: &traces.DataError{Line: line, Found: found, Expected: expected, Mend: mend}}
}
