package naive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site"
)

// why says why j waits: the first test that it fails, in the order of docs/FLOW-PASS.md, on what is committed and in flight now.
// line is the queue of its vCluster.
func (s *naiveSite) why(j *naiveJob, line []*naiveJob) scheduler.Answer {
	out := scheduler.Answer{Behind: -1}
	switch j.phase {
	case naiveDependent:
		out.Reason = model.ReasonDependency
		for _, d := range j.Deps {
			if _, over := s.ended[d.On]; d.Condition != model.Mutex && !over && (out.Behind < 0 || d.On < out.Behind) {
				out.Behind = d.On
			}
		}
	case naiveEarly:
		switch {
		case j.Hold:
			out.Reason = model.ReasonHeld
		case j.Eligible > s.now: // else the next plan lets it into the queue
			out.Reason = model.ReasonNotEligible
		}
	case naiveNever:
		out.Reason = j.why
	case naiveWaiting:
		out.Reason, out.Behind = s.whyQueued(s.vclusterOf(j), j, line)
	}
	return out
}

// whyQueued is why for a job in the queue of l, and which job is in the way, -1 for none.
func (s *naiveSite) whyQueued(l *naiveVCluster, j *naiveJob, line []*naiveJob) (model.Reason, model.JobID) {
	if r := s.whyHeld(l, j); r != model.ReasonNone {
		return r, -1
	}
	view := s.view(l, nil)
	c := s.room(j, view)
	if c == nil {
		r := s.whyNoRoom(j, view)
		if r == model.ReasonReserved {
			return r, s.keeper(j, view)
		}
		return r, -1
	}
	for _, x := range s.limitsOf(j, int(j.NodesMin), c) {
		if !x.ok {
			return x.why, -1
		}
	}
	if l.policy.Backfill == order.Conservative && (!l.tooEarly(s.now) || l.planned == s.now) {
		return s.whyUnplanned(l, j, line)
	}
	for _, first := range line {
		if s.heldBack(l, first) || s.room(first, view) != nil {
			continue
		}
		if slices.Index(line, first) > slices.Index(line, j) {
			break
		}
		if l.policy.Backfill == order.Conservative || !s.mayOvertake(l, j, c, first, s.shadow(l, first)) {
			return model.ReasonPriority, first.Job
		}
		break
	}
	return model.ReasonNone, -1
}

// whyUnplanned is PRIORITY, and the first job that no limit holds, where a pass that plans would not start j.
func (s *naiveSite) whyUnplanned(l *naiveVCluster, j *naiveJob, line []*naiveJob) (model.Reason, model.JobID) {
	old := l.plans
	defer func() { l.plans = old }()
	s.keepPlans(l)
	tests, users, first := 0, map[int32]int{}, model.JobID(-1)
	for _, o := range line {
		if s.heldBack(l, o) {
			continue
		}
		if first < 0 && o != j {
			first = o.Job
		}
		untested := s.untested(l, o, tests, users)
		if !untested {
			tests++
		}
		if o != j {
			continue
		}
		if !untested && s.startsInPlan(l, j) != nil {
			return model.ReasonNone, -1
		}
		break
	}
	return model.ReasonPriority, first
}

// whyHeld is the limit that holds j, whatever is free.
func (s *naiveSite) whyHeld(l *naiveVCluster, j *naiveJob) model.Reason {
	switch {
	case l.policy.Ranking == site.ByScore && model.Fixed(j.score) < l.policy.MinScore:
		return model.ReasonMinScore
	case s.outsideNamed(j, s.now, s.now.Add(j.left)):
		return model.ReasonReserved
	}
	first := func(limits []naiveLimit) model.Reason {
		for _, x := range limits {
			if !x.ok {
				return x.why
			}
		}
		return model.ReasonNone
	}
	if r := first(s.limitsOf(j, int(j.NodesMin), nil)); r != model.ReasonNone {
		return r
	}
	if s.shutOut(l, j) {
		limit := s.limits[s.row(j.Tenant)].MaxNodes
		used, _ := s.distinct(j, func(o *naiveJob) bool { return s.row(o.Tenant) == s.row(j.Tenant) })
		if limit > 0 && used+int(j.NodesMin) > int(limit) {
			return model.ReasonQuotaNodes
		}
		return model.ReasonQOSLimit
	}
	return first(s.boundsOf(j, int(j.NodesMin)))
}

