// Package batch reads the accounting logs of batch systems beside Slurm: PBS Professional,
// OpenPBS and Torque, Cobalt, SGE and its heirs, LSF, OAR. It knows nothing of what a replay makes
// of a job.
//
// PBS: one record on a line, STAMP;TYPE;ID;NAME=VALUE NAME=VALUE ... A job is the record of its
// end (E); those of other types are dropped as record-TYPE. All instants are those of the
// seconds since 1970 in qtime (else ctime), etime, start and end; the stamp is local time
// without a zone, or UTC, and is not read. Nodes, CPUs and GPUs are those of select or of nodes, else those of nodect, ncpus,
// ngpus, else of exec_host. Words of Torque behind a colon that are no amounts are properties of nodes, the features of the job;
// host= and vnode= are nodes that it must have; other resources of a chunk are counted as request-left-out, and the list stays in
// extra. A count beyond 2^30 cannot be read. Resource_List.gpu is no request of PBS, and is kept in extra. The id is the number before the first dot or bracket; an array's
// index is its group's index. The record of an array itself, 900[], is no job and dropped as array-parent: its tasks have records of their own.
//
// Cobalt writes the same lines with Q, S and E and decimal seconds. Jobs ask for nodes; the
// part of the machine that they held is the last number of exec_host, kept in extra.
//
// Sources: PBS Professional 2021.1 reference guide, section 12; Torque 6 administrator guide,
// section 11; https://www.alcf.anl.gov.
package batch

