package batch

import (
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// LSF is the accounting file lsb.acct: fields between blanks, texts in quotation marks with
// doubled ones inside, their number depending on lists among them. A job is a record
// JOB_FINISH; others are dropped as record-TYPE. Times are seconds since 1970. A record of the index -1 stands for elements of an array
// that were killed while they waited, and is dropped as array-elements-never-ran. Other numbers below 0 are none.
//
// GPUs are those of rusage (ngpus_physical and its kin), of -gpu (num=2:mode=shared) or of the requirement that LSF made of all
// (effectiveResReq), of each host unless /job or /task stands behind the number; see lsfGPUs. Other amounts of rusage, select[] and
// the hosts of -m are counted as request-left-out.
//
// Source: lsb.acct(5) of LSF 9.1.
var LSF = &format.Format{
	Name: "lsf", Version: 3, Files: 1 << 10, What: "accounting files of LSF (lsb.acct)", Sniff: sniffLSF, Scan: scanLSF,
}

func sniffLSF(h format.Head) format.Match {
	lines := format.Lines(h)
	if len(lines) == 0 {
		return format.No(0, 1, "no whole line", "a record of lsb.acct", "name another file")
	}
	f, ok := quoted(lines[0])
	if !ok || len(f) < 20 || lines[0][0] != '"' || !isRecord(f[0]) {
		return format.No(0, 1, format.Excerpt(lines[0]), `a record of lsb.acct such as "JOB_FINISH" "9.11" ...`, "name another file")
	}
	return format.Match{Percent: 100}
}

// isRecord says whether a word is the type of a record, such as JOB_FINISH.
func isRecord(word string) bool {
	return strings.Contains(word, "_") && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// quoted splits fields between blanks, with texts in quotation marks.
func quoted(line string) (out []string, ok bool) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			out, line = append(out, word), rest
			continue
		}
		var b strings.Builder
		line = line[1:]
		for {
			i := strings.IndexByte(line, '"')
			if i < 0 {
				return out, false
			}
			b.WriteString(line[:i])
			line = line[i+1:]
			if !strings.HasPrefix(line, `"`) {
				break
			}
			b.WriteByte('"')
			line = line[1:]
		}
		out = append(out, b.String())
	}
	return out, true
}

// The columns of a job, as far as they are read.
const (
	lsfID = iota
	lsfProcs
	lsfSubmit
	lsfStart
	lsfEnd
	lsfUser
	lsfQueue
	lsfStatus
	lsfName
	lsfProject
	lsfExit
	lsfIndex
	lsfHosts
	lsfLimit
	lsfResReq
	lsfEffective
	lsfGPU
	lsfAsked
)

var lsfColumns = []string{lsfID: "jobId", lsfProcs: "numProcessors", lsfSubmit: "submitTime", lsfStart: "startTime", lsfEnd: "eventTime", lsfUser: "userName", lsfQueue: "queue",
	lsfStatus: "jStatus", lsfName: "jobName", lsfProject: "projectName", lsfExit: "exitStatus", lsfIndex: "idx", lsfHosts: "execHosts", lsfLimit: "runLimit", lsfResReq: "resReq",
	lsfEffective: "effectiveResReq", lsfGPU: "gpuReq", lsfAsked: "askedHosts"}

