package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/internal/worldtest"
	"orrery/sim/world/translate"
	"orrery/traces"
)

const at = model.Time(sec)

var (
	smallSite = worldtest.Site
	row       = worldtest.Row
	batchOf   = worldtest.Batch
)

// order is a proposal that the script makes at an instant, whatever the queue
// says: to preempt the job of id Victim for the job ID, or to cancel the job ID. With
// setsSpeed it is none: the job works at a speed from then on, if it is on nodes.
type order struct {
	at             model.Time
	kind           model.ProposalKind
	id             int64
	victim         int64
	here, recorded model.Fixed
}

const setsSpeed model.ProposalKind = 255

// story is a world and a scheduler without any policy: what waits starts, in
// order of submission, on the lowest nodes that are free.
type story struct {
	world  *Site
	sink   *keep
	rows   *traces.Batch
	orders []order
	log    []string
	refs   map[int64]model.Ref
	queue  []model.Ref
	seq    uint64
	asked  map[model.Ref]bool // in flight
	stop   model.Time

	nodeTime, gpuTime int64 // held so far, by what the meter said between two instants
	joules            int64
}

// play runs the story to its end and returns what happened, a line a fact.
func play(t require.TestingT, cfg SiteConfig, rows *traces.Batch, orders ...order) *story {
	return playWith(t, cfg, rows, func(*story, model.Time) {}, orders...)
}

// playWith is play with something to do after each instant.
func playWith(t require.TestingT, cfg SiteConfig, rows *traces.Batch, after func(*story, model.Time), orders ...order) *story {
	if cfg.Exit.Timeout == 0 {
		cfg.Exit = preempt.DefaultConfig()
		cfg.Exit.KillGrace, cfg.Exit.Bandwidth = 0, 10 // B/s: 4 GPUs of 25 B take 10 s
	}
	require.NoError(t, cfg.Validate())
	sink := &keep{}
	p := &story{world: NewSite(cfg, sink), sink: sink, rows: rows, orders: orders, refs: map[int64]model.Ref{}, asked: map[model.Ref]bool{}, stop: model.Never}
	pos := 0
	for last := model.AbsentTime; ; {
		now := p.world.Next()
		if pos < rows.Len() {
			now = min(now, rows.Submit[pos])
		}
		if len(p.orders) > 0 {
			now = min(now, p.orders[0].at)
		}
		if now == model.Never || now > p.stop {
			break
		}
		require.GreaterOrEqual(t, now, last)
		if last != model.AbsentTime {
			h := &p.world.Meter.vclusters[0]
			p.joules += p.world.Meter.Draw.Value * int64(now.Sub(last)) / int64(sec)
			p.nodeTime, p.gpuTime = p.nodeTime+h.Nodes*int64(now.Sub(last)), p.gpuTime+h.GPUs*int64(now.Sub(last))
		}
		last = now
		if p.world.Next() == now {
			p.see(now, p.world.Take(now, nil))
		}
		for ; pos < rows.Len() && rows.Submit[pos] == now; pos++ {
			f, ok, err := p.world.submission(rows, pos, p.unsatisfiable)
			require.NoError(t, err)
			if ok {
				p.refs[rows.ID[pos]] = f.Ref
				p.see(now, []model.Fact{f})
			}
		}
		for len(p.orders) > 0 && p.orders[0].at == now {
			p.order(now)
		}
		p.start(now)
		p.world.Close()
		after(p, now)
	}
	return p
}

func (p *story) unsatisfiable(a *model.Allocation) model.Reason {
	if int(a.NodesMin) > len(p.world.cfg.Site.Nodes) {
		return model.ReasonTooLarge
	}
	return model.ReasonNone
}

// see notes facts and starts what was granted.
func (p *story) see(now model.Time, facts []model.Fact) {
	for i := range facts {
		f := &facts[i]
		line := fmt.Sprintf("%ds %s", int64(now)/int64(at), f.Kind)
		switch f.Kind {
		case model.FactNode:
			line += fmt.Sprintf(" n%d %s", f.Node, f.State)
		case model.FactPrice, model.FactPower, model.FactBandwidth:
			line += fmt.Sprintf(" %d", f.Value)
		case model.FactLimits:
			line += fmt.Sprintf(" %d %d", f.Tenant, f.Limits.MaxNodes)
		default:
			line += fmt.Sprintf(" %d", p.rows.ID[f.Job])
		}
		if f.Kind == model.FactEnded {
			line += " " + f.Outcome.String()
		}
		if f.Reason != model.ReasonNone {
			line += " " + f.Reason.String()
		}
		p.log = append(p.log, line)
		switch f.Kind {
		case model.FactSubmitted, model.FactSuspended, model.FactRequeued:
			p.queue = append(p.queue, f.Ref)
		case model.FactAssigned:
			p.asked[f.Ref] = false
			p.queue = slices.DeleteFunc(p.queue, func(r model.Ref) bool { return r == f.Ref })
			p.world.Start(now, f.Ref)
		case model.FactRefused:
			p.asked[f.Ref] = false
		case model.FactCancelled:
			p.queue = slices.DeleteFunc(p.queue, func(r model.Ref) bool { return r == f.Ref })
		}
	}
}

