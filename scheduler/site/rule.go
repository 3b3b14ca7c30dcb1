package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/elastic"
)

// rule is how the passes of one vCluster decide which jobs start: a rule of backfilling, or the as-coded mode. Under a rule of
// backfilling a job with room, and no job before it that lacks any, starts.
type rule interface {
	// pass proposes what jobs and services of the vCluster get now. scalingUp is the services that may get nodes.
	pass(p *pass, scalingUp []model.Ref)
	// looksBehind says whether jobs behind a blocked one have a turn.
	looksBehind() bool
	// reserves says whether the first blocked job has a reservation which those behind it must leave to it.
	reserves() bool
	// mayPass says whether a job that is about to start on the nodes may do so although one before it is blocked.
	mayPass(v *view, j *job, nodes *model.Placement) bool
	// mayGain is that for what a service gains until it is predicted to end.
	mayGain(v *view, until model.Time, x *elastic.Resize) bool
	// mayGrow is that for a job in flight which takes more nodes than its least.
	mayGrow(v *view, j *job) bool
}

// ruleOf is that of the policy of the vCluster of p.
func ruleOf(p *pass) rule {
	switch policy := p.qs.policy; {
	case p.qs.mode.coded:
		return newCodedRule(p)
	case policy.Backfill == order.FirstFit:
		return firstFitRule{}
	case policy.Backfill == order.Easy:
		return easyRule{}
	case policy.Backfill == order.Conservative:
		return conservativeRule{}
	}
	return strictRule{}
}

// inTurn is what the rules have in common under which jobs have their turn in the order of the queue.
type inTurn struct{}

func (inTurn) pass(p *pass, scalingUp []model.Ref) {
	first := len(p.core.plan.Proposals)
	p.inOrder().passQueue(scalingUp)
	p.ranges().grow(first)
}

// strictRule lets no job pass a blocked one.
type strictRule struct{ inTurn }

func (strictRule) looksBehind() bool                               { return false }
func (strictRule) reserves() bool                                  { return false }
func (strictRule) mayPass(*view, *job, *model.Placement) bool      { return false }
func (strictRule) mayGain(*view, model.Time, *elastic.Resize) bool { return false }
func (strictRule) mayGrow(*view, *job) bool                        { return false }

// firstFitRule lets each job start that has room.
type firstFitRule struct{ inTurn }

func (firstFitRule) looksBehind() bool                               { return true }
func (firstFitRule) reserves() bool                                  { return false }
func (firstFitRule) mayPass(*view, *job, *model.Placement) bool      { return true }
func (firstFitRule) mayGain(*view, model.Time, *elastic.Resize) bool { return true }
func (firstFitRule) mayGrow(*view, *job) bool                        { return true }

// easyRule lets a job pass the first blocked one where that is predicted to start no later for it.
type easyRule struct{ inTurn }

func (easyRule) looksBehind() bool { return true }

func (easyRule) reserves() bool { return true }

func (easyRule) mayPass(v *view, j *job, nodes *model.Placement) bool {
	return v.easy().harmless(j, nodes)
}

func (easyRule) mayGain(v *view, until model.Time, x *elastic.Resize) bool {
	return v.easy().harmlessGain(until, &x.Gained, x.More)
}

func (easyRule) mayGrow(v *view, j *job) bool {
	return v.now.Add(j.left) <= v.easy().reservation().At
}
