package metric

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// Compute reduces the jobs and the series of a finished run to the table of
// metrics. It reads the jobs three times (a few times more when spans exceed
// nine years or slowdowns 2^28) and holds about 10 MB, plus 80 bytes per user
// and window, however many jobs there are. The result depends neither on the
// order of the jobs nor on the numbering of users.
func Compute(jobs column.Scanner, s *Series) (Table, error) {
	all, steady := newReduction(All), newReduction(Steady)
	windows := []*reduction{all, steady}
	if s.cfg.Site != nil {
		all.site, steady.site = newSiteSums(s.cfg.Site), newSiteSums(s.cfg.Site)
	}
	all.open, all.from, all.to = true, math.MinInt64, math.MaxInt64
	if s.hasSteady() {
		steady.open, steady.from, steady.to = true, int64(s.warm), int64(s.cool)
	}
	if err := firstPass(jobs, windows); err != nil {
		return Table{}, err
	}
	all.close(s.allIntegrals(all.lastEnd))
	if steady.open {
		steady.close(s.steadyIntegrals())
	}
	s.share(all, steady)
	for more := narrow(windows); more; more = narrow(windows) {
		if err := nextPass(jobs, windows); err != nil {
			return Table{}, err
		}
	}
	t := Table{Schema: TableSchema, Verdict: Unknown}
	for _, r := range windows {
		r.units = s.cfg.Units
	}
	if q, ok := s.quarters(); ok && all.started > 0 {
		t.Verdict = judge(q, s.cfg.Units)
		steady.growth = new(big.Rat).Sub(q[3], q[0])
	}
	for _, r := range windows {
		t.Metrics = append(t.Metrics, r.metrics()...)
		t.Groups = append(t.Groups, r.groups()...)
	}
	t.Reasons = s.reasons.times(s.now)
	return t, nil
}

// reduction gathers one window.
type reduction struct {
	name     string
	open     bool  // false: the run has no such window
	from, to int64 // submissions that belong, both included

	submitted int64
	outcome   [1 << 8]int64 // by model.JobState
	started   int64
	waited    int64 // longer than 0
	finished  int64
	endedIn   int64 // finished with an end inside the window
	wait      moments
	squares   sum // of waits
	turn      moments
	slow      moments
	bounded   moments
	perProc   moments
	area      sum // procs·runtime of finished jobs
	areaWait  sum
	areaTurn  sum

	firstSubmit, lastEnd int64 // lastEnd over started jobs
	users                []perUser
	pick                 [quantities]*selection

	over    integrals
	length  int64 // of the window of the series, µs; 0 when it has none
	begin   int64
	units   int64
	growth  *big.Rat // of the queue in units; nil when not measured
	measure bool     // over and length are valid

	site *siteSums // nil when the run is of none
}

// moments are the total and the largest of some keys.
type moments struct {
	n     int64
	total sum
	max   uint64
}

func (m *moments) add(x uint64) {
	m.n++
	m.total.add(x)
	m.max = max(m.max, x)
}

// perUser gathers the jobs of a user.
type perUser struct{ wait, bounded moments }

func newReduction(name string) *reduction {
	r := &reduction{name: name, firstSubmit: column.Absent, lastEnd: column.Absent}
	for q, p := range percentiles {
		r.pick[q] = newSelection(p, digitBits, fewKeys)
	}
	return r
}