import (
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// PBS is the format of PBS and Torque.
var PBS = &format.Format{
	Name: "pbs", Version: 3, Files: 1 << 10, What: "accounting logs of PBS Professional, OpenPBS and Torque",
	Sniff: func(h format.Head) format.Match { return sniffRecords(h, true) }, Scan: scanRecords,
}

// Cobalt is the format of Cobalt.
var Cobalt = &format.Format{
	Name: "cobalt", Version: 3, Files: 1 << 10, What: "accounting logs of Cobalt (records Q, S and E)",
	Sniff: func(h format.Head) format.Match { return sniffRecords(h, false) }, Scan: scanRecords,
}

const (
	pbsID = iota
	pbsUser
	pbsGroup
	pbsAccount
	pbsProject
	pbsName
	pbsQueue
	pbsCreated
	pbsQueued
	pbsEligible
	pbsStart
	pbsEnd
	pbsHost
	pbsExit
	pbsSelect
	pbsNodes
	pbsNodect
	pbsCPUs
	pbsGPUs
	pbsMem
	pbsWall
	pbsPlace
)

var pbsColumns = []string{pbsID: "id", pbsUser: "user", pbsGroup: "group", pbsAccount: "account", pbsProject: "project", pbsName: "jobname", pbsQueue: "queue",
	pbsCreated: "ctime", pbsQueued: "qtime", pbsEligible: "etime", pbsStart: "start", pbsEnd: "end", pbsHost: "exec_host", pbsExit: "Exit_status",
	pbsSelect: "Resource_List.select", pbsNodes: "Resource_List.nodes", pbsNodect: "Resource_List.nodect", pbsCPUs: "Resource_List.ncpus", pbsGPUs: "Resource_List.ngpus",
	pbsMem: "Resource_List.mem", pbsWall: "Resource_List.walltime", pbsPlace: "Resource_List.place"}

// records splits a line into its type, id and message.
func records(line string) (kind, id, message string, ok bool) {
	f := strings.SplitN(line, ";", 4)
	if len(f) < 4 || len(f[1]) != 1 || len(f[0]) != len("01/02/2006 15:04:05") || f[0][2] != '/' || f[0][10] != ' ' {
		return "", "", "", false
	}
	return f[1], f[2], f[3], true
}

func sniffRecords(h format.Head, pbs bool) format.Match {
	seen := false
	for n, line := range format.Lines(h) {
		kind, _, message, ok := records(line)
		if !ok {
			return format.No(0, int64(n)+1, format.Excerpt(line), "STAMP;TYPE;ID;NAME=VALUE ...", "name another file")
		}
		seen = true
		if kind != "E" && kind != "S" {
			continue
		}
		if has := strings.Contains(message, "ctime=") || strings.Contains(message, "user="); has == pbs {
			return format.Match{Percent: 100}
		}
		return format.No(60, int64(n)+1, format.Excerpt(message), "records of the other batch system that writes such lines", "")
	}
	if !seen || !pbs {
		return format.No(0, 1, "no record of an end", "STAMP;E;ID;NAME=VALUE ...", "name another file")
	}
	return format.Match{Percent: 100}
}

func scanRecords(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files}
	cobalt := f.Name == "cobalt"
	l.Read = func(s *format.Sink) error {
		for _, file := range files {
			row, err := format.NewRow(file, pbsColumns, pbsColumns, "")
			if err != nil {
				return err
			}
			fields := make([]string, len(pbsColumns))
			err = format.EachLine(file, func(n int64, text string) error {
				if strings.TrimSpace(text) == "" {
					return nil
				}
				kind, id, message, ok := records(text)
				if !ok {
					return format.LineError(file, n, format.Excerpt(text), "STAMP;TYPE;ID;NAME=VALUE ...", "correct the line, or fetch the file again if it was cut short")
				}
				clear(fields)
				fields[pbsID] = id
				row.Next(n, fields)
				c := format.Cells{Row: row}
				if kind != "E" {
					return s.Job(c.Place(id), &traces.Job{}, "record-"+kind)
				}
				if strings.Contains(id, "[]") {
					return s.Job(c.Place(id), &traces.Job{}, "array-parent")
				}
				assign(&c, message)
				j, drop := pbsJob(&c, &l.Account, cobalt)
				if c.Err != nil {
					return c.Err
				}
				return s.Job(c.Place(id), &j, drop)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return l.Scan()
}

// assign takes NAME=VALUE from a message; what is not wanted is kept.
func assign(c *format.Cells, message string) {
	for _, word := range strings.Fields(message) {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			continue
		}
		if k := slices.Index(pbsColumns[1:], name); k >= 0 {
			c.Fields[k+1] = value
		} else {
			c.Keep(name, value)
		}
	}
}

// pbsJob is the job of the record of an end, or why it is none.
func pbsJob(c *format.Cells, a *format.Account, cobalt bool) (j traces.Job, drop string) {
	j = traces.Job{Name: c.Name(pbsName), User: c.Name(pbsUser), QOS: c.Name(pbsQueue), Account: c.Name(pbsAccount), ExitState: "COMPLETED"}
	j.ID = pbsNumber(c, &j)
	if j.Account == "" {
		j.Account = c.Name(pbsGroup)
	}
	c.Keep("group", c.Name(pbsGroup))
	c.Keep("project", c.Name(pbsProject))
	submit := c.OptAt(pbsQueued, model.Second)
	if created := c.OptAt(pbsCreated, model.Second); created.OK && !submit.OK {
		submit = created
	}
	j.Eligible, j.Start, j.End = c.OptAt(pbsEligible, model.Second), c.OptAt(pbsStart, model.Second), c.OptAt(pbsEnd, model.Second)
	if code := c.OptWhole(pbsExit, -1<<31+1, 1<<31-1); code.OK {
		j.ExitCode = traces.Some(int32(code.V))
		if code.V != 0 {
			j.ExitState = "FAILED"
		}
	}
	j.Walltime = pbsSpan(c, pbsWall)
	if cobalt {
		cobaltSize(c, &j)
	} else {
		pbsSize(c, a, &j)
	}
	switch {
	case !submit.OK:
		return j, "no-submission"
	case !j.End.OK:
		return j, "no-end"
	}
	j.Submit = submit.V
	if !j.Start.OK || j.Start.V == 0 {
		j.CancelledAt, j.Start, j.End = j.End, traces.Opt[model.Time]{}, traces.Opt[model.Time]{}
	} else {
		j.Runtime = traces.Some(j.End.V.Sub(j.Start.V))
	}
	if j.Eligible.OK && j.Eligible.V == 0 {
		j.Eligible = traces.Opt[model.Time]{}
	}
	j.Extra = c.Extra()
	return j, ""
}

// pbsNumber is the number of a job; that of an array stands in its id as 123[4].server.
func pbsNumber(c *format.Cells, j *traces.Job) int64 {
	text := c.Raw(pbsID)
	digits := text
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = text[:i]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		c.Fail(pbsID, "the number of a job")
		return 0
	}
	if list, ok := strings.CutPrefix(text[len(digits):], "["); ok {
		index, _, _ := strings.Cut(list, "]")
		i, err := strconv.ParseUint(index, 10, 31)
		if err != nil {
			c.Fail(pbsID, "the number of a job, and its index in the array")
			return 0
		}
		j.Index = traces.Some(int32(i))
		j.Group = digits
	}
	return n
}

// pbsSpan reads HH:MM:SS, or seconds.
func pbsSpan(c *format.Cells, k int) traces.Opt[model.Duration] {
	if !c.Has(k) {
		return traces.Opt[model.Duration]{}
	}
	seconds := int64(0)
	for _, part := range strings.Split(c.Raw(k), ":") {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil || seconds > 1<<40 {
			c.Fail(k, "a span such as 01:30:00")
			return traces.Opt[model.Duration]{}
		}
		seconds = 60*seconds + int64(n)
	}
	return traces.Some(model.Duration(seconds) * model.Second)
}

// pbsSize is what the job asked for and where it ran.
func pbsSize(c *format.Cells, a *format.Account, j *traces.Job) {
	names, cores, ok := hosts(c.Raw(pbsHost))
	if !ok {
		c.Fail(pbsHost, "nodes such as n1/0*8+n2/0-7")
		return
	}
	j.RecordedNodes = strings.Join(names, ",")
	want, ok := pbsAsked(c, a, j, names)
	if !ok {
		return
	}
	want.cpus = max(want.cpus, c.OptWhole(pbsCPUs, 0, format.MostCount).V)
	want.gpus = max(want.gpus, c.OptWhole(pbsGPUs, 0, format.MostCount).V)
	if want.nodes == 0 && len(names) > 0 {
		want.nodes = int64(len(names))
		c.Repair("nodes-as-allocated")
	}
	if cores > 0 {
		j.ProcsAllocated = traces.Some(int32(cores))
	}
	if want.cpus == 0 && cores > 0 {
		want.cpus = cores
		c.Repair("cpus-as-allocated")
	}
	spread(c, j, want)
	nodes := max(want.nodes, 1)
	if c.Has(pbsMem) {
		bytes, ok := pbsBytes(c.Raw(pbsMem))
		if !ok {
			c.Fail(pbsMem, "a size such as 8gb")
			return
		}
		j.MemPerNode = traces.Some(bytes / nodes)
	} else if want.bytes > 0 {
		j.MemPerNode = traces.Some((want.bytes + nodes - 1) / nodes)
	}
	exclusive := want.excl || strings.Contains(c.Raw(pbsPlace), "excl")
	j.Exclusive = traces.Opt[bool]{V: exclusive, OK: exclusive}
}

// spread writes a request over its nodes.
func spread(c *format.Cells, j *traces.Job, want chunk) {
	if want.cpus > 0 {
		j.ProcsRequested = traces.Some(int32(want.cpus))
	}
	j.GPUsTotal = traces.Some(int32(want.gpus))
	if want.nodes == 0 {
		return
	}
	j.NodesMin = traces.Some(int32(want.nodes))
	j.GPUsPerNode = traces.Some(int32((want.gpus + want.nodes - 1) / want.nodes))
	if want.cpus > 0 {
		j.CPUsPerNode = traces.Some(int32((want.cpus + want.nodes - 1) / want.nodes))
	}
	if want.cpus%want.nodes != 0 || want.gpus%want.nodes != 0 {
		c.Repair("uneven-nodes-rounded-up")
	}
}

// hosts are the nodes of exec_host and how many cores they lent: n/7+n/6, n/0*13, n/0-3, n/0,2.
func hosts(list string) (names []string, cores int64, ok bool) {
	if list == "" {
		return nil, 0, true
	}
	for _, term := range strings.Split(list, "+") {
		name, slots, _ := strings.Cut(term, "/")
		if len(names) == 0 || names[len(names)-1] != name {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if cores += slotsOf(slots); cores > format.MostCount {
			return names, 0, false
		}
	}
	return names, cores, true
}

// slotsOf is how many cores stand behind the name of a node; what cannot be read is one. n/0*0 was not recorded.
func slotsOf(slots string) (cores int64) {
	if _, times, ok := strings.Cut(slots, "*"); ok && times != "" && strings.Trim(times, "0123456789") == "" {
		n, err := strconv.ParseUint(times, 10, 31)
		if err != nil {
			return format.MostCount + 1 // more than there can be
		}
		return int64(n)
	}
	for _, part := range strings.Split(slots, ",") {
		from, to, ranged := strings.Cut(part, "-")
		a, err1 := strconv.ParseUint(from, 10, 31)
		b, err2 := strconv.ParseUint(to, 10, 31)
		if ranged && err1 == nil && err2 == nil && b >= a {
			cores += int64(b - a)
		}
		cores++
	}
	return cores
}

// pbsBytes reads 8gb, 1993mb, 100kb, 5b, 8gw (words of 8 B), 12.27M.
func pbsBytes(text string) (int64, bool) {
	low := strings.ToLower(text)
	digits := strings.TrimRight(low, "kmgtpbw")
	suffix := low[len(digits):]
	scale := int64(1)
	if strings.HasSuffix(suffix, "w") {
		scale = 8
	}
	if prefix := strings.TrimRight(suffix, "bw"); prefix != "" {
		i := strings.Index("kmgtp", prefix)
		if i < 0 {
			return 0, false
		}
		scale <<= 10 * (i + 1)
	}
	x, err := strconv.ParseFloat(digits, 64)
	x = float64(x * float64(scale))
	if err != nil || !(x >= 0 && x <= 1<<60) || strings.ContainsAny(digits, "xXpP_") || len(suffix) > 2 {
		return 0, false
	}
	return int64(x), true
}

// cobaltSize is the nodes that a job asked for, and the part of the machine that it held.
func cobaltSize(c *format.Cells, j *traces.Job) {
	if n := c.OptCount(pbsNodect); n.OK {
		j.NodesMin = n
	}
	j.RecordedNodes = c.Name(pbsHost)
	if i := strings.LastIndexByte(j.RecordedNodes, '-'); i >= 0 {
		if _, err := strconv.ParseUint(j.RecordedNodes[i+1:], 10, 30); err == nil {
			c.Keep("nodes_held", j.RecordedNodes[i+1:])
		}
	}
}
