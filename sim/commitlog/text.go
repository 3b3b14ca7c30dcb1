package commitlog

import (
	"fmt"
	"iter"
	"math/bits"
	"strconv"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/traces/hostlist"
)

// Names are what people call the things of a log, by their ids. What has no name here is
// written as its number.
type Names struct {
	Jobs  []int64 // numbers of the source by row, each once
	Users []string

	Nodes, VClusters, Tenants, QOS, Partitions, Reservations []string
}

// NamesOf are the names of a site's parts.
func NamesOf(s *model.Site) Names {
	var n Names
	for i := range s.Nodes {
		n.Nodes = append(n.Nodes, s.Nodes[i].Name)
	}
	for i := range s.VClusters {
		n.VClusters = append(n.VClusters, s.VClusters[i].Name)
	}
	for i := range s.Tenants {
		n.Tenants = append(n.Tenants, s.Tenants[i].Name)
	}
	for i := range s.QOS {
		n.QOS = append(n.QOS, s.QOS[i].Name)
	}
	for i := range s.Partitions {
		n.Partitions = append(n.Partitions, s.Partitions[i].Name)
	}
	for i := range s.Reservations {
		n.Reservations = append(n.Reservations, s.Reservations[i].Name)
	}
	return n
}

// Text writes entries as lines for people: one for each, those of facts and proposals
// indented below the round or pass that they belong to. Whatever differs from the default
// of its field is said, so that two entries that differ have different lines, as long as
// they come after the same ones. What a line leaves out because earlier ones said it is the
// instant, and what the job under a ref asks for.
type Text struct {
	names Names
	nodes *hostlist.List
	now   model.Time              // of the round or pass at hand
	refs  map[model.Ref]submitted // as the last facts had them
	out   []byte
}

// submitted is what the log said last of the job under a ref.
type submitted struct {
	job     model.JobID
	request model.Request // of the submission
}

// NewText returns a writer of lines.
func NewText(names Names) *Text {
	return &Text{names: names, nodes: hostlist.NewList(names.Nodes), refs: map[model.Ref]submitted{}}
}

// Append appends the line of e, which is the next of the log.
func (t *Text) Append(dst []byte, e *Entry) []byte {
	t.out = dst
	switch e.What {
	case Round:
		t.now = e.Now
		t.say("%s round %s", e.Now, spelled(e.Round))
		if e.Count != 0 {
			t.say(", %s", counted(e.Count, "fact"))
		}
	case Pass:
		t.now = e.Now
		t.pass(e)
	case Fact:
		t.indent(e.Now)
		t.fact(&e.Fact)
	case Proposal:
		t.indent(e.Now)
		t.proposal(&e.Proposal)
	case Promise:
		t.indent(e.Now)
		t.promise(&e.Promise)
	}
	return append(t.out, '\n')
}

// indent begins a line below a round or a pass, which says when.
func (t *Text) indent(now model.Time) {
	t.say("  ")
	if now != t.now {
		t.say("%s ", now)
	}
}

func (t *Text) say(format string, args ...any) { t.out = fmt.Appendf(t.out, format, args...) }

func (t *Text) pass(e *Entry) {
	t.say("%s pass", e.Now)
	if e.Count != 0 {
		t.say(": %s", counted(e.Count, "proposal"))
	}
	if e.Due != model.Never {
		t.say(", due %s", e.Due)
	}
	if e.QuietUntil == model.Never {
		t.say(", quiet")
	} else {
		t.say(", quiet until %s", e.QuietUntil)
	}
	if e.Again {
		t.say(", again")
	}
	if e.More {
		t.say(", more")
	}
}

// fact says what has happened, and then each field that is set.
func (t *Text) fact(f *model.Fact) {
	t.say("%s", spelled(f.Kind))
	past := f.Kind == model.FactUsageBegan || f.Kind == model.FactUsageEnded // of jobs that may have left long ago
	never := f.Kind == model.FactGone                                        // that were never submitted
	switch {
	case (past || never) && f.Ref == 0:
		t.say(" job %s", t.called(f.Job))
	case ofJob(f.Kind) || f.Job != 0 || f.Ref != 0:
		t.job(f.Job, f.Ref)
		if f.Kind == model.FactSubmitted {
			t.refs[f.Ref] = submitted{f.Job, f.Request}
		}
	}
	if f.Kind == model.FactNode || f.Node != 0 {
		t.say(" %s", t.nodes.Name(int(f.Node)))
	}
	if f.Kind == model.FactNode || f.State != 0 {
		t.say(" %s", spelled(f.State))
	}
	if f.Kind == model.FactLimits || f.Tenant != 0 {
		t.say(" of tenant %s", named(t.names.Tenants, int32(f.Tenant)))
	}
	t.value(f)
	if f.Outcome != 0 {
		t.say(" %s", spelled(f.Outcome))
	}
	if f.Reason != 0 {
		t.say(" for %s", spelled(f.Reason))
	}
	if past || f.At != 0 {
		t.say(" at %s", f.At)
	}
	t.placement(f.Placement)
	t.number(f.Seq)
	if f.Alloc != nil {
		t.size(f.Alloc)
	}
	comes := f.Kind == model.FactSubmitted
	implied := model.Request{}
	if comes && f.Alloc != nil {
		implied = requestOf(f.Alloc)
	}
	if f.Request != implied {
		t.request(&f.Request)
	}
	if comes && f.Submit != t.now || !comes && f.Submit != 0 {
		t.say(", submitted %s", f.Submit)
	}
	if comes || f.Walltime != 0 {
		t.say(", walltime %s", f.Walltime)
	}
	if f.Limits != nil {
		t.limits(f.Limits)
	}
	if f.Alloc != nil {
		t.allocation(f, f.Alloc)
	}
	if f.Constraint != nil {
		t.constraint(f.Constraint)
	} else if f.Alloc != nil {
		t.say(", constraint not told")
	}
}

