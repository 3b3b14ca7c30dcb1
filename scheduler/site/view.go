package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/waiting"
)

// view is what the stages of a pass go by: the core, one vCluster of it and the instant. Nothing of it changes from the first
// candidate on until the pass is over.
type view struct {
	core       *Core
	qs         *queueState
	now        model.Time
	borrowable int32 // nodes that the other vClusters would lend at most
	heeding    bool  // others have promised nodes to their jobs
	rule       rule
	scratch    *scratch
}

// pass is one look of a vCluster at its queue: the view, and what it has found out so far.
type pass struct {
	view
	bounded    bool // the upper bounds on its scores are set
	contended  bool // the contenders of the best job were found with it
	fast       bool // the first blocked job was found without bringing the queue into order
	triesLeft  bool // there are blocked jobs for which no victims were sought
	minScored  bool // a job is held by min_score
	orderHolds bool // a job that may have room is held back by the order alone
	failing    bool // no victims were found for a job
	found      finding
}

// scratch is memory that is used again. Nothing in it outlives a pass.
type scratch struct {
	contenders []model.Ref
	bounds     waiting.Bounds // of the last look for the best job
	behind     behind
	gated      []model.Ref
	limited    []model.Ref // jobs of shares that a limit held when the last leader was looked for
	refused    refusalCache
	ties       ties
}

// newPass is a pass of a vCluster at no instant yet.
func newPass(s *Core, qs *queueState) pass {
	return pass{view: view{core: s, qs: qs, scratch: &scratch{}}}
}

// viewOf is a view of a vCluster outside of a pass.
func (s *Core) viewOf(qs *queueState, now model.Time) view {
	v := s.passes[qs.id].view
	v.now, v.borrowable, v.heeding = now, 0, false
	return v
}

// begin makes p the pass at now.
func (p *pass) begin(now model.Time) {
	s, qs := p.core, p.qs
	*p = pass{view: view{core: s, qs: qs, now: now, heeding: s.promises.ByOthers(qs.id), rule: p.rule, scratch: p.scratch}}
}
