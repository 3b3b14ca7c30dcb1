package task

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/des"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

// measure reduces the jobs of a run to its result: the metrics and groups of the
// whole, and of its parts.
func (w *worker) measure(t *Task, id string, m *traces.Memory, res *sim.Result) (*Result, error) {
	c, measured := &w.jobs.Jobs, t.Window != nil
	out := &Result{
		Task: id, Figures: Figures{Fingerprint: res.Fingerprint, GroupsOf: metric.All}, Unheeded: res.UnheededWords(),
		Work: Work{Instants: res.Work.Instants, Passes: res.Work.Passes, Examined: res.Work.Examined},
	}
	table, err := metric.Compute(&w.jobs, res.Series)
	if err != nil {
		return nil, err
	}
	from, to, ok := res.Series.Steady()
	if ok {
		out.GroupsOf = metric.Steady
	} else {
		from, to = model.AbsentTime, model.Never
	}
	out.enter(&table)
	w.rows = w.rows[:0]
	for i := range c.Len() {
		if at := model.Time(c.Submit[i]); at >= from && at <= to {
			w.rows = append(w.rows, int32(i))
		}
	}
	parts := slices.Concat(t.Parts, t.Brief)
	if len(parts) > 0 { // so that those of a part stand together
		//detlint:total rows of one submission by their number
		slices.SortFunc(w.rows, func(a, b int32) int {
			return cmp.Or(cmp.Compare(c.Submit[a], c.Submit[b]), cmp.Compare(c.Job[a], c.Job[b]))
		})
	}
	if measured && len(w.rows) == 0 {
		return nil, &traces.DataError{
			File: m.Info().Name, Found: fmt.Sprintf("no job submitted from %s until %s that can be replayed", t.Window.Begin, t.Window.End),
			Expected: "jobs with a submission, a size and a runtime", Mend: "take another window",
		}
	}
	users, err := heavyUsers(m, c, w.rows)
	if err != nil {
		return nil, err
	}
	w.groups(&out.Figures, res.Site, users, w.rows, measured)
	if t.Cells {
		if out.Cells, err = w.cells(m, res.Site); err != nil {
			return nil, err
		}
	}
	if len(parts) == 0 {
		return out, nil
	}
	tables, err := metric.ComputeParts(&w.jobs, res.Series, parts)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		rows := w.within(parts[i])
		f := Figures{Fingerprint: fates(c, rows)}
		if i >= len(t.Parts) {
			tables[i].Groups = nil
			f.enter(&tables[i])
			out.Brief = append(out.Brief, f)
			continue
		}
		f.GroupsOf = metric.Steady
		f.enter(&tables[i])
		w.groups(&f, res.Site, users, rows, measured)
		out.Parts = append(out.Parts, f)
	}
	return out, nil
}

// within are the rows of w.rows, which ascend by submission, of a part.
func (w *worker) within(p metric.Span) []int32 {
	at := func(t model.Time) int {
		k, _ := slices.BinarySearchFunc(w.rows, t, func(row int32, t model.Time) int {
			return cmp.Compare(model.Time(w.jobs.Jobs.Submit[row]), t)
		})
		return k
	}
	return w.rows[at(p.From):at(p.To)]
}

// groups adds the groups of some rows to what was measured on them.
func (w *worker) groups(f *Figures, names *plan.SiteNames, users *heavy, rows []int32, measured bool) {
	c := &w.jobs.Jobs
	w.tally.reset(names, len(users.names))
	for _, i := range rows {
		w.tally.add(c, int(i), users.place(c.User[i]), measured)
	}
	w.tally.enter(f, names, users.names)
}

// fates is a hash of when each job started and left.
func fates(c *record.Columns, rows []int32) string {
	var print des.Fingerprint
	for _, i := range rows {
		print = print.Pair(uint64(c.Job[i]), uint64(c.Start[i])).Pair(uint64(c.End[i]), 0)
	}
	return print.String()
}

// heavy are the users whose jobs ask for most: of them alone results tell more.
type heavy struct {
	names []string
	at    []int32 // by user: place in names from 1, 0 for none
}

// mostUsers is how many of them there are.
const mostUsers = 20

// place of a user among the names, -1 for one that is not.
func (h *heavy) place(user int32) int32 {
	if user < 0 || int(user) >= len(h.at) {
		return -1
	}
	return h.at[user] - 1
}

// heavyUsers finds those that ask for most processor time: by what their jobs ask
// for and how long they run, which is next to the same under every policy.
func heavyUsers(m *traces.Memory, c *record.Columns, rows []int32) (*heavy, error) {
	src, err := m.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	names := src.Users()
	area := make([]int64, len(names)) // processor-seconds
	for _, i := range rows {
		if u := c.User[i]; u >= 0 && int(u) < len(area) {
			area[u] += int64(c.Procs[i]) * (c.Runtime[i] / int64(model.Second))
		}
	}
	var order []int32
	for u := range names {
		if area[u] > 0 {
			order = append(order, int32(u))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(area[b], area[a]), cmp.Compare(names[a], names[b])) })
	h := &heavy{at: make([]int32, len(names))}
	for k, u := range order[:min(len(order), mostUsers)] {
		h.names, h.at[u] = append(h.names, names[u]), int32(k)+1
	}
	return h, nil
}
