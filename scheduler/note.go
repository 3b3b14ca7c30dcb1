package scheduler

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// Answer is why a job waits, in short.
type Answer struct {
	// Reason is that of the first test of a pass which the job fails. ReasonNone is that it fails
	// none, so that nothing but the next pass is missing, or that it does not wait: its start is proposed, or it runs.
	Reason model.Reason
	// Behind is the job in the way, -1 for none: with ReasonPriority the first blocked one, whose
	// reservation is, with ReasonReserved the one that nodes are kept for, with
	// ReasonDependency the lowest of those that it waits for.
	Behind model.JobID
	// NoVictims says why no job is preempted for it: of a blocked job, and of a service that lacks nodes.
	NoVictims NoVictims
}

// Note is an answer with what it is made of.
type Note struct {
	Job model.JobID
	Ref model.Ref
	Answer
	// Until is the instant of the reservation of Behind, or with ReasonReserved the
	// end of the advance reservation that sets nodes aside, or the begin of that which the job
	// names and outside of which it would run; else AbsentTime.
	Until model.Time
	// Score is what the job stood with, where its vCluster orders by score. Where it
	// orders by multifactor it is the priority, with the terms in the order of
	// multifactor.Column, a penalty of 1, and what reaches 2^31 points cut off there.
	Scored bool
	Score  score.Explanation
	// Nodes proposed, or free of those it may use.
	Nodes int32
	Room
	// Rejected are the best sets of nodes that it does not start on, three at most;
	// none of a job that is proposed or waits for something else than nodes.
	Rejected []RejectedSet
}

// Room is what a job looks for and what there is of it, in nodes. Of a job that
// is proposed only Need and Usable are set.
type Room struct {
	Need   int32 // it starts on no fewer
	Usable int32 // that it may use, in any state, without borrowing
	// What follows is of the idle nodes among these: the most of one conformance
	// group, the most of one dragonfly group, and those that reservations or jobs
	// that preempted others keep from it.
	Conform, Grouped, Aside int32
}

// Rejection says why a job does not start on a set of nodes.
type Rejection uint8

const (
	// RejectedChosen are the nodes that it would start on, but for the reason of the
	// note: enough of them, the best there are.
	RejectedChosen Rejection = iota
	// RejectedFree is all that is free and not kept for others: too few, or not of
	// one conformance group.
	RejectedFree
	// RejectedAlike is of RejectedFree the most in one conformance group.
	RejectedAlike
	// RejectedNear is of RejectedFree the most in one dragonfly group.
	RejectedNear
	// RejectedKept is free, but one job that preempted others or one advance
	// reservation keeps it; of several the one that keeps the most.
	RejectedKept
)

var rejections = [...]string{"chosen", "free", "alike", "near", "kept"}

// String is the spelling in results.
func (r Rejection) String() string { return rejections[r] }

// RejectedSet is a set of nodes that a job does not start on.
type RejectedSet struct {
	Why   Rejection
	Nodes model.Placement // whole nodes, though the job may want a part of each
	// Keeper is the job that RejectedKept is kept for, or -1, and Until the end of
	// the advance reservation that sets it aside, or AbsentTime.
	Keeper model.JobID
	Until  model.Time
}

// NoVictims says why a blocked job preempts none, where its vCluster preempts at all.
type NoVictims uint8

const (
	// VictimsFound is that some are leaving, or that the job is not blocked.
	VictimsFound NoVictims = iota
	// VictimsNone is that all jobs of lower classes would not make room if they left.
	VictimsNone
	// VictimsProtected is that they would, but some are sensitive, of a class and without checkpoints
	// that rule it out, or about to reach their walltime.
	VictimsProtected
	// VictimsTooMany is that it would take more than max_victims.
	VictimsTooMany
	// VictimsUntried is that there are some, and no pass has looked yet: the last one looked for victims for max_tries
	// other jobs before it, or had room for it at its turn.
	VictimsUntried
)

var noVictims = [...]string{"", "victims_none", "victims_protected", "victims_too_many", "victims_untried"}

// String is the kind of the decision in results.
func (n NoVictims) String() string { return noVictims[n] }
