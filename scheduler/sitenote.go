package scheduler

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// Note says why a job waits, from one instant on, or that it was proposed:
// then Reason is ReasonNone. Notes are made for the jobs that SiteConfig.Explain
// asks about, whenever the answer changes.
type Note struct {
	Job    model.JobID
	Ref    model.Ref
	Reason model.Reason
	// Behind is the job whose reservation is in the way with ReasonPriority, -1
	// otherwise, and Until the instant of that reservation.
	Behind model.JobID
	Until  model.Time
	// Score is what the job stood with, where its vCluster orders by score.
	Scored bool
	Score  score.Explanation
	// Nodes proposed, or free of those it may use.
	Nodes int32
}

// noted is what was last noted of a job.
type noted struct {
	reason model.Reason
	behind model.JobID
	made   bool
}

// note notes a job's reason when somebody asked about it and it has changed.
func (s *Site) note(ref model.Ref, r model.Reason) {
	if s.cfg.Explain == nil {
		return
	}
	j := &s.jobs[ref]
	n := noted{reason: r, behind: -1, made: true}
	l := j.lane
	if r == model.ReasonPriority && l.hold.ref >= 0 {
		n.behind = s.jobs[l.hold.ref].Job
	}
	if n == j.note || !s.cfg.Explain(j.Job) {
		return
	}
	j.note = n
	out := Note{Job: j.Job, Ref: ref, Reason: r, Behind: n.behind, Until: model.AbsentTime, Nodes: l.free.Count(j.kind.class)}
	if n.behind >= 0 {
		out.Until = l.hold.at
	}
	if r == model.ReasonNone {
		out.Nodes = sizeOf(&j.placement)
	}
	if l.policy.Ranking == ByScore && (j.phase == waiting || j.phase == inFlight) {
		out.Scored, out.Score = true, s.explained(l, j, s.now)
	}
	s.plan.Notes = append(s.plan.Notes, out)
}
