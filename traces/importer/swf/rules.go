package swf

// drop is why a row cannot be part of a trace.
type drop uint8

const (
	keep drop = iota
	dropJobNumber
	dropSubmit
	dropRunTime
	dropProcessors
)

var dropNames = [...]string{
	dropJobNumber:  "negative-job-number",
	dropSubmit:     "no-submit-time",
	dropRunTime:    "negative-run-time",
	dropProcessors: "no-processors",
}

// dropField is the field an example of the rule shows.
var dropField = [...]int{dropJobNumber: fJob, dropSubmit: fSubmit, dropRunTime: fRun, dropProcessors: fRequested}

// repair is a way in which a row was mended: a bit of a repairs set.
type repair uint8

const (
	repairWait      repair = iota // a wait below -1: the start becomes null
	repairAllocated               // 0 processors allocated: null
	repairRequested               // 0 processors requested: null
	repairReqTime                 // 0 seconds requested: null
	repairPreceding               // predecessor 0: null
	repairStatus                  // a status outside -1 to 5: null
	repairNegative                // any other field below -1: null
	repairPrecision               // a time finer than a microsecond: rounded
	numRepairs
	repairSorted = numRepairs     // of the order of rows, not of one row
	repairHeader = numRepairs + 1 // of a header line whose value is no number or time zone: unknown
)

var repairNames = [...]string{
	repairWait:      "negative-wait-time",
	repairAllocated: "zero-allocated-processors",
	repairRequested: "zero-requested-processors",
	repairReqTime:   "zero-requested-time",
	repairPreceding: "zero-preceding-job",
	repairStatus:    "unknown-status",
	repairNegative:  "negative-value",
	repairPrecision: "rounded-to-microsecond",
	repairSorted:    "sorted",
	repairHeader:    "unreadable-header",
}

// missing is -1 in the unit that a field has in memory.
func missing(field int) int64 { return -scale[field] }

// judge applies the rules of the package comment: it says whether the row is
// kept and, if it is, makes what is impossible in it null (-1) and returns the
// set of repairs. Rows are judged in both passes with the same answer.
func (r *record) judge() (why drop, repairs uint32) {
	if r.v[fAllocated] <= 0 && r.v[fRequested] <= 0 {
		why = dropProcessors
	}
	if r.v[fRun] < 0 && r.v[fRun] != missing(fRun) {
		why = dropRunTime
	}
	if r.v[fSubmit] < 0 {
		why = dropSubmit
	}
	if r.v[fJob] < 0 {
		why = dropJobNumber
	}
	if why != keep {
		return why, 0
	}
	if r.rounded {
		repairs |= 1 << repairPrecision
	}
	for i := fWait; i < standardFields; i++ {
		v := r.v[i]
		if v > 0 && i != fStatus || v == missing(i) {
			continue
		}
		if how, broken := broken(i, v); broken {
			r.v[i] = missing(i)
			repairs |= 1 << how
		}
	}
	return keep, repairs
}

// broken says whether v, which is neither missing nor (but for the status)
// positive, is impossible in field i, and which repair mends it.
func broken(i int, v int64) (repair, bool) {
	switch {
	case i == fStatus:
		return repairStatus, v < 0 || v > 5
	case v < 0 && i == fWait:
		return repairWait, true
	case v < 0:
		return repairNegative, true
	case i == fAllocated:
		return repairAllocated, true
	case i == fRequested:
		return repairRequested, true
	case i == fReqTime:
		return repairReqTime, true
	case i == fPreceding:
		return repairPreceding, true
	}
	return 0, false
}
