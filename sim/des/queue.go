// Package des is the discrete-event kernel: a queue of future events, the
// order of events at one instant, and the rolling fingerprint of what
// happened. It knows nothing of scheduling.
package des

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// Rank is a place in the order of one instant, lowest first.
type Rank uint8

// The ranks: what frees capacity comes before what asks for it, and what looks at the
// state comes when that has settled. Submissions come from the trace; none is an event but
// those that follow other jobs. Releases, the pass and the record never are.
const (
	RankNodeUp     Rank = iota // a node takes work again
	RankEnd                    // a job ends by itself
	RankExpiry                 // a job is killed at its walltime
	RankCheckpoint             // a job that is to give its nodes up has got further
	RankNodeDown               // a node fails, degrades or is drained
	RankQuorum                 // the quorum answers a proposal
	RankCancel                 // a waiting job is withdrawn
	RankChange                 // a limit or a price changes
	RankSubmission             // submissions, in input order
	RankRelease                // jobs whose dependencies have come to hold join the queue
	RankScrape                 // metrics are scraped
	RankScaling                // scaling policies are asked
	RankPass                   // the pass
	RankRecord                 // what the instant has left behind is recorded
)

// Event is a value in the queue: an instant and a word that carries the rank,
// the job and its ref. Events of one instant are handled in ascending word.
type Event struct {
	At   model.Time
	Word uint64
}

const (
	refBits = 26
	jobBits = 32
	// maxRefs bounds the jobs in the system at one time: 67 million.
	maxRefs = 1 << refBits
)

// NewEvent packs an event. ref must be below maxRefs.
func NewEvent(at model.Time, r Rank, job model.JobID, ref model.Ref) Event {
	return Event{at, uint64(r)<<(jobBits+refBits) | uint64(uint32(job))<<refBits | uint64(ref)}
}

// Rank unpacks the rank.
func (e Event) Rank() Rank { return Rank(e.Word >> (jobBits + refBits)) }

// Job unpacks the job.
func (e Event) Job() model.JobID { return model.JobID(e.Word >> refBits) }

// Ref unpacks the ref.
func (e Event) Ref() model.Ref { return model.Ref(e.Word & (maxRefs - 1)) }

// Queue is a monotone radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster
// algorithms for the shortest path problem", 1990): bucket i holds the events
// whose time differs from the last instant taken in bit i-1 as the highest.
// Push and take cost a few nanoseconds each, amortised, at any size. Events must
// not be pushed before the last instant taken. The zero value is empty.
type Queue struct {
	last    model.Time
	n       int
	buckets [65][]Event
	used    uint64     // bit i: bucket i is not empty (bucket 64 is never reached: times are not negative)
	next    model.Time // earliest event, valid while nextOK
	nextOK  bool
}

// Len is the number of events in the queue.
func (q *Queue) Len() int { return q.n }

// Clear forgets all events.
func (q *Queue) Clear() {
	for i := range q.buckets {
		q.buckets[i] = q.buckets[i][:0]
	}
	q.n, q.used, q.nextOK = 0, 0, false
}

// Push adds an event; e.At must not lie before the last instant taken.
func (q *Queue) Push(e Event) {
	b := q.bucket(e.At)
	q.buckets[b] = append(q.buckets[b], e)
	q.used |= 1 << b
	q.n++
	if q.nextOK {
		q.next = min(q.next, e.At)
	}
}

func (q *Queue) bucket(t model.Time) int {
	if t < q.last {
		panic("des: event in the past")
	}
	return bits.Len64(uint64(t ^ q.last))
}

// Next is the instant of the earliest event, model.Never when there is none.
// It does not move the queue forward.
func (q *Queue) Next() model.Time {
	if q.n == 0 {
		return model.Never
	}
	if q.nextOK {
		return q.next
	}
	q.nextOK, q.next = true, q.last
	if b := bits.TrailingZeros64(q.used); b > 0 {
		q.next = model.Never
		for _, e := range q.buckets[b] {
			q.next = min(q.next, e.At)
		}
	}
	return q.next
}

// Take moves to the instant t, which must not lie after Next, and appends the
// events of that instant to dst in order, as far as their ranks are last or lower. Others
// stay: submissions, which are no events, come between.
func (q *Queue) Take(t model.Time, last Rank, dst []Event) []Event {
	q.advance(t)
	if len(q.buckets[0]) == 0 {
		return dst
	}
	q.nextOK = false
	n := len(dst)
	dst = append(dst, q.buckets[0]...)
	//detlint:total the word ends in the job and its ref
	slices.SortFunc(dst[n:], func(a, b Event) int {
		if a.Word < b.Word {
			return -1
		}
		return 1
	})
	end := len(dst)
	for end > n && dst[end-1].Rank() > last {
		end--
	}
	if q.buckets[0] = append(q.buckets[0][:0], dst[end:]...); len(q.buckets[0]) == 0 {
		q.used &^= 1
	}
	q.n -= end - n
	return dst[:end]
}

// advance makes t the last instant and spreads the bucket that held it.
func (q *Queue) advance(t model.Time) {
	if t == q.last {
		return
	}
	b := q.bucket(t)
	q.last = t
	if q.used&(1<<b) == 0 {
		return
	}
	events := q.buckets[b]
	q.buckets[b] = events[:0]
	q.used &^= 1 << b
	for _, e := range events {
		c := q.bucket(e.At)
		q.buckets[c] = append(q.buckets[c], e)
		q.used |= 1 << c
	}
}
