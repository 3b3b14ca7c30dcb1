// Package swf reads logs in the Standard Workload Format and writes traces
// back as such. It knows the format and the dialects in which it is found; of
// what a replay makes of a row, and of compression, it knows nothing.
//
// A log is lines of 18 numbers separated by blanks or tabs, after a header of
// comment lines that start with ";". The dialects:
//
//   - 19 fields (Theta): the 19th is the carbon weight of the job, kept as
//     extra.carbon_weight.
//   - 21 fields (Alea): memory by processor in braces, queue and placement by
//     name, kept as extra.alea_memory, extra.alea_queue, extra.alea_placement.
//     Field 10 is in bytes there (extra.req_mem_bytes), and fields 17 and 18 do
//     not name a predecessor (extra.preceding_job, extra.think_time_s).
//   - Instants in field 2 since 1970 instead of since UnixStartTime: taken for
//     such when the earliest is after second 10^9, whatever the header says.
//   - Tabs, decimals, scientific notation, unsorted rows, no header, no waits.
//
// Rules. A token that is not a number of its field's type refuses the file, so
// does a line with another number of fields than the first. Of the numbers, -1
// is null. A row is dropped when it has no place in time (no-submit-time), no
// size (no-processors: neither requested nor allocated), a run time below -1
// (negative-run-time) or no number (negative-job-number). Everything else that
// cannot be is made null and the repair is counted; rows out of order are
// sorted by (submit, place in the file), counted as sorted. Kept as they are:
// run times of 0, runs beyond the request, job numbers met twice, more
// processors than the cluster has, rows of partial executions (status 2 to 4).
//
// Format: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
package swf

import (
	"bytes"
	"fmt"
	"strings"

	"orrery/traces"
)

// Version is raised whenever the same file may import differently; cached
// imports of other versions are not used.
const Version = 1

// Name is the format's name in reports.
const Name = "swf"

// dialect is the number of fields on a line.
type dialect int

const (
	standard dialect = standardFields
	theta    dialect = 19
	alea     dialect = maxFields
)

// format is the spelling in reports.
func (d dialect) format() string {
	switch d {
	case theta:
		return "swf (19 fields, Theta)"
	case alea:
		return "swf (21 fields, Alea)"
	}
	return Name
}

func (d dialect) known() bool { return d == standard || d == theta || d == alea }

// Sniff judges a file by its first bytes, decompressed: nil says that it is
// worth parsing as SWF, a DataError (without the file's name) why it is not.
// A head that ends inside a line is judged by the lines before it; atEOF says
// that head is the whole file.
func Sniff(head []byte, atEOF bool) error {
	head = bytes.TrimPrefix(head, utf8BOM)
	if i := bytes.IndexFunc(head, isBinary); i >= 0 {
		return refusal(0, fmt.Sprintf("a binary file (byte %#02x at offset %d)", head[i], i))
	}
	if len(bytes.TrimSpace(head)) == 0 {
		if atEOF {
			return refusal(0, "an empty file")
		}
		return nil
	}
	for n := int64(1); len(head) > 0; n++ {
		l, rest, whole := bytes.Cut(head, []byte{'\n'})
		if !whole && !atEOF {
			return nil
		}
		head = rest
		if l = bytes.TrimSpace(l); len(l) > 0 && l[0] != ';' {
			return checkLine(l, n)
		}
	}
	return nil
}

var utf8BOM = []byte("\xef\xbb\xbf")

// isBinary says whether a character has no business in a text file.
func isBinary(c rune) bool { return c < ' ' && !strings.ContainsRune("\n\r\t\f\v\x1a", c) }

// checkLine judges a log by its first data line.
func checkLine(l []byte, n int64) error {
	var r record
	count, bad := r.parse(l)
	switch {
	case bytes.Count(l, []byte{';'}) >= 3:
		return &traces.DataError{Line: n, Found: "fields separated by ';': " + excerpt(l),
			Expected: "SWF, 18 numbers separated by blanks",
			Mend:     "this is not SWF whatever its name says: write the fields as numbers separated by blanks, with -1 for what is missing"}
	case count == 1 && bytes.Count(l, []byte{','}) >= 3:
		return refusal(n, "fields separated by commas: "+excerpt(l))
	case !dialect(count).known():
		return wrongCount(n, count, l)
	case bad != nil:
		return wrongToken(n, bad)
	}
	return nil
}

func refusal(n int64, found string) *traces.DataError {
	return &traces.DataError{Line: n, Found: found, Expected: "a workload log in SWF, 18 numbers to a line",
		Mend: "name a log in the Standard Workload Format, plain or compressed by gzip or xz"}
}

func wrongCount(n int64, count int, l []byte) *traces.DataError {
	return &traces.DataError{Line: n, Found: fmt.Sprintf("%d fields: %s", count, excerpt(l)),
		Expected: "18 numbers (19 in Theta's dialect, 21 in Alea's)",
		Mend:     "if the line is cut short, fetch the file again; if this is another format, convert it to SWF"}
}

func wrongToken(n int64, bad *badField) *traces.DataError {
	f := fields[bad.field]
	return &traces.DataError{Line: n, Column: fmt.Sprintf("%d (%s)", bad.field+1, f.name),
		Found: excerpt(bad.token), Expected: f.kind.expects(),
		Mend: "write -1 where a value is missing, or leave the line out"}
}

// excerpt quotes the start of what was found, for an error message.
func excerpt(b []byte) string {
	const most = 60
	if len(b) > most {
		return fmt.Sprintf("%q and %d bytes more", b[:most], len(b)-most)
	}
	return fmt.Sprintf("%q", b)
}
