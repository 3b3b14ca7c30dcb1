package explain

import (
	"strings"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// ReasonWords is what is said of a reason, in each part that it can have; "" where it has
// none.
type ReasonWords struct {
	Reason string
	// Waits goes on "the job waited …". Words in angle brackets are filled in.
	Waits string
	// Rejected goes on "it was refused at submission, since …".
	Rejected string
	// Refused goes on "a proposal to start it was refused: …".
	Refused string
	// Ended goes on "it ended because …".
	Ended string
}

// words of all reasons.
var reasonWords = [model.LastReason + 1]ReasonWords{
	model.ReasonTooLarge:      {Rejected: "its vCluster never has the nodes that it asks for"},
	model.ReasonWalltimeLimit: {Ended: "its requested walltime was over"},
	model.ReasonCancelled:     {Rejected: "its owner withdrew it", Ended: "its owner withdrew it"},
	model.ReasonNotPending:    {Refused: "it did not wait any more"},
	model.ReasonNodesTaken:    {Refused: "another job had taken one of the nodes"},
	model.ReasonUnknownNode:   {Refused: "there is no such node"},
	model.ReasonBadPlacement:  {Refused: "the nodes do not fit its request"},
	model.ReasonEndOfRun:      {Ended: "the replay stopped"},
	model.ReasonQuotaNodes: {
		Waits: "because its tenant <tenant> held as many nodes as it may", Rejected: "it would have taken its tenant over its limit on nodes",
		Refused: "its tenant would hold more nodes than it may",
	},
	model.ReasonQuotaConcurrent: {
		Waits: "because its tenant <tenant> ran as many jobs as it may", Rejected: "it would have taken its tenant over its limit on running jobs",
		Refused: "its tenant would run more jobs than it may",
	},
	model.ReasonQOSLimit: {
		Waits: "for a limit of its quality of service", Rejected: "it would have gone beyond a limit of its quality of service",
	},
	model.ReasonPartitionLimit: {
		Waits: "because its partition was not up", Rejected: "its partition does not allow what it asks for, or is not up",
	},
	model.ReasonGroupLimit: {Waits: "because its task group was at its concurrency limit"},
	model.ReasonMutex:      {Waits: "for a mutex that another job held"},
	model.ReasonDependency: {Waits: "until job <job>, on which it depends, had ended"},
	model.ReasonDependencyNever: {
		Waits:    "to be withdrawn, since a condition on a job that it depended on could not hold any more",
		Rejected: "a condition on a job that it depends on could not hold any more",
		Ended:    "a condition on a job that it depends on could not hold any more",
	},
	model.ReasonHeld:        {Waits: "on hold", Refused: "it was on hold"},
	model.ReasonNotEligible: {Waits: "for its eligible time"},
	model.ReasonMinScore:    {Waits: "because its score was below the min_score of its profile"},
	model.ReasonResources:   {Waits: "for <n> free nodes"},
	model.ReasonPower: {
		Waits: "for power under the cap", Rejected: "it would draw more power than the cap ever allows",
		Refused: "it would draw more power than the cap leaves", Ended: "more power was reckoned than the cap allows",
	},
	model.ReasonBandwidth: {
		Waits: "for storage bandwidth under the cap", Rejected: "it would demand more storage bandwidth than the cap ever allows",
		Refused: "it would demand more storage bandwidth than the cap leaves",
	},
	model.ReasonConformance: {
		Waits:    "for <n> free nodes of one conformance group",
		Rejected: "it is sensitive and no conformance group (nodes of one fingerprint) has so many nodes that it may use",
		Refused:  "it is sensitive and the nodes are not of one conformance group",
	},
	model.ReasonReserved: {
		Waits: "for nodes that the reservation <name> set aside; or for nodes kept for job <job>, by a promise or since others leave for it; " +
			"or for the reservation <name>, which it names, to begin; or because it would run past the end of the reservation <name>, which it names",
		Rejected: "it asks for more time than is left of the reservation that it names",
	},
	model.ReasonPriority:     {Waits: "behind the reservation of job <job>"},
	model.ReasonPreempted:    {Ended: "its nodes went to other work"},
	model.ReasonNodeFailure:  {Ended: "one of its nodes failed"},
	model.ReasonReclaimed:    {Ended: "the vCluster that lent its nodes took them back"},
	model.ReasonNodeNotReady: {Refused: "one of the nodes took no new work any more"},
	model.ReasonNotOwned:     {Refused: "one of the nodes is of another vCluster, which does not lend it"},
	model.ReasonLendLimit: {
		Rejected: "with what the other vClusters lend at most (max_lent) it never has so many nodes",
		Refused:  "the vCluster of one of the nodes lends no more",
	},
	model.ReasonVictimGone:     {Refused: "a job that was to make room did not run any more"},
	model.ReasonNotPreemptible: {Refused: "a job that was to make room may not be preempted by it"},
	model.ReasonNotRunning:     {Refused: "it did not run, or was leaving"},
	model.ReasonSensitivePool: {
		Waits:    "because sensitive work held as many nodes as it may",
		Rejected: "it is sensitive and asks for more nodes than sensitive work may ever hold (sensitive_pool)",
		Refused:  "sensitive work would hold more nodes than it may",
	},
	model.ReasonMaxRequeue: {Ended: "it failed once more than it may be requeued"},
	model.ReasonQuotaGPUs: {
		Waits: "because its tenant <tenant> held as many GPUs as it may", Rejected: "it would have taken its tenant over its limit on GPUs",
		Refused: "its tenant would hold more GPUs than it may",
	},
	model.ReasonSessionLimit: {
		Waits: "because as many sessions of its user ran as may (user_sessions)", Rejected: "it would have taken its user over the limit on sessions (user_sessions)",
	},
}

// Reasons is what is said of each reason, in the order of model.
func Reasons() []ReasonWords {
	var list []ReasonWords
	for r, w := range reasonWords {
		if w.Reason = model.Reason(r).String(); w.Reason != "" {
			list = append(list, w)
		}
	}
	return list
}

// waitsFor are the words of a reason that needs no more than a tenant to be told.
func (e *story) waitsFor(r model.Reason) string {
	words := reasonWords[r].Waits
	if words == "" {
		return "for " + r.String()
	}
	return strings.Join(strings.Fields(strings.Replace(words, "<tenant>", e.Tenant, 1)), " ")
}

// noVictimWords is why no job was preempted for a blocked one, by the kind of the decision.
var noVictimWords = map[string]string{
	scheduler.VictimsNone.String():      "all jobs that it may preempt would not make room, if there are any",
	scheduler.VictimsProtected.String(): "jobs that would make room are protected: sensitive, of a high class without checkpoints, or about to reach their walltime",
	scheduler.VictimsTooMany.String():   "more jobs would have to leave than max_victims allows",
	scheduler.VictimsUntried.String():   "the pass had looked for victims for max_tries jobs before it",
}

// noVictims lists the times in which no job was preempted for the job, each until another reason,
// a preemption, a start or the end.
func (e *story) noVictims() {
	open := false
	for i := range e.decisions {
		d := &e.decisions[i]
		words, none := noVictimWords[d.Kind]
		if open && (none || d.Kind == "preempt" || d.Kind == "start") {
			e.NoVictims[len(e.NoVictims)-1].To, open = e.instant(d.Time), false
		}
		if none {
			e.NoVictims, open = append(e.NoVictims, NoVictim{From: e.instant(d.Time), To: e.End, Reason: d.Kind, What: words}), true
		}
	}
}
