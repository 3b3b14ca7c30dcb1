package slurm

import (
	"slices"

	"orrery/profiles"
)

// unused says of what was read that it has no meaning in the result after all, and takes
// it out: which options count depends on others, that may stand anywhere.
func (c *converter) unused() {
	c.unusedPriority()
	c.unusedBackfill()
	c.unusedSelection()
	c.unusedPoints()
	c.unusedLimits()
	c.unusedPreemption()
	c.unusedSets()
}

// multifactorOptions count with the multifactor plugin alone.
var multifactorOptions = []string{
	"priorityweightage", "priorityweightfairshare", "priorityweightjobsize", "priorityweightpartition", "priorityweightqos", "priorityweightassoc",
	"priorityweighttres", "priorityflags", "priorityfavorsmall", "prioritymaxage", "prioritydecayhalflife", "prioritycalcperiod", "priorityusageresetperiod",
	"fairsharedampeningfactor",
}

func (c *converter) unusedPriority() {
	if !c.multi {
		c.notes.demote("", "counts with PriorityType=priority/multifactor only", multifactorOptions...)
		return
	}
	if c.profile.Multifactor.FairTree {
		c.notes.demote("", "counts for the classic fair share only, that is with NO_FAIR_TREE", "fairsharedampeningfactor")
	}
}

// unusedPoints takes out priorities that no weight counts.
func (c *converter) unusedPoints() {
	m := &c.profile.Multifactor
	without := func(weight string) string { return "counts with " + weight + " only, which is 0" }
	if !c.multi || m.Partition == 0 {
		for i := range c.partitions {
			c.partitions[i].Priority = freshPartition.Priority
		}
		c.notes.demote("", without("PriorityWeightPartition"), "priorityjobfactor")
	}
	if !c.multi || m.Assoc == 0 {
		for i := range c.tree.list {
			c.tree.list[i].Priority = 0
		}
		c.notes.demote(ofAccount, without("PriorityWeightAssoc"), "priority")
	}
	if !c.multi || m.QOS == 0 {
		for i := range c.qos {
			c.qos[i].Priority = 0
		}
		c.notes.demote(ofQOS, without("PriorityWeightQOS"), "priority")
	}
}

// unusedLimits takes out limits that Slurm does not enforce, or that bound nothing.
func (c *converter) unusedLimits() {
	if !c.enforced {
		const why = "AccountingStorageEnforce does not say limits"
		c.notes.demote(ofAccount, why, "grpjobs", "grptres", "grpnodes")
		c.notes.demote(ofQOS, why, "maxwall", "maxwalldurationperjob", "grpjobs", "grptres", "grpnodes", "maxtres", "maxtresperjob", "maxnodes",
			"maxtrespu", "maxtresperuser", "maxjobspu", "maxjobsperuser", "maxsubmitpu", "maxsubmitjobspu", "maxsubmitjobsperuser")
		return
	}
	for i := range c.qos {
		c.qos[i].UserPending = 0
	}
	c.notes.revise(ofQOS, Ignored, "user_pending is not enforced yet", "maxsubmitpu", "maxsubmitjobspu", "maxsubmitjobsperuser")
	for i := range c.tree.list {
		if a := &c.tree.list[i]; int(a.MaxNodes) > len(c.nodes) {
			a.MaxNodes = 0
			c.notes.add(Note{File: c.file, Key: "GrpTRES", Value: a.Name, Verdict: Ignored, Text: "the account may hold more nodes than there are", of: ofAccount})
		}
	}
}

// unusedPreemption takes out what a quality of service preempts where none does.
func (c *converter) unusedPreemption() {
	if !c.byQOS {
		for i := range c.qos {
			c.qos[i].Preempts, c.qos[i].PreemptGrace = nil, 0
		}
		c.notes.demote(ofQOS, "counts with PreemptType=preempt/qos only", "preempt", "gracetime")
		return
	}
	for i := range c.qos {
		q := &c.qos[i]
		q.Preempts = slices.DeleteFunc(q.Preempts, func(name string) bool {
			there := slices.ContainsFunc(c.qos, func(o profiles.QOS) bool { return o.Name == name })
			if !there {
				c.notes.add(Note{File: c.file, Key: "Preempt", Value: name, Verdict: Ignored, Text: "there is no such quality of service", of: ofQOS})
			}
			return !there
		})
	}
}
