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

// chunk is what a term of select or nodes asks for, or all terms of a list.
type chunk struct {
	nodes, cpus, gpus int64
	bytes             int64    // memory, of a list in all
	kind              string   // of the GPUs
	mixed             bool     // GPUs are of several types
	features          []string // properties of Torque, that each node must have
	hosts             []string // on which it must be
	excl              bool     // #excl
	left              []string // names of resources of which nothing is made
}

// gpuModes are words of Torque behind gpus=N that are no properties of nodes.
var gpuModes = []string{"default", "shared", "exclusive", "exclusive_thread", "exclusive_process", "reseterr"}

// notPlaced are resources of a chunk that say how processes are started, and not where.
var notPlaced = []string{"mpiprocs", "ompthreads"}

// chunkOf reads a term such as 2:ppn=8:gpus=1:bigmem or n7:ppn=4. A first word that is no number is the name of a node, or a
// property if the job ran, and not on a node of that name.
func chunkOf(term string, ran []string) (one chunk, ok bool) {
	one.nodes = 1
	words := strings.Split(term, ":")
	switch first := words[0]; {
	case first != "" && strings.Trim(first, "0123456789") == "":
		n, err := strconv.ParseUint(first, 10, 30)
		if err != nil { // more than anyone can ask for: it must not become 1
			return one, false
		}
		one.nodes = int64(n)
		words = words[1:]
	case !strings.Contains(first, "=") && (len(ran) == 0 || slices.ContainsFunc(ran, func(name string) bool { return sameNode(name, first) })):
		one.addHost(first)
		words = words[1:]
	}
	moded := strings.Contains(term, "gpus=")
	for _, w := range words {
		name, value, given := strings.Cut(w, "=")
		switch {
		case given:
			if !one.resource(name, value) {
				return one, false
			}
		case w == "ppn" || w == "ncpus":
			return one, false
		case w != "" && !(moded && slices.Contains(gpuModes, w)):
			one.features = append(one.features, w)
		}
	}
	slices.Sort(one.features)
	one.features = slices.Compact(one.features)
	return one, true
}

// resource takes NAME=VALUE of a term.
func (one *chunk) resource(name, value string) (ok bool) {
	to := &one.cpus
	switch name {
	case "ppn", "ncpus":
	case "gpus", "ngpus", "gpu":
		to = &one.gpus
	case "gpu_type":
		one.kind = value
		return true
	case "mem":
		one.bytes, ok = pbsBytes(value)
		return ok
	case "host", "vnode":
		one.addHost(value)
		return true
	default:
		if !slices.Contains(notPlaced, name) {
			one.left = append(one.left, name)
		}
		return true
	}
	n, err := strconv.ParseUint(value, 10, 30)
	*to = int64(n)
	return err == nil
}

// addHost adds a node by its name; n7[0] is a part of n7.
func (one *chunk) addHost(name string) {
	if name, _, _ = strings.Cut(name, "["); name != "" && !slices.Contains(one.hosts, name) {
		one.hosts = append(one.hosts, name)
	}
}

// chunks sums a list such as 2:ppn=8:gpus=1+4:ppn=4 or 5:ncpus=13:ngpus=1, of a job that ran on some nodes. A request has the same
// features on all nodes, and nodes by name for all of it: what some terms alone ask for is left out.
func chunks(list string, ran []string) (sum chunk, ok bool) {
	list, suffix, _ := strings.Cut(list, "#")
	sum.excl = strings.Contains(suffix, "excl")
	unnamed := false
	for i, term := range strings.Split(list, "+") {
		one, ok := chunkOf(term, ran)
		if !ok {
			return sum, false
		}
		sum.nodes += one.nodes
		sum.cpus += one.nodes * one.cpus
		sum.gpus += one.nodes * one.gpus
		if most := int64(1 << 60); one.nodes > 0 && one.bytes > (most-sum.bytes)/one.nodes {
			return sum, false
		}
		sum.bytes += one.nodes * one.bytes
		if max(sum.nodes, sum.cpus, sum.gpus) > format.MostCount {
			return sum, false
		}
		if one.kind != "" {
			sum.mixed = sum.mixed || sum.kind != "" && sum.kind != one.kind
			sum.kind = one.kind
		}
		sum.left = append(sum.left, one.left...)
		for _, name := range one.hosts {
			sum.addHost(name)
		}
		unnamed = unnamed || len(one.hosts) == 0
		if i == 0 {
			sum.features = one.features
		} else if !slices.Equal(sum.features, one.features) {
			sum.uncommon(one.features)
		}
	}
	if unnamed && len(sum.hosts) > 0 { // the others may be anywhere
		sum.left = append(sum.left, "host of some chunks")
		sum.hosts = nil
	}
	return sum, true
}

// uncommon leaves out features that some terms alone have.
func (c *chunk) uncommon(of []string) {
	common := slices.DeleteFunc(slices.Clone(c.features), func(f string) bool { return !slices.Contains(of, f) })
	c.features = common
	c.left = append(c.left, "features of some chunks")
}

// pbsAsked is what select, nodes and nodect ask for: of a log that has several the most, and what the first of them that has
// any says beside.
func pbsAsked(c *format.Cells, a *format.Account, j *traces.Job, ran []string) (want chunk, ok bool) {
	for _, k := range []int{pbsSelect, pbsNodes, pbsNodect} {
		if !c.Has(k) {
			continue
		}
		one, ok := chunks(c.Raw(k), ran)
		if !ok {
			c.Fail(k, "nodes such as 4:ppn=8 or 2:ncpus=16:ngpus=1")
			return want, false
		}
		if len(one.left) > 0 {
			leftOut(c, a, pbsColumns[k], one.left)
			c.Keep(pbsColumns[k], c.Raw(k))
		}
		want.nodes, want.cpus, want.gpus = max(want.nodes, one.nodes), max(want.cpus, one.cpus), max(want.gpus, one.gpus)
		want.bytes, want.excl, want.mixed = max(want.bytes, one.bytes), want.excl || one.excl, want.mixed || one.mixed
		if want.kind == "" {
			want.kind = one.kind
		}
		if len(want.features) == 0 {
			want.features = one.features
		}
		if len(want.hosts) == 0 {
			want.hosts = one.hosts
		}
	}
	if want.mixed {
		c.Repair("several-gpu-types")
	} else {
		j.GPUType = want.kind
	}
	j.Features, j.NodeInclude = strings.Join(want.features, "&"), strings.Join(want.hosts, ",")
	if named := int64(len(want.hosts)); named > 0 && want.nodes > named { // several chunks on one node
		want.nodes = named
		c.Repair("chunks-of-one-node-joined")
	}
	return want, true
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
