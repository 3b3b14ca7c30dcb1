package swf

import "math"

// The standard's fields by index, from 0; the standard counts from 1.
const (
	fJob = iota
	fSubmit
	fWait
	fRun
	fAllocated
	fAvgCPU
	fUsedMem
	fRequested
	fReqTime
	fReqMem
	fStatus
	fUser
	fGroup
	fExecutable
	fQueue
	fPartition
	fPreceding
	fThink
	standardFields
)

// kind is the type of a field, which decides what a token there may be.
type kind uint8

const (
	whole   kind = iota // an integer that fits int64
	count               // an integer that fits int32
	seconds             // a decimal number of seconds, kept in µs
	decimal             // a decimal number kept as it is written
)

// maxSeconds bounds every instant and span, so that submit + wait + run plus
// an epoch stays inside int64 microseconds. It is 34,865 years.
const maxSeconds = 1 << 40

var fields = [standardFields]struct {
	name string
	kind kind
}{
	fJob:        {"job number", whole},
	fSubmit:     {"submit time", seconds},
	fWait:       {"wait time", seconds},
	fRun:        {"run time", seconds},
	fAllocated:  {"allocated processors", count},
	fAvgCPU:     {"average CPU time", decimal},
	fUsedMem:    {"used memory", decimal},
	fRequested:  {"requested processors", count},
	fReqTime:    {"requested time", seconds},
	fReqMem:     {"requested memory", decimal},
	fStatus:     {"status", whole},
	fUser:       {"user", whole},
	fGroup:      {"group", whole},
	fExecutable: {"executable", whole},
	fQueue:      {"queue", whole},
	fPartition:  {"partition", whole},
	fPreceding:  {"preceding job", whole},
	fThink:      {"think time", seconds},
}

// limit and scale are what the parser's fast path needs of the table above:
// the largest magnitude as written, and the factor to the unit in memory.
var limit, scale = limits()

func limits() (limit, scale [standardFields]int64) {
	for i, f := range fields {
		limit[i], scale[i] = math.MaxInt64, 1
		switch f.kind {
		case count:
			limit[i] = math.MaxInt32
		case seconds:
			limit[i], scale[i] = maxSeconds, 1_000_000
		}
	}
	return limit, scale
}

// expects says in words what a token of the kind has to be.
func (k kind) expects() string {
	switch k {
	case count:
		return "a whole number up to 2147483647, or -1"
	case seconds:
		return "a number of seconds up to 1099511627776, or -1"
	case decimal:
		return "a number, or -1"
	}
	return "a whole number that fits 64 bits, or -1"
}
