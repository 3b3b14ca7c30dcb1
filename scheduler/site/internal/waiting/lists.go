package waiting

import (
	"math"
	"slices"

	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
)

// list is the jobs of one tenant and one request size that are not gated, those that may borrow
// apart from those that may not: the highest tier first, in it the highest upper bound, see bounds.go, and then by ref. Where scores have no
// bounds, all tenants are one and the bounds are 0.
type list struct {
	jobs      queue.Queue
	tenant    int32
	size      int32
	borrows   bool
	live      int32       // place in lists.live, while it has jobs
	least     int32       // nodes that one of the jobs asks for, MaxInt32 of none
	newcomers int32       // since the bounds were renewed last
	youngest  model.Time  // no job was submitted later
	oldest    model.Time  // nor before
	rise      model.Fixed // of the bounds of all jobs, beside those in their rows
	until     model.Time  // bounds hold
	changes   uint64      // jobs that joined or left, and renewals
}

// lists are those of all tenants and sizes. A list is in live while it has jobs.
type lists struct {
	all   []list
	live  []int32   // in no order
	of    [][]int32 // by size, two for each, and tenant: in all, -1 for none
	ranks []rank    // memory for renewals
}

// rank is what the order of a list hangs on.
type rank struct {
	tier  int32
	ref   model.Ref
	bound model.Fixed
}

func rankOf(j *Job) rank { return rank{j.Tier, j.Ref, j.bound} }

// before says whether r comes before o. Of two jobs one does.
func (r *rank) before(o *rank) bool {
	if r.tier != o.tier {
		return r.tier > o.tier
	}
	return r.bound > o.bound || (r.bound == o.bound && r.ref < o.ref)
}

// listOf is the number of the list that a job belongs to, made when it is new.
func (q *Queue) listOf(j *Job) int32 {
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
		x.of[of] = append(x.of[of], -1)
	}
	id := &x.of[of][tenant]
	if *id < 0 {
		*id = int32(len(x.all))
		x.all = append(x.all, list{jobs: queue.New(q.cfg.Nodes), tenant: tenant, size: j.Size, borrows: j.Borrows, least: math.MaxInt32})
	}
	return *id
}

// entryOf is what a search asks of a job.
func entryOf(j *Job) queue.Job { return queue.Job{Wall: max(j.Left, 0), Need: j.Need, Ref: j.Ref} }

// join puts a job into its list.
func (q *Queue) join(j *Job, now model.Time) {
	id := q.listOf(j)
	l := &q.lists.all[id]
	if l.jobs.Len() == 0 {
		l.live = int32(len(q.lists.live))
		q.lists.live = append(q.lists.live, id)
		l.until, l.newcomers, l.rise = now.Add(lifetime), 0, 0
		l.youngest, l.oldest = j.Submit, j.Submit
	}
	j.bound = q.boundOf(l, j)
	l.newcomers++
	l.youngest, l.oldest = max(l.youngest, j.Submit), min(l.oldest, j.Submit)
	l.changes++
	l.least = min(l.least, j.Need)
	l.jobs.Insert(q.place(l, rankOf(j)), entryOf(j))
}

// quit takes a job out of its list.
func (q *Queue) quit(j *Job) {
	l := &q.lists.all[q.listOf(j)]
	l.changes++
	l.jobs.Remove(q.place(l, rankOf(j)))
	l.jobs.Tidy()
	if j.Need == l.least {
		l.least = l.jobs.Least()
	}
	if l.jobs.Len() > 0 {
		return
	}
	x := &q.lists
	last := x.live[len(x.live)-1]
	x.live[l.live], x.all[last].live = last, l.live
	x.live = x.live[:len(x.live)-1]
}

// place is where a job of a rank is in its list, or belongs.
func (q *Queue) place(l *list, r rank) queue.At {
	return l.jobs.Find(func(ref model.Ref) bool {
		o := rankOf(q.Row(ref))
		return o.before(&r)
	})
}

// reorder brings a list whose bounds have changed into order. ranks are those of all that are in
// it, in the order that was.
func (q *Queue) reorder(l *list, ranks []rank) {
	compare := func(a, b rank) int {
		if a.before(&b) {
			return -1
		}
		return 1
	}
	l.changes++
	if slices.IsSortedFunc(ranks, compare) {
		return
	}
	//detlint:total no two are of one job, and the ref decides last
	slices.SortFunc(ranks, compare)
	l.jobs.Clear()
	for i := range ranks {
		l.jobs.Insert(l.jobs.End(), entryOf(q.Row(ranks[i].ref)))
	}
}
