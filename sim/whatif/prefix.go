package whatif

import (
	"fmt"
	"iter"

	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/record"
)

// Differs says that a fork is not the run that it was forked from before its instant.
type Differs struct {
	Index int64 // of the entry of the logs, or of the job
	Text  string
}

// Error says what differs.
func (d *Differs) Error() string { return d.Text }

// SameLog holds that two logs of facts say the same before an instant, and counts the entries that say something until
// then. The error is a *Differs where they do not. How often a core has looked at its queues in vain makes no difference: the run may be
// of another version.
func SameLog(run, fork iter.Seq2[*commitlog.Entry, error], at model.Time) (entries int64, err error) {
	next, stop := iter.Pull2(telling(fork))
	defer stop()
	until := func(e *commitlog.Entry, more bool) bool { return more && e.Now < at }
	for x, err := range telling(run) {
		if err != nil {
			return entries, err
		}
		y, err, more := next()
		if err != nil {
			return entries, err
		}
		in, inFork := until(x, true), until(y, more)
		if !in && !inFork {
			return entries, nil
		}
		if in != inFork || !commitlog.Same(x, y) {
			return entries, &Differs{entries, fmt.Sprintf("entry %d of the log of facts that says something, at %s, is another one in the fork", entries, x.Now)}
		}
		entries++
	}
	if y, err, more := next(); err != nil || until(y, more) {
		return entries, cmpErr(err, &Differs{entries, fmt.Sprintf("the log of facts of the fork goes on after entry %d that says something", entries)})
	}
	return entries, nil
}

// telling is the log without rounds that bring no fact, and without passes: what these decide are entries of their own.
func telling(log iter.Seq2[*commitlog.Entry, error]) iter.Seq2[*commitlog.Entry, error] {
	return func(yield func(*commitlog.Entry, error) bool) {
		for e, err := range log {
			if err == nil && (e.What == commitlog.Pass || e.What == commitlog.Round && e.Count == 0) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func cmpErr(err error, differs *Differs) error {
	if err != nil {
		return err
	}
	return differs
}

// SameJobs holds that the same jobs start before an instant, at the same instants, and counts them.
// It is what can be checked of a run without its facts. rows is the number of rows of the trace.
func SameJobs(run, fork record.Scanner, rows int64, at model.Time) (jobs int64, err error) {
	starts := make([]int64, 0, rows)
	err = run.Scan(func(c *record.Columns) error {
		for i, job := range c.Job {
			for int(job) >= len(starts) {
				starts = append(starts, record.Absent)
			}
			if c.Start[i] != record.Absent && c.Start[i] < int64(at) {
				starts[job] = c.Start[i]
				jobs++
			}
		}
		return nil
	})
	if err != nil {
		return jobs, err
	}
	left := jobs
	err = fork.Scan(func(c *record.Columns) error {
		for i, job := range c.Job {
			was := record.Absent
			if int(job) < len(starts) {
				was = starts[job]
			}
			is := c.Start[i]
			if is == record.Absent || is >= int64(at) {
				is = record.Absent
			}
			if is != was {
				return &Differs{int64(job), fmt.Sprintf("job %d starts at another instant before %s", c.ID[i], at)}
			}
			if was != record.Absent {
				left--
			}
		}
		return nil
	})
	if err == nil && left > 0 {
		err = &Differs{-1, fmt.Sprintf("%d jobs that start before %s are not in the fork", left, at)}
	}
	return jobs, err
}
