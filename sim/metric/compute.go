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
// metrics. It reads the jobs once where there are up to some 260,000, and else three
// times, of a site four (a few times more when spans exceed nine years or slowdowns 2^28). It holds
// at most about 40 MB, plus 160 bytes per user, however many jobs there are. The
// result depends neither on the order of the jobs nor on the numbering of users.
func Compute(jobs column.Scanner, s *Series) (Table, error) { return tabulate(jobs, s, keptKeys) }

// tabulate is Compute with a budget of so many keys.
func tabulate(jobs column.Scanner, s *Series, keep int) (Table, error) {
	s.catchUp()
	in := &keyBudget{left: keep}
	all, steady := newReduction(All, in), newReduction(Steady, in)
	windows := []*reduction{all, steady}
	if s.cfg.Site != nil {
		all.site, steady.site = newSiteSums(s.cfg.Site, in), newSiteSums(s.cfg.Site, in)
	}
	all.open, all.from, all.to = true, math.MinInt64, math.MaxInt64
	if s.hasSteady() {
		steady.open, steady.from, steady.to = true, int64(s.warm), int64(s.lastOfSteady())
	}
	whole := s.submissions()
	at, demand := newCells(whole), newDemands(whole)
	err := s.firstPass(jobs, func(o *observation) {
		demand.add(o, at.holding(model.Time(o.submit)))
		if steady.holds(o.submit) {
			steady.add(o)
		} else {
			all.add(o)
		}
		if o.ended && steady.holds(o.end) {
			steady.endedIn++
		}
	})
	if err != nil {
		return Table{}, err
	}
	demand.close()
	all.join(steady)
	all.site.closeCells()
	steady.site.closeCells()
	all.power, steady.power = s.cfg.Power, s.cfg.Power
	all.close(s.allIntegrals(all.lastEnd))
	if steady.open {
		steady.close(s.steadyIntegrals())
	}
	s.share(all, steady)
	for more := narrow(windows); more; more = narrow(windows) {
		if err := s.nextPass(jobs, windows); err != nil {
			return Table{}, err
		}
	}
	t := Table{Schema: TableSchema, Verdict: Unknown}
	for _, r := range windows {
		r.units = s.cfg.Units
	}
	if len(whole) > 0 && all.started > 0 {
		t.Verdict = s.verdict(&demand.list[0])
	}
	if q, ok := s.quarters(); ok && all.started > 0 {
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
	waiting   int64 // of started: counted with their wait so far
	waited    int64 // longer than 0
	finished  int64
	endedIn   int64 // ended by itself or at its walltime, inside the window
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
	growth  *big.Rat     // of the queue in units; nil when not measured
	measure bool         // over and length are valid
	power   *PowerConfig // nil when nothing is known of what the site draws

	site     *siteSums // nil when the run is of none
	services []Service // with their steps in the window; nil when the run has none
	elastic  []elasticity
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

func (m *moments) join(o *moments) {
	m.n += o.n
	m.total.join(o.total)
	m.max = max(m.max, o.max)
}

func newReduction(name string, in *keyBudget) *reduction {
	r := &reduction{name: name, firstSubmit: column.Absent, lastEnd: column.Absent}
	for q, p := range percentiles {
		r.pick[q] = newSelection(p, digitBits, in)
	}
	return r
}

// firstPass passes each job to gather, which adds it to the reductions that it
// belongs to: all but the percentiles, of which the keys are kept or their first
// digit is found.
func (s *Series) firstPass(jobs column.Scanner, gather func(*observation)) error {
	o := observation{unfinished: s.cfg.Measured != nil}
	want := keyColumns | column.Job | column.User | column.Procs
	if o.site = s.cfg.Site != nil; o.site {
		want |= siteColumns
	}
	return column.ScanOnly(jobs, want, func(c *column.Jobs) error {
		if o.site && !c.OfSite {
			return errors.New("measuring a site: the jobs do not say what they held there; record them with record.NewSiteMemory, or with Meta.VClusters")
		}
		for i := range c.Submit {
			if c.Start[i] != column.Absent && (c.Start[i] < c.Submit[i] || c.End[i] < c.Start[i] || c.Runtime[i] < 0) {
				return fmt.Errorf("measuring job %d: submit %v, start %v, end %v, runtime %v are not in order",
					c.Job[i], model.Time(c.Submit[i]), model.Time(c.Start[i]), model.Time(c.End[i]), model.Duration(c.Runtime[i]))
			}
			o.observe(c, i)
			o.user, o.procs = c.User[i], uint64(c.Procs[i])
			if o.site {
				o.observeSite(c, i)
			}
			gather(&o)
		}
		return nil
	})
}

// nextPass gives the percentiles another look at the keys.
func (s *Series) nextPass(jobs column.Scanner, windows []*reduction) error {
	o := observation{unfinished: s.cfg.Measured != nil}
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
					if o.site && o.started {
						r.site.addWait(&o)
					}
				}
			}
		}
		return nil
	})
}

// holds says whether an instant lies in the window.
func (r *reduction) holds(at int64) bool {
	return r.open && at >= r.from && at <= r.to
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
	if o.waiting {
		r.waiting++
	} else {
		r.lastEnd = max(r.lastEnd, o.end)
	}
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
	if o.slowed {
		r.slow.add(o.key[qSlowdown])
	}
}

func (r *reduction) addKeys(o *observation) {
	if !o.started {
		return
	}
	r.pick[qWait].add(o.key[qWait])
	if o.finished {
		r.pick[qTurnaround].add(o.key[qTurnaround])
		r.pick[qBounded].add(o.key[qBounded])
	}
	if o.slowed {
		r.pick[qSlowdown].add(o.key[qSlowdown])
	}
}

// join adds what o has gathered of other jobs in the first pass, to all of which r
// is then open.
func (r *reduction) join(o *reduction) {
	if o.submitted > 0 && (r.submitted == 0 || o.firstSubmit < r.firstSubmit) {
		r.firstSubmit = o.firstSubmit
	}
	for i, n := range o.outcome {
		r.outcome[i] += n
	}
	r.submitted += o.submitted
	r.started += o.started
	r.waiting += o.waiting
	r.waited += o.waited
	r.finished += o.finished
	r.endedIn = r.finished
	r.lastEnd = max(r.lastEnd, o.lastEnd)
	r.wait.join(&o.wait)
	r.turn.join(&o.turn)
	r.slow.join(&o.slow)
	r.bounded.join(&o.bounded)
	r.perProc.join(&o.perProc)
	r.squares.join(o.squares)
	r.area.join(o.area)
	r.areaWait.join(o.areaWait)
	r.areaTurn.join(o.areaTurn)
	for i := range o.users {
		u := r.user(int32(i))
		u.wait.join(&o.users[i].wait)
		u.bounded.join(&o.users[i].bounded)
	}
	for q := range r.pick {
		r.pick[q].join(o.pick[q])
	}
	if r.site != nil {
		r.site.join(o.site)
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
		for q, of := range [quantities]*moments{qWait: &r.wait, qTurnaround: &r.turn, qSlowdown: &r.slow, qBounded: &r.bounded} {
			if r.pick[q].narrow(of) {
				more = true
			}
		}
		if r.site.narrow() {
			more = true
		}
	}
	return more
}

// close returns the window of the series.
func (r *reduction) close(over integrals, begin, end int64) {
	r.over, r.begin, r.length = over, begin, int64(model.Time(end).Sub(model.Time(begin)))
	r.measure = r.length > 0
}
