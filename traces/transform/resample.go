package transform

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
)

// resample makes another log of the same users, after Zakay and Feitelson
// (Workload resampling for performance evaluation of parallel job schedulers,
// Concurrency and Computation 26(12), 2014): users live on, their weeks are
// mixed. A user whose jobs span fewer than long weeks is temporary, and appears
// as a whole, as often as the length asks for, from a drawn week on. A long-term
// user does in each week what was done in a drawn week of the log, which may be
// nothing. The expected work of a week is that of the log. Weeks begin at whole
// weeks of the epoch; what runs over the last week goes on in the first.
//
// With feedback a job that came within that time of the end of an earlier job of
// its user, in the log, follows it in the columns after_job and think_time (the
// same authors, Preserving user behavior characteristics in trace-based
// simulation of parallel job scheduling, MASCOTS 2014), so that a replay which
// heeds them lets users react.
type resample struct {
	weeks    int64
	long     int64
	feedback model.Duration
	seed     uint64
}

func newResample(p *params) step {
	r := resample{weeks: p.whole("weeks", 0, 1, 5200), long: p.whole("long", 12, 1, 5200), feedback: p.span("feedback", 20*model.Minute), seed: p.seed()}
	if r.weeks == 0 {
		p.fail("weeks is missing: say how long the new log is")
	}
	return r
}

var (
	longStream  = draw.StreamOf("source week of a long-term user")
	timesStream = draw.StreamOf("appearances of a temporary user")
	beginStream = draw.StreamOf("week in which a temporary user appears")
)

// Rules of resampling.
const (
	ruleWarm     = "belongs to the warm start, which the new log does not have"
	ruleNotDrawn = "in no week that was drawn"
	ruleNoEnd    = "followed by no job: when it ended is not known"
	ruleFollows  = "follows an earlier job of its user"
	ruleLost     = "after_job left out: that job is not in the same week of the user"
)

// person is a user with jobs by week of the log.
type person struct {
	key   uint64
	weeks [][]int // rows of the log
}

func (p *person) active() (first, last int) {
	first = slices.IndexFunc(p.weeks, func(w []int) bool { return len(w) > 0 })
	for last = len(p.weeks) - 1; len(p.weeks[last]) == 0; last-- {
	}
	return first, last
}

// stay is what a user does at one time of the new log: rows of the log, and by
// how many weeks they are moved.
type stay struct {
	rows   []int
	shift  int64 // weeks
	suffix string
	number int // of the stay, in order of users
}

// made is a row of the new log with what it was made of.
type made struct {
	traces.Job
	row  int // of the log
	stay int
}

func (r resample) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	if err := in.needsJobs("resample"); err != nil {
		return nil, err
	}
	if of := in.samples(); len(of) > 0 {
		return nil, fmt.Errorf("%s: of the weeks of the log, and of no others; leave out first what was sampled, with the step drop tables=%s", strings.Join(of, " and "), strings.Join(of, ","))
	}
	jobs, err := in.jobs()
	if err != nil {
		return nil, err
	}
	a.reset()
	people, base, weeks := r.people(in, jobs, a)
	if len(people) == 0 {
		return nil, errEmpty
	}
	out := *in
	out.Meta.WarmStart, out.Meta.History = traces.Opt[model.Time]{}, 0
	var rows []made
	stays := 0
	for i := range people {
		for _, s := range r.stays(&people[i], weeks) {
			s.number = stays
			stays++
			rows = r.settle(rows, jobs, s, base)
		}
	}
	r.account(rows, jobs, a)
	slices.SortStableFunc(rows, func(a, b made) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.row, b.row), cmp.Compare(a.stay, b.stay))
	})
	fresh := renumbered(rows, jobs)
	r.follow(rows, jobs, fresh, a)
	out.Deps = r.deps(in.Deps, fresh, rows, jobs)
	list := make([]traces.Job, len(rows))
	events, said := demandsOf(in.Events)
	for i := range rows {
		list[i] = rows[i].Job
		was := &jobs[rows[i].row]
		events = said.follow(events, was.ID, rows[i].ID, rows[i].Submit.Sub(was.Submit))
	}
	out.Events = inOrder(events)
	out.Rows = rowsOf(list)
	a.note(fmt.Sprintf("%d weeks of %d users made of %d weeks", r.weeks, len(people), weeks))
	return &out, nil
}

// people gathers the rows by user and week.
func (r resample) people(in *Set, jobs []traces.Job, a *Account) (people []person, base model.Time, weeks int) {
	index := map[string]int{}
	for i := range jobs {
		j := &jobs[i]
		a.read()
		if in.warm(j) {
			a.drop(ruleWarm, j.ID)
			continue
		}
		if weeks == 0 {
			base = j.Submit - j.Submit%model.Time(week)
		}
		w := int(j.Submit.Sub(base) / week)
		weeks = w + 1
		name := userOf(j)
		k, ok := index[name]
		if !ok {
			k = len(people)
			index[name] = k
			people = append(people, person{key: uint64(draw.StreamOf(name))})
		}
		p := &people[k]
		for len(p.weeks) <= w {
			p.weeks = append(p.weeks, nil)
		}
		p.weeks[w] = append(p.weeks[w], i)
	}
	return people, base, weeks
}

