package waiting

import (
	"math"
	"slices"

	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// size is what jobs ask of each of their nodes, with the number of nodes that are free
// for that and the jobs that ask for it, as far as they are in no list.
type size struct {
	class   place.ClassID
	share   place.Share // none for all of a node
	free    int32       // nodes, as counted
	group   int32       // nodes of the largest free conformance group, as of the last Bounds.Set in which a job waited
	counted uint64      // Changes of what is free when they were counted
	units   int32       // of each node, as Least counts them
	gated   requests
}

// requests of jobs, the largest first.
type requests []request

// request is how many nodes a job asks for, and below that its ref, with all bits
// inverted: ascending requests are the largest first.
type request uint64

func requestOf(need int32, ref model.Ref) request {
	return ^request(uint64(need)<<32 | uint64(uint32(ref)))
}

func (r request) need() int32    { return int32(^r >> 32) }
func (r request) ref() model.Ref { return model.Ref(uint32(^r)) }

// add puts a request in that is not there.
func (s *requests) add(r request) {
	i, _ := slices.BinarySearch(*s, r)
	list := append(*s, 0) // by hand, for slices.Insert takes longer than the move
	copy(list[i+1:], list[i:])
	list[i] = r
	*s = list
}

// remove takes a request out that is there.
func (s *requests) remove(r request) {
	list := *s
	i, _ := slices.BinarySearch(list, r)
	copy(list[i:], list[i+1:])
	*s = list[:len(list)-1]
}

// least is the fewest nodes that one of them asks for, MaxInt32 when there are none.
func (s requests) least() int32 {
	if len(s) == 0 {
		return math.MaxInt32
	}
	return s[len(s)-1].need()
}

// SizeOf is the request size of a class of nodes and a share of each, made
// when it is new. Sizes are few, so they are searched one by one.
func (q *Queue) SizeOf(class place.ClassID, share place.Share) int32 {
	for i := range q.sizes {
		if z := &q.sizes[i]; z.class == class && z.share == share {
			return int32(i)
		}
	}
	q.sizes = append(q.sizes, size{class: class, share: share, counted: q.free.Changes() - 1})
	return int32(len(q.sizes)) - 1
}

// use counts a job that is not gated to its size.
func (q *Queue) use(j *QueueEntry) {
	q.used.add(j.Size)
}

// disuse undoes use.
func (q *Queue) disuse(j *QueueEntry) {
	q.used.remove(j.Size)
}

// ClassOf is the class of nodes of a request size.
func (q *Queue) ClassOf(i int32) place.ClassID { return q.sizes[i].class }

// ShareOf is the share of each node that a request size asks for.
func (q *Queue) ShareOf(i int32) place.Share { return q.sizes[i].share }

// Sizes is the number of request sizes so far.
func (q *Queue) Sizes() int { return len(q.sizes) }

// Free is the number of nodes that are free for a request size. They are counted anew when what is free has
// changed.
func (q *Queue) Free(i int32) int32 {
	z := &q.sizes[i]
	if z.counted != q.free.Changes() {
		q.recount(z)
	}
	return z.free
}

func (q *Queue) recount(z *size) {
	z.counted = q.free.Changes()
	if z.share == (place.Share{}) {
		z.free = q.free.Count(z.class)
	} else {
		z.free = q.free.CountShares(z.class, z.share)
	}
}

// AnyFits says whether a job, but for the gated ones, asks for no more nodes than are free for it, or
// that it may borrow as well, and fits, if it is not nil, says so too. Its cost is a look at each
// list, and fits for each such job until one fits.
func (q *Queue) AnyFits(borrowed int32, fits func(*QueueEntry) bool) bool {
	for _, id := range q.lists.live {
		l := &q.lists.all[id]
		most := q.Free(l.size)
		if l.borrows {
			most += borrowed
		}
		if l.least > most {
			continue
		}
		if fits == nil {
			return true
		}
		all := queue.Room{Free: most, Extra: most, Limit: model.Forever}
		for at, ok := l.jobs.Seek(l.jobs.First(), all); ok; at, ok = l.jobs.Seek(at.Behind(), all) {
			if fits(q.Row(l.jobs.Job(at).Ref)) {
				return true
			}
		}
	}
	return false
}

// LeastLacking is no more than the fewest nodes that a job which may borrow lacks, but for the gated ones and those that lack none,
// MaxInt32 where no job lacks any: that itself where such jobs are few. Its cost is a look at each list, and at some jobs.
func (q *Queue) LeastLacking() int32 {
	const few = 64
	lacking, looked := int32(math.MaxInt32), 0
	for _, id := range q.lists.live {
		l := &q.lists.all[id]
		if !l.borrows {
			continue
		}
		free := q.Free(l.size)
		if l.least > free {
			lacking = min(lacking, l.least-free)
			continue
		}
		for i := range l.jobs.Blocks() {
			for _, j := range l.jobs.Block(i) {
				if looked++; looked > few {
					return 1
				}
				if j.Need > free {
					lacking = min(lacking, j.Need-free)
				}
			}
		}
	}
	return lacking
}

// Gated counts the jobs that are gated.
func (q *Queue) Gated() int { return q.gated }

// GatedJobs appends to dst the jobs that are gated.
func (q *Queue) GatedJobs(dst []model.Ref) []model.Ref {
	for i := 0; i < len(q.sizes) && q.gated > 0; i++ {
		for _, r := range q.sizes[i].gated {
			dst = append(dst, r.ref())
		}
	}
	return dst
}

// Least is the smallest number of units that a waiting job asks for, MaxInt32 when none
// waits. Its cost is that of the lists and request sizes when one that asked for so few has left.
func (q *Queue) Least() int32 {
	if q.least == 0 {
		q.least = q.findLeast()
	}
	return q.least
}

func (q *Queue) findLeast() int32 {
	least := int32(math.MaxInt32)
	take := func(need int32, z *size) {
		if need < math.MaxInt32 {
			least = min(least, need*z.units)
		}
	}
	for _, id := range q.lists.live {
		l := &q.lists.all[id]
		take(l.least, &q.sizes[l.size])
	}
	for i := range q.sizes {
		take(q.sizes[i].gated.least(), &q.sizes[i])
	}
	return least
}
