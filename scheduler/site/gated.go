package site

import "orrery/scheduler/model"

// takeOutGated takes the jobs out of the indexes of the queue that a task group or a mutex was found to
// hold: each pass would look at them again.
func takeOutGated(p *pass) {
	for _, ref := range p.qs.scratch.gated {
		if p.qs.waiting.Has(ref) && !p.qs.waiting.Row(ref).Gated {
			p.qs.waiting.SetGated(ref, true, p.now)
		}
	}
	p.qs.scratch.gated = p.qs.scratch.gated[:0]
}

// bringBackGated brings those back that are held so no more.
func bringBackGated(p *pass) {
	if p.qs.reopened == p.core.graph.Reopened() {
		return
	}
	p.qs.reopened = p.core.graph.Reopened()
	gated := p.qs.waiting.GatedJobs(p.qs.scratch.gated[:0])
	for _, ref := range gated {
		if p.core.graph.Gate(ref) == model.ReasonNone {
			p.qs.waiting.SetGated(ref, false, p.now)
		}
	}
	p.qs.scratch.gated = gated[:0]
}
