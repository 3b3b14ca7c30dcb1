package sim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site"
	"orrery/sim/commitlog"
	"orrery/sim/fork"
	"orrery/sim/plan"
	"orrery/tools/refdata"
	"orrery/traces"
)

// relayed replays under spec as Run does, after amend has changed the plan, and keeps the log.
func relayed(t testing.TB, open func() (traces.Source, error), spec plan.Spec, amend func(p *plan.Resolved)) (*Result, *log) {
	t.Helper()
	src, err := open()
	require.NoError(t, err)
	defer src.Close()
	prep, err := plan.Prepare(spec)
	require.NoError(t, err)
	p, err := prep.Resolve(src)
	require.NoError(t, err)
	if p.Site != nil {
		p.Site.World.Rows.Dependencies, err = plan.Dependencies(t.Context(), src, open)
		require.NoError(t, err)
	}
	amend(&p)
	var l log
	r, err := newRun(p, src, 0, Options{Log: l.recorder()})
	require.NoError(t, err)
	require.NoError(t, r.replay(t.Context()))
	res, err := r.finish()
	require.NoError(t, err)
	return res, &l
}

// again lets a core take over at an instant that is made like the first one.
func again(at model.Time) func(p *plan.Resolved) {
	return func(p *plan.Resolved) {
		h := plan.Takeover{At: at, Core: p.Core}
		if p.Site != nil {
			c := p.Site.Core
			h.Site = &c
		}
		p.Takeovers = append(p.Takeovers, h)
	}
}

// before is the entries of a log before an instant.
func (l *log) before(at model.Time) []commitlog.Entry {
	for i := range l.entries {
		if l.entries[i].Now >= at {
			return l.entries[:i]
		}
	}
	return l.entries
}

// starts are the instants at which jobs got nodes.
func (l *log) starts() (out []string) {
	for i := range l.entries {
		if e := &l.entries[i]; e.What == commitlog.Fact && e.Fact.Kind == model.FactAssigned {
			out = append(out, fmt.Sprint(e.Now, e.Fact.Job, e.Fact.Seq, e.Fact.Placement))
		}
	}
	return out
}

// requirePrefix holds that two logs are equal before an instant.
func requirePrefix(t testing.TB, at model.Time, a, b *log) {
	t.Helper()
	x, y := a.before(at), b.before(at)
	require.Equal(t, len(x), len(y), "entries before %s", at)
	for i := range x {
		require.True(t, commitlog.Same(&x[i], &y[i]), "entry %d before %s", i, at)
	}
}

// TestAnEqualCoreTakesOver: a core that has followed goes on as the one before it would have, job for
// job and node for node, where that keeps nothing but what is committed and in flight.
func TestAnEqualCoreTakesOver(t *testing.T) {
	for _, log := range oracleLogs[:2] {
		m := normalised(t, refdata.Path(t, "oracle/swf-norm/"+log.name+".swf.gz"), log.procs).first(600)
		for _, spec := range []plan.Spec{
			{Order: "fcfs"}, {Order: "sjf", Backfill: "none"}, {Order: "wfp3"}, {Order: "saf", Backfill: "first-fit"},
			{Order: "fcfs", QuorumLatency: 20 * model.Second, QuorumJitter: 40 * model.Second, Seed: 3}, {Order: "sqf", Cycle: 30 * model.Second},
		} {
			spec.Semantics = plan.Semantics
			t.Run(log.name+"/"+spec.Order+spec.Backfill, func(t *testing.T) {
				t.Parallel()
				_, want := relayed(t, m.open, spec, func(*plan.Resolved) {})
				n := len(want.entries)
				for _, i := range []int{0, n / 5, n / 2, 4 * n / 5} {
					at := want.entries[i].Now
					_, got := relayed(t, m.open, spec, again(at))
					requirePrefix(t, at, want, got)
					require.Equal(t, want.starts(), got.starts(), "taken over at %s", at)
				}
			})
		}
	}
}

// deaf is a core that does not follow: it is told what was granted to another, and not what that proposed.
type deaf struct{ *site.Core }

// Follow implements fork.Scheduler.
func (deaf) Follow(model.Time, []model.Proposal) {}

