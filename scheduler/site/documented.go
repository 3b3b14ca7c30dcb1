package site

import (
	"orrery/scheduler/ascoded"
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// documentedRule is that of the documented mode.
type documentedRule struct{ p *pass }

func (documentedRule) pass(p *pass, scalingUp []model.Ref) {
	first := len(p.core.plan.Proposals)
	if p.qs.policy.plans() {
		p.planned().passTimeline(scalingUp)
	} else {
		p.inOrder().passQueue(scalingUp)
	}
	p.ranges().grow(first)
}

func (d documentedRule) explain(ref model.Ref, now model.Time) score.Explanation {
	return explained(d.p.core, d.p.qs, &d.p.core.jobs[ref], now)
}

func (documentedRule) coded(*pass) *ascoded.Planner { return nil }
