package explain

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
)

// Queue is the jobs that waited at an instant, when all of it was over: the queue of each
// vCluster in order, and behind them the jobs that were in no queue.
type Queue struct {
	At   string   `json:"at"`
	Jobs []Queued `json:"jobs"`

	moments Explanation // which knows how instants are printed
}

// Queued is a waiting job at an instant.
type Queued struct {
	Position int32   `json:"position,omitempty"` // in the queue of its vCluster from 1 on, absent of a job in no queue
	VCluster string  `json:"vcluster,omitempty"`
	ID       int64   `json:"id"`
	Row      int32   `json:"row"`
	User     string  `json:"user,omitempty"`
	Units    int32   `json:"units"`
	Submit   string  `json:"submit"`
	Waited   float64 `json:"waited"`
	Score    *Score  `json:"score,omitempty"`
	Proposed bool    `json:"proposed,omitempty"` // its start, which is not granted yet
	Reason   string  `json:"reason,omitempty"`   // as of the last pass
	What     string  `json:"what"`               // the same in words
	Behind   *Other  `json:"behind,omitempty"`
	// PredictedStart is by the reservation of the job or the plan, nil where nothing is reserved
	// for it.
	PredictedStart *string `json:"predicted_start"`

	row model.JobID
}

// Moment is an instant of the queue as people read it.
func (q *Queue) Moment(instant string) string { return q.moments.Moment(instant) }

// QueueAt replays the run and tells what waited at an instant of its trace.
func QueueAt(ctx context.Context, run *record.Run, at model.Time, opt Options) (*Queue, error) {
	x := explainer{run: run, others: map[model.JobID]*Other{}}
	if err := x.document(opt.Tables); err != nil {
		return nil, err
	}
	if opt.Open == nil {
		return nil, &NoDecisionsError{run.Dir(), x.doc.Trace.Name}
	}
	q := &Queue{Jobs: []Queued{}, moments: Explanation{epoch: run.Epoch(), known: x.doc.Trace.EpochKnown}}
	told := at
	err := x.replay(ctx, opt, sim.Options{QueuesAt: []model.Time{at}, Queues: func(at model.Time, list []scheduler.Standing) {
		told = at
		for i := range list {
			q.Jobs = append(q.Jobs, x.queued(q, &list[i]))
		}
	}})
	if err != nil {
		return nil, err
	}
	q.At = q.moments.instant(told)
	return q, x.complete(q, told)
}

// queued is what the core says of a waiting job.
func (x *explainer) queued(q *Queue, s *scheduler.Standing) Queued {
	j := Queued{Position: s.Position, row: s.Job, Row: int32(s.Job), Proposed: s.Proposed, Reason: s.Reason.String(), What: inQueue(s.Reason, s.Behind >= 0)}
	if s.Proposed {
		j.What = "its start is proposed"
	}
	if s.Start != model.AbsentTime {
		at := q.moments.instant(s.Start)
		j.PredictedStart = &at
	}
	if s.Behind >= 0 {
		if x.others[s.Behind] == nil {
			x.others[s.Behind] = &Other{Row: s.Behind}
		}
		j.Behind = x.others[s.Behind]
	}
	if x.of != nil {
		j.VCluster = x.of.VClusters[s.VCluster].Name
		d := record.Decision{Scored: s.Scored, Score: s.Score.Score, Penalty: s.Score.Penalty}
		for f := range score.NumFactors {
			d.Values[f], d.Terms[f] = s.Score.Factors[f].Value, s.Score.Factors[f].Term
		}
		j.Score = x.scoreOf(&story{vcluster: s.VCluster}, &d)
	}
	return j
}

// complete adds what the tables of the run say of the jobs.
func (x *explainer) complete(q *Queue, at model.Time) error {
	by := map[model.JobID]*Queued{} // looked up by row only
	for i := range q.Jobs {
		by[q.Jobs[i].row] = &q.Jobs[i]
	}
	return x.run.Scan(func(c *record.Columns) error {
		for i := range c.Job {
			row := model.JobID(c.Job[i])
			if o := x.others[row]; o != nil {
				o.ID = c.ID[i]
			}
			j := by[row]
			if j == nil {
				continue
			}
			j.ID, j.Units, j.Submit = c.ID[i], c.Procs[i], q.moments.instant(model.Time(c.Submit[i]))
			j.Waited = at.Sub(model.Time(c.Submit[i])).Seconds()
			if u := c.User[i]; u >= 0 {
				j.User = x.run.Users()[u]
			}
		}
		return nil
	})
}

// inQueue is what a job in a queue waits for, in a few words.
// behind says that another job is in its way.
func inQueue(r model.Reason, behind bool) string {
	switch r {
	case model.ReasonNone:
		return "for the next pass of the scheduler"
	case model.ReasonResources:
		return "until enough is free"
	case model.ReasonConformance:
		return "for free nodes of one conformance group"
	case model.ReasonReserved:
		if behind {
			return "for nodes that are promised to another job or kept for it"
		}
		return "for nodes that a reservation sets aside, or for the time of the reservation that it names"
	case model.ReasonPriority:
		return "for jobs before it, whose reservation it would delay"
	case model.ReasonDependency:
		return "for the jobs that it depends on"
	}
	return strings.Join(strings.Fields(strings.Replace(reasonWords[r].Waits, "<tenant>", "", 1)), " ")
}

// replay replays the run once more. The fingerprints have to agree. Where the places of jobs
// are asked for it tells them.
func (x *explainer) replay(ctx context.Context, opt Options, with sim.Options) error {
	src, err := opt.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	var spec plan.Spec
	if err := json.Unmarshal(x.doc.Spec, &spec); err != nil {
		return err
	}
	if spec, err = spec.Bind(src); err != nil {
		return err
	}
	if with.Queues == nil && opt.Places {
		with.QueuesAt, with.Queues, x.placed = x.placesAt(), x.place, true
	}
	with.Progress = opt.Progress
	res, err := sim.Run(ctx, spec, opt.Open, with)
	if err != nil {
		return err
	}
	if res.Fingerprint != x.doc.Fingerprint {
		return &OtherRunError{x.run.Dir(), x.doc.Fingerprint, res.Fingerprint, x.doc.Version}
	}
	return nil
}

// placesAt is when the places of the jobs are to be told, in order.
func (x *explainer) placesAt() (at []model.Time) {
	for i := range x.jobs {
		e := &x.jobs[i]
		if at = append(at, e.submit); e.why == model.ReasonEndOfRun {
			at = append(at, e.end)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// place notes where the jobs stand that are explained and wait.
func (x *explainer) place(at model.Time, list []scheduler.Standing) {
	for i := range list {
		s := &list[i]
		e := x.wanted(s.Job)
		if e == nil || s.Proposed || at != e.submit && at != e.end {
			continue
		}
		p := Place{At: e.instant(at), Position: s.Position}
		for k := range list {
			if list[k].VCluster == s.VCluster && list[k].Position > 0 {
				p.Of++
			}
		}
		if s.Start != model.AbsentTime {
			start := e.instant(s.Start)
			p.PredictedStart = &start
		}
		e.Places = append(e.Places, p)
	}
}
