// Package ascoded is what the public sources of Lattice do otherwise than they document:
// their pass over a queue and their scores, for comparison, and the list of all the
// differences. It sees the core through the ports that it declares.
package ascoded

// Difference is a matter in which the two modes of a policy differ, or in which
// the public sources of Lattice differ from both and are not followed.
type Difference struct {
	Topic      string
	Documented string // what the documented mode does
	AsCoded    string // what the as-coded mode does
	Source     string // where this program has the as-coded rule; "both" when there is none
}

// Differences lists all of them: those of the score first, then of the choice of
// nodes, of the pass, and of what surrounds it.
func Differences() []Difference {
	var all []Difference
	for _, part := range [][]Difference{scoreDifferences, placeDifferences, passDifferences, commonRules} {
		all = append(all, part...)
	}
	return all
}

var scoreDifferences = []Difference{
	{"weights", "shares of their sum, so a multiple of a vector is the same policy", "as written", "score.Raw"},
	{"f2 wait", "to the microsecond", "in whole seconds", "ascoded.waitOf"},
	{
		"f3 fair share", "usage by the rule of the profile, as the last accounting tick found it, of all nodes of the site",
		"nodes held at this instant, of the nodes in service: shares move when a node fails", "ascoded.Planner.freeze",
	},
	{"f3 without a known tenant", "0, unless the site says otherwise", "one half, better than a tenant at its share", "ascoded.half"},
	{
		"f4 topology", "fewest groups whose nodes could hold the job, of all groups",
		"nodes divided by the number of groups, rounded up, and a part for memory (0.7 of one node, else 0.3), which is one half here", "ascoded.TopologyOf",
	},
	{"f5 data", "the part of the input on the hot tier", "one half for all", "ascoded.half"},
	{
		"f6 backlog", "GPU time, fractions of hours included", "nodes times whole hours, so less than an hour is nothing; nodes of reactive work count twice over",
		"ascoded.backlogHours, ascoded.backlogOf",
	},
	{"f7 energy", "the price now, or its mean over the requested time", "a constant price of one half", "ascoded.half"},
	{"f8 checkpoint", "minutes by size and bandwidth where both are known", "5 minutes or 10 by the kind alone", "ascoded.checkpointOf"},
	{
		"f9 conformance", "at most 1, of the free nodes that the job may use",
		"without a cap, of all free nodes whatever the job asks of them: one node on an empty cluster outweighs everything else",
		"ascoded.conformanceOf, place.Free.LargestOrUnknown",
	},
	{
		"budgets", "time of all attempts within the window, by the GPUs that the nodes have, as of the last accounting tick",
		"time of running work alone, none of it once it began before the window; a node out of service counts as one GPU", "ascoded.Planner.uses, ascoded.Planner.gpus",
	},
	{"min_score", "holds jobs below it, if the profile sets it", "there is none, so the weights of f6 and f7 decide nothing within a budget", "ascoded.Planner.Pass"},
}

var placeDifferences = []Difference{
	{
		"which nodes", "the fewest dragonfly groups within one conformance group, and of these the best fit",
		"the largest conformance group first, its lowest ids; groups count only where no conformance group holds the job",
		"place.Query.ConformanceFirst, place.Free.selectLargest, site.mode.conformanceFirst",
	},
	{
		"tight over several groups", "fullest groups first, the last one by best fit; nearness breaks ties", "the largest group, then the largest that is near a used one",
		"place.Free.selectLargest",
	},
	{
		"spread", "a node of each group in turn, as long as any has one", "an even part of each group, and no room when a group has less",
		"place.Free.fitsLargest",
	},
	{"unknown fingerprints", "each node is a group of its own", "all such nodes are one group", "place.Free.LargestOrUnknown"},
	{"ranges", "the least size first; what is left when all others have been examined is shared out", "as many nodes as there are, up to the largest size that keeps limits and caps (the sources know no caps)", "ascoded.Planner.choose"},
}

var passDifferences = []Difference{
	{"order", "partition tier, then the order of the profile", "the score alone", "ascoded.Planner.Pass, site.mode.scoreOnly"},
	{
		"behind a blocked job", "as the profile says: no job, any job, or those that delay no reservation", "any job that fits: nothing is kept for the blocked job, which may starve",
		"ascoded.Planner.Pass, site.mode.bounded",
	},
	{
		"promises", "other vClusters leave alone what the first blocked job is to get of the nodes of no vCluster", "none are made; those of other vClusters are heeded",
		"site.mode.promises",
	},
	{
		"backfilling", "against one reservation (easy) or several (conservative), on nodes that the holder may use",
		"a second look, at jobs that end before the first deferred job could start by the number of nodes alone, within a day; for exact sizes it finds none", "ascoded.Planner.backfill, ascoded.lookAhead",
	},
	{"predicted ends", "all running work; overdue work is expected to end in a second", "bounded work only; overdue work never ends", "ascoded.Planner.startOf"},
	{"preemption", "by class, for reclaim and for sensitive work, if the profile says so", "none", "ascoded.Planner.place"},
	{
		"victims", "class, cost per node that helps, latest start; the superfluous are spared",
		"none, as the mode preempts no job; the sources take the cheapest first by minutes alone, whatever is free or of use", "ascoded.Planner.place",
	},
	{"reactive services", "follow their demand between nodes_min and nodes_max", "keep the size that they start with; the sources scale whole vClusters, by boot and drain of nodes", "site.mode.fixedServiceSize"},
	{"borrowing", "idle nodes of vClusters that lend, up to their cap", "none; a vCluster in this mode may lend", "ascoded.Planner.choose"},
}

// commonRules are those in which the sources are not followed in either mode.
var commonRules = []Difference{
	{"ownership", "the quorum grants a node once", "the same; the sources neither check nor note who owns a node", "both"},
	{"vClusters", "a queue, a profile and a cycle for each", "the same, for those that have the mode; the sources have one loop and one vector for all", "both"},
	{"hard limits", "met when a job starts; it waits with the reason", "the same, for the size that a range is given; the sources refuse at submission, and count what waits", "both"},
	{"power, bandwidth, advance reservations", "kept", "the same; the sources know none", "both"},
	{"checkpoints worth writing", "by the size on each GPU and the time since the last one", "the same; the sources take a size for each node and the time since the start", "both"},
	{"sensitive work", "on nodes of one known fingerprint", "the same, and it waits when the largest group is that of unknown ones; the sources take these for one", "both"},
	{"ties", "end in an id", "the same; in the sources they end in the order of a hash map", "both"},
	{"dependencies, requeue, walltime, drain", "as documented", "the same: they are the site's and not the profile's", "both"},
}
