package translate

import "math/bits"

// Rule names one kind of row that needs special handling, and what is done with it.
type Rule uint8

const (
	RuleNoProcessors        Rule = iota // dropped: asks for no processors, nodes or GPUs
	RuleImpossible                      // dropped: a negative instant or span
	RuleNeverRan                        // dropped: never ran, and when it left is not known
	RuleTooLarge                        // rejected at submission: can never fit
	RuleWithdrawn                       // kept: never ran; leaves when it was cancelled
	RuleMissing                         // kept: states no request
	RuleOverrun                         // kept: true runtime exceeds the request
	RuleZeroRuntime                     // kept: runtime 0
	RuleUsesAllocated                   // kept: states no processors, those recorded as allocated are used
	RuleRoundedUp                       // kept: shares of a node rounded up to whole units
	RuleUnknownName                     // kept: a name that the site does not know is left out
	RuleUntimed                         // kept: a service or session without a runtime
	RuleRanBefore                       // kept: goes on with what is left at a warm start
	RuleWaitedBefore                    // kept: waits since before a warm start
	RuleNotResumed                      // kept: ran at a warm start and found no place
	RuleElsewhere                       // kept: ran at a warm start on nodes that it cannot have
	RuleFollows                         // kept: came when the job that it follows had left
	RuleNeverCame                       // dropped: the job that it follows never left
	RuleLeftBefore                      // dropped: had left at a warm start
	RuleRouted                          // kept: names no vCluster, another column says it
	RuleRoutedRest                      // kept: names no vCluster, and goes where all others go
	RuleFirstVCluster                   // kept: names no vCluster, and nothing says where it goes
	RuleFirstPartition                  // kept: names several partitions, the first that the site has is taken
	RuleNoCheckpoint                    // kept: does not say what saves the work of its job
	RuleEligibleLater                   // kept: was eligible later than it was submitted
	RuleNotInCluster                    // rejected at submission: names what the site does not have
	RuleFeaturesApproximate             // kept: its nodes are not quite those that its features ask for
	numRules
)

var ruleNames = [numRules]string{
	"no-processors", "impossible", "never-ran", "too-large", "withdrawn", "missing-request", "overrun", "zero-runtime", "uses-allocated", "rounded-up", "unknown-name", "untimed",
	"ran-before", "waited-before", "not-resumed", "resumed-elsewhere", "follows", "never-came", "left-before", "routed", "routed-otherwise", "first-vcluster", "first-partition", "no-checkpoint-column", "eligible-later", "not-in-cluster", "features-approximated",
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
	"kept: a tenant that the site does not have, or a partition, quality of service or reservation of a site without any, or a node of node_exclude, counts as none",
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
	"kept: names several partitions, as a,b, and is in the first of them that the site has; Slurm would try each",
	"kept: the row does not say what saves the work of its job when it is preempted or fails; job_checkpoint of the cluster file does, none unless it is given",
	"kept: not started before the instant at which it became eligible in the log: a begin time that was asked for, or, where the log does not say what the job waited for, the end of another under the old policy",
	"rejected at submission: it names features, nodes, a partition or the like that the cluster does not have, or routing has no vCluster for it; too-large counts it as well",
	"kept: its features ask for nodes that are alike, as [a|b], or for some of each kind, as a*2: each of its nodes has one of these features",
}

// String is the spelling in run.json.
func (r Rule) String() string { return ruleNames[r] }

// Doc says what the rule does.
func (r Rule) Doc() string { return ruleDocs[r] }

// AllRules lists the rules in order.
func AllRules() []Rule {
	out := make([]Rule, numRules)
	for i := range out {
		out[i] = Rule(i)
	}
	return out
}

// RuleSet is the rules that a row met.
type RuleSet uint32

// Add adds a rule.
func (s *RuleSet) Add(r Rule) { *s |= 1 << r }

// Has says whether r is among them.
func (s RuleSet) Has(r Rule) bool { return s>>r&1 != 0 }

// Rejected is the rules met by a row whose job is rejected at its submission: how it
// would have run does not count.
func (s RuleSet) Rejected() RuleSet {
	return s&^(1<<RuleZeroRuntime|1<<RuleOverrun|1<<RuleRanBefore|1<<RuleWaitedBefore) | 1<<RuleTooLarge
}

// SpecialRows counts the rows that each rule met, with the ids of the first few.
type SpecialRows struct {
	Count    [numRules]int64
	Examples [numRules][]int64
}

// maxExamples bounds SpecialRows.Examples.
const maxExamples = 5

// Note counts the row of job id, which met these rules.
func (s *SpecialRows) Note(met RuleSet, id int64) {
	for ; met != 0; met &= met - 1 {
		s.Add(Rule(bits.TrailingZeros32(uint32(met))), id)
	}
}

// Add counts the row of job id, which met rule r.
func (s *SpecialRows) Add(r Rule, id int64) {
	s.Count[r]++
	if len(s.Examples[r]) < maxExamples {
		s.Examples[r] = append(s.Examples[r], id)
	}
}
