package metric

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// Config says what the cluster is and which part of a run counts as steady.
//
// The steady window begins at the warm-up boundary: the submission of the job
// with rank WarmupJobs in order of submission (from 0), or the instant Warmup
// after the first submission. It ends Cooldown before the last submission. A
// run that is shorter than its warm-up has no steady window. Of a run that
// measures a part of its trace the steady window is that part.
type Config struct {
	Units      int64          // of the cluster, at least 1
	WarmupJobs int64          // at most one of WarmupJobs and Warmup is set
	Warmup     model.Duration // at least 0
	Cooldown   model.Duration // at least 0
	LastSubmit model.Time     // the last submission of the trace; read only when Cooldown > 0
	Site       *SiteConfig    // nil when the run is of none
	Power      *PowerConfig   // nil when nothing is known of what the site draws

	// Measured is the part of the trace that the run is about; nil for the whole
	// trace. With it the warm-up and the cool-down are 0, and jobs that have not
	// left when the run stops count with their wait so far.
	Measured *Span
	// Marks are the bounds of the parts that ComputeParts will be asked for,
	// ascending.
	Marks []model.Time
}

// Span is a part of a run: jobs submitted in [From, To), and the state of the
// system from From to To.
type Span struct {
	From model.Time `json:"from_us"`
	To   model.Time `json:"to_us"`
}

func (c Config) validate() error {
	switch {
	case c.Units < 1 || c.Units > math.MaxInt32:
		return fmt.Errorf("metric: cluster of %d units; it must have at least 1 and at most %d", c.Units, math.MaxInt32)
	case c.WarmupJobs < 0 || c.Warmup < 0 || c.Cooldown < 0:
		return errors.New("metric: warm-up and cool-down must not be negative")
	case c.WarmupJobs > 0 && c.Warmup > 0:
		return errors.New("metric: warm-up is given both as jobs and as a duration; give one")
	case c.Measured != nil && c.Measured.To <= c.Measured.From:
		return fmt.Errorf("metric: the measured part from %s to %s is empty", c.Measured.From, c.Measured.To)
	case c.Measured != nil && (c.WarmupJobs > 0 || c.Warmup > 0 || c.Cooldown > 0):
		return errors.New("metric: a measured part has neither warm-up nor cool-down")
	case !slices.IsSorted(c.Marks):
		return errors.New("metric: the marks do not ascend")
	}
	return nil
}

// State is the system between two instants.
type State struct {
	BusyUnits      int64
	QueuedUnits    int64 // asked for by the jobs that wait
	QueuedJobs     int32
	RunningJobs    int32
	MinQueuedUnits int32 // smallest request that waits, 0 when no job does
	Power          Power // of the nodes; not read without Config.Power
}

// Series accumulates the state of the system over time: sums for the windows
// all and steady, and at most maxBins time bins for figures. No call
// allocates; a call costs constant time, plus the bins it passes over.
//
// The calls must come in order of time. Within an instant the counts may come
// before or after Observe.
type Series struct {
	cfg   Config
	begun bool
	now   model.Time // integrated up to here, AbsentTime before the first call
	seen  model.Time // the last call, up to which nothing has changed since now
	cur   State      // since now
	total integrals  // since the first call

	first      model.Time // submission; AbsentTime before any
	lastSubmit model.Time
	lastEnd    model.Time // end of a running job; AbsentTime before any
	submits    int64
	atFirst    integrals // at the first submission
	atLastEnd  integrals
	warm       model.Time // the warm-up boundary, AbsentTime until known
	cool       model.Time // the end of the steady window, as far as known
	atWarm     integrals
	atCool     integrals
	windowMax  int32 // longest queue since the warm-up boundary
	warmed     bool  // now has reached warm
	cooled     bool  // now has reached a cool that is known in advance
	// bound is the next instant at which sums are to be remembered, model.Never
	// for none: that of warm, of a cool that is known, or a mark.
	bound   model.Time
	marks   []mark // passed so far
	markMax int32  // longest queue since the last of them

	bins bins

	held    holdings
	reasons *reasons       // nil when no reasons are known
	tariff  hwmodel.Tariff // since now

	services []Service // scaled ones of the run
}

