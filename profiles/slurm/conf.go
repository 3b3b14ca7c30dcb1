package slurm

import (
	"math"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces/hostlist"
)

// conf reads slurm.conf.
func (c *converter) conf(lines []line) error {
	node, part := freshNode, freshPartition
	for _, l := range lines {
		var err error
		switch first := l.pairs[0]; {
		case first.is("NodeName"):
			err = c.nodeLine(l, &node)
		case first.is("PartitionName"):
			err = c.partitionLine(l, &part)
		case first.is("NodeSet"):
			err = c.nodeSet(l)
		case first.is("FrontendName"), first.is("DownNodes"):
			c.ignored(first, "the nodes are those of NodeName")
		default:
			for _, p := range l.pairs {
				if err = c.option(p); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// option reads one option of the whole cluster.
func (c *converter) option(p pair) error {
	key := strings.ToLower(p.key)
	if read, ok := c.options[key]; ok {
		return read(c, p)
	}
	if why, ok := plainOption[key]; ok {
		c.plain(p, why)
		return nil
	}
	for _, x := range plainParts {
		if strings.Contains(key, x.part) {
			c.plain(p, x.why)
			return nil
		}
	}
	c.ignored(p, "an option that this converter does not know")
	return nil
}

// options that mean something here, by their name in lower case.
func options() map[string]func(*converter, pair) error {
	return map[string]func(*converter, pair) error{
		"clustername":              (*converter).clusterName,
		"prioritytype":             (*converter).priorityType,
		"priorityweightage":        weight(func(c *converter) *int64 { return &c.profile.Multifactor.Age }),
		"priorityweightfairshare":  weight(func(c *converter) *int64 { return &c.profile.Multifactor.FairShare }),
		"priorityweightjobsize":    weight(func(c *converter) *int64 { return &c.profile.Multifactor.JobSize }),
		"priorityweightpartition":  weight(func(c *converter) *int64 { return &c.profile.Multifactor.Partition }),
		"priorityweightqos":        weight(func(c *converter) *int64 { return &c.profile.Multifactor.QOS }),
		"priorityweightassoc":      weight(func(c *converter) *int64 { return &c.profile.Multifactor.Assoc }),
		"priorityweighttres":       (*converter).tresWeights,
		"priorityflags":            (*converter).priorityFlags,
		"priorityfavorsmall":       (*converter).favorSmall,
		"prioritymaxage":           spanOf(func(c *converter, d model.Duration) { c.profile.Multifactor.MaxAge = max(d, model.Second) }),
		"prioritydecayhalflife":    spanOf(func(c *converter, d model.Duration) { c.profile.Multifactor.HalfLife = d }),
		"prioritycalcperiod":       spanOf(func(c *converter, d model.Duration) { c.profile.AccountingTick = max(d, model.Second) }),
		"priorityusageresetperiod": (*converter).usageReset,
		"fairsharedampeningfactor": (*converter).dampening,
		"schedulertype":            (*converter).schedulerType,
		"schedulerparameters":      (*converter).schedulerParameters,
		"selecttype":               (*converter).selectType,
		"selecttypeparameters":     (*converter).selectParameters,
		"epilog":                   (*converter).epilogProgram,
		"licenses":                 (*converter).licences,
		"killwait":                 (*converter).killWait,
		"preempttype":              (*converter).preemptType,
		"preemptmode":              (*converter).preemptMode,
		"jobrequeue":               (*converter).jobRequeue,
		"accountingstorageenforce": (*converter).enforce,
		"topologyplugin":           (*converter).topologyPlugin,
		"grestypes":                (*converter).gresTypes,
	}
}

// plainOption are options without a meaning here, and plainParts parts of the
// names of many.
var plainOption = map[string]string{
	"enforcepartlimits": "a replay's policy says what becomes of jobs that can never start",
	"overtimelimit":     "a replay's policy says what becomes of jobs that overrun", "defmempercpu": "rows say what memory they ask for",
	"defmempernode": "rows say what memory they ask for", "maxmempercpu": "rows say what memory they ask for", "maxmempernode": "rows say what memory they ask for", "completewait": "agents.completion_delay of the cluster file is like it",
	"maxjobcount": "the replay has no such bound", "maxarraysize": "the replay has no such bound", "minjobage": "records of ended jobs", "firstjobid": "rows have their own ids", "maxjobid": "rows have their own ids",
	"maxstepcount": "steps of jobs are not modelled", "waittime": "steps of jobs are not modelled", "inactivelimit": "steps of jobs are not modelled", "killonbadexit": "steps of jobs are not modelled",
	"returntoservice": "events of the cluster file say when nodes return", "vsizefactor": "use of memory is not modelled", "usepam": "rights of users", "propagateresourcelimits": "limits of processes",
	"statesavelocation": "a path", "messagetimeout": "times of daemons", "batchstarttimeout": "times of daemons", "tmpfs": "a path", "rebootprogram": "a program",
	"accountingstoragetres": "what accounting counts", "mpidefault": "how tasks start", "mpiparams": "how tasks start", "srunportrange": "how tasks start", "srunprolog": "a program", "srunepilog": "a program", "launchparameters": "how tasks start", "x11parameters": "how tasks start",
	"sitefactorplugin": "the column site_factor of the trace has the points of the site factor", "prioritysitefactorplugin": "the column site_factor of the trace has the points of the site factor", "prioritysitefactorparameters": "the column site_factor of the trace has the points of the site factor",
}

var plainParts = []struct{ part, why string }{
	{"slurmctld", "a matter of daemons"}, {"slurmd", "a matter of daemons"}, {"slurmuser", "a matter of daemons"}, {"slurmsched", "logging"}, {"pidfile", "a path"}, {"log", "logging"}, {"debug", "logging"}, {"auth", "security"}, {"crypto", "security"}, {"cred", "security"},
	{"control", "where daemons run"}, {"backup", "where daemons run"}, {"accountingstor", "where accounts are kept"}, {"acct", "what is measured of jobs"}, {"jobcomp", "where records are kept"}, {"proctrack", "how tasks start"}, {"switchtype", "how tasks start"},
	{"task", "how tasks start"}, {"prolog", "a program"}, {"epilog", "a program"}, {"healthcheck", "a program"}, {"mail", "a program"}, {"plugin", "a plugin"}, {"timeout", "times of daemons"}, {"cli", "defaults of commands"}, {"suspend", "nodes are not switched off"},
	{"resume", "nodes are not switched off"}, {"power", "nodes are not switched off"}, {"time", "times of daemons"}, {"core", "not modelled"}, {"federation", "other clusters"}, {"dependency", "other clusters"}, {"communication", "how daemons talk"}, {"tree", "how daemons talk"}, {"jobsubmit", "a plugin"}, {"burstbuffer", "a plugin"},
}

func weight(of func(*converter) *int64) func(*converter, pair) error {
	return func(c *converter, p pair) error {
		n, err := c.number(p, 0, math.MaxUint32)
		if err == nil {
			*of(c) = n
			c.understood(p)
		}
		return err
	}
}

// spanOf reads a span; an endless one is 0.
func spanOf(set func(*converter, model.Duration)) func(*converter, pair) error {
	return func(c *converter, p pair) error {
		d, endless, err := span(p.value)
		if err != nil {
			return c.errorf(p.line, "%s: %w", p.key, err)
		}
		if endless {
			d = 0
		}
		set(c, d)
		c.understood(p)
		return nil
	}
}

func (c *converter) clusterName(p pair) error {
	if p.value != "" {
		c.cluster.Name = p.value
	}
	c.understood(p)
	return nil
}

func (c *converter) priorityType(p pair) error {
	if c.multi = strings.EqualFold(p.value, "priority/multifactor"); c.multi || strings.EqualFold(p.value, "priority/basic") {
		c.understood(p)
	} else {
		c.approximated(p, "jobs are in the order of their submission")
	}
	return nil
}

func yes(text string) bool {
	return strings.EqualFold(text, "yes") || text == "1" || strings.EqualFold(text, "true")
}

func (c *converter) favorSmall(p pair) error {
	c.profile.Multifactor.FavorSmall = yes(p.value)
	c.understood(p)
	return nil
}

func (c *converter) dampening(p pair) error {
	n, err := c.number(p, 1, 65535)
	if err == nil {
		c.profile.Multifactor.Dampening = int32(n)
		c.understood(p)
	}
	return err
}

func (c *converter) usageReset(p pair) error {
	if strings.EqualFold(p.value, "NONE") {
		c.understood(p)
	} else {
		c.ignored(p, "usage is not reset, it decays only")
	}
	return nil
}

func (c *converter) priorityFlags(p pair) error {
	for _, flag := range hostlist.Terms(p.value, ",") {
		one := pair{p.key, flag, p.line}
		switch strings.ToUpper(flag) {
		case "NO_FAIR_TREE":
			c.profile.Multifactor.FairTree = false
			c.understood(one)
		case "FAIR_TREE":
			c.understood(one)
		case "SMALL_RELATIVE_TO_TIME":
			c.profile.Multifactor.SizeToTime = true
			c.understood(one)
		case "NO_NORMAL_TRES":
			c.raw = true
			c.approximated(one, "weights of TRES are multiplied by what the largest partition has; in smaller ones they count for more")
		case "CALCULATE_RUNNING":
			c.ignored(one, "the priority of running jobs decides nothing here")
		case "ACCRUE_ALWAYS", "DEPTH_OBLIVIOUS", "MAX_TRES", "NO_NORMAL_ALL", "NO_NORMAL_ASSOC", "NO_NORMAL_PART", "NO_NORMAL_QOS", "INCR_ONLY":
			c.ignored(one, "a way of computing the priority that is not modelled")
		default:
			c.ignored(one, "a flag that this converter does not know")
		}
	}
	return nil
}

// tresWeight is a term of PriorityWeightTRES.
type tresWeight struct {
	pair
	kind  string
	value float64
}

func (c *converter) tresWeights(p pair) error {
	for _, term := range hostlist.Terms(p.value, ",") {
		kind, text, ok := strings.Cut(term, "=")
		x, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || math.Abs(x) > math.MaxInt32 || math.IsNaN(x) {
			return c.errorf(p.line, "%s: found %q, want terms like CPU=1000", p.key, term)
		}
		c.weights = append(c.weights, tresWeight{pair{p.key, term, p.line}, strings.ToLower(kind), x})
	}
	return nil
}

// weigh sets the weights of TRES once the nodes are known.
func (c *converter) weigh() {
	whole := c.whole()
	for _, w := range c.weights {
		to := map[string]*int32{
			"node": &c.profile.Multifactor.TRES.Node, "cpu": &c.profile.Multifactor.TRES.CPU,
			"mem": &c.profile.Multifactor.TRES.Memory, "gres/gpu": &c.profile.Multifactor.TRES.GPU,
		}[w.kind]
		if to == nil {
			c.ignored(w.pair, "only nodes, CPUs, memory and GPUs of any type count")
			continue
		}
		x := w.value
		if c.raw {
			x = float64(x * whole[w.kind])
		}
		rounded := math.Round(x)
		*to = int32(max(min(rounded, math.MaxInt32), math.MinInt32))
		if float64(*to) != x {
			c.approximated(w.pair, "weights are whole numbers of points, of what the partition has in all")
		} else {
			c.understood(w.pair)
		}
	}
}

// whole is what the largest partition has, by the names of TRES.
func (c *converter) whole() map[string]float64 {
	best := map[string]float64{}
	sum := func(names []string) {
		w := map[string]float64{}
		for _, name := range names {
			if i, ok := c.index[name]; ok {
				s := &c.nodes[i].spec
				w["node"]++
				w["cpu"] += float64(s.processors())
				w["mem"] += float64(s.memory)
				w["gres/gpu"] += float64(s.gpus)
			}
		}
		if w["node"] > best["node"] {
			best = w
		}
	}
	allNodes := make([]string, len(c.nodes))
	for i := range c.nodes {
		allNodes[i] = c.nodes[i].name
	}
	for _, p := range c.partitions {
		if p.all {
			sum(allNodes)
		} else {
			sum(p.names)
		}
	}
	if len(c.partitions) == 0 {
		sum(allNodes)
	}
	return best
}

func (c *converter) schedulerType(p pair) error {
	c.builtin = strings.EqualFold(p.value, "sched/builtin")
	if c.builtin || strings.EqualFold(p.value, "sched/backfill") {
		c.understood(p)
	} else {
		c.approximated(p, "read as sched/backfill")
	}
	return nil
}

func (c *converter) licences(p pair) error {
	c.ignored(p, "licences are not modelled")
	return nil
}

// epilogProgram is a program that nodes run at the end of a job: its end asks for a pass of the main scheduler at once.
func (c *converter) epilogProgram(p pair) error {
	if c.epilog = p.value != ""; c.epilog {
		c.understood(p)
	} else {
		c.ignored(p, "no program is named")
	}
	return nil
}

func (c *converter) killWait(p pair) error {
	n, err := c.number(p, 0, 86400)
	if err == nil {
		c.cluster.Agents.KillGrace = model.Duration(n) * model.Second
		c.understood(p)
	}
	return err
}

func (c *converter) enforce(p pair) error {
	for _, word := range hostlist.Terms(strings.ToLower(p.value), ",") {
		c.enforced = c.enforced || word == "limits" || word == "safe" || word == "all" || word == "1" || word == "2"
	}
	c.understood(p)
	return nil
}

func (c *converter) topologyPlugin(p pair) error {
	switch strings.ToLower(p.value) {
	case "topology/tree":
		c.approximated(p, "each leaf switch is a group, and groups below one switch are adjacent")
	case "topology/block":
		c.approximated(p, "each block is a group")
	case "topology/default", "topology/none", "topology/flat":
		c.understood(p)
	default:
		c.ignored(p, "a topology that is not modelled")
	}
	return nil
}

func (c *converter) gresTypes(p pair) error {
	for _, name := range hostlist.Terms(p.value, ",") {
		if one := (pair{p.key, name, p.line}); strings.EqualFold(name, "gpu") {
			c.ignored(one, "Gres= of the nodes says what they have")
		} else {
			c.ignored(one, "generic resources other than GPUs are not allocated here")
		}
	}
	return nil
}
