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

// preemptsQOS is the qualities of service that that of j preempts.
func preemptsQOS(site *model.Site, j *job) []model.QOSID {
	if j.QOS < 0 {
		return nil
	}
	return site.QOS[j.QOS].PreemptsQOS
}
