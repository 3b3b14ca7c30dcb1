// Package commitlog is what a replay's log holds, whole: rounds of facts, passes and
// proposals. It hashes each of them with all their fields, tells two of them apart, and
// writes them as text. It does not know where a log is kept.
package commitlog

import (
	"math/bits"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/sim/des"
)

// Digest is the rolling fingerprint of a log. Every field of every fact, proposal and
// promise goes into it, and the instant of each round and pass that anything comes of. Empty ones do
// not: whether a pass is made that changes nothing is no part of a result. The zero value is
// ready.
//
// Words are mixed in by pairs. The first pair of an entry says what it is and what follows
// it, so that no two logs give the same words.
type Digest struct {
	print des.Fingerprint
	now   model.Time // of what was hashed last
}

// The first byte of an entry. Those of facts and proposals are followed by their kind.
const (
	tagFact = iota + 1
	tagProposal
	tagTime
	tagPromise
)

// hasMore is the bit of the first pair of a fact that has more than a job and a proposal.
const hasMore = 1 << 32

// String is the fingerprint in 32 hexadecimal digits.
func (d *Digest) String() string { return d.print.String() }

// Words is the number of words that were hashed.
func (d *Digest) Words() uint64 { return d.print.Words() }

// Round takes in the instant of n facts that follow.
func (d *Digest) Round(now model.Time, n int) {
	if n > 0 && now != d.now {
		d.at(now)
	}
}

// Passed takes in the instant of the proposals of a plan, and its promises.
func (d *Digest) Passed(now model.Time, p *scheduler.Plan) {
	if len(p.Proposals)+len(p.Promises) > 0 && now != d.now {
		d.at(now)
	}
	for i := range p.Promises {
		d.Promise(&p.Promises[i])
	}
}

// Promise takes in a promise that has changed.
func (d *Digest) Promise(p *scheduler.Promise) {
	h := d.print.Pair(tagPromise|uint64(len(p.Nodes.Words))<<32, two(int32(p.Job), int32(p.Ref)))
	h = h.Pair(uint64(p.Since), uint64(p.At)).Pair(p.After, two(int32(p.VCluster), int32(len(p.Nodes.Shares))))
	d.print = withNodes(h, &p.Nodes)
}

func (d *Digest) at(now model.Time) {
	d.now, d.print = now, d.print.Pair(tagTime, uint64(now))
}

// Fact takes in a fact. Most have a job and a proposal alone, or are submissions.
func (d *Digest) Fact(f *model.Fact) {
	head := tagFact | uint64(f.Kind)<<8 | uint64(f.Reason)<<16 | uint64(f.Outcome)<<24 | uint64(f.State)<<48
	asked := uint64(f.Submit) | uint64(f.Walltime) | uint64(uint32(f.Request.Units|f.Request.Nodes|f.Request.PerNode|int32(f.Request.Layout)))
	told := uint64(f.Value) | uint64(f.At) | uint64(uint32(int32(f.Node)|int32(f.Tenant)))
	if asked|told == 0 && f.Alloc == nil && f.Constraint == nil && f.Limits == nil && f.Placement == nil {
		d.print = d.print.Pair(head, two(int32(f.Job), int32(f.Ref))).Pair(f.Seq, tagFact)
		return
	}
	d.rest(f, head, asked != 0, told != 0)
}

// rest takes in a fact that has more than a job and a proposal.
func (d *Digest) rest(f *model.Fact, head uint64, asked, told bool) {
	points := f.Alloc != nil || f.Constraint != nil || f.Limits != nil || f.Placement != nil
	head |= hasMore | flag(asked)<<33 | flag(told || f.Seq != 0)<<34 | flag(points)<<35
	h := d.print.Pair(head, two(int32(f.Job), int32(f.Ref)))
	if asked {
		h = h.Pair(uint64(f.Submit), uint64(f.Walltime)).Pair(two(int32(f.Request.Layout), f.Request.Nodes), two(f.Request.PerNode, f.Request.Units))
	}
	if told || f.Seq != 0 {
		h = h.Pair(uint64(f.Value), uint64(f.At)).Pair(f.Seq, two(int32(f.Node), int32(f.Tenant)))
	}
	if d.print = h; points {
		d.parts(f)
	}
}

// parts takes in what a fact points at.
func (d *Digest) parts(f *model.Fact) {
	h := d.print.Pair(flag(f.Alloc != nil)|flag(f.Constraint != nil)<<1|flag(f.Limits != nil)<<2|flag(f.Placement != nil)<<3, hasMore)
	if f.Alloc != nil {
		h = withAllocation(h, f.Alloc)
	}
	if f.Constraint != nil {
		h = withConstraint(h, f.Constraint)
	}
	if l := f.Limits; l != nil {
		h = h.Pair(two(l.MaxNodes, l.MaxConcurrent), uint64(l.FairShare)).Pair(uint64(l.Burst), uint64(l.GPUBudget)).Pair(uint64(l.NodeBudget), uint64(l.MaxGPUs))
	}
	if f.Placement != nil {
		h = withNodes(h.Pair(uint64(len(f.Placement.Words)), sharesOf(f.Placement)), f.Placement)
	}
	d.print = h
}