// whyNoRoom is what is short for j.
func (s *naiveSite) whyNoRoom(j *naiveJob, view *naiveView) model.Reason {
	j.on = s.confined(j)
	c := s.choose(view, j, int(j.NodesMin), s.now)
	j.on = nil
	none := func(*naiveJob) bool { return false }
	if c != nil {
		needs := s.needsOn(j, c)
		needs.band = 0
		if !s.withinCaps(needs, none) {
			return model.ReasonPower
		}
		return model.ReasonBandwidth
	}
	idle := s.idleOf(view, s.may(j))
	switch {
	case j.Divides() && s.chooseParts(view, j, s.may(j), int(j.NodesMin)) != nil, !j.Divides() && s.chooseWhole(j, idle, int(j.NodesMin)) != nil:
		return model.ReasonReserved
	case !j.Divides() && len(idle) >= int(j.NodesMin):
		return model.ReasonConformance
	}
	return model.ReasonResources
}

// keeper is the first job that idle nodes are kept for, or promised to, which j could use; -1 for none.
func (s *naiveSite) keeper(j *naiveJob, view *naiveView) model.JobID {
	useful := func(nodes []int) bool {
		return slices.ContainsFunc(nodes, func(n int) bool { return s.idle(view, n) && slices.Contains(s.may(j), n) })
	}
	for _, o := range s.claimants {
		if o != j && useful(o.usage.nodes) {
			return o.Job
		}
	}
	own := s.promiseOf(j)
	for i, p := range s.promises {
		begin := max(p.at, s.now)
		if p.job.VCluster == j.VCluster || own >= 0 && own < i || begin >= s.now.Add(j.left) || begin.Add(p.job.left) <= s.now {
			continue
		}
		if useful(s.only(p.nodes, func(n int) bool { return s.st.Nodes[n].Home != j.VCluster })) {
			return p.job.Job
		}
	}
	return -1
}

// naiveAnswer is that for a job.
type naiveAnswer struct {
	ref model.Ref
	scheduler.Answer
}

// answers are those for all jobs that wait.
func (s *naiveSite) answers() (out []naiveAnswer) {
	var grown []*naiveJob // what grows in flight stays, whichever pass has begun it
	for _, o := range s.jobs {
		if o.behind {
			grown, o.behind = append(grown, o), false
		}
	}
	var lines [][]*naiveJob
	for _, l := range s.vclusters {
		lines = append(lines, slices.DeleteFunc(s.queue(l), func(o *naiveJob) bool { return o.phase != naiveWaiting }))
	}
	for _, j := range s.jobs {
		switch j.phase {
		case naiveDependent, naiveEarly, naiveNever, naiveWaiting:
			out = append(out, naiveAnswer{j.ref, s.why(j, lines[j.VCluster])})
		}
	}
	for _, o := range grown {
		o.behind = true
	}
	return out
}

// answers are those for all jobs that wait, in the as-coded mode: there no job waits for one before it.
func (s *naiveCoded) answers() (out []naiveAnswer) {
	for _, j := range s.pending() {
		out = append(out, naiveAnswer{j.ref, scheduler.Answer{Reason: s.why(j), Behind: -1}})
	}
	return out
}

func (s *naiveCoded) why(j *codedJob) model.Reason {
	if r := s.limitOf(j, int(j.NodesMin)); r != model.ReasonNone {
		return r
	}
	may := s.may(j)
	most := max(min(len(may), int(j.NodesMax)), int(j.NodesMin))
	if most > len(may) {
		return model.ReasonResources
	}
	if s.choose(j, may, most) == nil {
		return model.ReasonConformance
	}
	broken := model.ReasonNone // at the least size for which there are nodes
	for size := most; size >= int(j.NodesMin); size-- {
		nodes := s.choose(j, may, size)
		if nodes == nil {
			continue
		}
		switch r := s.limitOf(j, size); {
		case s.capped(j, nodes) && r == model.ReasonNone:
			return r
		case s.capped(j, nodes):
			broken = r
		default:
			broken = model.ReasonBandwidth
			band := s.band
			if s.band = 0; !s.capped(j, nodes) {
				broken = model.ReasonPower
			}
			s.band = band
		}
	}
	return broken
}

