// Package slurm reads the accounting of Slurm: what sacct prints, as separated values or
// as JSON, and the job table of slurmdbd. It knows nothing of what a replay makes of a job.
//
// sacct --parsable2 separates fields by bars and quotes none. The columns are named in the
// first line, in any order, or they are those of the exports of XDMoD without names:
//
//	jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,
//	then reqtres, or reqtres and alloctres, then timelimit,nodelist,jobname
//
// or the same without qos, with reqgres, with reqgres and reqtres, or with reqgres, reqtres and alloctres, in the
// place of the TRES. Which of them it is shows where the first instant and the time limit stand: two of
// them have 26 fields. A text with bars or line ends in it is put together again so that
// the instants, the state and the numbers stand where they belong.
//
//   - Steps (123.batch, 123.0) are dropped as job-step, jobs that had not ended when sacct
//     was asked as not-ended, states that Slurm does not have as unknown-state.
//   - A task of an array (123_4) is a job of the group 123 with its index; a row of several
//     tasks that never were split (123_[1-3,7]) is as many jobs. The id is that of
//     JobIDRaw. The tenant of a job is its account, as in cluster files made of slurm.conf. A job that was requeued has one row for each of its attempts.
//   - A cancelled job without nodes never ran: it was withdrawn at its end.
//   - The run time is Elapsed, which leaves out suspensions, else end less start.
//   - ReqMem is per node (n), per CPU (c), or of the whole job, as newer Slurm writes it;
//     bit 31 or 63 marks memory per CPU in the database and is taken away, counted as
//     reqmem-flag.
//   - GPUs are gres/gpu of AllocTRES, of ReqTRES for jobs that never ran; the types, gres/gpu:TYPE,
//     are not counted again. Else AllocGRES or ReqGRES, gpu:TYPE:N for each node.
//
// Times are local to the site, or UTC where TZ=UTC was set: nothing in the file says, so
// --time-zone must. Seconds since 1970 (SLURM_TIME_FORMAT=%s) need none.
//
// Sources: sacct(1), slurm/src/common/slurmdb_defs.h; https://github.com/ubccr/xdmod.
package slurm

import (
	"fmt"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/format"
)

// Sacct is the format of separated values.
var Sacct = &format.Format{
	Name: "sacct", Version: 2, Files: 1 << 10, Zoned: true, What: "jobs of Slurm as sacct --parsable2 prints them, with or without the names of the columns",
	Sniff: sniffSacct, Scan: scanSacct,
}

// Columns of sacct, by their place in sacctColumns.
const (
	colID = iota
	colRaw
	colCluster
	colPartition
	colQOS
	colAccount
	colUser
	colSubmit
	colEligible
	colStart
	colEnd
	colElapsed
	colExit
	colState
	colNodes
	colCPUs
	colReqCPUs
	colReqMem
	colReqTRES
	colAllocTRES
	colLimit
	colNodeList
	colName
	colReqGRES
	colAllocGRES
	colReservation
	colPriority
	colConstraints
	colElapsedRaw
	colLimitRaw
	colReqNodes
	colAllocCPUs
	colAllocNodes
	colMemPerCore
)

var sacctColumns = []string{colID: "JobID", colRaw: "JobIDRaw?", colCluster: "Cluster?", colPartition: "Partition?", colQOS: "QOS?", colAccount: "Account?", colUser: "User?",
	colSubmit: "Submit", colEligible: "Eligible?", colStart: "Start?", colEnd: "End?", colElapsed: "Elapsed?", colExit: "ExitCode?", colState: "State",
	colNodes: "NNodes?", colCPUs: "NCPUS?", colReqCPUs: "ReqCPUS?", colReqMem: "ReqMem?", colReqTRES: "ReqTRES?", colAllocTRES: "AllocTRES?",
	colLimit: "Timelimit?", colNodeList: "NodeList?", colName: "JobName?", colReqGRES: "ReqGRES?", colAllocGRES: "AllocGRES?", colReservation: "Reservation?", colPriority: "Priority?",
	colConstraints: "Constraints?", colElapsedRaw: "ElapsedRaw?", colLimitRaw: "TimelimitRaw?", colReqNodes: "ReqNodes?", colAllocCPUs: "AllocCPUS?", colAllocNodes: "AllocNodes?", colMemPerCore: "ReqMemPerCore?"}

// Layouts without names, from behind ReqMem to before Timelimit.
var unnamed = map[[2]int][]string{
	{10, 22}: {"ReqTRES"}, {10, 23}: {"ReqTRES", "AllocTRES"},
	{9, 21}: {"ReqGRES"}, {9, 22}: {"ReqGRES", "ReqTRES"}, {9, 23}: {"ReqGRES", "ReqTRES", "AllocTRES"},
}

// headless is the header of a row without one, nil when it is of no known layout.
func headless(line string) []string {
	f := strings.Split(line, "|")
	if len(f) < 24 {
		return nil
	}
	first := 9
	if !isInstant(f[first]) {
		first++
	}
	if !isInstant(f[first]) || !isWord(f[first+6]) {
		return nil
	}
	for limit := first + 12; limit < min(first+15, len(f)-2); limit++ {
		_, null, ok := timeLimit(f[limit])
		if !ok || !null && !strings.Contains(f[limit], ":") {
			continue
		}
		middle, known := unnamed[[2]int{first, limit}]
		if !known {
			continue
		}
		h := strings.Split("JobID|JobIDRaw|Cluster|Partition|QOS|Account|Group|GID|User|UID|Submit|Eligible|Start|End|Elapsed|ExitCode|State|NNodes|NCPUS|ReqCPUS|ReqMem", "|")
		if first == 9 {
			h = append(h[:4], h[5:]...)
		}
		return append(append(h, middle...), "Timelimit", "NodeList", "JobName")
	}
	return nil
}

