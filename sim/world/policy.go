package world

import (
	"fmt"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Overrun says what happens to a job whose true runtime exceeds its request.
type Overrun uint8

const (
	Kill   Overrun = iota // it ends at its request, as TIMEOUT
	Extend                // it runs on; the scheduler predicts its end as one second from now
)

// Missing says what the scheduler is told of a job that states no request.
type Missing uint8

const (
	Infinite Missing = iota // nothing: it may run for ever
	Default                 // Policy.Default
	Recorded                // its true runtime, which no real scheduler knows
)

// Policy says what a replay makes of awkward rows. Every use is counted.
type Policy struct {
	Overrun Overrun
	Missing Missing
	Default model.Duration // with Missing == Default
}

// walltime is what the scheduler is told about a job's request.
func (p Policy) walltime(stated, runtime model.Duration, id int64, awkward *Awkward) model.Duration {
	if stated != model.AbsentDuration {
		return stated
	}
	awkward.note(RuleMissing, id)
	switch {
	case p.Missing == Default:
		return p.Default
	case p.Missing == Recorded && runtime != model.AbsentDuration:
		return runtime
	}
	return model.Forever
}

// Rule names one kind of awkward row and what was done with it.
type Rule uint8

const (
	RuleNoProcessors  Rule = iota // dropped: asks for no processors, nodes or GPUs
	RuleImpossible                // dropped: a negative instant or span
	RuleNeverRan                  // dropped: never ran, and when it left is not known
	RuleTooLarge                  // rejected at submission: can never fit
	RuleWithdrawn                 // kept: never ran; leaves when it was cancelled
	RuleMissing                   // kept: states no request
	RuleOverrun                   // kept: true runtime exceeds the request
	RuleZeroRuntime               // kept: runtime 0
	RuleUsesAllocated             // kept: states no processors, those recorded as allocated are used
	RuleRoundedUp                 // kept: shares of a node rounded up to whole units
	RuleUnknownName               // kept: a name that the site does not know is left out
	RuleUntimed                   // kept: a service or session without a runtime
	RuleRanBefore                 // kept: goes on with what is left at a warm start
	RuleWaitedBefore              // kept: waits since before a warm start
	RuleNotResumed                // kept: ran at a warm start and found no place
	RuleElsewhere                 // kept: ran at a warm start on nodes that it cannot have
	RuleFollows                   // kept: came when the job that it follows had left
	RuleNeverCame                 // dropped: the job that it follows never left
	RuleLeftBefore                // dropped: had left at a warm start
	RuleRouted                    // kept: names no vCluster, another column says it
	RuleRoutedRest                // kept: names no vCluster, and goes where all others go
	RuleFirstVCluster             // kept: names no vCluster, and nothing says where it goes
	numRules
)

var ruleNames = [numRules]string{
	"no-processors", "impossible", "never-ran", "too-large", "withdrawn", "missing-request", "overrun", "zero-runtime", "uses-allocated", "rounded-up", "unknown-name", "untimed",
	"ran-before", "waited-before", "not-resumed", "resumed-elsewhere", "follows", "never-came", "left-before", "routed", "routed-otherwise", "first-vcluster",
}

var ruleDocs = [numRules]string{
	"dropped: the row asks for no processors, nodes or GPUs",
	"dropped: the submission, the runtime or the request is negative",
	"dropped: the job never ran and the row does not say when it left",
	"rejected at submission: it could never fit the cluster",
	"kept: the job never ran; it leaves when it was cancelled in the log",
	"kept: the row states no requested time; --missing-request says what is assumed",
	"kept: the true runtime exceeds the requested time",
	"kept: the runtime is zero",
	"kept: the row states no requested processors, those it was allocated count",
	"kept: the share of a node was rounded up to whole units",
	"kept: a tenant that the site does not have, or a partition, quality of service or reservation of a site without any, counts as none",
	"kept: a service or session without a runtime; it leaves when it was cancelled or ended in the log, else at the last instant that any row tells of",
	"kept: it ran when the replay begins, and is placed first for what is left of it",
	"kept: it waited when the replay begins",
	"kept: it ran when the replay begins, but there was no place for it; it waits for one with what is left of it",
	"kept: it ran when the replay begins, on nodes that the site does not have, that are not ready or held by others, or not as many as it asks for; it is placed on others, if there are any",
	"kept: it was submitted think_time after the job that it follows had left, and not when the log says",
	"dropped: the job that it follows never left, so that it was never submitted",
	"dropped: it had left when the replay begins; of a site, the ledgers count what it consumed",
	"kept: names no vCluster, and was sent to one by another column",
	"kept: names no vCluster, and was sent where all others go",
	"kept: names no vCluster, and was sent to the first of the site",
}

// String is the spelling in run.json.
func (r Rule) String() string { return ruleNames[r] }

// Doc says what the rule does.
func (r Rule) Doc() string { return ruleDocs[r] }

// Awkward counts the rows that each rule met, with the ids of the first few.
type Awkward struct {
	Count    [numRules]int64
	Examples [numRules][]int64
}

// maxExamples bounds Awkward.Examples.
const maxExamples = 5

// Rules lists all rules in order.
func Rules() []Rule {
	out := make([]Rule, numRules)
	for i := range out {
		out[i] = Rule(i)
	}
	return out
}

func (a *Awkward) note(r Rule, id int64) {
	a.Count[r]++
	if len(a.Examples[r]) < maxExamples {
		a.Examples[r] = append(a.Examples[r], id)
	}
}

// Units says how a node's parts turn into the units that are scheduled: unit i
// of a node is the same part of each of its resources. A job's share of a node
// is rounded up to units in the resource of which it asks most, so that no
// resource is ever oversubscribed. The zero value takes processors as units.
type Units struct {
	PerNode bool  // rows ask for nodes and shares of them
	CPUs    int32 // processors in one unit, at least 1 where PerNode is set
	GPUs    int32 // GPUs in one unit, 0 when nodes have none
}

// request turns row i into a request. ok is false when the row asks for
// nothing.
func (u Units) request(b *traces.Batch, i int) (r model.Request, how Rule, ok bool) {
	how = numRules
	procs := b.ProcsRequested[i]
	if procs <= 0 {
		if procs = b.ProcsAllocated[i]; procs > 0 {
			how = RuleUsesAllocated
		}
	}
	nodes := b.NodesMin[i]
	if !u.PerNode || nodes <= 0 {
		if procs <= 0 && nodes > 0 {
			procs = saturate(int64(nodes) * int64(max(b.CPUsPerNode[i], 1)))
		}
		if u.PerNode {
			procs = (procs + u.CPUs - 1) / u.CPUs
		}
		return model.Request{Shape: model.Anywhere, Units: procs}, how, procs > 0
	}
	per, exact := int32(1), true
	if c := b.CPUsPerNode[i]; c > 0 {
		per = max(per, (c+u.CPUs-1)/u.CPUs)
		exact = c%u.CPUs == 0
	}
	if g := b.GPUsPerNode[i]; g > 0 {
		if u.GPUs == 0 {
			// Nodes have no GPUs: ask for more than any node has.
			return model.Request{Shape: model.PerNode, Nodes: nodes, PerNode: maxUnits, Units: maxUnits}, how, true
		}
		per = max(per, (g+u.GPUs-1)/u.GPUs)
	}
	if !exact {
		how = RuleRoundedUp
	}
	return model.Request{Shape: model.PerNode, Nodes: nodes, PerNode: per, Units: saturate(int64(nodes) * int64(per))}, how, true
}

const maxUnits = 1<<31 - 1

func saturate(x int64) int32 { return int32(min(x, maxUnits)) }

// ClusterOf derives the nodes and the meaning of a unit from a nodes table:
// a unit is one GPU with its part of the processors where every node has GPUs,
// and one processor otherwise.
func ClusterOf(nodes []traces.Node) (units []int32, u Units, err error) {
	u = Units{PerNode: true, CPUs: 1}
	allGPU := true
	for _, n := range nodes {
		allGPU = allGPU && n.GPUs > 0
	}
	if allGPU {
		u.GPUs, u.CPUs = 1, 0
		for _, n := range nodes {
			if c := max(n.CPUs/n.GPUs, 1); u.CPUs == 0 || c < u.CPUs {
				u.CPUs = c
			}
		}
	}
	for i, n := range nodes {
		k := n.CPUs
		if allGPU {
			k = n.GPUs
		}
		if k < 1 {
			return nil, u, fmt.Errorf("node %d (%s) has no processors and no GPUs", i, n.Name)
		}
		units = append(units, k)
	}
	return units, u, nil
}