// stays draws what a user does in the new log.
func (r resample) stays(p *person, weeks int) []stay {
	first, last := p.active()
	var out []stay
	if int64(last-first+1) < r.long {
		src := draw.New(r.seed, timesStream, p.key, 0)
		times := r.weeks / int64(weeks)
		if src.IntN(int64(weeks)) < r.weeks%int64(weeks) {
			times++
		}
		var all []int
		for _, w := range p.weeks {
			all = append(all, w...)
		}
		for k := range times {
			src := draw.New(r.seed, beginStream, p.key, uint64(k))
			s := stay{rows: all, shift: src.IntN(r.weeks) - int64(first)}
			if k > 0 {
				s.suffix = "~" + strconv.FormatInt(k+1, 10)
			}
			out = append(out, s)
		}
		return out
	}
	for v := range r.weeks {
		src := draw.New(r.seed, longStream, p.key, uint64(v))
		w := src.IntN(int64(weeks))
		if w < int64(len(p.weeks)) && len(p.weeks[w]) > 0 {
			out = append(out, stay{rows: p.weeks[w], shift: v - w})
		}
	}
	return out
}

// settle puts the jobs of a stay into the new log.
func (r resample) settle(rows []made, jobs []traces.Job, s stay, base model.Time) []made {
	instants, _ := timeFields()
	for _, i := range s.rows {
		m := made{Job: jobs[i], row: i, stay: s.number}
		w := int64(m.Submit.Sub(base) / week)
		to := ((w+s.shift)%r.weeks + r.weeks) % r.weeks
		move(instants, &m.Job, model.Duration(to-w)*week)
		if m.User != "" {
			m.User += s.suffix
		}
		for _, name := range []*string{&m.Group, &m.DAG} {
			if *name != "" {
				*name += "~" + strconv.Itoa(s.number)
			}
		}
		rows = append(rows, m)
	}
	return rows
}

// account counts which rows of the log are there, and how often.
func (r resample) account(rows []made, jobs []traces.Job, a *Account) {
	times := make([]int, len(jobs))
	for i := range rows {
		times[rows[i].row]++
	}
	dropped := int64(0)
	for _, d := range a.Dropped {
		dropped += d.Count
	}
	there := int64(0)
	for i, n := range times {
		switch {
		case n > 0:
			there++
		case int64(i) >= dropped: // rows of a warm start come first
			a.drop(ruleNotDrawn, jobs[i].ID)
		}
	}
	a.Kept, a.Added = int64(len(rows)), int64(len(rows))-there
}

// origin says which job of the log a row is, in which stay.
type origin struct {
	id   int64
	stay int
}

// renumbered gives the rows their ids, from 1 in order, and says which is which.
func renumbered(rows []made, jobs []traces.Job) map[origin]int64 {
	fresh := make(map[origin]int64, len(rows))
	for i := range rows {
		rows[i].ID = int64(i) + 1
		fresh[origin{jobs[rows[i].row].ID, rows[i].stay}] = rows[i].ID
	}
	return fresh
}

// follow sets after_job and think_time.
func (r resample) follow(rows []made, jobs []traces.Job, fresh map[origin]int64, a *Account) {
	type done struct {
		end model.Time
		id  int64
	}
	ends := map[int][]done{} // of each stay, ascending
	for i := range rows {
		m := &rows[i]
		id := m.ID
		if m.AfterJob.OK {
			n, ok := fresh[origin{m.AfterJob.V, m.stay}]
			if ok && n < m.ID {
				m.AfterJob.V = n
			} else {
				m.AfterJob, m.ThinkTime = traces.Opt[int64]{}, traces.Opt[model.Duration]{}
				a.change(ruleLost, id)
			}
		}
		if r.feedback == 0 {
			continue
		}
		over := ends[m.stay]
		k, _ := slices.BinarySearchFunc(over, m.Submit+1, func(d done, t model.Time) int { return cmp.Compare(d.end, t) })
		if k > 0 && !m.AfterJob.OK && m.Submit.Sub(over[k-1].end) <= r.feedback {
			m.AfterJob, m.ThinkTime = traces.Some(over[k-1].id), traces.Some(m.Submit.Sub(over[k-1].end))
			a.change(ruleFollows, id)
		}
		if !m.Start.OK || !m.Runtime.OK {
			a.change(ruleNoEnd, id)
			continue
		}
		d := done{m.Start.V.Add(m.Runtime.V), m.ID}
		at, _ := slices.BinarySearchFunc(over, d, func(x, y done) int { return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(x.id, y.id)) })
		ends[m.stay] = slices.Insert(over, at, d)
	}
}

// deps keeps the dependencies between jobs of one stay.
func (r resample) deps(in []traces.Dep, fresh map[origin]int64, rows []made, jobs []traces.Job) []traces.Dep {
	if len(in) == 0 {
		return nil
	}
	on := map[int64][]traces.Dep{}
	for _, d := range in {
		on[d.Job] = append(on[d.Job], d)
	}
	var out []traces.Dep
	for i := range rows {
		for _, d := range on[jobs[rows[i].row].ID] {
			if n, ok := fresh[origin{d.On, rows[i].stay}]; ok {
				out = append(out, traces.Dep{Job: rows[i].ID, On: n, Condition: d.Condition})
			}
		}
	}
	return out
}