// isWord says whether a field may be a state.
func isWord(s string) bool {
	word := stateWord(s)
	return word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// isInstant says whether a field is the time of a submission.
func isInstant(s string) bool {
	return len(s) == len("2006-01-02T15:04:05") && s[4] == '-' && (s[10] == 'T' || s[10] == ' ') || len(s) == 10 && strings.Trim(s, "0123456789") == ""
}

func sniffSacct(h format.Head) format.Match {
	lines := format.Lines(h)
	if len(lines) == 0 {
		return format.No(0, 1, "no whole line", "what sacct prints", "name another file")
	}
	if headless(lines[0]) != nil {
		return format.Match{Percent: 100}
	}
	return format.HeaderMatch(format.Head{Bytes: []byte(strings.ReplaceAll(lines[0], `"`, "") + "\n")}, '|', "JobID", "State", "Submit")
}

func scanSacct(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Zone: o.Zone}
	var clocks clocks
	for i := range clocks {
		clocks[i] = format.Clock{Zone: o.Zone, Unordered: true}
		l.Clocks = append(l.Clocks, &clocks[i])
	}
	l.Read = func(s *format.Sink) error {
		for _, f := range files {
			if err := readSacct(f, &clocks, s); err != nil {
				return err
			}
		}
		return nil
	}
	return l.Scan()
}

// readSacct goes through one file.
func readSacct(f format.File, clocks *clocks, s *format.Sink) error {
	var r *reader
	err := format.EachLine(f, func(n int64, text string) (err error) {
		if r == nil {
			header, named := headless(text), false
			if header == nil {
				header, named = strings.Split(text, "|"), true
			}
			if r, err = newReader(f, header, clocks, s); err != nil || named {
				return err
			}
		}
		return r.line(n, text)
	})
	if err != nil || r == nil {
		return err
	}
	return r.end()
}

// reader puts records together from lines.
type reader struct {
	file   format.File
	row    *format.Row
	width  int
	texts  []int // columns that may hold any character
	clocks *clocks
	sink   *format.Sink

	first int64  // line of the record that is not whole yet
	part  string // of it
	field []string
}

// free are the columns of text that users write.
var free = []string{"JobName", "SubmitLine", "Constraints", "Comment", "AdminComment", "SystemComment", "WorkDir"}

func newReader(f format.File, header []string, clocks *clocks, s *format.Sink) (*reader, error) {
	r := &reader{file: f, width: len(header), clocks: clocks, sink: s}
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

// line takes a line: a record, or a part of one with a line end in a text.
func (r *reader) line(n int64, text string) error {
	if r.part != "" {
		text, n = r.part+"\n"+text, r.first
		r.part = ""
	} else if text == "" {
		return nil
	}
	r.field = splitInto(r.field[:0], text)
	switch {
	case len(r.field) < r.width:
		r.first, r.part = n, text
		if len(text) > 1<<20 {
			return r.short(n)
		}
		return nil
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
	return r.record()
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

func (r *reader) short(n int64) error {
	return format.LineError(r.file, n, fmt.Sprintf("%d fields", strings.Count(r.part, "|")+1), fmt.Sprintf("%d", r.width), "correct the row, or fetch the file again if it was cut short")
}

func (r *reader) end() error {
	if r.part != "" {
		return r.short(r.first)
	}
	return nil
}

// narrow puts the surplus bars into texts, so that the instants, the state and the numbers
// stand in their columns. Of several ways the first counts: they differ in texts alone.
func (r *reader) narrow(fields []string) ([]string, bool) {
	surplus := len(fields) - r.width
	if surplus > 8 || len(r.texts) == 0 {
		return nil, false
	}
	var give [8]int // bars for each text
	var try func(k, left int) ([]string, bool)
	try = func(k, left int) ([]string, bool) {
		if k == len(r.texts)-1 {
			give[k] = left
			out := r.joined(fields, give[:len(r.texts)])
			return out, r.plausible(out)
		}
		for n := 0; n <= left; n++ {
			give[k] = n
			if out, ok := try(k+1, left-n); ok {
				return out, true
			}
		}
		return nil, false
	}
	return try(0, surplus)
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
	number := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	span := func(s string) bool { _, _, ok := timeLimit(s); return s == "" || ok }
	return has(colSubmit, isInstant) && has(colStart, instant) && has(colEnd, instant) && has(colEligible, instant) && has(colState, knownState) &&
		has(colNodes, number) && has(colCPUs, number) && has(colReqCPUs, number) && has(colLimit, span) && has(colElapsed, span) &&
		has(colReqTRES, isTRES) && has(colAllocTRES, isTRES) && has(colID, func(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' })
}

func isTRES(s string) bool { return s == "" || strings.Contains(s, "=") }

// record hands the row to the sink.
func (r *reader) record() error {
	c := format.Cells{Row: r.row}
	j, drop := job(&c, r.clocks)
	if c.Err != nil {
		return c.Err
	}
	place := c.Place(c.Raw(colID))
	if drop != "" {
		return r.sink.Job(place, &j, drop)
	}
	return r.tasks(&c, place, &j)
}

// tasks hands over a job, or each task of a row of several.
func (r *reader) tasks(c *format.Cells, place *format.Place, j *traces.Job) error {
	id := c.Raw(colID)
	array, rest, ok := strings.Cut(id, "_")
	if !ok {
		return r.sink.Job(place, j, "")
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
		return r.sink.Job(place, j, "")
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
		if err := r.sink.Job(place, &task, ""); err != nil {
			return err
		}
		place.Repaired = nil
	}
	return nil
}
