package explain

import (
	"iter"
	"slices"
	"time"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// Explanation tells why one job started when it did, or why it waits. Instants are
// RFC 3339 in UTC, spans are seconds.
type Explanation struct {
	Answer string      `json:"answer"` // in one sentence
	ID     int64       `json:"id"`
	Row    model.JobID `json:"row"`            // of the trace
	Rows   int         `json:"rows,omitempty"` // with this number in the log

	User     string `json:"user,omitempty"`
	VCluster string `json:"vcluster,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
	Class    *int32 `json:"class,omitempty"`
	Units    int32  `json:"units"` // asked for

	State    string   `json:"state"`
	Reason   string   `json:"reason,omitempty"`
	Submit   string   `json:"submit"`
	Eligible string   `json:"eligible"`
	Start    *string  `json:"first_start"`
	End      string   `json:"end"` // when it left the system
	Wait     *float64 `json:"wait"`

	Intervals []Interval `json:"spells"` // of waiting, in order of time
	Attempts  []Attempt  `json:"attempts"`
	Moves     []Move     `json:"preemptions,omitempty"`
	NoVictims []NoVictim `json:"no_victims,omitempty"` // times in which no job was preempted for it, and why
	Refusals  []Refusal  `json:"refusals,omitempty"`
	Sizes     []Size     `json:"sizes,omitempty"`  // of a reactive service, in order of time
	Around    *Around    `json:"around,omitempty"` // of a plain cluster
	Places    []Place    `json:"places,omitempty"` // in its queue, where a replay told them

	// Recomputed says that the run has not recorded the reasons, and that a replay
	// of it yields them and the same fingerprint.
	Recomputed  bool   `json:"recomputed"`
	Fingerprint string `json:"fingerprint,omitempty"`

	sizeOf string // what Units counts: processor, GPU or node
	epoch  model.Time
	known  bool // the epoch
}

// story is an explanation in the making, with what it is made of.
type story struct {
	Explanation
	submit, eligible, start, end model.Time
	why                          model.Reason
	vcluster                     model.VClusterID
	cycle                        model.Duration // of its vCluster
	decisions                    []record.Decision
}

// Other is another job that has a part in the story.
type Other struct {
	ID  int64       `json:"id"` // in the log
	Row model.JobID `json:"row"`
	end model.Time
}

// Interval is a time of waiting during which one thing kept the job waiting.
type Interval struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Seconds float64 `json:"seconds"`
	// Reason is a word of RESULT-FORMAT.md; empty while no pass had looked at the
	// job yet (Proposed is false) or its start was being committed.
	Reason      string `json:"reason,omitempty"`
	Proposed    bool   `json:"proposed,omitempty"`
	What        string `json:"what"` // the same in words
	Behind      *Other `json:"behind,omitempty"`
	Until       string `json:"until,omitempty"`
	Reservation string `json:"reservation,omitempty"`
	// Named says that the job names that reservation: it begins at Until or, where that is
	// empty, ends before the job would have to.
	Named bool   `json:"named,omitempty"`
	Room  *Room  `json:"room,omitempty"` // at its beginning
	Score *Score `json:"score,omitempty"`
	// Rejected are the best sets of nodes that it did not start on, three at most,
	// at the beginning of the interval.
	Rejected []RejectedSet `json:"rejected_sets,omitempty"`

	from, to model.Time
	reason   model.Reason
}

// Room is what a job looked for and what there was of it, in nodes.
type Room struct {
	Need    int32 `json:"need"`
	Usable  int32 `json:"usable"`  // it may use, free or not
	Free    int32 `json:"free"`    // of these
	Conform int32 `json:"conform"` // the most free ones of one conformance group
	Grouped int32 `json:"grouped"` // of one dragonfly group
	Aside   int32 `json:"aside"`   // of the free ones, kept for others
}

// RejectedSet is a set of nodes that a job did not start on.
type RejectedSet struct {
	// Kind is chosen (what it would have started on), free (all that was free),
	// alike (of these the most in one conformance group), near (in one dragonfly
	// group) or kept (free, but kept for another).
	Kind        string `json:"kind"`
	Nodes       string `json:"nodes"` // as of attempts; ",+9" at the end is nine more
	Count       int    `json:"count"`
	Why         string `json:"why"` // it did not start there, in words
	Behind      *Other `json:"behind,omitempty"`
	Until       string `json:"until,omitempty"`
	Reservation string `json:"reservation,omitempty"`
	Named       bool   `json:"named,omitempty"` // as of Interval
}

// Score is the score of a job at one instant, or its priority in points where the
// order is multifactor: then the factors are the columns of sprio -l that count.
type Score struct {
	Order   string   `json:"order"` // score or multifactor
	Score   float64  `json:"score"`
	Penalty float64  `json:"penalty"` // factor on the sum; 1 of a priority
	Factors []Factor `json:"factors"`
}

// Factor is what one factor adds to a score.
type Factor struct {
	Name         string  `json:"name"`
	Value        float64 `json:"value"`
	Weight       float64 `json:"weight"`
	Contribution float64 `json:"contribution"`
}

// Attempt is one time that the job ran.
type Attempt struct {
	Number    int32    `json:"attempt"`
	Start     string   `json:"start"`
	End       string   `json:"end"`
	Nodes     string   `json:"nodes"` // by name, as n[7-8]; ranges of numbers where the run has no names
	NodeCount int32    `json:"node_count,omitempty"`
	GPUs      int32    `json:"gpus,omitempty"`
	GPUTypes  []string `json:"gpu_types,omitempty"`
	Outcome   string   `json:"outcome"`
	Reason    string   `json:"reason,omitempty"`
	Kept      float64  `json:"kept"` // s of work; 0 on a plain cluster
	Lost      float64  `json:"lost"`
	Borrowed  int32    `json:"borrowed,omitempty"` // nodes
	Lenders   []string `json:"lenders,omitempty"`

	start, end model.Time
}

// Move is a proposal that one job leaves nodes for another.
type Move struct {
	At     string `json:"at"`
	Reason string `json:"reason"`
	Job    *Other `json:"job"`
	// Leaves says that the explained job was to leave for Job; else Job was to leave
	// for it.
	Leaves bool `json:"leaves"`
}

// NoVictim is a time in which a blocked job preempted none.
type NoVictim struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"` // a kind of decisions.parquet
	What   string `json:"what"`   // the same in words
}

// Refusal is a proposal for the job that the quorum refused.
type Refusal struct {
	At     string `json:"at"`
	Reason string `json:"reason"`
	What   string `json:"what"` // the same in words
}

// Place is where the job stood in the queue of its vCluster when it was submitted, or when the
// replay stopped: when all of that instant was over.
type Place struct {
	At       string `json:"at"`
	Position int32  `json:"position"` // from 1 on; 0 while it is in no queue: dependent, on hold or not eligible
	Of       int32  `json:"of"`       // jobs in the queue
	// PredictedStart is by its reservation or the plan, nil where nothing is reserved for it.
	PredictedStart *string `json:"predicted_start"`
}

// Size is what a reactive service has from an instant on, and is to have.
type Size struct {
	From   string `json:"from"`
	Nodes  int32  `json:"nodes"`            // 0 while it waits
	Demand int32  `json:"demand,omitempty"` // 0 until it is told
	Unmet  string `json:"unmet,omitempty"`  // why it does not get what it lacks, where that was told

	from model.Time
}

// Around is what went on on a plain cluster while a job waited.
type Around struct {
	Busy      int64  `json:"busy_units"` // when it was submitted
	Ahead     int64  `json:"ahead_jobs"` // that waited then
	AheadUnit int64  `json:"ahead_units"`
	Started   int64  `json:"started_jobs"`  // while it waited
	Overtook  int64  `json:"overtook_jobs"` // of these, submitted after it
	Freed     *Other `json:"freed,omitempty"`

	freed int32
}

// instant is t as it is printed.
func (e *Explanation) instant(t model.Time) string {
	return time.UnixMicro(int64(t + e.epoch)).UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}

// Moment is t, an instant of the explanation, as people read it: the day and the
// time of day, or what has passed since the epoch of a trace that knows no date.
func (e *Explanation) Moment(instant string) string {
	t, err := time.Parse(time.RFC3339Nano, instant)
	switch {
	case err != nil:
		return instant
	case e.known:
		return t.Format("2006-01-02 15:04:05")
	}
	return (model.Time(t.UnixMicro()) - e.epoch).String()
}

// nodesOf goes over the numbers in ranges like "0-3,7".
func nodesOf(ranges string) iter.Seq[model.NodeID] {
	return func(yield func(model.NodeID) bool) {
		for lo, hi := range record.Ranges(ranges) {
			for n := lo; n <= hi; n++ {
				if !yield(model.NodeID(n)) {
					return
				}
			}
		}
	}
}

// surround counts what went on around a job of a plain cluster.
func (e *story) surround(c *record.Columns) {
	if e.Around == nil {
		e.Around = &Around{}
	}
	a := e.Around
	until := e.start
	if until == model.AbsentTime {
		until = e.end
	}
	for i := range c.Job {
		if model.JobID(c.Job[i]) != e.Row {
			a.count(e, until, c, i)
		}
	}
}

// count takes in row i of c, which is another job than e.
func (a *Around) count(e *story, until model.Time, c *record.Columns, i int) {
	start, end, submit := model.Time(c.Start[i]), model.Time(c.End[i]), model.Time(c.Submit[i])
	before := submit < e.submit || submit == e.submit && model.JobID(c.Job[i]) < e.Row
	ran := start != model.AbsentTime
	if before && end > e.submit {
		if ran && start < e.submit {
			a.Busy += int64(c.Procs[i])
		} else if e.submit < until {
			a.Ahead++
			a.AheadUnit += int64(c.Procs[i])
		}
	}
	if !ran {
		return
	}
	if start >= e.submit && start < until {
		a.Started++
		if !before {
			a.Overtook++
		}
	}
	if end == e.start && start < e.start && c.Procs[i] > a.freed {
		a.freed, a.Freed = c.Procs[i], &Other{ID: c.ID[i], Row: model.JobID(c.Job[i])}
	}
}

// finish makes the story of what was gathered.
func (x *explainer) finish(e *story) {
	e.Submit, e.Eligible, e.End = e.instant(e.submit), e.instant(e.eligible), e.instant(e.end)
	if e.start != model.AbsentTime {
		at, wait := e.instant(e.start), e.start.Sub(e.submit).Seconds()
		e.Start, e.Wait = &at, &wait
	}
	for i := range e.decisions {
		d := &e.decisions[i]
		switch d.Kind {
		case "refused":
			e.Refusals = append(e.Refusals, Refusal{At: e.instant(d.Time), Reason: d.Reason.String(), What: reasonWords[d.Reason].Refused})
		case "preempt", "leave":
			e.Moves = append(e.Moves, Move{At: e.instant(d.Time), Reason: d.Reason.String(), Job: x.others[d.Behind], Leaves: d.Kind == "leave"})
		}
	}
	if x.of != nil {
		e.noVictims()
		x.intervals(e)
		e.sizes()
	}
	e.Answer = e.answer()
}

// sizes tells how a service that was resized, or told to be, followed its demand: one
// line an instant at which either changed.
func (e *story) sizes() {
	isSize := func(d record.Decision) bool { return d.Kind == "demand" || d.Kind == "resize" || d.Kind == "unmet" }
	if !slices.ContainsFunc(e.decisions, isSize) {
		return
	}
	now, ended := Size{}, 0 // attempts so far
	for i := range e.decisions {
		d := &e.decisions[i]
		for ; ended < len(e.Attempts) && e.Attempts[ended].end <= d.Time && e.Attempts[ended].start < d.Time; ended++ {
			now.Nodes = 0
			e.sized(e.Attempts[ended].end, now)
		}
		switch d.Kind {
		case "demand":
			now.Demand, now.Unmet = d.Nodes, ""
		case "start", "resize":
			now.Nodes, now.Unmet = d.Nodes, ""
		case "unmet":
			now.Unmet = d.Reason.String()
		}
		e.sized(d.Time, now)
	}
}

// sized adds what it has and is to have from an instant on, if that is anything else than
// before; of one instant the last stands.
func (e *story) sized(at model.Time, z Size) {
	if n := len(e.Sizes); n > 0 && e.Sizes[n-1].from == at {
		e.Sizes = e.Sizes[:n-1]
	}
	var last Size
	if n := len(e.Sizes); n > 0 {
		last = e.Sizes[n-1]
	}
	if z.Nodes == last.Nodes && z.Demand == last.Demand && z.Unmet == last.Unmet {
		return
	}
	z.from, z.From = at, e.instant(at)
	e.Sizes = append(e.Sizes, z)
}

// intervals cuts the times of waiting, before each attempt and after the last, where
// decisions changed.
func (x *explainer) intervals(e *story) {
	from, next := e.submit, 0
	for i := range e.Attempts {
		next = x.waited(e, from, e.Attempts[i].start, next, true)
		from = e.Attempts[i].end
	}
	if from < e.end || len(e.Attempts) == 0 {
		x.waited(e, from, e.end, next, false)
	}
}

// waited adds the intervals of one wait and returns the first decision behind it.
// starts says that the wait ended with a start.
func (x *explainer) waited(e *story, from, to model.Time, next int, starts bool) int {
	last := Interval{from: from}
	proposed := false
	for ; next < len(e.decisions); next++ {
		d := &e.decisions[next]
		if d.Time > to || d.Time == to && starts && proposed && d.Kind == "wait" {
			break
		}
		if d.Kind != "wait" && d.Kind != "start" {
			continue
		}
		x.close(e, &last, max(d.Time, from))
		proposed = d.Kind == "start"
		last = x.open(e, d, max(d.Time, from))
	}
	x.close(e, &last, to)
	return next
}

// open begins an interval with a decision.
func (x *explainer) open(e *story, d *record.Decision, from model.Time) Interval {
	s := Interval{
		from: from, reason: d.Reason, Reason: d.Reason.String(), Proposed: d.Kind == "start", Behind: x.others[d.Behind], Score: x.scoreOf(e, d),
		Room: &Room{d.Need, d.Usable, d.Nodes, d.Conform, d.Grouped, d.Aside},
	}
	if s.Proposed {
		s.Room = nil
	}
	if d.Until != model.AbsentTime {
		s.Until = e.instant(d.Until)
		if d.Reason == model.ReasonReserved {
			kept := ""
			if d.KeptUntil == d.Until {
				kept = d.Rejected[scheduler.RejectedKept]
			}
			if s.Reservation, s.Named = x.reservation(d.Until, kept); s.Named && d.Until <= from {
				s.Until = ""
			}
		}
	}
	x.reject(e, &s, d)
	return s
}

// close ends an interval and keeps it, unless nothing was decided and no time passed.
func (x *explainer) close(e *story, s *Interval, to model.Time) {
	if s.to = to; s.Room == nil && !s.Proposed && s.from == to {
		return
	}
	s.From, s.To, s.Seconds = e.instant(s.from), e.instant(to), to.Sub(s.from).Seconds()
	s.What = e.what(s)
	e.Intervals = append(e.Intervals, *s)
}
