package waiting

import (
	"math"
	"slices"

	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
)

// list is jobs of one tenant, one request size and one tier that are not gated, those that may borrow
// apart from those that may not: the highest upper bound first, see bounds.go, and then by job. Where scores have no
// bounds, all tenants are one and the bounds are 0. What a look at all lists reads comes first.
type list struct {
	top       rank        // of the first job
	rise      model.Fixed // of the bounds of all jobs, beside those in their rows
	perNode   model.Fixed // of least
	tenant    int32
	size      int32
	tier      int32
	least     int32      // nodes that one of the jobs asks for, MaxInt32 of none
	most      int32      // no job asks for more nodes
	alike     int32      // as Job has it, -1 where they are not
	youngest  model.Time // no job was submitted later
	oldest    model.Time // nor before
	until     model.Time // bounds hold
	newcomers int32      // since the bounds were renewed last
	live      int32      // place in lists.live, while it has jobs
	cursor    int32      // of a Seeker, where it has one
	borrows   bool
	clear     bool        // no job is a little below top, see mayTie; if not, one may be
	close     bool        // where all came at one instant: there were two that may tie
	changes   uint64      // jobs that joined or left, and renewals
	jobs      queue.Queue // by bound, which is their key there
}

// even says whether nothing but what never changes tells the jobs apart: they have waited for the same
// time and ask for the same number of nodes. It may come to be so when a job leaves, and ends when one
// joins. Of two jobs the first has the higher score, or the same, and so it stays; where the score is the same it is the one
// that comes first, unless they may tie.
func (l *list) even() bool { return l.oldest == l.youngest && l.least == l.most }

// mayTie says whether the scores of two jobs of an even list may be equal although what they are made of is not:
// a penalty brings them nearer to each other.
func (r *rank) mayTie(o *rank) bool {
	apart := r.bound - o.bound
	return apart != 0 && apart < roundingMargin && apart > -roundingMargin
}

// lists are those of all tenants, sizes and tiers. A list is in live while it has jobs.
type lists struct {
	all   []list
	live  []int32    // in no order
	of    [][]family // by size, two for each, and tenant
	tiers []int32    // in the order in which they came first
	ranks []rank     // memory for renewals, and for setting families apart
}

// family is the jobs of one tenant and one request size: in one list for each tier, or where they are many in one for
// each tier and class of needs, in which scores differ by little else than what bounds tell. As long as they are few,
// more lists would cost more than they save.
type family struct {
	lists []int32 // in lists.all by tier and class of needs, -1 for none; the first of a tier is that of all as long as they are few
	jobs  int32
	apart bool
}

// many jobs of a family are set apart, until none is left.
const many = 256

// rank is what the order of a list hangs on.
type rank struct {
	job   model.JobID
	bound model.Fixed
	ref   model.Ref
}

func rankOf(j *QueueEntry) rank { return rank{j.Job, j.bound, j.Ref} }

// before says whether r comes before o. Of two jobs one does.
func (r *rank) before(o *rank) bool {
	return r.bound > o.bound || (r.bound == o.bound && r.job < o.job)
}

// familyOf is the family of a job. It holds until a job joins.
func (q *Queue) familyOf(j *QueueEntry) *family {
	x, of, tenant := &q.lists, 2*int(j.Size), int32(0)
	if j.Borrows {
		of++
	}
	if q.cfg.Bounded {
		tenant = j.Tenant
	}
	for of >= len(x.of) {
		x.of = append(x.of, nil)
	}
	for int(tenant) >= len(x.of[of]) {
		x.of[of] = append(x.of[of], family{})
	}
	return &x.of[of][tenant]
}

// listOf is the number of the list that a job of a family belongs to, made when it is new.
func (q *Queue) listOf(f *family, j *QueueEntry) int32 {
	x, i := &q.lists, q.tierOf(j)*q.classes()
	if f.apart {
		i += min(queue.Class(j.Need), q.classes()-1)
	}
	for i >= len(f.lists) {
		f.lists = append(f.lists, -1)
	}
	id := &f.lists[i]
	if *id < 0 {
		*id = int32(len(x.all))
		x.all = append(x.all, list{jobs: queue.New(q.cfg.Nodes), tenant: j.Tenant, size: j.Size, tier: j.Tier, borrows: j.Borrows, least: math.MaxInt32})
	}
	return *id
}

// tierOf numbers the tier of a job.
func (q *Queue) tierOf(j *QueueEntry) int {
	for i, tier := range q.lists.tiers {
		if tier == j.Tier {
			return i
		}
	}
	q.lists.tiers = append(q.lists.tiers, j.Tier)
	return len(q.lists.tiers) - 1
}

// classes is the number of classes of needs.
func (q *Queue) classes() int { return queue.Class(q.cfg.Nodes) + 1 }

// setApart gives the jobs of a family, which are in one list for each tier, a list for each class of needs.
func (q *Queue) setApart(f *family, now model.Time) {
	f.apart = true
	q.lists.ranks = q.lists.ranks[:0]
	for i := 0; i < len(f.lists); i += q.classes() {
		if id := f.lists[i]; id >= 0 && q.lists.all[id].jobs.Len() > 0 {
			l := &q.lists.all[id]
			q.lists.ranks = q.ranksOf(l, q.lists.ranks)
			q.empty(l)
		}
	}
	for i := range q.lists.ranks {
		j := q.Row(q.lists.ranks[i].ref)
		q.joinList(q.listOf(f, j), j, now)
	}
}

