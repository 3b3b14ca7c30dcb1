// Package waiting is the waiting queue of one vCluster: a row for each job that may
// start, and for each tenant, request size and tier a list in the order of an upper bound on the score, or one for each class of needs where they are many, which answers what may come first, and what does so of that which fits. It knows
// what a job asks for and how its score is made up, but no limits, nodes or other jobs.
package waiting

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/caps"
)

// QueueEntry is what a pass reads of every waiting job, side by side in memory. What most
// passes read comes first. The first group is set by the queue.
type QueueEntry struct {
	Static model.Fixed // weighted factors that never change while the job waits
	wait   model.Fixed // weighted f2 at seen
	seen   model.Time
	bound  model.Fixed // of the terms of the score that are the job's own, in a list less list.rise, see boundOf
	rate   uint64      // growth of wait from then on at most, see score.Rate
	// perNode is the weighted f9 for each node of the largest group at most.
	perNode model.Fixed
	Need    int32 // nodes
	Size    int32 // index of its request size
	list    int32 // in lists.all, while it is not gated
	Tenant  int32 // index into Terms
	Tier    int32 // of its partition; the higher one is first
	Ref     model.Ref
	Class   place.ClassID
	Job     model.JobID // of two jobs with equal scores the lower one comes first
	Plain   bool        // asks for nodes of its own vCluster, and for nothing else
	// Gated says that a task group or a mutex keeps the job from starting. Neither AnyFits nor
	// Bounds look at it then.
	Gated bool

	Alike   int32       // number of what it asks for: those of one ask for the same; -1 for none like it
	Borrows bool        // may run on nodes of other vClusters
	Rank    int8        // class by which it preempts others
	Below   int8        // classes below this are those that it may preempt, by its class and quality of service
	Key     model.Fixed // score when it was last asked for, by which rows are compared for which that was at one instant
	Submit  model.Time
	Left    model.Duration // requested time
	Needs   caps.Usage     // as far as it is stated
}

// Terms are the parts of a score that all jobs, or those of a tenant, have in common.
// They do not change within a pass. Tenants count from 1; 0 is jobs of none.
type Terms struct {
	FairShare []model.Fixed // weighted f3 by tenant
	Penalty   []model.Fixed // by tenant, over 0 to 1
	Inverse   []model.Fixed // of the penalty
	Common    model.Fixed   // weighted f6 and f7
}

// Config is what the scores of a queue are made of.
type Config struct {
	Weights   *score.Weights
	Reference model.Duration // of the wait factor, 0 where jobs are not ordered by score
	Nodes     int32          // of the site
	// Bounded keeps the jobs in the order of upper bounds on their scores, which Bounds and
	// Seeker need.
	Bounded bool
}

// Queue is the waiting jobs of one vCluster. Each is in Jobs once, at the index that At
// gives, and once in a list of its tenant, request size and tier, see family, or, gated, among those of that size.
type Queue struct {
	Jobs  []QueueEntry // in no order; rows move when one is removed
	at    []int32
	sizes []size
	used  tally       // of the jobs that are not gated, by size
	free  *place.Free // of the vCluster
	least int32       // as Least has it, 0 when it is to be found anew
	gated int         // jobs that are

	cfg      Config
	curve    score.Curve // of the wait
	unwaited QueueEntry  // weighed at its submission
	lists    lists
	known    knownTerm // of a bound
	waited   knownTerm // of the last search
}

// Whole and OneGPU are the request sizes that ask for any node of the site, whole and by
// one GPU. Every queue has them.
const (
	Whole int32 = iota
	OneGPU
)

// New is an empty queue over the free nodes of its vCluster; all is the class of all
// nodes of the site.
func New(cfg Config, free *place.Free, all place.ClassID) Queue {
	q := Queue{cfg: cfg, free: free}
	if cfg.Reference > 0 {
		q.curve = score.CurveOf(cfg.Reference)
		q.weigh(&q.unwaited, q.unwaited.Submit)
	}
	q.SizeOf(all, place.Share{})
	q.SizeOf(all, place.Share{GPUs: 1})
	return q
}

// At is the index in Jobs of the waiting job under ref.
func (q *Queue) At(ref model.Ref) int32 { return q.at[ref] }

