package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// wants says whether a job that waits in a vCluster might preempt j, which starts: the pass that
// looked for victims for it did not know of j. byQOS is nodeState.preemptsByQOS.
func wants(qs *queueState, j *job, byQOS bool) bool {
	most := qs.waitingOf.most()
	return qs.policy.Preempts && most >= 0 && j.Preemptible() && (j.Class < most || byQOS)
}

// rankClass is the class that a job preempts by.
func rankClass(j *job) int32 {
	if j.IsSensitive() {
		return max(j.Class, model.SensitiveClass)
	}
	return j.Class
}

// triggerOf is what j preempts others by, where it does not reclaim nodes.
func triggerOf(j *job) preempt.Trigger {
	if j.IsSensitive() {
		return preempt.Sensitive
	}
	return preempt.Priority
}

// belowOf is a class above all those that j may preempt, where it does not reclaim nodes: any
// where its quality of service preempts others.
func belowOf(site *model.Site, j *job) int32 {
	if len(preemptsQOS(site, j)) > 0 {
		return model.SensitiveClass
	}
	return rankClass(j)
}

// leastClass is a class that jobs must be above to preempt any job that runs now.
func (p victims) leastClass() int32 {
	if p.core.lent[p.qs.id] > 0 || p.core.preemptsByQOS {
		return -1 // they are reclaimed, or count as of other classes
	}
	return p.core.activeOf.least()
}

// preemptsQOS is the qualities of service that that of j preempts.
func preemptsQOS(site *model.Site, j *job) []model.QOSID {
	if j.QOS < 0 {
		return nil
	}
	return site.QOS[j.QOS].PreemptsQOS
}