// integrals are sums over time of the state, with the longest queue seen.
type integrals struct {
	busy, queuedJobs, lost sum // unit·µs, job·µs, unit·µs
	queuedMax              int32
	drawn                  drawn // zero without Config.Power
}

// NewSeries returns an empty accumulator.
func NewSeries(cfg Config) (*Series, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Series{cfg: cfg, now: model.AbsentTime, first: model.AbsentTime, lastEnd: model.AbsentTime, warm: model.AbsentTime, cool: model.AbsentTime}
	switch {
	case cfg.Measured != nil:
		s.warm, s.cool = cfg.Measured.From, cfg.Measured.To
	case cfg.Cooldown > 0:
		s.cool = cfg.LastSubmit.Add(-cfg.Cooldown)
	}
	s.marks = make([]mark, 0, len(cfg.Marks))
	s.rebound()
	s.bins.width = model.Second
	if cfg.Site != nil {
		s.openSite(cfg.Site)
	}
	return s, nil
}

// Begin may be the first call. It says that there will be one at last, at or after
// now, so that time is cut into bins that are wide enough from the beginning on:
// those that result are the same.
func (s *Series) Begin(now, last model.Time) {
	s.advance(now)
	s.bins.reach(last)
}

// Reach says that nothing has changed up to now, which may be over already.
func (s *Series) Reach(now model.Time) {
	if !s.begun || now > s.seen {
		s.advance(now)
	}
}

// Observe says that the state is st from now on, until the next call. It is
// called at the end of each instant at which something changed.
func (s *Series) Observe(now model.Time, st State) {
	if st == s.cur && s.begun && now >= s.seen {
		s.seen = now
		return
	}
	s.advance(now)
	s.cur = st
}

// CountSubmit counts n submissions at now, refused ones included.
func (s *Series) CountSubmit(now model.Time, n int32) {
	if n <= 0 {
		return
	}
	s.advance(now)
	if s.first == model.AbsentTime {
		s.first, s.atFirst = now, s.total
		s.held.mark(atFirst)
		if s.warm == model.AbsentTime && s.cfg.WarmupJobs == 0 {
			s.warm = now.Add(s.cfg.Warmup)
			s.rebound()
		}
	}
	s.lastSubmit = now
	s.submits += int64(n)
	if s.warm == model.AbsentTime && s.submits > s.cfg.WarmupJobs {
		s.warm = now
		s.rebound()
	}
	s.reachWarm()
	if !s.coolKnown() {
		s.cool = now
		s.reachCool()
	}
	s.bins.at(now).Submits += n
}

// CountStart counts n starts at now.
func (s *Series) CountStart(now model.Time, n int32) {
	if n <= 0 {
		return
	}
	s.advance(now)
	s.bins.at(now).Starts += n
}

// CountEnd counts n ends of running jobs at now; jobs that leave without
// having run are not counted.
func (s *Series) CountEnd(now model.Time, n int32) {
	if n <= 0 {
		return
	}
	s.advance(now)
	s.lastEnd, s.atLastEnd = now, s.total
	s.held.mark(atLastEnd)
	s.bins.at(now).Ends += n
}

// Bins returns a copy of the time bins so far. All have the same width; the
// last one is covered only up to the last call.
func (s *Series) Bins() []column.Bin {
	s.catchUp()
	return s.bins.copy()
}

// catchUp integrates up to the last call, and is to come before anything is read.
func (s *Series) catchUp() {
	if s.begun {
		s.advance(s.seen)
	}
}

// advance integrates the current state up to now.
func (s *Series) advance(now model.Time) {
	if now != s.now {
		s.move(now)
	}
}

