package slurm

import (
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/traces/hostlist"
)

// partition is one as slurm.conf has it.
type partition struct {
	profiles.Partition
	all   bool
	names []string
}

// plainPartition are options of partitions without a meaning here.
var plainPartition = map[string]string{
	"allowaccounts": "the trace says which job ran where", "denyaccounts": "the trace says which job ran where", "allowgroups": "the trace says which job ran where",
	"allowqos": "the trace says which job ran where", "denyqos": "the trace says which job ran where", "allocnodes": "the trace says which job ran where",
	"rootonly": "the trace says which job ran where", "disablerootjobs": "the trace says which job ran where", "reqresv": "the trace says which job ran where", "hidden": "only shown or not",
	"defaulttime": "rows without a request follow the replay's policy for them", "defmempercpu": "rows say what memory they ask for", "defmempernode": "rows say what memory they ask for",
	"defmempergpu": "rows say what memory they ask for", "defcpupergpu": "rows say what processors they ask for", "maxmempercpu": "rows say what memory they ask for", "maxmempernode": "rows say what memory they ask for",
	"selecttypeparameters": "the cluster's own count for all partitions",
	"exclusivetopo":        "not modelled", "cpubind": "binding of tasks", "tresbillingweights": "billing is by GPU here, or by node where there are none",
	"overtimelimit": "the replay's policy on overruns says it", "jobdefaults": "rows say what they ask for",
	"preemptmode": "rows and the profile say how victims leave", "gracetime": "the profile says what time victims have", "alternate": "rows name their partition", "suspendtime": "nodes are not switched off",
	"resumetimeout": "nodes are not switched off", "suspendtimeout": "nodes are not switched off", "powerdownonidle": "nodes are not switched off",
}

// lostPartition are options of partitions that decide in Slurm and have no meaning here.
var lostPartition = map[string]string{
	"maxcpuspernode": "parts of nodes by partition are not modelled", "maxcpuspersocket": "parts of nodes by partition are not modelled", "lln": "which nodes are filled first is not modelled",
	"exclusiveuser": "nodes that one user has for themselves are not modelled", "qos": "limits of a partition's own quality of service are not modelled: write them to the partition",
}

func (c *converter) partitionLine(l line, def *partition) error {
	next, name := *def, l.pairs[0]
	for _, p := range l.pairs[1:] {
		if err := c.partitionOption(p, &next); err != nil {
			return err
		}
	}
	c.understood(name)
	if strings.EqualFold(name.value, "DEFAULT") {
		*def = next
		return nil
	}
	next.Name = name.value
	if i := slices.IndexFunc(c.partitions, func(p partition) bool { return p.Name == next.Name }); i >= 0 {
		c.approximated(name, "a partition that is there twice is as its last line has it")
		c.partitions[i] = next
		return nil
	}
	c.partitions = append(c.partitions, next)
	return nil
}

func (c *converter) partitionOption(p pair, to *partition) error {
	switch key := strings.ToLower(p.key); key {
	case "nodes":
		c.understood(p)
		if to.all = strings.EqualFold(p.value, "ALL"); to.all {
			return nil
		}
		names, err := c.expand(p.value)
		if err != nil {
			return c.errorf(p.line, "%w", err)
		}
		to.names = names
	case "maxtime":
		d, endless, err := span(p.value)
		if err != nil {
			return c.errorf(p.line, "%w", err)
		}
		if to.MaxWall = d; endless {
			to.MaxWall = 0
		}
		c.understood(p)
	case "maxnodes", "minnodes":
		return c.partitionNodes(p, to, key)
	case "prioritytier", "priorityjobfactor", "priority":
		n, err := c.number(p, 0, 65535)
		if err != nil {
			return err
		}
		if key != "priorityjobfactor" {
			to.Tier = int32(n)
		}
		if key != "prioritytier" {
			to.Priority = n
		}
		c.understood(p)
	case "oversubscribe", "shared":
		c.oversubscribe(p)
	case "state":
		c.partitionState(p, to)
	case "default":
		if strings.EqualFold(p.value, "YES") {
			c.approximated(p, "jobs whose row names no partition meet the limits of none")
		} else {
			c.understood(p)
		}
	default:
		if why, ok := plainPartition[key]; ok {
			c.plain(p, why)
		} else if why, ok := lostPartition[key]; ok {
			c.ignored(p, why)
		} else {
			c.ignored(p, "an option of partitions that this converter does not know")
		}
	}
	return nil
}

func (c *converter) partitionNodes(p pair, to *partition, key string) error {
	n, endless := int64(0), strings.EqualFold(p.value, "UNLIMITED") || p.value == "-1"
	if !endless {
		var err error
		if n, err = c.number(p, 0, 1<<30); err != nil {
			return err
		}
	}
	if key == "maxnodes" && n == 0 && !endless {
		c.ignored(p, "a limit of 0 keeps all jobs out, and here it would be none")
		return nil
	}
	if c.understood(p); key == "maxnodes" {
		to.MaxNodes = int32(n)
	} else {
		to.MinNodes = int32(n)
	}
	return nil
}

func (c *converter) oversubscribe(p pair) {
	switch strings.ToUpper(p.value) {
	case "EXCLUSIVE":
		c.approximated(p, "where nodes are divided a job has its nodes for itself if its row says so (exclusive)")
	case "NO":
		c.understood(p)
	default:
		c.approximated(p, "no node is given to more jobs than it has room for")
	}
}

func (c *converter) partitionState(p pair, to *partition) {
	to.Up = true
	switch strings.ToUpper(p.value) {
	case "UP":
		c.understood(p)
	case "DRAIN":
		c.approximated(p, "jobs of the trace may start, as those that are queued may in Slurm")
	default:
		to.Up = false
		c.understood(p)
	}
}

// place turns the partitions into those of the cluster file.
func (c *converter) place() {
	for _, p := range c.partitions {
		if p.all || len(p.names) == 0 {
			p.Nodes = profiles.Nodes{"all"}
			if !p.all {
				c.notes.add(Note{File: c.file, Key: "PartitionName", Value: p.Name, Verdict: Approximated, Text: "a partition without nodes is one of all nodes that is down"})
				p.Up = false
			}
			c.cluster.Partitions = append(c.cluster.Partitions, p.Partition)
			continue
		}
		var names []string
		for _, name := range p.names {
			set, ok := c.sets[name]
			if !ok {
				set = []string{name}
			}
			for _, n := range set {
				if _, there := c.index[n]; there {
					names = append(names, n)
				} else {
					c.notes.add(Note{File: c.file, Key: "PartitionName", Value: p.Name, Verdict: Ignored, Text: "nodes of the partition that no NodeName has"})
				}
			}
		}
		if p.Nodes = hostlist.Compress(names); len(names) == 0 {
			p.Nodes, p.Up = profiles.Nodes{"all"}, false
			c.notes.add(Note{File: c.file, Key: "PartitionName", Value: p.Name, Verdict: Approximated, Text: "a partition without nodes is one of all nodes that is down"})
		}
		c.cluster.Partitions = append(c.cluster.Partitions, p.Partition)
	}
}

var freshPartition = partition{Partition: profiles.Partition{Tier: 1, Priority: 1, Up: true, MaxWall: model.Duration(0), MinNodes: 0}}