// Row is the row of the waiting job under ref. It holds until a job joins or leaves.
func (q *Queue) Row(ref model.Ref) *QueueEntry { return &q.Jobs[q.at[ref]] }

// Has says whether the job under ref waits in this queue.
func (q *Queue) Has(ref model.Ref) bool { return int(ref) < len(q.at) && q.at[ref] >= 0 }

// Grow has room for so many more jobs, so that their rows are not moved when they join.
func (q *Queue) Grow(n int) { q.Jobs = slices.Grow(q.Jobs, n) }

// Add puts a job into the queue, with its row as far as the queue does not set it
// itself. units is what each of its nodes counts for in Least. The cost is that of a
// binary search, and of moving the jobs behind it in its indexes.
func (q *Queue) Add(j QueueEntry, units int32, now model.Time) {
	j.seen = model.AbsentTime
	if q.cfg.Reference > 0 {
		if j.Submit == now { // the usual arrival
			j.seen, j.wait, j.rate = now, q.unwaited.wait, q.unwaited.rate
		} else {
			q.weigh(&j, now)
		}
		j.perNode = q.perNode(j.Need)
	}
	q.sizes[j.Size].units = units
	if q.least != 0 {
		q.least = min(q.least, j.Need*units)
	}
	for int(j.Ref) >= len(q.at) {
		q.at = append(q.at, -1)
	}
	q.at[j.Ref] = int32(len(q.Jobs))
	q.Jobs = append(q.Jobs, j)
	q.index(&q.Jobs[len(q.Jobs)-1], now)
}

// perNode is the weighted f9 of a job of so many nodes for each node of the largest group, at most.
func (q *Queue) perNode(need int32) model.Fixed {
	return score.Term(q.cfg.Weights[score.Conformance], model.Ratio(1, int64(max(need, 1)))+1) + 1
}

// Remove takes the job under ref out of the queue.
func (q *Queue) Remove(ref model.Ref) {
	i := q.at[ref]
	j := &q.Jobs[i]
	if j.Need*q.sizes[j.Size].units == q.least {
		q.least = 0
	}
	q.unindex(j)
	last := len(q.Jobs) - 1
	*j = q.Jobs[last]
	q.at[j.Ref] = i
	q.at[ref] = -1
	q.Jobs = q.Jobs[:last]
}

// SetGated makes a job in the queue one that is gated, or is so no more. Its cost is that of
// leaving and joining the indexes.
func (q *Queue) SetGated(ref model.Ref, gated bool, now model.Time) {
	j := q.Row(ref)
	q.unindex(j)
	j.Gated = gated
	q.index(j, now)
}

// index puts a job into its list, or among the gated ones.
func (q *Queue) index(j *QueueEntry, now model.Time) {
	if j.Gated {
		q.gated++
		q.sizes[j.Size].gated.add(requestOf(j.Need, j.Ref))
		return
	}
	q.use(j)
	q.join(j, now)
}

// unindex undoes index.
func (q *Queue) unindex(j *QueueEntry) {
	if j.Gated {
		q.gated--
		q.sizes[j.Size].gated.remove(requestOf(j.Need, j.Ref))
		return
	}
	q.disuse(j)
	q.quit(j)
}

// Factor is the wait factor f2 after so long.
func (q *Queue) Factor(waited model.Duration) model.Fixed { return q.curve.Of(waited) }

// Term is the weighted wait factor of a job submitted at the instant, as of now.
func (q *Queue) Term(submit, now model.Time) model.Fixed {
	return q.cfg.Weights[score.Wait].Mul(q.curve.Of(now.Sub(submit)))
}

// Wait is the weighted wait factor of a waiting job at now. It is worked out once for
// every instant, with a bound on its growth from then on.
func (q *Queue) Wait(j *QueueEntry, now model.Time) model.Fixed {
	if j.seen != now {
		q.weigh(j, now)
	}
	return j.wait
}

func (q *Queue) weigh(j *QueueEntry, now model.Time) {
	w2, waited := q.cfg.Weights[score.Wait], now.Sub(j.Submit)
	j.seen = now
	j.wait = w2.Mul(q.curve.Of(waited))
	j.rate = score.Rate(w2, waited, q.cfg.Reference)
}