// limitOf is the first hard limit that leaves no room for j on n nodes.
func (s *naiveCoded) limitOf(j *codedJob, n int) model.Reason {
	if s.within(j, n) {
		return model.ReasonNone
	}
	if j.Tenant < 0 {
		return model.ReasonSensitivePool
	}
	limits := s.limits[j.Tenant]
	defer func() { s.limits[j.Tenant] = limits }()
	for _, x := range []struct {
		only model.Limits
		why  model.Reason
	}{{model.Limits{MaxNodes: limits.MaxNodes}, model.ReasonQuotaNodes}, {model.Limits{MaxConcurrent: limits.MaxConcurrent}, model.ReasonQuotaConcurrent}} {
		pool := s.pool
		s.limits[j.Tenant], s.pool = x.only, 0
		ok := s.within(j, n)
		if s.pool = pool; !ok {
			return x.why
		}
	}
	return model.ReasonSensitivePool
}

// inquirer drives a core that is asked about all jobs at each step, one that is not, and the naive implementation. It compares
// the answers, and what the two cores plan.
type inquirer struct {
	drive.Scheduler // the naive implementation
	answers         func() []naiveAnswer
	asked, silent   *site.Core
	pair            *both
	now             model.Time
	met             map[model.Reason]int
	notes           int
}

func (q *inquirer) Observe(now model.Time, facts []model.Fact) {
	q.Scheduler.Observe(now, facts)
	q.asked.Observe(now, facts)
	q.silent.Observe(now, facts)
	q.now = now
}

func (q *inquirer) Plan(now model.Time) *scheduler.Plan {
	if now == q.now {
		q.compare(now, "observed") // what was observed since the last plan
	}
	q.now = now
	want, got := wholeText(now, q.silent.Plan(now)), ""
	plan := q.asked.Plan(now)
	if got = wholeText(now, plan); got != want && q.pair.diff == "" {
		q.pair.diff = fmt.Sprintf("asked it plans\n%s\nnot asked\n%s", got, want)
	}
	reference := q.Scheduler.Plan(now)
	q.compare(now, "planned")
	out := *plan
	out.Due, out.Again, out.More = min(out.Due, reference.Due), out.Again || reference.Again, out.More || reference.More
	return &out
}

// wholeText is all of a plan, as text.
func wholeText(now model.Time, p *scheduler.Plan) string {
	return strings.Join(planTexts(now, p), "\n") + fmt.Sprintf("\nmore %t again %t due %s quiet until %s passed %v", p.More, p.Again, p.Due, p.QuietUntil, p.Passed)
}

// compare compares the answers for all jobs that wait.
func (q *inquirer) compare(now model.Time, after string) {
	if q.pair.diff != "" {
		return
	}
	want := q.answers()
	var refs []model.Ref
	for _, x := range want {
		refs = append(refs, x.ref)
	}
	for i, got := range q.asked.Answers(refs, now, true, nil) {
		got.NoVictims = scheduler.VictimsFound
		q.met[got.Reason]++
		if got != want[i].Answer {
			q.pair.diff = fmt.Sprintf("%s, %s: job %d waits for %s behind %d, the naive implementation says %s behind %d",
				now, after, refs[i], got.Reason, got.Behind, want[i].Reason, want[i].Behind)
			return
		}
	}
	if len(refs) > 0 { // of one job each time, for that takes longer
		at := q.notes % len(refs)
		q.notes++
		if n := q.asked.Why(refs[at], now); n.Reason != want[at].Reason || n.Behind != want[at].Behind {
			q.pair.diff = fmt.Sprintf("%s, %s: job %d: the note is another answer", now, after, refs[at])
		}
		q.asked.Queue(now, nil)
	}
}

// inquire plays the world before the three.
func (w *naiveWorld) inquire(reference drive.Scheduler, answers func() []naiveAnswer, met map[model.Reason]int) string {
	st := &naiveStage{w: w, pair: &both{}}
	q := &inquirer{Scheduler: reference, answers: answers, asked: site.New(w.cfg), silent: site.New(w.cfg), pair: st.pair, met: met, now: model.AbsentTime}
	st.play(q)
	if a, b := q.asked.Work(), q.silent.Work(); a != b && st.pair.diff == "" {
		return fmt.Sprintf("asked it has done %v, not asked %v", a, b)
	}
	return st.pair.diff
}

