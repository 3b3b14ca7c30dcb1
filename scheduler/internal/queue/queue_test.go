package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// line is a queue as a plain slice. The place of a job in it is by the key at its ref.
type line struct {
	q    Queue
	list []Job
	keys []int64
	rng  *rand.Rand
	big  int32 // the largest need
}

func newLine(seed uint64, big int32) *line {
	return &line{q: New(big), rng: rand.New(rand.NewPCG(seed, 3)), big: big}
}

// find is the place in the queue, and in the list, of a key.
func (l *line) find(key int64) (At, int) {
	i, _ := slices.BinarySearchFunc(l.list, key, func(j Job, key int64) int { return int(l.keys[j.Ref] - key) })
	return l.q.Find(-(key >> 22), func(r model.Ref) bool { return l.keys[r] < key }), i
}

// insert puts a job of the given key, by which each is before those that come later with the same.
func (l *line) insert(key int64) {
	ref := model.Ref(len(l.keys))
	l.keys = append(l.keys, key<<20+int64(ref))
	j := Job{Key: -(l.keys[ref] >> 22), Wall: model.Duration(l.rng.Int64N(1 << uint(l.rng.IntN(30)))), Need: 1 + l.rng.Int32N(1+l.big>>l.rng.IntN(12))%l.big, Ref: ref}
	if l.rng.IntN(20) == 0 {
		j.Wall = model.Forever
	}
	at, i := l.find(l.keys[ref])
	l.q.Insert(at, j)
	l.list = slices.Insert(l.list, i, j)
}

// remove takes out the i-th job.
func (l *line) remove(i int) {
	at, _ := l.find(l.keys[l.list[i].Ref])
	l.q.Remove(at)
	l.list = slices.Delete(l.list, i, i+1)
}

// pass lets jobs that there is room for leave from the i-th on, each as the queue finds it.
func (l *line) pass(t *testing.T, i int) {
	at, _ := l.find(l.keys[l.list[i].Ref])
	r := Room{Free: l.rng.Int32N(1 + l.big>>l.rng.IntN(12)), Limit: model.Duration(l.rng.Int64N(1 << uint(l.rng.IntN(31))))}
	r.Extra = l.rng.Int32N(r.Free + 1)
	switch l.rng.IntN(8) {
	case 0:
		r.Limit = model.Forever
	case 1:
		r.Limit = -1
	}
	for n := l.rng.IntN(40); n >= 0; n-- {
		for i < len(l.list) && !(l.list[i].Need <= r.Free && (l.list[i].Wall <= r.Limit || l.list[i].Need <= r.Extra)) {
			i++
		}
		found, ok := l.q.Seek(at, r)
		require.Equal(t, i < len(l.list), ok)
		if !ok {
			return
		}
		require.Equal(t, l.list[i], *l.q.Job(found))
		at = found
		if l.rng.IntN(3) == 0 { // the policy knows better
			at, i = at.Behind(), i+1
			continue
		}
		r.Free -= l.list[i].Need
		r.Extra = max(r.Extra-l.list[i].Need, 0)
		l.q.Remove(at)
		l.list = slices.Delete(l.list, i, i+1)
	}
}

// check compares all that can be seen.
func (l *line) check(t *testing.T) {
	require.Equal(t, len(l.list), l.q.Len())
	least := int32(math.MaxInt32)
	var refs []model.Ref
	for _, j := range l.list {
		least = min(least, j.Need)
		refs = append(refs, j.Ref)
	}
	require.Equal(t, least, l.q.Least())
	require.True(t, slices.Equal(refs, l.q.Refs(nil, len(refs)+1)))
	require.True(t, slices.Equal(refs[:len(refs)/2], l.q.Refs(nil, len(refs)/2)))
	var all []Job
	for i := range l.q.Blocks() {
		all = append(all, l.q.Block(i)...)
	}
	require.True(t, slices.Equal(l.list, all))
	first := l.q.Job(l.q.First())
	require.Equal(t, len(l.list) > 0, first != nil)
	if first != nil {
		require.Equal(t, l.list[0], *first)
	}
}

