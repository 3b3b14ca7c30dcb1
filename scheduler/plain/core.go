// Package plain is the scheduler core of a cluster of equal units: a job asks for a
// number of units anywhere, or of units on each of some nodes, and any that are free
// will do. So it counts where package site selects nodes. It serves one queue under
// one policy.
package plain

import (
	"fmt"

	"orrery/scheduler"
	"orrery/scheduler/backfill"
	"orrery/scheduler/cluster"
	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// Config selects the policies of a Core.
type Config struct {
	Cluster  model.Cluster
	Order    order.Order
	Backfill order.Backfill
	// Depth bounds the jobs that hold a reservation under Conservative: the
	// first Depth of the queue. 0 means all.
	Depth int
	// Sequential selects the event order of pyss for Conservative: facts are
	// worked off one by one instead of all at once. (For the other policies it
	// is a matter of when Plan is called, see package drive.)
	Sequential bool
	// Ticks are the instants of passes that come on a cycle. Conservative
	// takes predicted ends at those that come next.
	Ticks model.Ticks
	// Extend says that running jobs may outlive their request; an overdue end
	// is then predicted as one second from now.
	Extend bool
	// Prefer is a job that stands before all others in the queue, nil for none.
	Prefer *model.JobID
}

// Validate says what is wrong with c, or nil.
func (c Config) Validate() error {
	if err := c.Cluster.Validate(); err != nil {
		return err
	}
	switch {
	case !c.Order.Valid():
		return fmt.Errorf("scheduler: no such order: %d", c.Order)
	case !c.Backfill.Valid():
		return fmt.Errorf("scheduler: no such backfill: %d", c.Backfill)
	case c.Depth < 0:
		return fmt.Errorf("scheduler: depth is %d, want 0 for all or the number of reservations", c.Depth)
	case c.Depth > 0 && c.Backfill != order.Conservative:
		return fmt.Errorf("scheduler: a depth applies to conservative backfilling only, not to %s", c.Backfill)
	case c.Depth > 0 && c.Sequential:
		return fmt.Errorf("scheduler: a depth applies to the batch event order only")
	}
	return nil
}

// Core is one scheduler over one cluster. It is not safe for concurrent use.
type Core struct {
	cfg  Config
	view *cluster.View
	jobs []job // by Ref
	q    queue.Queue
	ends backfill.Ends
	seq  uint64
	// prefer is that of the Config, -1 for none.
	prefer model.JobID
	plan   scheduler.Plan
	work   scheduler.Work

	easy reservation
	// shaped is set once a job asks for shares of single nodes, where counts
	// do not tell whether it fits.
	shaped  bool
	trial   model.Placement // memory of start and harmlessShape, which leave nothing in it
	pool    model.PlacementPool
	cons    conservative
	heap    order.Heap // of the orders that change with time, in a pass
	instant atInstant  // of that pass

	// full asks for a pass over the whole queue: capacity was released or the
	// head changed. Without it only the fresh arrivals can start, for nothing
	// that was refused before fits better now.
	full  bool
	fresh []model.Ref
	// followed says that another core has planned until now, see Follow.
	followed bool
}

type phase uint8

const (
	gone phase = iota
	waiting
	inFlight // proposed, not answered
	withdrawn
	running
)

// job is what the core knows of a job in the system.
type job struct {
	order.Asked
	order.Key
	phase     phase
	need      int32      // of the view's capacity
	predicted model.Time // end of the running or in-flight job
	slot      model.Time // reservation under Conservative; Never when none
	inside    bool       // in the window of Conservative
	fresh     bool       // not seen by a pass of Conservative yet
	placement model.Placement
}

// before says whether a comes before b in the queue, by the order alone.
func (c *Core) before(a, b *job, now model.Time) bool {
	return c.cfg.Order.Before(&a.Asked, &a.Key, &b.Asked, &b.Key, now)
}

// comesFirst is before, but for a job that is preferred. Where none is, before alone costs less.
func (c *Core) comesFirst(a, b *job, now model.Time) bool {
	if c.prefer >= 0 && (a.ID == c.prefer || b.ID == c.prefer) {
		return a.ID == c.prefer && b.ID != c.prefer
	}
	return c.before(a, b, now)
}

// New returns a core over an idle cluster. cfg must be valid.
func New(cfg Config) *Core {
	c := &Core{cfg: cfg, view: cluster.NewView(cfg.Cluster), prefer: -1}
	if cfg.Prefer != nil {
		c.prefer = *cfg.Prefer
	}
	c.q = queue.New(c.view.Total())
	c.cons.profile.Reset(0, c.view.Total())
	c.cons.stale = true
	return c
}

// Unsatisfiable implements scheduler.Questions: a request that the idle cluster could
// not place is too large.
func (c *Core) Unsatisfiable(f *model.Fact) model.Reason {
	if !c.view.Possible(f.Request) {
		return model.ReasonTooLarge
	}
	return model.ReasonNone
}

// FirstBlocked implements scheduler.Questions: invariants of a plain cluster need none.
func (c *Core) FirstBlocked(model.VClusterID) (model.Ref, uint64, bool) { return -1, 0, false }

// Consumed implements scheduler.Questions: a plain cluster has no tenants.
func (c *Core) Consumed(model.TenantID, model.Time) (node, gpu model.Duration) { return 0, 0 }

// Work returns the counters.
func (c *Core) Work() scheduler.Work {
	w := c.work
	w.Examined += c.q.Examined()
	return w
}

// Observe takes in facts in the order of the log; now must not decrease. The
// cost is in proportion to what changed. A fact that contradicts the state
// (an end of a job that does not run) is a fault of the caller and panics.
func (c *Core) Observe(now model.Time, facts []model.Fact) {
	for i := range facts {
		f := &facts[i]
		switch f.Kind {
		case model.FactSubmitted:
			c.submitted(now, f)
		case model.FactCancelled:
			c.cancelled(now, f.Ref)
		case model.FactEnded:
			c.ended(now, f.Ref)
		case model.FactAssigned:
			c.assigned(now, f.Ref)
		case model.FactRefused:
			c.refused(now, f.Ref)
		case model.FactRestored:
			panic("scheduler: units are alike, so what ran before is placed by a pass")
		}
	}
}

func (c *Core) submitted(now model.Time, f *model.Fact) {
	for int(f.Ref) >= len(c.jobs) {
		c.jobs = append(c.jobs, job{})
	}
	j := &c.jobs[f.Ref]
	if j.phase != gone {
		panic("scheduler: submission under a ref that is in use")
	}
	*j = job{
		Asked: order.Asked{ID: f.Job, Request: f.Request, Submit: f.Submit, Walltime: f.Walltime},
		phase: waiting, need: c.view.Need(f.Request), slot: model.Never,
	}
	c.cfg.Order.Prepare(&j.Asked, &j.Key)
	if f.Request.Layout == model.PerNode && !c.view.Whole() {
		c.shaped = true
	}
	if c.enqueue(f.Ref) || c.shaped {
		c.full = true
	}
	c.fresh = append(c.fresh, f.Ref)
	c.note(step{kind: stepInsert, ref: f.Ref})
}

func (c *Core) cancelled(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	if j.phase == inFlight { // the refusal will follow
		j.phase = withdrawn
		return
	}
	if c.dequeue(ref) {
		c.full = true
	}
	c.drop(ref)
	if j.inside {
		c.cons.planned--
	}
	if j.slot != model.Never {
		c.cons.stale = true
		c.note(step{kind: stepRelease, from: max(j.slot, now), until: j.slot.Add(c.span(j)), need: j.need})
	}
	j.phase = gone
}

// drop forgets that ref arrived since the last pass.
func (c *Core) drop(ref model.Ref) {
	for i, r := range c.fresh {
		if r == ref {
			c.fresh = append(c.fresh[:i], c.fresh[i+1:]...)
			break
		}
	}
	c.cons.forget(ref)
}

func (c *Core) ended(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	if j.phase != running {
		panic("scheduler: end of a job that does not run")
	}
	c.giveBack(now, ref)
	j.phase = gone
}

// giveBack undoes the hold of a running or in-flight job on its nodes.
func (c *Core) giveBack(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	c.view.Release(&j.placement)
	c.pool.Put(&j.placement) // which is not used again before the next Plan
	c.ends.Remove(j.predicted, ref)
	c.full = true
	c.note(step{kind: stepRelease, from: now, until: j.predicted, need: j.need})
}

func (c *Core) assigned(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	j.phase = running
	end := c.leaves(now, j)
	if end == j.predicted {
		return
	}
	// The answer came late: the job ends later than was planned with, or
	// sooner where its start was overdue.
	c.ends.Remove(j.predicted, ref)
	c.ends.Insert(end, ref, j.need)
	c.note(step{kind: stepDelay, from: j.predicted, until: end, need: j.need})
	c.note(step{kind: stepRelease, from: end, until: j.predicted, need: j.need})
	j.predicted = end
	c.full = true
}

func (c *Core) refused(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	c.giveBack(now, ref)
	if j.phase == withdrawn {
		j.phase = gone
		return
	}
	j.phase, j.slot = waiting, model.Never
	c.enqueue(ref)
	c.note(step{kind: stepInsert, ref: ref})
}

// Plan makes one pass at the instant now over everything observed so far.
func (c *Core) Plan(now model.Time) *scheduler.Plan {
	c.plan.Proposals = c.plan.Proposals[:0]
	c.plan.Due, c.plan.QuietUntil = model.Never, model.Never
	c.q.Tidy()
	if c.followed {
		c.takeOver(now)
	}
	switch {
	case c.cfg.Backfill == order.Conservative:
		c.passConservative(now)
	case c.cfg.Order.Static():
		c.passStatic(now)
	default:
		c.passDynamic(now)
	}
	c.full = false
	c.fresh = c.fresh[:0]
	return &c.plan
}

// start proposes to run a waiting job now and takes its nodes out of the view
// until the answer is observed. The caller removes it from the queue.
func (c *Core) start(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	c.view.Take(j.Request, &c.trial)
	j.placement = c.pool.Copy(&c.trial)
	c.seq++
	j.phase = inFlight
	j.predicted = c.leaves(now, j)
	c.ends.Insert(j.predicted, ref, j.need)
	c.plan.Proposals = append(c.plan.Proposals, model.Proposal{
		Seq: c.seq, Job: j.ID, Ref: ref, Request: j.Request, Placement: j.placement,
	})
}

// Least is the smallest number of units that a waiting job could start on, 0
// when no job waits.
func (c *Core) Least() int32 {
	if c.q.Len() == 0 {
		return 0
	}
	return c.view.Units(c.q.Least())
}

// Predicted is the predicted end of the running job under ref.
func (c *Core) Predicted(ref model.Ref) model.Time { return c.jobs[ref].predicted }

// Reserved is the start of the reservation of the waiting job under ref, Never without one.
func (c *Core) Reserved(ref model.Ref) model.Time { return c.jobs[ref].slot }

// Runs says whether the job under ref is running.
func (c *Core) Runs(ref model.Ref) bool { return c.jobs[ref].phase == running }