// TestWhyBetweenFactsAndPlan: job 0 may start at second 1 at the earliest, and has no room then. Job 1 comes at that instant, has room
// and is behind it. Asked when that is observed, it waits for no job: the plan of the instant is the first to let job 0 into the queue.
func TestWhyBetweenFactsAndPlan(t *testing.T) {
	w := foundWorld(2, found(0, 5, 2), found(1, 5, 1))
	w.jobs[0].Eligible = seconds(1)
	w.cfg.Site.Nodes[1].State = model.Draining
	core, reference := site.New(w.cfg), w.naive()
	answers := func(now model.Time) (ofCore, ofReference []scheduler.Answer) {
		for _, x := range reference.answers() {
			ofReference = append(ofReference, x.Answer)
		}
		return core.Answers([]model.Ref{0, 1}, now, false, nil), ofReference
	}
	both := []drive.Scheduler{core, reference}
	submit := func(i int) {
		a := &w.jobs[i].Allocation
		for _, x := range both {
			x.Observe(a.Submit, []model.Fact{{Kind: model.FactSubmitted, Job: a.Job, Ref: model.Ref(i), Submit: a.Submit, Walltime: a.Walltime, Alloc: a}})
		}
	}
	plan := func(now model.Time) {
		for _, x := range both {
			require.Empty(t, x.Plan(now).Proposals)
		}
	}
	submit(0)
	plan(0)
	submit(1)
	ofCore, ofReference := answers(seconds(1))
	want := []scheduler.Answer{{Behind: -1}, {Behind: -1}}
	require.Equal(t, want, ofCore)
	require.Equal(t, want, ofReference)
	plan(seconds(1))
	ofCore, ofReference = answers(seconds(1))
	want = []scheduler.Answer{{Reason: model.ReasonResources, Behind: -1}, {Reason: model.ReasonPriority, Behind: 0}}
	require.Equal(t, want, ofCore)
	require.Equal(t, want, ofReference)
}

// TestWhyBetweenPlans: a job behind the blocked one waits for it until the next plan, also where the last one found each job held.
func TestWhyBetweenPlans(t *testing.T) {
	w := planOfHeldJobs()
	reference, met := w.naive(), map[model.Reason]int{}
	require.Empty(t, w.inquire(reference, reference.answers, met))
	require.Positive(t, met[model.ReasonPriority])
}

// TestWhyAgainstNaive holds why jobs wait against the naive implementation, after each plan and after what follows from it, and
// that to ask changes no plan.
func TestWhyAgainstNaive(t *testing.T) {
	for _, c := range []struct {
		name string
		with naiveFeature
	}{
		{"easy", withEasy | withGroups | withSensitive},
		{"rankings", withEasy | withRankings | withMinScore | withPrices},
		{"limits", withEasy | withRankings | withLimits | withQOS | withPartitions | withDependencies | withHold},
		{"caps", withEasy | withCaps | withRanges | withNodeStates},
		{"reservations", withEasy | withReservations | withConstraints | withCycles},
		{"lanes", withEasy | withVClusters | withBorrowing | withConflicts | withCancels | withCycles},
		{"preemption", withEasy | withPreemption | withVClusters | withBorrowing | withConflicts},
		{"conservative", withConservative | withOverdue | withCycles},
		{"conservative, bounds", withEasy | withConservative | withBounds | withCycles | withRankings | withVClusters | withConflicts},
		{"conservative, caps", withConservative | withBounds | withCaps | withNodeStates | withReservations | withLimits | withQOS},
		{"gpus", withEasy | withGPUs | withSensitive | withLimits | withQOS | withReservations},
		{"amounts", withEasy | withAmounts | withGPUs | withLimits | withVClusters | withBorrowing},
		{"services", withEasy | withServices | withScaled | withVClusters | withBorrowing | withPreemption | withLimits},
		{"homes", withEasy | withVClusters | withHomes | withCycles | withRankings | withPreemption | withBorrowing | withLimits | withCaps},
		{"whole nodes", everyFeature &^ (withGPUs | withAmounts)},
		{"shared nodes", everyFeature &^ withAmounts},
		{"everything", everyFeature | withScaled},
	} {
		t.Run(c.name, func(t *testing.T) {
			met := map[model.Reason]int{}
			rapid.Check(t, func(t *rapid.T) {
				w := drawNaive(t, c.with)
				if err := w.cfg.Validate(); err != nil {
					t.Fatal(err)
				}
				reference := w.naive()
				if diff := w.inquire(reference, reference.answers, met); diff != "" {
					t.Fatal(diff)
				}
			})
			t.Log(met)
		})
	}
}

// The as-coded mode says why jobs wait as its naive implementation does.
func TestCodedWhyAgainstNaive(t *testing.T) {
	met := map[model.Reason]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := drawCoded(t, withGroups|withSensitive|withRanges|withLimits|withCaps|withNodeStates|withCycles|withConflicts|withCancels|withConstraints|withRankings|withServices)
		reference := newNaiveCoded(w.cfg)
		if diff := w.inquire(reference, reference.answers, met); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Log(met)
}
