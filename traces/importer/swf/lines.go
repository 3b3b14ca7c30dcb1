package swf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"orrery/traces"
)

// maxLine bounds the memory one line can take; Alea's lists of memory by
// processor make lines of a few kilobytes.
const maxLine = 1 << 20

// lineReader returns the lines of a log, numbered.
type lineReader struct {
	file string
	r    *bufio.Reader
	n    int64 // number of the last line returned, from 1
}

func newLineReader(file string, r io.Reader) *lineReader {
	return &lineReader{file: file, r: bufio.NewReaderSize(r, maxLine)}
}

// next returns a line without its end, or io.EOF. The line is valid until the
// next call. Any other error is a DataError: input that ends before its
// compression says so, or a line longer than maxLine.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.n++
	switch {
	case err == nil:
		line = line[:len(line)-1]
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, &traces.DataError{File: l.file, Line: l.n,
			Found:    fmt.Sprintf("a line longer than %d bytes: %s", maxLine, excerpt(line)),
			Expected: "a workload log in SWF, 18 numbers to a line",
			Mend:     "name a log in the Standard Workload Format, plain or compressed by gzip or xz"}
	case errors.Is(err, io.EOF) && len(line) > 0:
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, unreadable(l.file, l.n, err)
	}
	if l.n == 1 {
		line = bytes.TrimPrefix(line, utf8BOM)
	}
	return line, nil
}

// unreadable says that the bytes could not be had. What is wrong with the data
// is already a DataError; a device that fails is not.
func unreadable(file string, line int64, err error) error {
	var data *traces.DataError
	if errors.As(err, &data) {
		return err
	}
	return fmt.Errorf("reading %s near line %d: %w", file, line, err)
}