// ofJob says whether a fact of this kind is of a job.
func ofJob(k model.FactKind) bool {
	switch k {
	case model.FactNode, model.FactLimits, model.FactPrice, model.FactPower, model.FactBandwidth, model.FactSensitivePool,
		model.FactRestoringBegan, model.FactRestoringEnded:
		return false
	}
	return true
}

// value says what Fact.Value means for the kind.
func (t *Text) value(f *model.Fact) {
	switch f.Kind {
	case model.FactPrice:
		t.say(" %s", decimal(model.Fixed(f.Value)))
	case model.FactPower:
		t.say(" cap %d W", f.Value)
	case model.FactBandwidth:
		t.say(" cap %d B/s", f.Value)
	case model.FactSuspended:
		t.say(" with %s left", model.Duration(f.Value))
	case model.FactUnmet:
		t.say(" by %s", counted(f.Value, "node"))
	case model.FactSensitivePool, model.FactDemand:
		t.say(" of %s", counted(f.Value, "node"))
	default:
		if f.Value != 0 {
			t.say(" value %d", f.Value)
		}
	}
}

func (t *Text) proposal(p *model.Proposal) {
	t.say("propose %s", spelled(p.Kind))
	if p.Kind == model.ProposePreempt {
		t.victim(p.Victim)
		t.say(" to start")
	}
	t.job(p.Job, p.Ref)
	if p.Kind != model.ProposePreempt && p.Victim != 0 {
		t.say(" without")
		t.victim(p.Victim)
	}
	if p.Reason != 0 {
		t.say(" for %s", spelled(p.Reason))
	}
	if len(p.Placement.Words)+len(p.Placement.Shares) > 0 {
		t.placement(&p.Placement)
	}
	if p.Borrowed {
		t.say(" borrowed")
	}
	t.number(p.Seq)
	// What it asks for is that of the submission, or nothing where it is not read.
	if of := t.refs[p.Ref]; p.Kind == model.ProposeAssign && p.Request != of.request || p.Kind != model.ProposeAssign && p.Request != (model.Request{}) {
		t.request(&p.Request)
	}
	t.vcluster(p.VCluster)
}

// victim names the job under a ref.
func (t *Text) victim(ref model.Ref) {
	if of, ok := t.refs[ref]; ok {
		t.job(of.job, ref)
	} else {
		t.say(" ref %d", ref)
	}
}

// job names a job. Its ref is said where it is not its row, for a ref is used again.
func (t *Text) job(j model.JobID, ref model.Ref) {
	t.say(" job %s", t.called(j))
	if int64(ref) != int64(j) {
		t.say(" (ref %d)", ref)
	}
}

// called is the number by which people know a job, or its row.
func (t *Text) called(j model.JobID) string {
	if j >= 0 && int(j) < len(t.names.Jobs) {
		return strconv.FormatInt(t.names.Jobs[j], 10)
	}
	return fmt.Sprintf("in row %d", j)
}

// promise says what a blocked job is promised now.
func (t *Text) promise(p *scheduler.Promise) {
	t.say("promise")
	t.job(p.Job, p.Ref)
	t.placement(&p.Nodes)
	t.say(" at %s", p.At)
	if p.Since != t.now {
		t.say(", promised since %s", p.Since)
	}
	if p.After != 0 {
		t.say(", after no. %d", p.After)
	}
	t.say(", in %s", named(t.names.VClusters, int32(p.VCluster)))
}

// number is that of the proposal.
func (t *Text) number(seq uint64) {
	if seq != 0 {
		t.say(" (no. %d)", seq)
	}
}