func (p *story) propose(now model.Time, x model.Proposal) {
	p.seq++
	x.Seq = p.seq
	p.see(now, p.world.Submit(now, []model.Proposal{x}, nil))
}

func (p *story) order(now model.Time) {
	o := p.orders[0]
	p.orders = p.orders[1:]
	ref, known := p.refs[o.id]
	if o.kind == setsSpeed {
		if known && p.onNodes(ref, o.id) {
			p.world.SetSpeed(now, ref, o.here, o.recorded)
		}
		return
	}
	if _, too := p.refs[o.victim]; !known || !too {
		return
	}
	l := p.world.jobs.At(ref)
	x := model.Proposal{Kind: o.kind, Job: l.rec.Job, Ref: ref, VCluster: l.alloc.VCluster, Victim: p.refs[o.victim]}
	if o.kind == model.ProposeCancel {
		x.Reason = model.ReasonDependencyNever
	}
	p.propose(now, x)
}

// onNodes says whether the job of this id, which had this ref, runs.
func (p *story) onNodes(ref model.Ref, id int64) bool {
	l := p.world.jobs.At(ref)
	return l.present && l.rec.ID == id && (l.rec.State == model.Running || l.rec.State == model.Checkpointing)
}

// start proposes what fits.
func (p *story) start(now model.Time) {
	for _, ref := range slices.Clone(p.queue) {
		a := p.world.jobs.At(ref).alloc
		var words []model.NodeWord
		n := a.NodesMin
		for id := range p.world.cfg.Site.Nodes {
			if n > 0 && p.world.nodes.list[id].state == model.Ready && p.world.quorum.OwnerOf(model.NodeID(id)) < 0 {
				if len(words) == 0 {
					words = []model.NodeWord{{}}
				}
				words[0].Mask |= 1 << id
				n--
			}
		}
		if n == 0 && !p.asked[ref] {
			p.asked[ref] = true
			p.propose(now, model.Proposal{Job: a.Job, Ref: ref, VCluster: a.VCluster, Borrowed: true, Placement: model.Placement{Words: words}})
		}
	}
}

// attempts lists the attempts: job, span, outcome, work kept and lost.
func (p *story) attempts() (out []string) {
	for _, a := range p.sink.attempts {
		out = append(out, fmt.Sprintf("%d %d-%d %s +%d -%d", a.ID, int64(a.Start)/int64(at), int64(a.End)/int64(at), a.Outcome,
			int64(a.Kept)/int64(sec), int64(a.Lost)/int64(sec)))
	}
	return out
}

func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func runs(d model.Duration) func(*traces.Job) {
	return func(j *traces.Job) { j.Runtime = traces.Some(d) }
}
func walltime(d model.Duration) func(*traces.Job) {
	return func(j *traces.Job) { j.Walltime = traces.Some(d) }
}
func nodes(n int32) func(*traces.Job) { return func(j *traces.Job) { j.NodesMin = traces.Some(n) } }
func class(n int32) func(*traces.Job) { return func(j *traces.Job) { j.Class = traces.Some(n) } }

// tale is a small story of a site: its rows, what the script proposes and what
// changes, and what then happens. A node is 4 GPUs of 25 B, of whose checkpoint
// 10 B are written and read in a second.
type tale struct {
	name     string
	nodes    int
	config   func(*SiteConfig)
	rows     []traces.Job
	orders   []order
	changes  []translate.Change
	log      string
	attempts string
}

func (c *tale) tell(t *testing.T) {
	cfg := SiteConfig{Site: smallSite(c.nodes), Changes: c.changes}
	if c.config != nil {
		c.config(&cfg)
	}
	p := play(t, cfg, batchOf(c.rows...), c.orders...)
	require.Equal(t, lines(c.log), p.log)
	require.Equal(t, lines(c.attempts), p.attempts())
	require.Len(t, p.sink.jobs, len(c.rows))
	st, held := &p.world.State, &p.world.Meter.vclusters[0]
	require.Zero(t, [...]int64{int64(st.Waiting), int64(st.Running), st.BusyUnits, st.QueuedUnits, held.Nodes, held.GPUs})
}

// grace is the documented way out of victims, with checkpoints that take 10 s.
func grace(c *SiteConfig) {
	c.Exit = preempt.DefaultConfig()
	c.Exit.Bandwidth, c.ReadBandwidth = 10, 10
}

func none(j *traces.Job)           { j.Checkpoint = "none" }
func alwaysRequeued(j *traces.Job) { j.Requeue = "always" }
func neverRequeued(j *traces.Job)  { j.Requeue = "never" }
func failed(j *traces.Job)         { j.ExitState = "FAILED" }

func preemptAt(s model.Time, id, victim int64) order {
	return order{at: s * at, kind: model.ProposePreempt, id: id, victim: victim}
}

// speeds lets a job work at the speed a/b from an instant on.
func speeds(s model.Time, id, a, b int64) order {
	return order{at: s * at, kind: setsSpeed, id: id, here: model.Ratio(a, b), recorded: model.One}
}

func fails(s model.Time, n model.NodeID) translate.Change {
	return translate.Change{At: s * at, Kind: translate.NodeFails, Node: n}
}