// ranksOf appends the ranks of all jobs of a list to dst, in order.
func (q *Queue) ranksOf(l *list, dst []rank) []rank {
	for i := range l.jobs.Blocks() {
		for _, e := range l.jobs.Block(i) {
			dst = append(dst, rankOf(q.Row(e.Ref)))
		}
	}
	return dst
}

// entryOf is what a search asks of a job.
func entryOf(j *QueueEntry) queue.Job {
	return queue.Job{Wall: max(j.Left, 0), Key: int64(j.bound), Need: j.Need, Ref: j.Ref}
}

// join puts a job into its list.
func (q *Queue) join(j *QueueEntry, now model.Time) {
	f := q.familyOf(j)
	if f.jobs++; f.jobs > many && !f.apart && q.cfg.Bounded {
		q.setApart(f, now)
	}
	q.joinList(q.listOf(f, j), j, now)
}

func (q *Queue) joinList(id int32, j *QueueEntry, now model.Time) {
	l := &q.lists.all[id]
	if l.jobs.Len() == 0 {
		l.live = int32(len(q.lists.live))
		q.lists.live = append(q.lists.live, id)
		l.until, l.newcomers, l.rise = now.Add(lifetime), 0, 0
		l.youngest, l.oldest, l.most, l.close = j.Submit, j.Submit, j.Need, false
		l.alike = j.Alike
	}
	if l.alike != j.Alike {
		l.alike = -1
	}
	j.list = id
	j.bound = q.boundOf(j, l.until) - l.rise
	l.newcomers++
	l.youngest, l.oldest = max(l.youngest, j.Submit), min(l.oldest, j.Submit)
	l.changes++
	l.most = max(l.most, j.Need)
	if j.Need < l.least {
		l.least, l.perNode = j.Need, j.perNode
	}
	r := rankOf(j)
	at := q.place(l, r)
	if !l.close && l.oldest == l.youngest { // else it is even no more
		l.close = r.mayTieWith(l.jobs.Job(at)) || r.mayTieWith(l.jobs.Before(at))
	}
	if l.jobs.Len() == 0 || r.before(&l.top) {
		l.clear = l.jobs.Len() > 0 && l.clear && l.top.bound == r.bound
		l.top = r
	} else if r.mayTie(&l.top) {
		l.clear = false
	}
	l.jobs.Insert(at, entryOf(j))
}

// mayTieWith is mayTie for the job of an entry, if there is one.
func (r *rank) mayTieWith(e *queue.Job) bool {
	return e != nil && r.mayTie(&rank{bound: model.Fixed(e.Key)})
}

// findTop finds the first job of a list anew.
func (q *Queue) findTop(l *list) {
	was := l.top
	l.top = rankOf(q.first(l))
	l.clear = l.clear && l.top.bound == was.bound
}

// standsFor says whether no other job of a list comes before the one at a place at any time, which is of the highest
// bound of those that have not been looked at; if not, next is the place of the first that may.
func (l *list) standsFor(at queue.At, exact bool) (next queue.At, all bool) {
	if exact || !l.close {
		return next, true
	}
	r := rank{bound: model.Fixed(l.jobs.Job(at).Key)}
	first := r.bound == l.top.bound
	if first && l.clear {
		return next, true
	}
	next = l.jobs.Lower(at.Behind(), int64(r.bound))
	ties := r.mayTieWith(l.jobs.Job(next))
	l.clear = l.clear || first && !ties
	return next, !ties
}

// quit takes a job out of its list.
func (q *Queue) quit(j *QueueEntry) {
	f := q.familyOf(j)
	l := &q.lists.all[j.list]
	if f.jobs--; f.jobs == 0 {
		f.apart = false
	}
	l.changes++
	l.jobs.Remove(q.place(l, rankOf(j)))
	l.jobs.Tidy()
	if j.Need == l.least {
		if l.least = l.jobs.Least(); l.least != j.Need && q.cfg.Reference > 0 {
			l.perNode = q.perNode(l.least)
		}
	}
	switch {
	case l.jobs.Len() == 0:
		q.retire(l)
	case l.top.ref == j.Ref:
		q.findTop(l)
	}
}

// empty takes all jobs out of a list that has some.
func (q *Queue) empty(l *list) {
	l.jobs.Clear()
	l.least = math.MaxInt32
	q.retire(l)
}

// retire takes a list that has no jobs any more out of the live ones.
func (q *Queue) retire(l *list) {
	x := &q.lists
	last := x.live[len(x.live)-1]
	x.live[l.live], x.all[last].live = last, l.live
	x.live = x.live[:len(x.live)-1]
}

// place is where a job of a rank is in its list, or belongs.
func (q *Queue) place(l *list, r rank) queue.At {
	return l.jobs.Find(int64(r.bound), func(ref model.Ref) bool { return q.Row(ref).Job < r.job })
}

// reorder brings a list whose bounds have changed into order.
func (q *Queue) reorder(l *list) {
	q.lists.ranks = q.ranksOf(l, q.lists.ranks[:0])
	ranks := q.lists.ranks
	//detlint:total no two are of one job, and its id decides last
	slices.SortFunc(ranks, func(a, b rank) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	l.jobs.Clear()
	for i := range ranks {
		l.jobs.Insert(l.jobs.End(), entryOf(q.Row(ranks[i].ref)))
	}
}