func (t *Text) request(r *model.Request) {
	switch {
	case *r == model.Request{}:
		t.say(", no request")
	case *r == model.Request{Units: r.Units}:
		t.say(", %s", counted(r.Units, "unit"))
	case *r == model.Request{Layout: model.PerNode, Nodes: r.Nodes, PerNode: r.PerNode, Units: r.Nodes * r.PerNode}:
		t.say(", %s of %s", counted(r.Nodes, "node"), counted(r.PerNode, "unit"))
	default:
		t.say(", request of shape %d, %d nodes, %d on each, %d in all", r.Layout, r.Nodes, r.PerNode, r.Units)
	}
}

// requestOf is what an allocation asks for, in units.
func requestOf(a *model.Allocation) model.Request {
	each := max(1, a.Cards())
	return model.Request{Layout: model.PerNode, Nodes: a.NodesMin, PerNode: each, Units: a.NodesMin * each}
}

// vcluster is left out where there is one.
func (t *Text) vcluster(v model.VClusterID) {
	if v != 0 || len(t.names.VClusters) > 1 {
		t.say(", in %s", named(t.names.VClusters, int32(v)))
	}
}

// placement writes whole nodes as on n[1-3], and parts of nodes as on n1:2 for two units or
// n1:gpu[0-1] for these GPUs, with the amounts of a share behind them.
func (t *Text) placement(p *model.Placement) {
	if p == nil {
		return
	}
	t.say(" on")
	if len(p.Words)+len(p.Shares) == 0 {
		t.say(" no nodes")
	}
	if len(p.Words) > 0 {
		t.say(" ")
		t.words(p.Words)
	}
	for _, s := range p.Shares {
		t.say(" %s", t.nodes.Name(int(s.Node)))
		if int(s.Cards()) != bits.OnesCount64(s.GPUs) || s.GPUs == 0 && s.Amounts == (model.Amounts{}) {
			t.say(":%d", s.Units)
		}
		if s.GPUs != 0 {
			t.gpus(s.GPUs)
		}
		t.amounts(":", &s.Amounts)
	}
}

// amounts writes what is not 0 of a, each behind lead: cpu=4 for CPUs, mem=1024 for
// bytes of memory, milli=500 for thousandths of a GPU.
func (t *Text) amounts(lead string, a *model.Amounts) {
	if a.GPUMilli != 0 {
		t.say("%smilli=%d", lead, a.GPUMilli)
	}
	if a.CPUs != 0 {
		t.say("%scpu=%d", lead, a.CPUs)
	}
	if a.Memory != 0 {
		t.say("%smem=%d", lead, a.Memory)
	}
}

func (t *Text) gpus(mask uint64) {
	between := ":gpu["
	for first, last := range runs([]uint64{mask}) {
		if t.say("%s%d", between, first); last > first {
			t.say("-%d", last)
		}
		between = ","
	}
	t.say("]")
}

// words writes the nodes that words name; words that no placement has, one by one.
func (t *Text) words(words []model.NodeWord) {
	var set []uint64
	for _, w := range words {
		if int(w.Word) < len(set) || w.Mask == 0 || w.Word > maxWord {
			t.say("words %v", words)
			return
		}
		set = append(append(set, make([]uint64, int(w.Word)-len(set))...), w.Mask)
	}
	t.out = t.nodes.Append(t.out, runs(set))
}

// maxWord bounds what a line may hold, far above any cluster.
const maxWord = 1 << 20

// runs are the runs of bits in a set, both ends included.
func runs(set []uint64) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		first := -1
		for i := range 64 * len(set) {
			switch in := set[i>>6]>>(i&63)&1 != 0; {
			case in && first < 0:
				first = i
			case !in && first >= 0:
				if !yield(first, i-1) {
					return
				}
				first = -1
			}
		}
		if first >= 0 {
			yield(first, 64*len(set)-1)
		}
	}
}

func (t *Text) limits(l *model.Limits) {
	if *l == (model.Limits{}) {
		t.say(": none")
	}
	t.tally("most nodes", int64(l.MaxNodes), 0)
	t.tally("most GPUs", int64(l.MaxGPUs), 0)
	t.tally("most running jobs", int64(l.MaxConcurrent), 0)
	t.fixed("share", l.FairShare, 0)
	t.fixed("burst", l.Burst, 0)
	if l.GPUBudget != 0 {
		t.say(", GPU time %s", l.GPUBudget)
	}
	if l.NodeBudget != 0 {
		t.say(", node time %s", l.NodeBudget)
	}
}

// tally says a number that is not at its default.
func (t *Text) tally(what string, n, unset int64) {
	if n != unset {
		t.say(", %s %d", what, n)
	}
}

// fixed does so for a fraction.
func (t *Text) fixed(what string, x, unset model.Fixed) {
	if x != unset {
		t.say(", %s %s", what, decimal(x))
	}
}

// flag says what is so.
func (t *Text) flag(what string, is bool) {
	if is {
		t.say(", %s", what)
	}
}

// name says which of the names is meant, unless none is.
func (t *Text) name(what string, names []string, id int32) {
	if id != -1 {
		t.say(", %s %s", what, named(names, id))
	}
}