// Queues that grow and shrink, of jobs that come last or anywhere and leave from anywhere, answer as
// plain slices do: short ones, and such that several groups of blocks come and go.
func TestQueueAgainstASlice(t *testing.T) {
	sizes := []int{5, 100, 300, 2000, 20000}
	if testing.Short() {
		sizes = sizes[:4]
	}
	for n, size := range sizes {
		for seed := range uint64(6) {
			l := newLine(seed+uint64(n)<<8, []int32{1, 7, 100, 1024, 93312, 1 << 30}[seed])
			for range 4 {
				for range l.rng.IntN(size) {
					if key := int64(len(l.keys)); seed%2 == 0 {
						l.insert(key) // as under fcfs
					} else {
						l.insert(l.rng.Int64N(1000))
					}
				}
				l.shrink(t, l.rng.IntN(size))
			}
			l.shrink(t, 0)
			l.insert(7)
			l.check(t)
		}
	}
}

// Places are found by keys and by what comes before, from every job on, also where whole blocks have left.
func TestPlaces(t *testing.T) {
	const jobs = 20 * perBlock
	for _, each := range []int{1, 3, perBlock / 2, perBlock, 2*perBlock + 1} { // jobs of one key
		q, left := New(1), []Job{}
		for i := range jobs {
			q.Insert(q.End(), Job{Key: int64(-i / each), Need: 1, Ref: model.Ref(i)})
		}
		for b := range jobs / perBlock {
			for i := range perBlock {
				if ref := model.Ref(b*perBlock + i); (b > 2 && b < 6) || b == 8 || b == 11 || b > 17 || i%5 == 3 {
					q.Remove(q.Find(int64(-int(ref)/each), func(r model.Ref) bool { return r < ref }))
				} else {
					left = append(left, Job{Key: int64(-int(ref) / each), Need: 1, Ref: ref})
				}
			}
		}
		require.Equal(t, 13, q.Blocks()-5, "some are empty")
		for i, j := range left {
			at := q.Find(j.Key, func(r model.Ref) bool { return r < j.Ref })
			require.Equal(t, j, *q.Job(at))
			for _, down := range []int64{0, 1, 2, 7, 40, jobs} {
				key := j.Key - down
				n, _ := slices.BinarySearchFunc(left, key, func(e Job, key int64) int {
					if e.Key >= key {
						return -1
					}
					return 1
				})
				n = max(n, i+1)
				if found := q.Job(q.Lower(at.Behind(), key)); n < len(left) {
					require.NotNil(t, found)
					require.Equal(t, left[n], *found)
				} else {
					require.Nil(t, found)
				}
			}
		}
	}
}

// shrink makes passes, and lets other jobs leave and a few come, until no more than n are left.
func (l *line) shrink(t *testing.T, n int) {
	for step := 0; len(l.list) > n; step++ {
		l.q.Tidy()
		l.pass(t, min(l.rng.IntN(3)*l.rng.IntN(len(l.list)), len(l.list)-1))
		for range l.rng.IntN(4 + len(l.list)/50) {
			if len(l.list) > 0 {
				l.remove(l.rng.IntN(len(l.list)) >> (8 * l.rng.IntN(2)))
			}
		}
		if l.rng.IntN(3) == 0 {
			l.insert(l.rng.Int64N(1000))
		}
		if step%16 == 0 {
			l.check(t)
		}
	}
	l.check(t)
}

// Classes are in the order of the needs, and few.
func TestClasses(t *testing.T) {
	require.Zero(t, Class(0))
	for n := int32(1); n < 1<<20; n++ {
		step := Class(n) - Class(n-1)
		require.True(t, step == 0 || step == 1, n)
		require.True(t, n > 12 || step == 1 || n == 9 || n == 11, n)
	}
	require.Less(t, Class(math.MaxInt32), 128)
}

// A search in a queue of which few jobs may start looks at few others.
func TestSeekLooksAtFew(t *testing.T) {
	q := New(1024)
	const jobs = 100_000
	for i := range model.Ref(jobs) {
		j := Job{Wall: model.Hour, Need: 512, Ref: i}
		switch i % 1000 {
		case 0:
			j = Job{Wall: 2 * model.Hour, Need: 1, Ref: i} // small, and long
		case 500:
			j = Job{Wall: model.Second, Need: 1024, Ref: i} // short, and large
		}
		q.Insert(q.End(), j)
	}
	q.Insert(q.End(), Job{Wall: model.Minute, Need: 4, Ref: jobs})
	at, ok := q.Seek(q.First(), Room{Free: 400, Limit: model.Minute})
	require.True(t, ok)
	require.EqualValues(t, jobs, q.Job(at).Ref)
	require.LessOrEqual(t, q.Examined(), uint64(2*perBlock))
}
