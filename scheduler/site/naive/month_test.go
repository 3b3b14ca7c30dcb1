package naive_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/site"
	"orrery/scheduler/site/sitetest"
	"orrery/sim"
	"orrery/sim/commitlog"
	"orrery/sim/fork"
	"orrery/sim/plan"
	"orrery/sim/verify"
	"orrery/traces"
	synthsite "orrery/traces/synth/site"
)

// beside makes the plans of the core, and holds each against that of the naive
// implementation.
type beside struct {
	drive.Scheduler
	naive     *naiveSite
	end       context.CancelCauseFunc
	told      func(day model.Time, plans, proposals int) // when a day is over
	day       model.Time
	plans     int
	proposals int
}

func (b *beside) Observe(now model.Time, facts []model.Fact) {
	b.Scheduler.Observe(now, facts)
	for i := range facts { // constraints of the trace come with the first job that has them
		if f := &facts[i]; f.Constraint != nil {
			all := &b.naive.st.Constraints
			for len(*all) <= int(f.Alloc.Constraint) {
				*all = append(*all, model.Constraint{})
			}
			(*all)[f.Alloc.Constraint] = *f.Constraint
		}
	}
	b.naive.Observe(now, facts)
}

func (b *beside) Plan(now model.Time) *scheduler.Plan {
	p := b.Scheduler.Plan(now)
	got, want := planTexts(now, p), planTexts(now, b.naive.Plan(now))
	if day := now / model.Time(model.Day); day > b.day {
		b.told(day, b.plans, b.proposals)
		b.day = day
	}
	b.plans++
	b.proposals += len(p.Proposals)
	if !slices.Equal(got, want) {
		b.end(fmt.Errorf("pass %d: core proposes\n  %s\nnaive implementation proposes\n  %s", b.plans, strings.Join(got, "\n  "), strings.Join(want, "\n  ")))
	}
	return p
}

// monthOfServices is a month of 1,024 nodes with batch work and four services.
func monthOfServices(t *testing.T) (plan.Spec, func() (traces.Source, error)) {
	return monthOf(t, synthsite.Default(1024), 1, fourServices(t))
}

func fourServices(t *testing.T) string {
	services, err := os.ReadFile("testdata/month-services.yaml")
	require.NoError(t, err)
	return string(services)
}

// monthOf is a generated workload on the site of the month, with more in its cluster file.
func monthOf(t *testing.T, params synthsite.Params, seed uint64, more string) (plan.Spec, func() (traces.Source, error)) {
	w, err := synthsite.Generate(params, seed)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "month.trace")
	_, err = w.Write(path, func(int64) error { return nil })
	require.NoError(t, err)
	b, err := traces.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	batch, err := os.ReadFile("../../../profiles/library/clusters/month.yaml")
	require.NoError(t, err)
	c, err := profiles.ParseCluster("month.yaml", append(batch, more...))
	require.NoError(t, err)
	require.NoError(t, c.Inline("."))
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	return spec, func() (traces.Source, error) { return b.Jobs() }
}

// entries are those of a run until its clock passes end.
func entries(spec plan.Spec, open func() (traces.Source, error), end model.Time) iter.Seq2[*commitlog.Entry, error] {
	return func(yield func(*commitlog.Entry, error) bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		goesOn := true
		_, err := sim.Run(ctx, spec, open, sim.Options{Log: &commitlog.Recorder{Entry: func(e *commitlog.Entry) {
			own := e.Clone()
			if goesOn = goesOn && e.Now < end && yield(&own, nil); !goesOn {
				cancel()
			}
		}}})
		if err != nil && goesOn {
			yield(nil, err)
		}
	}
}

// TestMonthAtEveryTick: passes at every tick of the cycles decide what those do that the core makes, on weeks of small and
// crowded sites where a fact matters now to one vCluster and now to another, with power caps
// that are often reached and without, and with services that grow and shrink.
func TestMonthAtEveryTick(t *testing.T) {
	days, seeds, power := int32(12), uint64(2), []string{"none", "330kW"}
	switch {
	case os.Getenv("ORRERY_LONG") == "1":
		seeds, power = 16, append(power, "250kW", "400kW")
	case testing.Short():
		days, seeds = 3, 1
	}
	small := strings.NewReplacer("min: 4, max: 60", "min: 1, max: 8", "base: 40", "base: 5", "peak: 400", "peak: 60", "peak: 100", "peak: 40")
	services := small.Replace(fourServices(t))
	check := func(t *testing.T, seed uint64, load float64, watts, more string) {
		params := synthsite.Default(96)
		params.Days, params.Load = days, load
		spec, open := monthOf(t, params, seed, more)
		spec.Site = bytes.Replace(spec.Site, []byte(`"power_cap":"4MW"`), []byte(fmt.Sprintf("%q:%q", "power_cap", watts)), 1)
		run := func(every bool) *sim.Result {
			opt := sim.Options{}
			if every {
				opt.Core = func(c site.Config) fork.Scheduler { return sitetest.NewEveryTick(c) }
			}
			r, err := sim.Run(t.Context(), spec, open, opt)
			require.NoError(t, err)
			return r
		}
		skips, every := run(false), run(true)
		require.Equal(t, every.Fingerprint, skips.Fingerprint)
		require.Less(t, skips.Work.Passes, every.Work.Passes)
	}
	for seed := range seeds {
		for _, load := range []float64{0.7, 1.1} {
			for _, watts := range power {
				t.Run(fmt.Sprintf("seed %d, load %g, cap of %s", seed, load, watts), func(t *testing.T) {
					t.Parallel()
					check(t, seed, load, watts, "")
				})
				t.Run(fmt.Sprintf("seed %d, load %g, cap of %s, services", seed, load, watts), func(t *testing.T) {
					t.Parallel()
					check(t, seed, load, watts, services)
				})
			}
		}
	}
}

// TestMonthAgainstNaive holds both implementations together on the month of 1,024 nodes with
// batch work and services: every plan of the replay, in the quorum and on the nodes of the
// simulator. The first twelve hours take some seconds, and the time of the naive
// implementation grows with the square of the queue: ORRERY_LONG=1 is the first day, and
// NAIVE_HOURS as much as is asked for, of 720: all of it took 70 minutes of CPU.
func TestMonthAgainstNaive(t *testing.T) {
	hours := 12
	switch {
	case os.Getenv("ORRERY_LONG") == "1":
		hours = 24
	case testing.Short():
		hours = 3
	}
	if text := os.Getenv("NAIVE_HOURS"); text != "" {
		var err error
		hours, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	spec, open := monthOfServices(t)
	prep, err := plan.Prepare(spec)
	require.NoError(t, err)
	src, err := open()
	require.NoError(t, err)
	p, err := prep.Resolve(src)
	require.NoError(t, err)
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	core := &beside{Scheduler: site.New(p.Site.Core), end: end}
	core.told = func(day model.Time, plans, proposals int) {
		t.Logf("%d days: %d plans and %d proposals are the same", day, plans, proposals)
	}
	own := *p.Site.Core.Site
	own.Constraints = slices.Clone(own.Constraints)
	p.Site.Core.Site = &own
	core.naive = newNaiveSite(p.Site.Core)
	found, err := verify.FactsTo(ctx, core, &p, src.Info().Rows, entries(spec, open, model.Time(model.Duration(hours)*model.Hour)))
	require.NoError(t, context.Cause(ctx))
	require.NoError(t, err)
	require.Nil(t, found.Differs)
	require.Positive(t, core.proposals)
	t.Log(core.plans, "plans,", core.proposals, "proposals,", found.Facts, "facts")
}
