package batch

import (
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// SGE is the accounting file of SGE, OGS and UGE: fields between colons, # for comments.
// Times are seconds since 1970, or milliseconds as UGE 8.2 and later write them; a job is its
// record without a task of a parallel environment. Slots are processors; the requested time is
// h_rt of the category. Slave tasks are dropped as parallel-task.
//
// Colons in the category, as in -l h_rt=01:00:00, are found by the fields behind it: a number (iow), a text, a number (maxvmem) and two whole
// numbers, as far as the version writes them. They are counted as colons-in-the-category.
//
// GPUs are gpu, gpus and ngpus of -l: of each slot of a job in a parallel environment, which is what a consumable resource of Grid
// Engine is unless the site made it one of the job; counted as gpus-per-slot-assumed. A host of -l without a pattern is a node that
// the job must have. What else -l asks for is counted as request-left-out; limits by time and size of a process are no requests.
//
// Source: accounting(5) of Grid Engine.
var SGE = &format.Format{
	Name: "sge", Version: 3, Files: 1 << 10, What: "accounting files of SGE, OGS and UGE", Sniff: sniffSGE, Scan: scanSGE,
}

const (
	sgeQueue = iota
	sgeHost
	sgeGroup
	sgeOwner
	sgeName
	sgeNumber
	sgeAccount
	sgeSubmit
	sgeStart
	sgeEnd
	sgeFailed
	sgeExit
	sgeProject
	sgePE
	sgeSlots
	sgeTask
	sgeCategory
	sgePETask
)

var sgeColumns = []string{sgeQueue: "qname", sgeHost: "hostname", sgeGroup: "group", sgeOwner: "owner", sgeName: "job_name", sgeNumber: "job_number", sgeAccount: "account",
	sgeSubmit: "submission_time", sgeStart: "start_time", sgeEnd: "end_time", sgeFailed: "failed", sgeExit: "exit_status", sgeProject: "project", sgePE: "granted_pe",
	sgeSlots: "slots", sgeTask: "task_number", sgeCategory: "category", sgePETask: "pe_taskid?"}

var sgeHeader = strings.Fields("qname hostname group owner job_name job_number account priority submission_time start_time end_time failed exit_status ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss " +
	"ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw project department granted_pe slots task_number cpu mem io " +
	"category iow pe_taskid maxvmem arid ar_submission_time")

// least is how many fields the oldest version writes.
const least = 40

func sniffSGE(h format.Head) format.Match {
	for n, line := range format.Lines(h) {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		f := strings.Split(line, ":")
		digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
		if len(f) < least || !digits(f[5]) || !digits(f[8]) || !digits(f[9]) || !digits(f[10]) {
			return format.No(0, int64(n)+1, strconv.Itoa(len(f))+" fields between colons", "45 fields, as SGE writes them", "name another file")
		}
		return format.Match{Percent: 100}
	}
	return format.No(0, 1, "no record", "an accounting file of SGE", "name another file")
}

func scanSGE(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files}
	l.Read = func(s *format.Sink) error {
		for _, file := range files {
			row, err := format.NewRow(file, sgeHeader, sgeColumns, "")
			if err != nil {
				return err
			}
			err = format.EachLine(file, func(n int64, text string) error {
				if text == "" || text[0] == '#' {
					return nil
				}
				fields := strings.Split(text, ":")
				if len(fields) < least {
					return format.LineError(file, n, strconv.Itoa(len(fields))+" fields", "40 or more between colons", "correct the line, or fetch the file again if it was cut short")
				}
				fields, colons := joinCategory(fields)
				row.Next(n, fields)
				if colons {
					row.Repair("colons-in-the-category")
				}
				c := format.Cells{Row: row}
				j, drop := sgeJob(&c, &l.Account)
				if c.Err != nil {
					return c.Err
				}
				return s.Job(c.Place(c.Raw(sgeNumber)), &j, drop)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return l.Scan()
}

// categoryAt is where the category stands; what is before it has no colons.
const categoryAt = 39

// joinCategory puts a category together that colons took apart. Of several ways that with the fewest colons counts.
func joinCategory(f []string) (out []string, joined bool) {
	for colons := 0; categoryAt+colons+1 < len(f); colons++ {
		if !behindCategory(f[categoryAt+colons+1:]) {
			continue
		}
		if colons == 0 {
			return f, false
		}
		end := categoryAt + colons + 1
		out = append(out, f[:categoryAt]...)
		return append(append(out, strings.Join(f[categoryAt:end], ":")), f[end:]...), true
	}
	return f, false
}

// behindCategory says whether fields may be iow, pe_taskid, maxvmem, arid and ar_submission_time, as far as there are any.
func behindCategory(f []string) bool {
	for i, text := range f[:min(len(f), 5)] {
		_, err := strconv.ParseFloat(text, 64)
		whole := strings.Trim(text, "0123456789") == ""
		switch {
		case i == 1: // a name, NONE or nothing
			if strings.ContainsAny(text, " =") {
				return false
			}
		case err != nil, i > 2 && !whole:
			return false
		}
	}
	return true
}

// sgeInstant is seconds or milliseconds since 1970, 0 for none.
func sgeInstant(c *format.Cells, k int) traces.Opt[model.Time] {
	unit := model.Second
	if len(c.Raw(k)) > 11 {
		unit = model.Millisecond
	}
	at := c.OptAt(k, unit)
	if at.V == 0 {
		return traces.Opt[model.Time]{}
	}
	return at
}

// sgeText is a text, NONE standing for none.
func sgeText(c *format.Cells, k int) string {
	if s := c.Name(k); s != "NONE" {
		return s
	}
	return ""
}

func sgeJob(c *format.Cells, a *format.Account) (j traces.Job, drop string) {
	j = traces.Job{ID: c.Whole(sgeNumber, 0, 1<<62), Name: sgeText(c, sgeName), User: sgeText(c, sgeOwner), Account: sgeText(c, sgeAccount), QOS: sgeText(c, sgeQueue),
		RecordedNodes: sgeText(c, sgeHost), ExitState: "COMPLETED"}
	if task := sgeText(c, sgePETask); task != "" {
		return j, "parallel-task"
	}
	c.Keep("project", sgeText(c, sgeProject))
	c.Keep("granted_pe", sgeText(c, sgePE))
	c.Keep("group", sgeText(c, sgeGroup))
	submit := sgeInstant(c, sgeSubmit)
	j.Start, j.End = sgeInstant(c, sgeStart), sgeInstant(c, sgeEnd)
	if slots := c.OptCount(sgeSlots); slots.V > 0 {
		if j.ProcsRequested, j.ProcsAllocated = slots, slots; sgeText(c, sgePE) != "" { // of a range the scheduler chose
			c.Repair("cpus-as-allocated")
		}
	}
	if task := c.OptCount(sgeTask); task.V > 0 {
		j.Group, j.Index = c.Raw(sgeNumber), task
	}
	failed, code := c.OptWhole(sgeFailed, 0, 1<<31-1), c.OptWhole(sgeExit, 0, 1<<31-1)
	if code.OK {
		j.ExitCode = traces.Some(int32(code.V))
	}
	if failed.V != 0 || code.V != 0 {
		j.ExitState = "FAILED"
	}
	category(c, a, &j)
	switch {
	case !submit.OK:
		return j, "no-submission"
	case !j.Start.OK:
		j.CancelledAt, j.End = j.End, traces.Opt[model.Time]{}
	case j.End.OK:
		j.Runtime = traces.Some(j.End.V.Sub(j.Start.V))
	}
	j.Submit = submit.V
	j.Extra = c.Extra()
	return j, ""
}

// category takes what was asked for from "-l h_rt=36000,gpu=1 -pe mype 1".
func category(c *format.Cells, a *format.Account, j *traces.Job) {
	text := sgeText(c, sgeCategory)
	c.Keep("category", text)
	words := strings.Fields(text)
	soft := false
	for i, w := range words {
		switch {
		case w == "-soft" || w == "-hard":
			soft = w == "-soft"
		case w == "-q" && i+1 < len(words) && strings.Contains(words[i+1], "@"):
			leftOut(c, a, "category", []string{"-q QUEUE@HOST"})
		case w == "-l" && i+1 < len(words):
			for _, term := range strings.Split(words[i+1], ",") {
				if name, value, _ := strings.Cut(term, "="); !soft || name == "h_rt" {
					sgeRequest(c, a, j, name, value)
				} else {
					leftOut(c, a, "category", []string{"-soft -l " + name})
				}
			}
		}
	}
}

// sgeLimits are limits of processes and names of queues: they are no requests, or stand elsewhere in the record.
var sgeLimits = []string{"s_rt", "h_cpu", "s_cpu", "h_fsize", "s_fsize", "h_core", "s_core", "h_stack", "s_stack", "h_data", "s_data", "qname", "q"}

// sgeRequest takes NAME=VALUE of -l.
func sgeRequest(c *format.Cells, a *format.Account, j *traces.Job, name, value string) {
	switch name {
	case "h_rt":
		sgeLimit(c, j, value)
		return
	case "gpu", "gpus", "ngpus":
		if value != "" && strings.Trim(value, "0123456789") == "" {
			sgeGPUs(c, a, j, value)
			return
		}
	case "hostname", "host", "h":
		if value != "" && !strings.ContainsAny(value, "*?|&!()[]") {
			j.NodeInclude = value
			return
		}
	}
	if name != "" && !slices.Contains(sgeLimits, name) {
		leftOut(c, a, "category", []string{"-l " + name})
	}
}

// sgeLimit is h_rt.
func sgeLimit(c *format.Cells, j *traces.Job, value string) {
	seconds := int64(0)
	for _, part := range strings.Split(value, ":") {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil || seconds > 1<<40 {
			if !strings.EqualFold(value, "INFINITY") {
				c.Fail(sgeCategory, "h_rt in seconds or HH:MM:SS")
			}
			return
		}
		seconds = 60*seconds + int64(n)
	}
	j.Walltime = traces.Some(model.Duration(seconds) * model.Second)
}

// sgeGPUs are so many GPUs of a job on one node, or of each slot of a parallel one: on how many nodes those are the record does
// not say, so that each has as many at the least.
func sgeGPUs(c *format.Cells, a *format.Account, j *traces.Job, digits string) {
	n, err := strconv.ParseUint(digits, 10, 30)
	slots := int64(max(j.ProcsRequested.V, 1))
	total := int64(n) * slots
	if err != nil || total > format.MostCount {
		c.Fail(sgeCategory, "at most 2^30 GPUs")
		return
	}
	if sgeText(c, sgePE) == "" {
		spread(c, j, chunk{nodes: 1, cpus: int64(j.ProcsRequested.V), gpus: total})
		return
	}
	a.Assume("jobs.gpus_total of SGE", "the number of GPUs that -l asks for, times the slots", "a consumable resource is of each slot unless the site made it one of the job")
	c.Repair("gpus-per-slot-assumed")
	j.GPUsTotal, j.GPUsPerNode = traces.Some(int32(total)), traces.Some(int32(n))
}
