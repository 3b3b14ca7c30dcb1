// Package whatif says what a run that was forked from another one does otherwise: which jobs start
// earlier or later from the fork on, job by job in pairs. It reads two finished runs and replays
// nothing.
package whatif

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/record"
)

// Report is what differs from an instant on. Jobs that started before it did so in both runs and
// are in no figure.
type Report struct {
	At model.Time `json:"at_us"` // since the epoch of the trace
	// Jobs counts those that are in both runs and had not started before the instant.
	Jobs    Counts `json:"jobs"`
	LeftOut int64  `json:"left_out"` // jobs of the first run that the fork does not have
	Wait    Wait   `json:"wait"`
	// Preferred is set for a fork that prefers a job.
	Preferred *Preferred `json:"preferred,omitempty"`
	// Gained and Lost are the jobs whose wait changed most, ten each.
	Gained []Moved `json:"gained"`
	Lost   []Moved `json:"lost"`
}

// Counts of jobs by how their start moved, to the microsecond.
type Counts struct {
	Earlier   int64 `json:"earlier"`
	Later     int64 `json:"later"`
	Same      int64 `json:"same"`
	OnlyFirst int64 `json:"started_only_in_run"`
	OnlyFork  int64 `json:"started_only_in_fork"`
	Never     int64 `json:"never_started"`
}

// Wait is of the jobs that started in both runs, from the fork on. Spans are in seconds.
type Wait struct {
	Jobs int64 `json:"jobs"`
	// Means and 95th percentiles are null without a job.
	Mean    *float64 `json:"mean_run_s"`
	Fork    *float64 `json:"mean_fork_s"`
	P95     *float64 `json:"p95_run_s"`
	P95Fork *float64 `json:"p95_fork_s"`
	// Gained is the sum of what jobs wait less in the fork, Lost of what others wait more.
	Gained float64 `json:"gained_s"`
	Lost   float64 `json:"lost_s"`
}

// Preferred is what it would have been worth to start a job before others.
type Preferred struct {
	ID int64 `json:"id"`
	// Gain is what the job waits less, Cost what all others wait more in all. Regret is Gain less
	// Cost: above 0 the sum of all waits would have been smaller.
	Gain   float64 `json:"gain_s"`
	Cost   float64 `json:"cost_s"`
	Regret float64 `json:"regret_s"`
}

// Moved is a job that starts at another instant.
type Moved struct {
	Job   int32   `json:"job"` // row of the trace
	ID    int64   `json:"id"`
	User  string  `json:"user,omitempty"`
	Procs int32   `json:"procs"`
	Wait  float64 `json:"wait_run_s"`
	Fork  float64 `json:"wait_fork_s"`

	user int32
	by   int64 // µs later in the fork
}

// start is that of a job in the first run.
type start struct {
	there bool
	at    int64 // record.Absent where it never started
}

// mostMoved jobs are named on either side.
const mostMoved = 10

// Pairs compares the jobs of a run with those of its fork from an instant on. rows is the number of
// rows of their trace. prefer is the job that the fork prefers, nil for none. Memory is 16 bytes a
// row, and 16 for each job that starts from the instant on.
func Pairs(run, fork record.Scanner, rows int64, at model.Time, prefer *int64) (*Report, error) {
	p := pairs{report: &Report{At: at, Gained: []Moved{}, Lost: []Moved{}}, starts: make([]start, 0, rows), prefer: prefer}
	if err := run.Scan(p.first); err != nil {
		return nil, err
	}
	if err := fork.Scan(p.second); err != nil {
		return nil, err
	}
	return p.report, p.finish()
}

// Name enters the names of users.
func (r *Report) Name(users []string) {
	for _, list := range [][]Moved{r.Gained, r.Lost} {
		for i := range list {
			if u := list[i].user; u >= 0 && int(u) < len(users) {
				list[i].User = users[u]
			}
		}
	}
}

// pairs is a comparison under way.
type pairs struct {
	report *Report
	starts []start
	prefer *int64
	waits  [2][]int64 // of the jobs that started in both runs
	moved  []Moved
	cost   int64
}