// firstPass gathers everything but the percentiles, and their first digit.
func firstPass(jobs column.Scanner, windows []*reduction) error {
	var o observation
	want := keyColumns | column.Job | column.User | column.Procs
	if windows[0].site != nil {
		want |= siteColumns
	}
	return column.ScanOnly(jobs, want, func(c *column.Jobs) error {
		if windows[0].site != nil && !c.OfSite {
			return errors.New("measuring a site: the jobs do not say what they held there; record them with record.NewSiteMemory, or with Meta.VClusters")
		}
		for i := range c.Submit {
			if c.Start[i] != column.Absent && (c.Start[i] < c.Submit[i] || c.End[i] < c.Start[i] || c.Runtime[i] < 0) {
				return fmt.Errorf("measuring job %d: submit %v, start %v, end %v, runtime %v are not in order",
					c.Job[i], model.Time(c.Submit[i]), model.Time(c.Start[i]), model.Time(c.End[i]), model.Duration(c.Runtime[i]))
			}
			o.observe(c, i)
			o.user, o.procs = c.User[i], uint64(c.Procs[i])
			if o.site = windows[0].site != nil; o.site {
				o.observeSite(c, i)
			}
			for _, r := range windows {
				if r.holds(o.submit) {
					r.add(&o)
				}
				if o.finished && o.end >= r.from && o.end <= r.to && r.open {
					r.endedIn++
				}
			}
		}
		return nil
	})
}

// nextPass gives the percentiles another look at the keys.
func nextPass(jobs column.Scanner, windows []*reduction) error {
	var o observation
	want := keyColumns
	if windows[0].site != nil {
		want |= groupColumns
	}
	return column.ScanOnly(jobs, want, func(c *column.Jobs) error {
		for i := range c.Submit {
			o.observe(c, i)
			if o.site = windows[0].site != nil; o.site {
				o.vcluster, o.tenant, o.class = c.VCluster[i], c.Tenant[i], c.Class[i]
			}
			for _, r := range windows {
				if r.holds(o.submit) {
					r.addKeys(&o)
				}
			}
		}
		return nil
	})
}

func (r *reduction) holds(submit int64) bool {
	return r.open && submit >= r.from && submit <= r.to
}

func (r *reduction) add(o *observation) {
	r.addKeys(o)
	if r.submitted == 0 || o.submit < r.firstSubmit {
		r.firstSubmit = o.submit
	}
	r.submitted++
	r.outcome[o.state]++
	if o.site {
		r.site.add(o)
	}
	if !o.started {
		return
	}
	r.started++
	r.lastEnd = max(r.lastEnd, o.end)
	w := o.key[qWait]
	r.wait.add(w)
	r.squares.addProduct(w, w)
	if w > 0 {
		r.waited++
	}
	u := r.user(o.user)
	if u != nil {
		u.wait.add(w)
	}
	if !o.finished {
		return
	}
	r.finished++
	turn := o.key[qTurnaround]
	r.turn.add(turn)
	r.area.addProduct(o.procs, o.runtime)
	r.areaWait.addProduct3(o.procs, o.runtime, w)
	r.areaTurn.addProduct3(o.procs, o.runtime, turn)
	r.bounded.add(o.key[qBounded])
	r.perProc.add(perProcessorSlowdown(turn, o.runtime, o.procs))
	if u != nil {
		u.bounded.add(o.key[qBounded])
	}
	if o.has[qSlowdown] {
		r.slow.add(o.key[qSlowdown])
	}
}

func (r *reduction) addKeys(o *observation) {
	for q, has := range o.has {
		if has {
			r.pick[q].add(o.key[q])
		}
	}
	if o.site && o.started {
		r.site.addWait(o)
	}
}

// user returns the sums of a user, nil for none.
func (r *reduction) user(u int32) *perUser {
	if u < 0 {
		return nil
	}
	for int(u) >= len(r.users) {
		r.users = append(r.users, perUser{})
	}
	return &r.users[u]
}

// narrow ends a pass in all windows and reports whether another is needed.
func narrow(windows []*reduction) bool {
	more := false
	for _, r := range windows {
		for q, n := range [quantities]int64{qWait: r.wait.n, qTurnaround: r.turn.n, qSlowdown: r.slow.n, qBounded: r.bounded.n} {
			if r.pick[q].narrow(n) {
				more = true
			}
		}
		if r.site.narrow() {
			more = true
		}
	}
	return more
}

// close hands the window of the series over.
func (r *reduction) close(over integrals, begin, end int64) {
	r.over, r.begin, r.length = over, begin, end-begin
	r.measure = r.length > 0
}