// Proposal takes in a proposal.
func (d *Digest) Proposal(p *model.Proposal) {
	head := tagProposal | uint64(p.Kind)<<8 | uint64(p.Reason)<<16 | flag(p.Borrowed)<<24 | uint64(len(p.Placement.Words))<<32
	h := d.print.Pair(head, two(int32(p.Job), int32(p.Ref))).Pair(p.Seq, two(int32(p.VCluster), int32(p.Victim)))
	h = h.Pair(two(int32(p.Request.Layout), p.Request.Nodes), two(p.Request.PerNode, p.Request.Units))
	if len(p.Placement.Shares) > 0 {
		h = h.Pair(sharesOf(&p.Placement), tagProposal)
	}
	d.print = withNodes(h, &p.Placement)
}

// hasAmounts is the bit of the number of shares that says that their amounts follow.
const hasAmounts = 1 << 32

// hasTasks is that bit of the number of dependencies, for tasks that may be spread.
const hasTasks = 1 << 33

// sharesOf is the number of shares of p, and whether any has amounts.
func sharesOf(p *model.Placement) uint64 {
	n := uint64(len(p.Shares))
	for i := range p.Shares {
		if p.Shares[i].Amounts != (model.Amounts{}) {
			return n | hasAmounts
		}
	}
	return n
}

// withNodes hashes the nodes by words of 64, or the shares of each node with the GPUs and,
// where any has some, amounts.
func withNodes(h des.Fingerprint, p *model.Placement) des.Fingerprint {
	for _, w := range p.Words {
		h = h.Pair(uint64(w.Word), w.Mask)
	}
	amounts := sharesOf(p)&hasAmounts != 0
	for i := range p.Shares {
		s := &p.Shares[i]
		if h = h.Pair(two(int32(s.Node), s.Units), s.GPUs); amounts {
			h = h.Pair(two(s.CPUs, s.GPUMilli), uint64(s.Memory))
		}
	}
	return h
}

// withAllocation mixes the fields of an allocation into a sum of 64 bits first, for there
// are many, and a submission comes with each job.
func withAllocation(h des.Fingerprint, a *model.Allocation) des.Fingerprint {
	x := sum(0).
		add(two(int32(a.Job), int32(a.VCluster))).add(uint64(a.ID)).add(uint64(a.Submit)).add(uint64(a.Eligible)).add(uint64(a.Walltime)).
		add(uint64(a.Kind) | uint64(a.Topology)<<8 | uint64(a.Checkpoint)<<16 | uint64(a.Requeue)<<24 | flag(a.Hold)<<32 | flag(a.Sensitive)<<33 | flag(a.Awaited)<<34 | flag(a.Scaled)<<35).
		add(two(int32(a.Tenant), a.User)).add(two(a.Account, int32(a.QOS))).
		add(two(int32(a.Partition), int32(a.Reservation))).add(two(a.NodesMin, a.NodesMax)).
		add(two(a.GPUs, int32(a.Constraint))).add(two(a.Class, a.MaxRequeue))
	x = x.add(uint64(a.CkptBytes)).add(uint64(a.Power)).add(uint64(a.IODemand)).add(uint64(a.DataReady)).
		add(uint64(a.Priority)).add(uint64(a.Nice)).add(two(a.TaskGroup, a.Index)).add(two(a.MaxConcurrent, a.DAG))
	for _, d := range a.Deps {
		x = x.add(two(int32(d.On), d.Mutex)).add(uint64(d.Condition))
	}
	count := uint64(len(a.Deps))
	if a.Amounts != (model.Amounts{}) {
		count |= hasAmounts
		x = x.add(two(a.CPUs, a.GPUMilli)).add(uint64(a.Memory))
	}
	if a.Tasks != 0 {
		count |= hasTasks
		x = x.add(uint64(a.Tasks))
	}
	return h.Pair(uint64(x), count)
}

// sum is a rolling hash of words that costs a multiplication each.
type sum uint64

func (s sum) add(x uint64) sum {
	return sum(bits.RotateLeft64((uint64(s)^x)*0x9e3779b97f4a7c15, 29))
}

func withConstraint(h des.Fingerprint, c *model.Constraint) des.Fingerprint {
	h = h.Pair(two(c.GPUType, c.CPUs), uint64(c.GPUMemory))
	h = h.Pair(uint64(c.Memory), flag(c.Unified)|flag(c.AllowCXL)<<1|uint64(len(c.Features))<<32)
	for _, f := range c.Features {
		h = h.Pair(uint64(len(f)), 0)
		for i := 0; i < len(f); i += 8 {
			word := uint64(0)
			for k := range min(8, len(f)-i) {
				word |= uint64(f[i+k]) << (8 * k)
			}
			h = h.Pair(word, uint64(i))
		}
	}
	for _, set := range [...]model.NodeSet{c.Include, c.Exclude} {
		h = h.Pair(uint64(len(set)), flag(set != nil))
		for i, w := range set {
			h = h.Pair(uint64(i), w)
		}
	}
	return h
}

// two words of 32 bits as one.
func two(low, high int32) uint64 { return uint64(uint32(low)) | uint64(uint32(high))<<32 }

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
