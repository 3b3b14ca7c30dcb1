package slurm

import (
	"math"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// clocks read the instants of submission, eligibility, start and end.
type clocks [4]format.Clock

// instants are those of a row, which came one after the other. The run time says more of them, if the row has it.
func instants(c *format.Cells, clocks *clocks, j *traces.Job, elapsed traces.Opt[model.Duration]) {
	var at [4]format.Moment
	for i, k := range [...]int{colSubmit, colEligible, colStart, colEnd} {
		at[i] = instant(c, k, &clocks[i])
	}
	c.Decide(elapsed, &at[0], &at[1], &at[2], &at[3])
	j.Submit, j.Eligible, j.Start, j.End = at[0].At().V, at[1].At(), at[2].At(), at[3].At()
}

// Words for the state of a job, and whether it had ended.
var states = map[string]bool{
	"COMPLETED": true, "CANCELLED": true, "FAILED": true, "TIMEOUT": true, "NODE_FAIL": true, "PREEMPTED": true, "BOOT_FAIL": true, "DEADLINE": true,
	"OUT_OF_MEMORY": true, "REQUEUED": true, "REVOKED": true, "SPECIAL_EXIT": true,
	"PENDING": false, "RUNNING": false, "SUSPENDED": false, "COMPLETING": false, "CONFIGURING": false, "RESIZING": false, "SIGNALING": false,
	"STAGE_OUT": false, "STOPPED": false, "REQUEUE_HOLD": false, "REQUEUE_FED": false, "RESV_DEL_HOLD": false,
}

// stateWord is the state without "by USER" and the plus of a word that was cut.
func stateWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return strings.TrimSuffix(word, "+")
}

func knownState(text string) bool {
	_, known := states[stateWord(text)]
	return known
}

// job is that of a row, or why it is none.
func job(c *format.Cells, clocks *clocks) (j traces.Job, drop string) {
	raw := c.Raw(colID)
	if isStep(raw) {
		return j, "job-step"
	}
	state := stateWord(c.Text(colState))
	ended, known := states[state]
	switch {
	case c.Err != nil:
		return j, ""
	case !known:
		return j, "unknown-state"
	case !ended:
		return j, "not-ended"
	case strings.Contains(raw, "..."):
		return j, ruleListCut
	}
	j = traces.Job{ID: identity(c), Name: c.Text(colName), User: c.Name(colUser), Account: c.Name(colAccount), Tenant: c.Name(colAccount), Partition: c.Name(colPartition), QOS: c.Name(colQOS),
		ExitState: state, Reservation: c.Name(colReservation), Features: c.Name(colConstraints), Priority: c.OptWhole(colPriority, 0, 1<<62), RecordedNodes: c.Name(colNodeList)}
	if !c.Has(colSubmit) {
		return j, "no-submission"
	}
	elapsed := span(c)
	instants(c, clocks, &j, elapsed)
	exit(c, &j)
	size(c, &j)
	leftOut(c)
	if by, ok := strings.CutPrefix(c.Raw(colState), "CANCELLED by "); ok {
		c.Keep("cancelled_by", by)
	}
	c.Keep("cluster", c.Raw(colCluster))
	if state == "CANCELLED" && (!j.Start.OK || j.RecordedNodes == "" && c.At[colNodeList] >= 0) {
		neverRan(&j)
	}
	if j.Start.OK && j.End.OK {
		if j.Runtime = elapsed; !elapsed.OK {
			j.Runtime = traces.Some(j.End.V.Sub(j.Start.V))
		}
	}
	j.Walltime = limit(c)
	j.Extra = c.Extra()
	return j, ""
}

// ruleListCut drops the tasks of an array that never ran, of whose list sacct printed the first 64 bytes: which tasks they
// were, and how many, is not in the row. SLURM_BITSTR_LEN=0 makes sacct print all of it.
const ruleListCut = "array-list-cut-by-sacct-without-SLURM_BITSTR_LEN=0"

// isStep says whether an id is that of a step, 123.0 or 123_4.batch: dots in a list of tasks are of a list that was cut.
func isStep(id string) bool {
	dot := strings.IndexByte(id, '.')
	bracket := strings.IndexByte(id, '[')
	return dot >= 0 && (bracket < 0 || dot < bracket)
}

// neverRan makes j a job that was withdrawn at its end, and held nothing.
func neverRan(j *traces.Job) {
	j.CancelledAt, j.Start, j.End = j.End, traces.Opt[model.Time]{}, traces.Opt[model.Time]{}
	j.ProcsAllocated, j.NodesAllocated, j.GPUsAllocated = traces.Opt[int32]{}, traces.Opt[int32]{}, traces.Opt[int32]{}
}

// identity is the number of the job.
func identity(c *format.Cells) int64 {
	k := colRaw
	if !c.Has(colRaw) {
		k = colID
	}
	text := c.Raw(k)
	if i := strings.IndexAny(text, "_+"); i >= 0 {
		text = text[:i]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		c.Fail(k, "the number of a job")
	}
	return n
}

// count is a number of things, which sacct before Slurm 16 wrote with a suffix: 2K is 2048. One with a fraction is rounded to
// the nearest.
func count(c *format.Cells, k int) traces.Opt[int32] {
	n, exact, ok := units(c.Raw(k))
	if !ok {
		return c.OptCount(k)
	}
	if !exact {
		c.Repair("count-with-a-fraction-rounded")
	}
	return traces.Some(n)
}

