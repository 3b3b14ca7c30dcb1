package sim

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// answers is of which jobs it is asked why they wait, and what was recorded last. A job is asked about when an instant is over
// in which its vCluster made a pass, or anything happened that may have changed the answer.
type answers struct {
	of       []askedOf    // by vCluster; none where nothing is recorded
	last     []lastAnswer // by model.Ref
	restored []model.Ref  // in this instant
	memory   []scheduler.Answer
}

// askedOf is the jobs of a vCluster that are asked about: those that wait, in the order in which they came to do so, and running
// services that may preempt others.
type askedOf struct {
	jobs            []model.Ref
	changed, passed bool // since they were asked about last
}

// lastAnswer is what was recorded last of a job.
type lastAnswer struct {
	scheduler.Answer
	told     bool // Reason and Behind, since it was submitted, started or lost its nodes
	vcluster model.VClusterID
	wanted   bool // that it is explained
	scaled   bool
	runs     bool
}

// changes takes an answer over, and says which rows are to be written: why the job waits, and why none is preempted for it.
// passed says that the vCluster has made a pass. Before that it is no change that nothing but the next pass is missing: of a vCluster on a
// cycle the last answer stands until its next tick.
func (l *lastAnswer) changes(a *scheduler.Answer, passed bool) (waits, victims bool) {
	if !l.runs {
		if a.Reason == model.ReasonNone && !passed {
			return false, false
		}
		waits = !l.told || a.Reason != l.Reason || a.Behind != l.Behind
		l.told, l.Reason, l.Behind = true, a.Reason, a.Behind
		if a.Reason == model.ReasonPriority { // it has room for a while, and no other is to leave for it
			return waits, false
		}
	}
	if !passed { // only a pass looks for victims
		return waits, false
	}
	victims = a.NoVictims != scheduler.VictimsFound && a.NoVictims != l.NoVictims
	l.NoVictims = a.NoVictims
	return waits, victims
}

// begins forgets what was recorded: the job runs from now on, or waits anew.
func (l *lastAnswer) begins(runs bool) {
	l.Answer, l.told, l.runs = scheduler.Answer{}, false, runs
}

// wants says whether a job is asked about.
func (a *answers) wants(ref model.Ref) bool { return int(ref) < len(a.last) && a.last[ref].wanted }

// fact follows which jobs wait, and where answers may be others from now on.
func (a *answers) fact(f *model.Fact, explain func(model.JobID) bool) {
	switch f.Kind {
	case model.FactSubmitted:
		for int(f.Ref) >= len(a.last) {
			a.last = append(a.last, lastAnswer{})
		}
		a.last[f.Ref] = lastAnswer{vcluster: f.Alloc.VCluster, wanted: explain(f.Job), scaled: f.Alloc.Scaled}
		a.waits(f.Ref)
		a.of[f.Alloc.VCluster].changed = true // and no other: it takes nothing yet
		return
	case model.FactCheckpointed, model.FactUnmet, model.FactUsageBegan, model.FactUsageEnded, model.FactRestoringBegan, model.FactRestoringEnded:
		return // no test asks for it
	case model.FactAssigned, model.FactRestored:
		a.last[f.Ref].begins(true)
		if f.Kind == model.FactRestored && a.wants(f.Ref) {
			a.restored = append(a.restored, f.Ref)
		}
		if !a.last[f.Ref].scaled {
			a.leaves(f.Ref)
		}
	case model.FactCancelled, model.FactEnded:
		a.leaves(f.Ref)
	case model.FactSuspended, model.FactRequeued:
		a.last[f.Ref].begins(false)
		a.leaves(f.Ref)
		a.waits(f.Ref)
	}
	for v := range a.of {
		a.of[v].changed = true
	}
}

func (a *answers) waits(ref model.Ref) {
	if l := &a.last[ref]; l.wanted {
		a.of[l.vcluster].jobs = append(a.of[l.vcluster].jobs, ref)
	}
}

func (a *answers) leaves(ref model.Ref) {
	v := &a.of[a.last[ref].vcluster]
	if at := slices.Index(v.jobs, ref); at >= 0 {
		v.jobs = slices.Delete(v.jobs, at, at+1)
	}
}

// passed takes in which vClusters have made a pass, and what that has proposed.
func (a *answers) passed(plan *scheduler.Plan) {
	for _, v := range plan.Passed {
		a.of[v].changed, a.of[v].passed = true, true
	}
	for v := range a.of {
		a.of[v].changed = a.of[v].changed || len(plan.Proposals) > 0
	}
}