func (p *pairs) first(c *record.Columns) error {
	for i, job := range c.Job {
		for int(job) >= len(p.starts) {
			p.starts = append(p.starts, start{})
		}
		p.starts[job] = start{true, c.Start[i]}
	}
	return nil
}

func (p *pairs) second(c *record.Columns) error {
	for i, job := range c.Job {
		if int(job) >= len(p.starts) || !p.starts[job].there {
			continue
		}
		was := p.starts[job].at
		p.starts[job].there = false
		p.pair(c, i, was)
	}
	return nil
}

// pair counts row i of the fork, whose job started at was in the first run.
func (p *pairs) pair(c *record.Columns, i int, was int64) {
	is, n := c.Start[i], &p.report.Jobs
	switch at := int64(p.report.At); {
	case was != record.Absent && was < at && is == was:
		return
	case was == record.Absent && is == record.Absent:
		n.Never++
		return
	case was == record.Absent:
		n.OnlyFork++
		return
	case is == record.Absent:
		n.OnlyFirst++
		return
	case is < was:
		n.Earlier++
	case is > was:
		n.Later++
	default:
		n.Same++
	}
	before, after := was-c.Submit[i], is-c.Submit[i]
	p.waits[0], p.waits[1] = append(p.waits[0], before), append(p.waits[1], after)
	if p.prefer != nil && *p.prefer == c.ID[i] && p.report.Preferred == nil {
		p.report.Preferred = &Preferred{ID: c.ID[i], Gain: seconds(before - after)}
		p.cost -= after - before // of the others alone
	}
	p.cost += after - before
	if is != was {
		p.moved = append(p.moved, Moved{Job: c.Job[i], ID: c.ID[i], Procs: c.Procs[i], user: c.User[i], Wait: seconds(before), Fork: seconds(after), by: after - before})
	}
	if len(p.moved) > 100*mostMoved {
		p.keepMost()
	}
}

// keepMost keeps the jobs that moved most, either way.
func (p *pairs) keepMost() {
	//detlint:total the comparison ends in the row of the job
	slices.SortFunc(p.moved, func(a, b Moved) int { return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.Job, b.Job)) })
	if n := len(p.moved); n > 2*mostMoved {
		p.moved = slices.Delete(p.moved, mostMoved, n-mostMoved)
	}
}

// finish works the figures out.
func (p *pairs) finish() error {
	r := p.report
	for _, s := range p.starts {
		if s.there {
			r.LeftOut++
		}
	}
	p.keepMost()
	for _, m := range p.moved {
		if m.by < 0 && len(r.Gained) < mostMoved {
			r.Gained = append(r.Gained, m)
		}
	}
	for _, m := range slices.Backward(p.moved) {
		if m.by > 0 && len(r.Lost) < mostMoved {
			r.Lost = append(r.Lost, m)
		}
	}
	for i := range p.waits[0] {
		if d := p.waits[1][i] - p.waits[0][i]; d < 0 {
			r.Wait.Gained += seconds(-d)
		} else {
			r.Wait.Lost += seconds(d)
		}
	}
	r.Wait.Jobs = int64(len(p.waits[0]))
	r.Wait.Mean, r.Wait.P95 = meanAndP95(p.waits[0])
	r.Wait.Fork, r.Wait.P95Fork = meanAndP95(p.waits[1])
	if q := r.Preferred; q != nil {
		q.Cost = seconds(p.cost)
		q.Regret = q.Gain - q.Cost
	}
	return nil
}

// meanAndP95 are nil without a wait; the percentile is by nearest rank. The waits are put in order.
func meanAndP95(waits []int64) (mean, p95 *float64) {
	if len(waits) == 0 {
		return nil, nil
	}
	slices.Sort(waits)
	sum := int64(0)
	for _, w := range waits {
		sum += w
	}
	m := seconds(sum) / float64(len(waits))
	q := seconds(waits[(len(waits)*95+99)/100-1])
	return &m, &q
}

func seconds(us int64) float64 { return float64(us) / 1e6 }
