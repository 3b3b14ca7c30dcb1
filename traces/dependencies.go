package traces

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"orrery/scheduler/model"
)

// Edge says that one job waits for another, by their rows in the jobs table.
type Edge struct {
	Job       model.JobID // that waits
	On        model.JobID // that it waits for
	Condition model.Condition
	// Think is how long after On's end Job may start at the earliest; 0 but for
	// edges from the column after_job.
	Think model.Duration
}

// Dependencies are the edges of a trace by row, ascending by Job, On and
// Condition, each once.
type Dependencies struct {
	Edges []Edge
	// Left counts, by rule and with an example, the rows that make no edge: a
	// job that is not in the trace cannot be waited for, and no job waits for
	// itself. trace validate refuses such rows of the deps table.
	Left []Rule
}

// Of lists the edges of a waiting job. It costs a binary search; a caller
// that goes through jobs in order walks Edges instead.
func (d *Dependencies) Of(job model.JobID) []Edge {
	from, _ := slices.BinarySearchFunc(d.Edges, job, func(e Edge, job model.JobID) int { return cmp.Compare(e.Job, job) })
	to := from
	for to < len(d.Edges) && d.Edges[to].Job == job {
		to++
	}
	return d.Edges[from:to]
}

// Circle is jobs each of which waits for the next, and the last for the first,
// so that none can ever start; nil when there are none. Mutexes make no circle.
// It costs a pass over the edges.
func (d *Dependencies) Circle() []model.JobID {
	waiting := []model.JobID{} // jobs with edges; others end every path
	for _, e := range d.Edges {
		if len(waiting) == 0 || waiting[len(waiting)-1] != e.Job {
			waiting = append(waiting, e.Job)
		}
	}
	const fresh, onPath, done = 0, 1, 2
	state := make([]uint8, len(waiting))
	type step struct {
		job  int    // index into waiting
		left []Edge // not yet followed
	}
	for i := range waiting {
		if state[i] != fresh {
			continue
		}
		path := []step{{i, d.Of(waiting[i])}}
		state[i] = onPath
		for len(path) > 0 {
			top := &path[len(path)-1]
			if len(top.left) == 0 {
				state[top.job] = done
				path = path[:len(path)-1]
				continue
			}
			e := top.left[0]
			top.left = top.left[1:]
			on, waits := slices.BinarySearch(waiting, e.On)
			if !waits || e.Condition == model.Mutex || state[on] == done {
				continue
			}
			if state[on] == fresh {
				state[on] = onPath
				path = append(path, step{on, d.Of(e.On)})
				continue
			}
			var circle []model.JobID
			for _, s := range path[slices.IndexFunc(path, func(s step) bool { return s.job == on }):] {
				circle = append(circle, waiting[s.job])
			}
			return circle
		}
	}
	return nil
}

// Dependencies resolves the ids of the deps table to rows. With afterJob, the
// columns after_job and think_time of the jobs table count as well: a job
// starts no earlier than think_time after the end, whatever it was, of the job
// it follows (SWF fields 17 and 18).
//
// Ids may be used twice. The waiting id of the deps table is then its last row;
// the id waited for is the latest row before the one that waits, or else the
// first after it. Edges of after_job wait for an earlier row only, since SWF
// numbers jobs as they come.
//
// It reads the ids of all jobs once, and once before them after_job where it has any value. Memory
// grows with the edges and not with the jobs.
func (b *Bundle) Dependencies(afterJob bool) (*Dependencies, error) {
	afterJob = afterJob && (b.info.Filled == nil || b.info.Fills(columnAfterJob))
	return resolveDependencies(b.path, b.Deps(), afterJob, b.eachID)
}

// eachID goes through the jobs in order: with what after_job says, or else with their ids.
type eachID func(after bool, visit func(row model.JobID, id, afterJob int64, think model.Duration)) error

func resolveDependencies(file string, deps iter.Seq2[*Dep, error], afterJob bool, each eachID) (*Dependencies, error) {
	r := resolver{}
	for d, err := range deps {
		if err != nil {
			return nil, err
		}
		c := slices.Index(conditions, d.Condition)
		if c < 0 {
			return nil, &DataError{File: file, Column: "condition", Found: d.Condition,
				Expected: "success, failure, any, corresponding or mutex", Mend: "correct the word"}
		}
		r.add(d, model.Condition(c))
	}
	if afterJob {
		if err := each(true, r.follow); err != nil {
			return nil, err
		}
	}
	if len(r.table)+len(r.follows) == 0 {
		return r.result(), nil
	}
	r.index()
	if err := each(false, r.resolve); err != nil {
		return nil, err
	}
	return r.result(), nil
}

// eachID implements the type of its name.
func (b *Bundle) eachID(after bool, visit func(row model.JobID, id, afterJob int64, think model.Duration)) error {
	if b.jobs == nil {
		return nil
	}
	check := b.jobs.checker()
	id, afterJob, think := b.cursor("id", check), b.cursor(columnAfterJob, check), b.cursor("think_time", check)
	defer id.closePages()
	defer afterJob.closePages()
	defer think.closePages()
	ids, afters, thinks := make([]int64, sourceRows), make([]int64, sourceRows), make([]model.Duration, sourceRows)
	fill(afters, Absent64)
	for row := int64(0); row < b.info.Rows; {
		n := min(b.info.Rows-row, sourceRows)
		if after {
			if err := int64s(afterJob, afters[:n]); err != nil {
				return err
			}
			if err := int64s(think, thinks[:n]); err != nil {
				return err
			}
		} else if err := int64s(id, ids[:n]); err != nil {
			return err
		}
		for i := range n {
			visit(model.JobID(row+i), ids[i], afters[i], thinks[i])
		}
		row += n
	}
	return nil
}

