package calibrate

import (
	"orrery/capture"
	"orrery/capture/energy"
	"orrery/scheduler/model"
	"orrery/traces"
)

// transfer is data that a job wrote or read while it computed nothing.
type transfer struct {
	job     int
	write   bool
	first   bool // before the job computed anything
	bytes   int64
	seconds float64
}

// process is one that reads and writes.
type process struct {
	node string
	pid  int
}

// counters are what a process had read and written by its last row.
type counters struct {
	moved [2]int64 // read, written
	at    model.Time
}

// disk is what jobs move.
type disk struct {
	processes map[process]counters
	jobs      map[int]*[2]phase // reading and writing, by the row of the job
}

// phase is time in which the processes of a job move data and its GPUs compute nothing: the
// bytes of all of them, by the instants of their rows.
type phase struct {
	from  model.Time // row before the first of them
	steps []step
	first bool
}

type step struct {
	at    model.Time
	bytes int64
}

// A phase is a transfer if it spans some rows, for the ends of a transfer lie between rows, and
// moves much in all and by time: logs and small files are none.
const (
	leastSteps = 3
	leastBytes = 1e9
	leastRate  = 50e6 // B/s
)

// io follows what the processes of a job read and write.
func (o *observer) io(t *traces.Telemetry, stands energy.Stretch, procs []capture.Process, job int, works bool) {
	if job < 0 {
		return
	}
	if works {
		o.endPhases(job)
	}
	for _, p := range procs {
		if p.Read == nil || p.Written == nil {
			continue
		}
		of := process{t.Node, p.PID}
		before, met := o.disk.processes[of]
		if met && t.Time <= before.at { // a process on several GPUs has a row for each
			continue
		}
		now := counters{[2]int64{*p.Read, *p.Written}, t.Time}
		o.disk.processes[of] = now
		if start := o.jobs.list[job].start; !met && start != model.Never && start >= stands.From.Add(-stands.Width()) {
			before, met = counters{at: max(start, stands.From.Add(-stands.Width()))}, true // it began with the job
		}
		if !met || works {
			continue
		}
		for i := range now.moved {
			if bytes := now.moved[i] - before.moved[i]; bytes > 0 {
				o.moves(job, i, before.at, t.Time, bytes, stands.Width())
			}
		}
	}
}

// moves adds to the phase of a job, or begins one where it has been still for a while.
func (o *observer) moves(job, way int, before, at model.Time, bytes int64, width model.Duration) {
	both := o.disk.jobs[job]
	if both == nil {
		both = &[2]phase{}
		o.disk.jobs[job] = both
	}
	ph := &both[way]
	if n := len(ph.steps); n > 0 && at.Sub(ph.steps[n-1].at) > 2*max(width, model.Second) {
		o.endPhase(job, way)
	}
	if len(ph.steps) == 0 {
		_, begun := o.out.begun[job]
		ph.from, ph.first = before, !begun
	}
	if n := len(ph.steps); n > 0 && ph.steps[n-1].at == at {
		ph.steps[n-1].bytes += bytes
		return
	}
	ph.steps = append(ph.steps, step{at, bytes})
}

func (o *observer) endPhases(job int) {
	if o.disk.jobs[job] != nil {
		o.endPhase(job, 0)
		o.endPhase(job, 1)
	}
}

// endPhase makes a transfer of a phase. It begins and ends between rows: its rate is that of
// the rows within, and its time what all its bytes take at that rate.
func (o *observer) endPhase(job, way int) {
	ph := &o.disk.jobs[job][way]
	steps := ph.steps
	ph.steps = nil
	if len(steps) == 0 {
		return
	}
	var all, within int64
	for i, s := range steps {
		all += s.bytes
		if i > 0 && i < len(steps)-1 {
			within += s.bytes
		}
	}
	if len(steps) < leastSteps {
		o.out.little++
		return
	}
	rate := float64(within) / steps[len(steps)-2].at.Sub(steps[0].at).Seconds()
	if float64(all) < leastBytes || rate < leastRate {
		o.out.little++
		return
	}
	o.out.moved = append(o.out.moved, transfer{job: job, write: way == 1, first: ph.first, bytes: all, seconds: float64(all) / rate})
}
