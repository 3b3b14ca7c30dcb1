package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/format"
)

// reader puts records together from lines.
type reader struct {
	file   format.File
	row    *format.Row
	width  int
	texts  []int // columns that may hold any character
	clocks *clocks
	joiner *joiner

	first int64  // line of the record under way
	part  []byte // of it, none when it is empty
	bars  int    // in it
	field []string
}

// free are the columns of text that users write.
var free = []string{"JobName", "SubmitLine", "Constraints", "Comment", "AdminComment", "SystemComment", "WorkDir"}

func newReader(f format.File, header []string, clocks *clocks, s *joiner) (*reader, error) {
	r := &reader{file: f, width: len(header), clocks: clocks, joiner: s}
	for _, name := range free {
		for i, h := range header {
			if h == name {
				r.texts = append(r.texts, i)
			}
		}
	}
	var err error
	r.row, err = format.NewRow(f, header, sacctColumns, "")
	return r, err
}

// line takes a line: a record, or a part of one with a line end in a text. A record that is cut short ends where one
// begins that is whole by itself.
func (r *reader) line(n int64, text string) error {
	switch {
	case len(r.part) == 0 && text == "":
		return nil
	case len(r.part) == 0:
	case r.whole() && r.goesOn(text), !r.whole() && !r.alone(text):
		r.part = append(append(r.part, '\n'), text...)
		r.bars += strings.Count(text, "|")
		if len(r.part) > 1<<20 {
			return r.take()
		}
		return r.takeIf()
	default:
		if err := r.file.Pass(r.take()); err != nil {
			return err
		}
		if text == "" {
			return nil
		}
	}
	r.first, r.part, r.bars = n, append(r.part, text...), strings.Count(text, "|")
	return r.takeIf()
}

// whole says whether the record has all its fields.
func (r *reader) whole() bool { return r.bars+1 >= r.width }

// lastIsText says whether the last column may go on in the next line.
func (r *reader) lastIsText() bool { return r.width > 2 && slices.Contains(r.texts, r.width-1) }

// goesOn says whether a line behind a record with all its fields is the rest of the text in its last column.
func (r *reader) goesOn(text string) bool {
	return r.lastIsText() && text != "" && !strings.Contains(text, "|")
}

// alone says whether a line is a record by itself.
func (r *reader) alone(text string) bool {
	fields := splitInto(nil, text)
	if len(fields) > r.width {
		_, ok := r.narrow(fields)
		return ok
	}
	return r.plausible(fields)
}

// takeIf takes the record unless it may go on.
func (r *reader) takeIf() error {
	if !r.whole() || r.lastIsText() {
		return nil
	}
	return r.take()
}

// take hands over the record under way.
func (r *reader) take() error {
	n, text := r.first, string(r.part)
	r.part = r.part[:0]
	r.field = splitInto(r.field[:0], text)
	switch {
	case len(r.field) < r.width:
		return format.LineError(r.file, n, fmt.Sprintf("%d fields", len(r.field)), fmt.Sprintf("%d", r.width), "correct the row, or fetch the file again if it was cut short")
	case len(r.field) > r.width:
		fields, ok := r.narrow(r.field)
		if !ok {
			return format.LineError(r.file, n, fmt.Sprintf("%d fields", len(r.field)), fmt.Sprintf("%d, with bars in texts alone", r.width), "correct the row, or leave it out")
		}
		r.row.Next(n, fields)
		r.row.Repair("bars-in-a-text")
	default:
		r.row.Next(n, r.field)
	}
	return takeRow(r.row, r.clocks, r.joiner)
}

// end takes the last record.
func (r *reader) end() error {
	if len(r.part) == 0 {
		return nil
	}
	return r.file.Pass(r.take())
}

func splitInto(out []string, text string) []string {
	for {
		head, tail, more := strings.Cut(text, "|")
		out = append(out, head)
		if !more {
			return out
		}
		text = tail
	}
}

// narrow puts the surplus bars into texts, so that the instants, the state and the numbers
// stand in their columns. Of several ways the first counts of which the numbers agree, else the first.
func (r *reader) narrow(fields []string) ([]string, bool) {
	surplus := len(fields) - r.width
	if surplus > 8 || len(r.texts) == 0 {
		return nil, false
	}
	var give [8]int    // bars for each text
	var first []string // way, whether its numbers agree or not
	var try func(k, left int) ([]string, bool)
	try = func(k, left int) ([]string, bool) {
		if k == len(r.texts)-1 {
			give[k] = left
			out := r.joined(fields, give[:len(r.texts)])
			if !r.plausible(out) {
				return nil, false
			}
			if first == nil {
				first = out
			}
			return out, r.agrees(out)
		}
		for n := 0; n <= left; n++ {
			give[k] = n
			if out, ok := try(k+1, left-n); ok {
				return out, true
			}
		}
		return nil, false
	}
	if out, ok := try(0, surplus); ok {
		return out, true
	}
	return first, first != nil
}