// named is an id that some edge names.
type named struct {
	id          int64
	first, last model.JobID // rows met so far, unresolved when none
	from, to    int32       // in resolver.waits, of the edges in which it is the one that waits
}

const unresolved model.JobID = -1

// pending is an edge whose ids are not all resolved.
type pending struct {
	Edge
	job, on int64 // ids; job counts only in edges of the deps table
}

// resolver turns ids into rows in one pass over the jobs.
type resolver struct {
	table   []pending // edges of the deps table
	follows []pending // edges of after_job, ascending by Job
	next    int       // of follows
	ids     []named   // ascending by id
	waits   []int32   // edges of table, by the id that waits
	place   int       // of ids, where the last row met belongs
	left    []Rule
}

// add takes a row of the deps table.
func (r *resolver) add(d *Dep, condition model.Condition) {
	if d.Job == d.On {
		count(&r.left, "dependency of a job on itself", fmt.Sprintf("id %d", d.Job))
		return
	}
	r.table = append(r.table, pending{Edge: Edge{Job: unresolved, On: unresolved, Condition: condition}, job: d.Job, on: d.On})
}

// follow takes the after_job of a row.
func (r *resolver) follow(row model.JobID, _, afterJob int64, think model.Duration) {
	if afterJob == Absent64 {
		return
	}
	r.follows = append(r.follows, pending{on: afterJob,
		Edge: Edge{Job: row, On: unresolved, Condition: model.AfterAny, Think: max(think, 0)}})
}

// index collects the ids that edges name.
func (r *resolver) index() {
	for i := range r.table {
		r.ids = append(r.ids, named{id: r.table[i].job}, named{id: r.table[i].on})
	}
	for i := range r.follows {
		r.ids = append(r.ids, named{id: r.follows[i].on})
	}
	//detlint:total equal entries are of one id and become one
	slices.SortFunc(r.ids, func(a, b named) int { return cmp.Compare(a.id, b.id) })
	r.ids = slices.Clip(slices.CompactFunc(r.ids, func(a, b named) bool { return a.id == b.id }))
	for i := range r.ids {
		r.ids[i].first, r.ids[i].last = unresolved, unresolved
	}
	for i := range r.table {
		r.waits = append(r.waits, int32(i))
	}
	slices.SortStableFunc(r.waits, func(a, b int32) int { return cmp.Compare(r.table[a].job, r.table[b].job) })
	for at := 0; at < len(r.waits); {
		k := r.find(r.table[r.waits[at]].job)
		for k.from = int32(at); at < len(r.waits) && r.table[r.waits[at]].job == k.id; at++ {
		}
		k.to = int32(at)
	}
}

// find is the entry of an id, nil when no edge names it.
func (r *resolver) find(id int64) *named {
	i, ok := slices.BinarySearchFunc(r.ids, id, func(n named, id int64) int { return cmp.Compare(n.id, id) })
	if !ok {
		return nil
	}
	return &r.ids[i]
}

// findNext is find for the id of the next row: ids mostly ascend with the rows.
func (r *resolver) findNext(id int64) *named {
	for range 4 {
		if r.place == len(r.ids) || r.ids[r.place].id >= id {
			break
		}
		r.place++
	}
	if r.place < len(r.ids) && r.ids[r.place].id == id {
		return &r.ids[r.place]
	}
	if (r.place == len(r.ids) || r.ids[r.place].id > id) && (r.place == 0 || r.ids[r.place-1].id < id) {
		return nil // it belongs there
	}
	r.place, _ = slices.BinarySearchFunc(r.ids, id, func(n named, id int64) int { return cmp.Compare(n.id, id) })
	return r.find(id)
}

// resolve meets the jobs in order.
func (r *resolver) resolve(row model.JobID, id, _ int64, _ model.Duration) {
	for ; r.next < len(r.follows) && r.follows[r.next].Job == row; r.next++ {
		f := &r.follows[r.next]
		f.On = r.find(f.on).last
	}
	k := r.findNext(id)
	if k == nil {
		return
	}
	for _, i := range r.waits[k.from:k.to] {
		e := &r.table[i]
		e.Job, e.On = row, r.find(e.on).last
	}
	k.last = row
	if k.first == unresolved {
		k.first = row
	}
}

// result is what was resolved, in order, and what was not.
func (r *resolver) result() *Dependencies {
	d := &Dependencies{Left: r.left}
	for i := range r.table {
		e := &r.table[i]
		if e.On == unresolved {
			e.On = r.find(e.on).first
		}
		if e.Job == unresolved || e.On == unresolved {
			count(&d.Left, "dependency on a job that is not in the trace", fmt.Sprintf("%d on %d", e.job, e.on))
			continue
		}
		d.Edges = append(d.Edges, e.Edge)
	}
	for i := range r.follows {
		e := &r.follows[i]
		if e.On == unresolved {
			count(&d.Left, "after_job that is no earlier job of the trace", fmt.Sprintf("row %d after id %d", e.Job+1, e.on))
			continue
		}
		d.Edges = append(d.Edges, e.Edge)
	}
	//detlint:total all members are compared, and equal edges become one
	slices.SortFunc(d.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.On, b.On), cmp.Compare(a.Condition, b.Condition), cmp.Compare(a.Think, b.Think))
	})
	d.Edges = slices.Compact(d.Edges)
	return d
}