// coolKnown says that the end of the steady window does not move with the
// submissions.
func (s *Series) coolKnown() bool { return s.cfg.Cooldown > 0 || s.cfg.Measured != nil }

// move is advance to another instant. It stops at each bound to remember the sums
// there. Inlined into advance it would keep that, which mostly finds nothing to do,
// from being inlined.
//
//go:noinline
func (s *Series) move(now model.Time) {
	if !s.begun {
		s.begun, s.now, s.seen, s.bins.origin = true, now, now, now
	}
	if now < s.seen {
		panic(fmt.Sprintf("metric: series goes back from %v to %v", s.seen, now))
	}
	s.seen = now
	if now == s.now {
		return
	}
	for s.bound <= now && s.bound != model.Never {
		s.integrate(s.bound)
		s.pass(s.bound)
	}
	s.integrate(now)
}

// rebound finds the next bound that was not passed yet.
func (s *Series) rebound() {
	s.bound = model.Never
	if !s.warmed && s.warm != model.AbsentTime {
		s.bound = s.warm
	}
	if s.coolKnown() && !s.cooled {
		s.bound = min(s.bound, s.cool)
	}
	if k := len(s.marks); k < len(s.cfg.Marks) {
		s.bound = min(s.bound, s.cfg.Marks[k])
	}
}

// pass remembers the sums at a bound, up to which they were integrated.
func (s *Series) pass(bound model.Time) {
	if s.warm == bound {
		s.reachWarm()
	}
	if s.coolKnown() && !s.cooled && s.cool == bound {
		s.cooled = true
		s.reachCool()
	}
	s.passMarks(bound)
	s.rebound()
}

// passMarks remembers the sums at all marks up to a bound.
func (s *Series) passMarks(bound model.Time) {
	for k := len(s.marks); k < len(s.cfg.Marks) && s.cfg.Marks[k] <= bound; k++ {
		s.marks = append(s.marks, mark{s.cfg.Marks[k], s.total, s.markMax, s.held.totals()})
		s.markMax = 0
	}
}

// mark is what had been summed up at an instant.
type mark struct {
	at    model.Time
	total integrals
	max   int32     // longest queue since the mark before
	held  []amounts // by vCluster, then tenant
}

// reachWarm remembers the sums at the warm-up boundary when now is there.
func (s *Series) reachWarm() {
	if s.warmed || s.warm == model.AbsentTime || s.warm > s.now {
		return
	}
	s.warmed, s.atWarm = true, s.total
	s.held.mark(atWarm)
	s.rebound()
}

// reachCool remembers the sums at the end of the steady window.
func (s *Series) reachCool() {
	s.atCool = s.total
	s.atCool.queuedMax = s.windowMax
	s.held.mark(atCool)
}

// integrate adds the current state over [s.now, to).
func (s *Series) integrate(to model.Time) {
	if to <= s.now {
		return
	}
	d, st := uint64(to-s.now), &s.cur
	t := &s.total
	t.busy.addProduct(uint64(st.BusyUnits), d)
	t.queuedJobs.addProduct(uint64(st.QueuedJobs), d)
	if idle := s.cfg.Units - st.BusyUnits; st.MinQueuedUnits > 0 && int64(st.MinQueuedUnits) <= idle {
		t.lost.addProduct(uint64(idle), d)
	}
	t.queuedMax = max(t.queuedMax, st.QueuedJobs)
	s.markMax = max(s.markMax, st.QueuedJobs)
	if s.warmed {
		s.windowMax = max(s.windowMax, st.QueuedJobs)
	}
	if s.cfg.Power != nil {
		t.drawn.add(&st.Power, s.cfg.Power, &s.tariff, d)
	}
	s.held.elapsed = model.Plus(s.held.elapsed, int64(min(d, math.MaxInt64)))
	s.bins.integrate(s.now, to, st)
	s.now = to
}