// agrees says whether the allocation stands in its columns: those behind a text that took too many bars hold other numbers.
func (r *reader) agrees(fields []string) bool {
	cell := func(k int) string {
		if at := r.row.At[k]; at >= 0 {
			return fields[at]
		}
		return ""
	}
	if r.row.At[colAllocTRES] < 0 {
		return true
	}
	given, ok := parseTRES(cell(colAllocTRES))
	same := func(k int, n int32) bool {
		text := cell(k)
		if number, _, suffixed := units(text); suffixed {
			text = strconv.Itoa(int(number))
		}
		return text == "" || n == 0 && given.there || text == strconv.Itoa(int(n))
	}
	return ok && same(colAllocNodes, given.nodes) && same(colAllocCPUs, given.cpus)
}

// joined has the texts with as many bars as they are given.
func (r *reader) joined(fields []string, give []int) []string {
	out := make([]string, 0, r.width)
	for i := 0; len(fields) > 0 && len(out) < r.width; i++ {
		n := 1
		for k, at := range r.texts {
			if at == i {
				n += give[k]
			}
		}
		n = min(n, len(fields))
		out = append(out, strings.Join(fields[:n], "|"))
		fields = fields[n:]
	}
	return out
}

// plausible says whether the columns that no text can be are none.
func (r *reader) plausible(fields []string) bool {
	if len(fields) != r.width {
		return false
	}
	has := func(k int, ok func(string) bool) bool {
		at := r.row.At[k]
		return at < 0 || ok(fields[at])
	}
	instant := func(s string) bool { return format.Missing(s) || isInstant(s) }
	number := func(s string) bool {
		_, _, suffixed := units(s)
		return suffixed || strings.Trim(s, "0123456789") == ""
	}
	span := func(s string) bool { _, _, ok := timeLimit(s); return s == "" || ok }
	return has(colSubmit, isInstant) && has(colStart, instant) && has(colEnd, instant) && has(colEligible, instant) && has(colState, knownState) &&
		has(colNodes, number) && has(colCPUs, number) && has(colReqCPUs, number) && has(colLimit, span) && has(colElapsed, span) &&
		has(colReqTRES, isTRES) && has(colAllocTRES, isTRES) && has(colID, func(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' })
}

func isTRES(s string) bool { return s == "" || strings.Contains(s, "=") }

// takeRow hands the row to the sink.
func takeRow(row *format.Row, clocks *clocks, to *joiner) error {
	c := format.CellsOf(row)
	j, drop := job(c, clocks)
	if c.Err != nil {
		return c.Err
	}
	place := c.Place(c.Raw(colID))
	if drop != "" {
		return to.sink.Job(place, &j, drop)
	}
	return tasks(c, place, &j, to)
}

// tasks hands over a job, a component of one, or each task of a row of several.
func tasks(c *format.Cells, place *format.Place, j *traces.Job, to *joiner) error {
	id := c.Raw(colID)
	if base, offset, ok := component(id); ok {
		return to.component(place, j, base, offset)
	}
	if err := to.flush(); err != nil {
		return err
	}
	array, rest, ok := strings.Cut(id, "_")
	if !ok {
		return to.sink.Job(place, j, "")
	}
	j.Group = array
	list, several := strings.CutPrefix(rest, "[")
	if !several {
		index, ok := wholeIndex(rest)
		if !ok {
			c.Fail(colID, "the number of a job, with _ and that of a task in an array")
			return c.Err
		}
		j.Index = traces.Some(index)
		return to.sink.Job(place, j, "")
	}
	indices, most, ok := indicesOf(strings.TrimSuffix(list, "]"))
	if !ok {
		c.Fail(colID, "the number of a job, with _ and those of tasks in brackets")
		return c.Err
	}
	j.MaxConcurrent = most
	place.Repaired = append(place.Repaired, "array-expanded")
	for _, i := range indices {
		task := *j
		task.Index = traces.Some(i)
		if err := to.sink.Job(place, &task, ""); err != nil {
			return err
		}
		place.Repaired = nil
	}
	return nil
}