// TestACoreThatHasNotFollowedIsCaught: what it is told contradicts what it knows.
func TestACoreThatHasNotFollowedIsCaught(t *testing.T) {
	w := drawSite(longBytes(3))
	m, spec := w.memory(), w.spec(t)
	_, want := relayed(t, m.open, spec, func(*plan.Resolved) {})
	at := want.entries[len(want.entries)/2].Now
	takenOver := func(one func(site.Config) fork.Scheduler) {
		src, err := m.open()
		require.NoError(t, err)
		prep, err := plan.Prepare(spec)
		require.NoError(t, err)
		p, err := prep.Resolve(src)
		require.NoError(t, err)
		again(at)(&p)
		r, err := newRun(p, src, 0, Options{})
		require.NoError(t, err)
		core := fork.New(&p, one)
		r.core, r.loop.Core, r.later = core, core, core.(*fork.Core)
		require.NoError(t, r.replay(t.Context()))
	}
	require.NotPanics(t, func() { takenOver(nil) })
	require.Panics(t, func() { takenOver(func(c site.Config) fork.Scheduler { return deaf{site.New(c)} }) })
}

// TestRandomSitesAreTakenOver lets an equal core take random sites over: nothing before the instant
// differs, no core fails on what it is told, and without preemption, services and plans the rest is the same.
func TestRandomSitesAreTakenOver(t *testing.T) {
	t.Parallel()
	worlds, same, compared := uint64(400), 0, 0
	if testing.Short() {
		worlds = 60
	}
	for seed := range worlds {
		w := drawSite(longBytes(seed))
		m, spec := w.memory(), w.spec(t)
		_, want := relayed(t, m.open, spec, func(*plan.Resolved) {})
		at := want.entries[len(want.entries)*int(1+seed%3)/4].Now
		simple := true
		_, got := relayed(t, m.open, spec, func(p *plan.Resolved) {
			again(at)(p)
			for _, x := range p.Site.Core.Policies {
				simple = simple && !x.Preempts && x.Backfill != order.Conservative && x.MinScore == 0 && x.Cycle == 0
			}
			simple = simple && len(p.Site.Core.Policies) == 1
		})
		requirePrefix(t, at, want, got)
		for i := range w.jobs {
			simple = simple && w.jobs[i].Kind != "reactive"
		}
		equal := fmt.Sprint(want.starts()) == fmt.Sprint(got.starts())
		if equal {
			same++
		}
		if simple {
			compared++
			require.True(t, equal, "world %d, taken over at %s\n%s", seed, at, w)
		}
	}
	t.Logf("%d of %d worlds go on exactly as before, all %d of the simple ones", same, worlds, compared)
	require.Positive(t, compared)
	require.Greater(t, same, int(worlds)/2)
}

// TestServicesAreTakenOver: in drawn worlds with services, whose sizes are in flight and whose demands cannot
// always be met, an equal core takes over, and so does one of another profile; what they decide is fed to fresh cores.
func TestServicesAreTakenOver(tt *testing.T) {
	resizes := 0
	rapid.Check(tt, func(t *rapid.T) {
		site, jobs := drawnWorld(t)
		m := &memory{size: 2, info: traces.Info{Name: "hosted", Hash: "hosted", Sorted: true}}
		m.all.Attr = &traces.Attributes{}
		for _, j := range append(jobs, submittedJob{at(jobs), 1, 1, 0, 0, traces.Job{VCluster: "batch"}}) {
			m.add(row{submit: j.submit, runtime: j.runtime, walltime: j.runtime, procs: j.nodes, nodes: j.nodes})
			job := j.job
			m.all.Attr.AppendJob(&job)
		}
		spec := siteOf(tt, site)
		spec.Seed, spec.AllowUnheeded = 7, true
		_, want := relayed(tt, m.open, spec, func(*plan.Resolved) {})
		when := want.entries[len(want.entries)*rapid.IntRange(1, 3).Draw(t, "part")/4].Now
		_, got := relayed(tt, m.open, spec, again(when))
		requirePrefix(tt, when, want, got)
		spec.Scenario = asked(tt, fmt.Sprintf("events: [{time: %dus, kind: profile, subject: serving, profile: {order: sjf, backfill: none}}]", when))
		res, other := logged(tt, m, spec)
		requirePrefix(tt, when, want, other)
		other.same(tt, res.Spec, m.open, res.Fingerprint)
		for i := range got.entries {
			if got.entries[i].What == commitlog.Fact && got.entries[i].Fact.Kind == model.FactResized {
				resizes++
			}
		}
	})
	require.Positive(tt, resizes)
}
