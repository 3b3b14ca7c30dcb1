// Package notes says why the jobs of a site wait: what is in the way, what the job
// stands with, what is free of the nodes that it may use, and on which sets of nodes it
// does not start. It reads what the core shows it of one job, and decides nothing.
package notes

import (
	"math/bits"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// Case is what a note is made of, as of the instant at which it is made: one job and
// what the core knows of its prospects. Of reads it only.
type Case struct {
	Site  *model.Site
	Space *place.Space

	Job    *model.Allocation
	Ref    model.Ref
	Mask   model.NodeSet // nodes that the job may use without borrowing
	Class  place.ClassID // of Mask
	Answer scheduler.Answer
	Until  model.Time // as scheduler.Note has it
	Waits  bool       // else it is proposed, or runs

	Free  *place.Free   // of its vCluster
	Avoid model.NodeSet // nodes that it must not use now, nil for none
	Kept  []Kept        // what those are kept for
	// Nodes are those that are proposed for it; else those that it would get if nothing
	// but their number counted, empty when there are too few or the reason is not OfNodes.
	Nodes *model.Placement
}

// Kept is a set of nodes that is kept from a job: for another one that preempted others,
// or with Keeper -1 by an advance reservation until its end.
type Kept struct {
	Nodes  model.NodeSet
	Keeper model.JobID
	Until  model.Time // AbsentTime where there is a keeper
}

// OfNodes says whether a reason is about nodes, so that sets of them were looked at.
func OfNodes(r model.Reason) bool {
	switch r {
	case model.ReasonResources, model.ReasonConformance, model.ReasonReserved, model.ReasonPriority, model.ReasonPower, model.ReasonBandwidth:
		return true
	}
	return false
}

// Of is the note of a case, but for the score. Cost: the nodes of the site.
func Of(c *Case) scheduler.Note {
	n := scheduler.Note{
		Job: c.Job.Job, Ref: c.Ref, Answer: c.Answer, Until: c.Until,
		Room: scheduler.Room{Need: c.Job.NodesMin, Usable: c.Space.Most(c.Class, c.Job.Cards())},
	}
	if !c.Waits {
		n.Nodes = c.Nodes.Nodes()
		return n
	}
	n.Nodes = c.Free.Count(c.Class)
	if c.Job.Divides() {
		n.Nodes = c.Free.CountShares(c.Class, place.ShareOf(c.Job))
	}
	measure(c, &n.Room)
	if OfNodes(c.Answer.Reason) {
		n.Rejected = rejected(c)
	}
	return n
}

// measure counts what is idle of the nodes that the job may use.
func measure(c *Case, out *scheduler.Room) {
	perGroup := make([]int32, len(c.Site.Groups))
	out.Conform = c.Free.Largest(c.Class)
	for w, m := range c.Free.Idle() {
		m &= c.Mask[w]
		if c.Avoid != nil {
			out.Aside += int32(bits.OnesCount64(m & c.Avoid[w]))
		}
		model.NodeWord{Word: int32(w), Mask: m}.Nodes(func(n model.NodeID) bool {
			if g := c.Site.Nodes[n].Group; g >= 0 && int(g) < len(perGroup) {
				perGroup[g]++
				out.Grouped = max(out.Grouped, perGroup[g])
			}
			return true
		})
	}
}

// Keeper says for which job idle nodes of mask are kept, -1 for none, and until when an
// advance reservation does so, AbsentTime if none does; the first of several each.
func Keeper(kept []Kept, idle, mask model.NodeSet) (behind model.JobID, until model.Time) {
	behind, until = -1, model.AbsentTime
	usable := func(nodes model.NodeSet) bool {
		for w, m := range idle {
			if m&mask[w]&nodes[w] != 0 {
				return true
			}
		}
		return false
	}
	for i := range kept {
		switch k := &kept[i]; {
		case k.Keeper >= 0 && behind < 0 && usable(k.Nodes):
			behind = k.Keeper
		case k.Keeper < 0 && until == model.AbsentTime && usable(k.Nodes):
			until = k.Until
		}
	}
	return behind, until
}