func scanLSF(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files}
	l.Read = func(s *format.Sink) error {
		for _, file := range files {
			row, err := format.NewRow(file, lsfColumns, lsfColumns, "")
			if err != nil {
				return err
			}
			err = format.EachLine(file, func(n int64, text string) error {
				if strings.TrimSpace(text) == "" {
					return nil
				}
				fields, ok := quoted(text)
				if !ok || len(fields) < 2 || !isRecord(fields[0]) {
					return format.LineError(file, n, format.Excerpt(text), "fields between blanks with closed quotations", "correct the line, or fetch the file again if it was cut short")
				}
				if fields[0] != "JOB_FINISH" {
					return s.Job(&format.Place{Line: n}, &traces.Job{}, "record-"+fields[0])
				}
				picked, ok := pick(fields)
				if !ok {
					return format.LineError(file, n, strconv.Itoa(len(fields))+" fields", "those of a JOB_FINISH", "correct the line, or fetch the file again if it was cut short")
				}
				row.Next(n, picked)
				c := format.Cells{Row: row}
				j, drop := lsfJob(&c, &l.Account)
				if c.Err != nil {
					return c.Err
				}
				return s.Job(c.Place(c.Raw(lsfID)), &j, drop)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return l.Scan()
}

// pick finds the columns behind the two lists of hosts, whose lengths stand before them.
func pick(f []string) ([]string, bool) {
	out := make([]string, len(lsfColumns))
	at := func(i int) string {
		if i < len(f) {
			return f[i]
		}
		return ""
	}
	out[lsfEnd], out[lsfID], out[lsfProcs], out[lsfSubmit], out[lsfStart], out[lsfUser], out[lsfQueue], out[lsfResReq] = at(2), at(3), at(6), at(7), at(10), at(11), at(12), at(13)
	asked, err := strconv.ParseUint(at(22), 10, 20)
	if err != nil {
		return nil, false
	}
	i := 23 + int(asked)
	if i < len(f) {
		out[lsfAsked] = strings.Join(f[23:i], " ")
	}
	ran, err := strconv.ParseUint(at(i), 10, 20)
	if err != nil || i+int(ran)+30 > len(f) {
		return nil, false
	}
	out[lsfHosts] = strings.Join(f[i+1:i+1+int(ran)], " ")
	i += 1 + int(ran)
	out[lsfStatus], out[lsfName] = at(i), at(i+2)
	i += 4 + 19 // behind the command and its resource usage
	out[lsfProject], out[lsfExit], out[lsfIndex] = at(i+1), at(i+2), at(i+6)
	// submitEXT and the usage of each host stand before the limit, from LSF 8 on.
	i += 30
	ext, err := strconv.ParseUint(at(i), 10, 20)
	if err != nil {
		return out, true
	}
	i += 1 + 2*int(ext)
	used, err := strconv.ParseUint(at(i), 10, 20)
	if err != nil {
		return out, true
	}
	for i, k := i+1, uint64(0); ; k++ {
		if k == used {
			if _, err := strconv.ParseUint(at(i), 10, 40); err == nil {
				out[lsfLimit] = at(i)
			}
			if i < len(f) {
				out[lsfEffective], out[lsfGPU] = behindLimit(f[i:])
			}
			return out, true
		}
		more, err := strconv.ParseUint(at(i+5), 10, 20)
		if err != nil {
			return out, true
		}
		i += 6 + 2*int(more)
	}
}

// hostsOf are the distinct names in a list such as 16*host1 16*host2 or host1 host1, and how many slots they lent.
func hostsOf(list string) (names []string, slots int64) {
	for _, term := range strings.Fields(list) {
		n, name := int64(1), term
		if times, host, ok := strings.Cut(term, "*"); ok {
			if v, err := strconv.ParseUint(times, 10, 31); err == nil {
				n, name = int64(v), host
			}
		}
		slots = min(slots+n, format.MostCount+1)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, slots
}

// notNegative is a number of things, none below 0.
func notNegative(c *format.Cells, k int) traces.Opt[int32] {
	n := c.OptWhole(k, -1<<31, format.MostCount)
	return traces.Opt[int32]{V: int32(max(n.V, 0)), OK: n.OK && n.V >= 0}
}

func lsfJob(c *format.Cells, a *format.Account) (j traces.Job, drop string) {
	j = traces.Job{ID: c.Whole(lsfID, 0, 1<<62), Name: c.Name(lsfName), User: c.Name(lsfUser), QOS: c.Name(lsfQueue), Account: c.Name(lsfProject),
		ProcsRequested: notNegative(c, lsfProcs), Submit: c.Instant(lsfSubmit, model.Second)}
	names, slots := hostsOf(c.Raw(lsfHosts))
	j.RecordedNodes = strings.Join(names, ",")
	switch {
	case slots > format.MostCount:
		c.Fail(lsfHosts, "hosts such as 16*n1")
	case slots > 0:
		j.ProcsAllocated = traces.Some(int32(slots))
	}
	if c.Raw(lsfIndex) == "-1" {
		return j, "array-elements-never-ran"
	}
	if index := notNegative(c, lsfIndex); index.V > 0 {
		j.Group, j.Index = c.Raw(lsfID), index
	}
	status := c.Whole(lsfStatus, 0, 1<<31-1)
	if status&64 != 0 {
		j.ExitState = "COMPLETED"
	} else if status&32 != 0 {
		j.ExitState = "FAILED"
	} else {
		return j, "not-ended"
	}
	if code := c.OptWhole(lsfExit, -1<<31, 1<<31-1); code.V >= 0 && code.OK { // as of wait(2)
		j.ExitCode = traces.Some(int32(code.V >> 8 & 0xff))
	}
	if limit := c.OptSpan(lsfLimit, model.Second); limit.V > 0 {
		j.Walltime = limit
	}
	end := c.Instant(lsfEnd, model.Second)
	if start := c.OptAt(lsfStart, model.Second); start.V > 0 {
		j.Start, j.End, j.Runtime = start, traces.Some(end), traces.Some(end.Sub(start.V))
	} else {
		j.CancelledAt, j.ExitState = traces.Some(end), "CANCELLED"
	}
	c.Keep("res_req", c.Raw(lsfResReq))
	lsfRequests(c, a, &j, int64(len(names)))
	j.Extra = c.Extra()
	return j, ""
}
