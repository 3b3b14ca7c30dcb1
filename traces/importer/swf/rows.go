package swf

import (
	"encoding/json"
	"fmt"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// JobWriter is where rows go: a traces.Writer.
type JobWriter interface {
	WriteJob(*traces.Job) error
}

// Write reads the log a second time and writes the kept rows in the order of
// (submit, place in the file). The lines of a sorted log pass through; those
// of an unsorted one are sorted in runs on the disk.
func (l *Log) Write(w JobWriter) error {
	c := newConverter(l)
	var written int64
	var unsorted format.Sorter[string] // lines
	defer unsorted.Close()
	err := l.each(false, func(_ int64, line []byte, r *record) error {
		if why, _ := r.judge(); why != keep {
			return nil
		}
		written++
		if l.Sorted() {
			return w.WriteJob(c.job(r))
		}
		text := string(line)
		return unsorted.Add(format.Place{}, model.Time(r.v[fSubmit]), &text)
	})
	if err != nil {
		return err
	}
	if written != l.kept {
		return fmt.Errorf("reading %s: it had %d rows to keep at first and %d now: it changes while it is read", l.name, l.kept, written)
	}
	return unsorted.Each(func(_ *format.Place, _ model.Time, line *string) error {
		var r record
		r.parse([]byte(*line)) // was judged above
		r.judge()
		return w.WriteJob(c.job(&r))
	})
}

// converter makes rows of the jobs table of records.
type converter struct {
	dialect dialect
	epoch   int64 // µs to take off field 2
	row     traces.Job
	extra   object
	names   map[int64]string
}

// maxNames bounds the cache of names; logs number users, groups and programs
// from 1.
const maxNames = 1 << 16

func newConverter(l *Log) *converter {
	c := &converter{dialect: l.dialect, names: map[int64]string{}}
	if l.Absolute() {
		c.epoch = l.epoch() * scale[fSubmit]
	}
	return c
}

var exitStates = [...]string{"FAILED", "COMPLETED", "PARTIAL", "PARTIAL_LAST", "PARTIAL_FAILED", "CANCELLED"}

const statusCancelled = 5

// job is the row of a record that was judged. It is valid until the next call.
func (c *converter) job(r *record) *traces.Job {
	submit := model.Time(r.v[fSubmit] - c.epoch)
	c.row = traces.Job{
		ID:             r.v[fJob],
		Submit:         submit,
		Runtime:        span(r, fRun),
		Walltime:       span(r, fReqTime),
		ProcsAllocated: processors(r, fAllocated),
		ProcsRequested: processors(r, fRequested),
		User:           c.name(r.v[fUser]),
		Account:        c.name(r.v[fGroup]),
		Name:           c.name(r.v[fExecutable]),
		QOS:            c.name(r.v[fQueue]),
		Partition:      c.name(r.v[fPartition]),
	}
	j := &c.row
	if s := r.v[fStatus]; s >= 0 {
		j.ExitState = exitStates[s]
	}
	waitKept := false
	if wait := span(r, fWait); wait.OK && j.Runtime.OK {
		j.Start = traces.Some(submit.Add(wait.V))
		j.End = traces.Some(j.Start.V.Add(j.Runtime.V))
	} else if wait.OK && r.v[fStatus] == statusCancelled {
		j.CancelledAt = traces.Some(submit.Add(wait.V))
	} else {
		waitKept = wait.OK // neither an instant of start nor of cancellation
	}
	if c.dialect != alea {
		if r.v[fPreceding] > 0 {
			j.AfterJob = traces.Some(r.v[fPreceding])
		}
		j.ThinkTime = span(r, fThink)
	}
	j.Extra = c.extraOf(r, waitKept)
	return j
}

func span(r *record, field int) traces.Opt[model.Duration] {
	if r.v[field] < 0 {
		return traces.Opt[model.Duration]{}
	}
	return traces.Some(model.Duration(r.v[field]))
}

func processors(r *record, field int) traces.Opt[int32] {
	if r.v[field] < 0 {
		return traces.Opt[int32]{}
	}
	return traces.Some(int32(r.v[field]))
}

// name is the number of a user, group, program, queue or partition as text;
// missing is the empty string.
func (c *converter) name(v int64) string {
	if v < 0 {
		return ""
	}
	s, ok := c.names[v]
	if !ok {
		s = strconv.FormatInt(v, 10)
		if len(c.names) < maxNames {
			c.names[v] = s
		}
	}
	return s
}

// Keys of the extra column. They are written in alphabetical order.
const (
	extraAleaMemory    = "alea_memory"    // field 19 of Alea's dialect as it stands
	extraAleaPlacement = "alea_placement" // field 21
	extraAleaQueue     = "alea_queue"     // field 20
	extraAvgCPU        = "avg_cpu_s"      // field 6: CPU time, mean over the processors, seconds
	extraCarbon        = "carbon_weight"  // field 19 of Theta's dialect
	extraPreceding     = "preceding_job"  // field 17 of Alea's dialect, which names no job
	extraReqMemBytes   = "req_mem_bytes"  // field 10 of Alea's dialect
	extraReqMem        = "req_mem_kb"     // field 10, by processor
	extraThink         = "think_time_s"   // field 18 of Alea's dialect
	extraUsedMem       = "used_mem_kb"    // field 7, by processor
	extraWait          = "wait_s"         // field 3 of a row without run time that was not cancelled
)

// extraOf is the JSON object of what has no column, "" when there is nothing.
func (c *converter) extraOf(r *record, waitKept bool) string {
	x := &c.extra
	x.reset()
	memory := extraReqMem
	if c.dialect == alea {
		memory = extraReqMemBytes
		x.text(extraAleaMemory, r.more[0])
		x.text(extraAleaPlacement, r.more[2])
		x.text(extraAleaQueue, r.more[1])
	}
	x.decimal(extraAvgCPU, r, fAvgCPU)
	if c.dialect == theta {
		n, _ := splitNumber(r.more[0]) // checked for every row
		x.key(extraCarbon)
		x.b = n.appendTo(x.b)
	}
	if c.dialect == alea {
		x.time(extraPreceding, r, fPreceding)
	}
	x.decimal(memory, r, fReqMem)
	if c.dialect == alea {
		x.time(extraThink, r, fThink)
	}
	x.decimal(extraUsedMem, r, fUsedMem)
	if waitKept {
		x.time(extraWait, r, fWait)
	}
	return x.String()
}

// object builds a JSON object key by key.
type object struct{ b []byte }

func (o *object) reset() { o.b = append(o.b[:0], '{') }

func (o *object) key(k string) {
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), k...), '"', ':')
}

func (o *object) text(k string, value []byte) {
	quoted, err := json.Marshal(string(value))
	if err != nil { // no string fails
		return
	}
	o.key(k)
	o.b = append(o.b, quoted...)
}

// decimal adds a field of kind decimal unless it is missing.
func (o *object) decimal(k string, r *record, field int) {
	if r.v[field] < 0 {
		return
	}
	o.key(k)
	o.b = r.appendDecimal(o.b, field)
}

// time adds a field with its own unit unless it is missing.
func (o *object) time(k string, r *record, field int) {
	if r.v[field] < 0 {
		return
	}
	o.key(k)
	o.b = appendScaled(o.b, r.v[field], scale[field])
}

// String is the object, "" when it has no key.
func (o *object) String() string {
	if len(o.b) == 1 {
		return ""
	}
	return string(append(o.b, '}'))
}
