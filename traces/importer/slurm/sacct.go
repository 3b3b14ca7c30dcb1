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
//     JobIDRaw, which may stand alone: tasks of an array are then single jobs. The tenant of a job is its account, as in cluster files made of slurm.conf. A job that was requeued has one row for each of its attempts.
//   - A cancelled job without nodes never ran: it was withdrawn at its end.
//   - The run time is Elapsed, which leaves out suspensions, else end less start.
//   - ReqMem is per node (n), per CPU (c), or of the whole job, as newer Slurm writes it;
//     bit 31 or 63 marks memory per CPU in the database and is taken away, counted as
//     reqmem-flag.
//   - What a job asked for is ReqTRES, ReqNodes, ReqCPUS and ReqGRES. Where they do not tell it,
//     NNodes, NCPUS, AllocTRES and AllocGRES stand in, counted as nodes-as-allocated, cpus-as-allocated and
//     gpus-as-allocated; not NNodes where the processors tell what the job asked for, which then goes on any nodes.
//     So does one that got more nodes than ReqTRES or ReqNodes has, which is the least of them, counted as more-nodes-than-requested. Licences, and what else ReqTRES and ReqGRES name beside CPUs, memory, nodes and GPUs, are requests of which
//     no column is made: they stay in extra, counted as licences-left-out and resources-left-out.
//   - GPUs are gres/gpu; the types, gres/gpu:TYPE, are not counted again. A job that asked for
//     none, and was allocated some and many more CPUs than it asked for, had its nodes for itself: exclusive, counted as
//     exclusive-by-allocation. So has one with --exclusive in SubmitLine.
//
// Times are local to the site, or UTC where TZ=UTC was set: nothing in the file says, so
// --time-zone must. Seconds since 1970 (SLURM_TIME_FORMAT=%s) need none. Of a local time that occurred twice, that is
// meant with which submit <= eligible <= start <= end and with which a job ran as long as Elapsed says; else
// that which the order of submissions leaves.
//
// Sources: sacct(1), slurm/src/common/slurmdb_defs.h; https://github.com/ubccr/xdmod.
package slurm

import (
	"slices"
	"strings"

	"orrery/traces/importer/format"
)

// Sacct is the format of separated values.
var Sacct = &format.Format{
	Name: "sacct", Version: 7, Files: 1 << 10, Zoned: true, What: "jobs of Slurm as sacct --parsable2 prints them, with or without the names of the columns",
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
	colSubmitLine
	colLicenses
	colMemPerCore
)

var sacctColumns = []string{colID: "JobID", colRaw: "JobIDRaw?", colCluster: "Cluster?", colPartition: "Partition?", colQOS: "QOS?", colAccount: "Account?", colUser: "User?",
	colSubmit: "Submit", colEligible: "Eligible?", colStart: "Start?", colEnd: "End?", colElapsed: "Elapsed?", colExit: "ExitCode?", colState: "State",
	colNodes: "NNodes?", colCPUs: "NCPUS?", colReqCPUs: "ReqCPUS?", colReqMem: "ReqMem?", colReqTRES: "ReqTRES?", colAllocTRES: "AllocTRES?",
	colLimit: "Timelimit?", colNodeList: "NodeList?", colName: "JobName?", colReqGRES: "ReqGRES?", colAllocGRES: "AllocGRES?", colReservation: "Reservation?", colPriority: "Priority?",
	colConstraints: "Constraints?", colElapsedRaw: "ElapsedRaw?", colLimitRaw: "TimelimitRaw?", colReqNodes: "ReqNodes?", colAllocCPUs: "AllocCPUS?", colAllocNodes: "AllocNodes?", colMemPerCore: "ReqMemPerCore?", colSubmitLine: "SubmitLine?",
	colLicenses: "Licenses?"}

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
	header := strings.Join(withID(strings.Split(strings.ReplaceAll(lines[0], `"`, ""), "|")), "|")
	return format.HeaderMatch(format.Head{Bytes: []byte(header + "\n")}, '|', "JobID", "State", "Submit")
}

// withID is a header in which JobIDRaw is the id where there is no JobID.
func withID(header []string) []string {
	i := slices.Index(header, "JobIDRaw")
	if i < 0 || slices.Contains(header, "JobID") {
		return header
	}
	header = slices.Clone(header)
	header[i] = "JobID"
	return header
}

func scanSacct(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Zone: o.Zone}
	var clocks clocks
	for i := range clocks {
		clocks[i] = format.Clock{Zone: o.Zone, Unordered: i > 0} // rows come by submission, or in no order
		l.Clocks = append(l.Clocks, &clocks[i])
	}
	l.Read = func(s *format.Sink) error {
		to := &joiner{sink: s}
		for _, f := range files {
			if err := readSacct(f, &clocks, to); err != nil {
				return err
			}
		}
		return to.flush()
	}
	return l.Scan()
}

// readSacct goes through one file.
func readSacct(f format.File, clocks *clocks, s *joiner) error {
	var r *reader
	err := format.EachLine(f, func(n int64, text string) (err error) {
		if r == nil {
			header, named := headless(text), false
			if header == nil {
				header, named = withID(strings.Split(text, "|")), true
			}
			if r, err = newReader(f, header, clocks, s); err != nil || named {
				return format.Whole(err)
			}
		}
		return r.line(n, text)
	})
	if err != nil || r == nil {
		return err
	}
	return r.end()
}