// units is a number with the suffix K, M or G, of 1024.
func units(text string) (n int32, exact, ok bool) {
	if text == "" {
		return 0, false, false
	}
	k := strings.IndexByte("KMG", text[len(text)-1])
	if k < 0 {
		return 0, false, false
	}
	x, err := strconv.ParseFloat(text[:len(text)-1], 64)
	x = float64(x * float64(int64(1)<<(10*(k+1))))
	if err != nil || !(x >= 0 && x <= format.MostCount) || strings.ContainsAny(text, "xXpP_eE+") {
		return 0, false, false
	}
	return int32(math.Round(x)), x == math.Trunc(x), true
}

// instant is text in the site's zone, or seconds since 1970.
func instant(c *format.Cells, k int, clock *format.Clock) format.Moment {
	if text := c.Raw(k); text != "" && strings.Trim(text, "0123456789") == "" {
		if text == "0" {
			return format.Moment{}
		}
		return format.MomentAt(c.OptAt(k, model.Second))
	}
	return c.Moment(k, clock)
}

// exit is the code of "CODE:SIGNAL".
func exit(c *format.Cells, j *traces.Job) {
	if !c.Has(colExit) {
		return
	}
	code, signal, ok := strings.Cut(c.Raw(colExit), ":")
	n, err := strconv.ParseInt(code, 10, 32)
	m, bad := strconv.ParseInt(signal, 10, 32)
	if !ok || err != nil || bad != nil || n < 0 {
		c.Fail(colExit, "a code and a signal such as 0:0")
		return
	}
	j.ExitCode = traces.Some(int32(n))
	if m != 0 {
		c.Keep("exit_signal", signal)
	}
}

// span is the elapsed time.
func span(c *format.Cells) (d traces.Opt[model.Duration]) {
	if c.Has(colElapsedRaw) {
		return c.OptSpan(colElapsedRaw, model.Second)
	}
	if !c.Has(colElapsed) {
		return d
	}
	v, null, ok := timeLimit(c.Raw(colElapsed))
	if !ok || null {
		c.Fail(colElapsed, "a span such as 1-02:03:04")
	}
	return traces.Some(v)
}

// limit is the requested time.
func limit(c *format.Cells) (d traces.Opt[model.Duration]) {
	if c.Has(colLimit) {
		v, null, ok := timeLimit(c.Raw(colLimit))
		switch {
		case !ok:
			c.Fail(colLimit, "a span such as 1-02:03:04, UNLIMITED or Partition_Limit")
		case null:
			c.Keep("timelimit", c.Raw(colLimit))
		default:
			return traces.Some(v)
		}
		return d
	}
	if text := c.Raw(colLimitRaw); strings.Trim(text, "0123456789") == "" {
		return c.OptSpan(colLimitRaw, model.Minute)
	} else if !format.Missing(text) {
		c.Keep("timelimit", text)
	}
	return d
}

// timeLimit reads [D-]HH:MM:SS, MM:SS with a fraction, "3 days 01:02:03", or a word for no limit.
func timeLimit(text string) (d model.Duration, null, ok bool) {
	switch text {
	case "UNLIMITED", "Partition_Limit", "INVALID", "Unknown", "infinite":
		return 0, true, true
	case "":
		return 0, false, false
	}
	clock := text
	days := int64(0)
	for _, sep := range []string{" days", " day", "-"} {
		head, tail, found := strings.Cut(clock, sep)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(head, 10, 64)
		if err != nil || n < 0 || n > 1<<20 {
			return 0, false, false
		}
		days, clock = n, strings.TrimSpace(tail)
		if clock == "" {
			return model.Duration(days) * model.Day, false, true
		}
		break
	}
	parts := strings.Split(clock, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false, false
	}
	seconds, _, ok := format.Decimal(parts[len(parts)-1], model.Second)
	if !ok || seconds < 0 {
		return 0, false, false
	}
	d = model.Duration(days)*model.Day + seconds
	unit := model.Minute
	for i := len(parts) - 2; i >= 0; i-- {
		n, err := strconv.ParseUint(parts[i], 10, 31)
		if err != nil {
			return 0, false, false
		}
		d += model.Duration(n) * unit
		unit = model.Hour
	}
	return d, false, true
}

// mostTasks bounds the tasks that one row of an array may stand for.
const mostTasks = 1 << 20

// indicesOf reads 1-3,7,10-20:2, and %N, how many may run at once.
func indicesOf(list string) (out []int32, most traces.Opt[int32], ok bool) {
	list, limit, limited := strings.Cut(list, "%")
	if limited {
		n, ok := wholeIndex(limit)
		if !ok {
			return nil, most, false
		}
		most = traces.Some(n)
	}
	for _, term := range strings.Split(list, ",") {
		ends, stride, stepped := strings.Cut(term, ":")
		from, to, ranged := strings.Cut(ends, "-")
		if !ranged {
			to = from
		}
		by := int32(1)
		if stepped {
			if by, ok = wholeIndex(stride); !ok || by == 0 {
				return nil, most, false
			}
		}
		a, ok1 := wholeIndex(from)
		b, ok2 := wholeIndex(to)
		if !ok1 || !ok2 || b < a || len(out)+int(b-a)/int(by) >= mostTasks {
			return nil, most, false
		}
		for i := int64(a); i <= int64(b); i += int64(by) {
			out = append(out, int32(i))
		}
	}
	return out, most, true
}

func wholeIndex(text string) (int32, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int32(n), err == nil
}
