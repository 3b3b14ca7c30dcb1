// Package slurm reads the files in which Slurm describes a cluster (slurm.conf,
// gres.conf, topology.conf, the accounts as sacctmgr prints them) and makes a
// cluster file and a profile of them, and writes a profile as lines of
// slurm.conf. Options are called as in the manual pages slurm.conf(5),
// gres.conf(5), topology.conf(5) and sacctmgr(1). Of every option it says what
// became of it. It opens no files and knows neither a scheduler nor a replay.
package slurm

import (
	"fmt"
	"io"

	"orrery/profiles"
)

// Verdict says what became of an option.
type Verdict string

const (
	Understood   Verdict = "understood"   // has its meaning in the result
	Approximated Verdict = "approximated" // has another meaning close to its own
	Ignored      Verdict = "ignored"      // has no meaning in the result
)

// Note says what became of one option, or of all that are alike.
type Note struct {
	File    string // as Input calls it
	Line    int    // of the first, from 1
	Count   int    // how many are alike
	Key     string // the option as it is written
	Value   string // of the first
	Verdict Verdict
	Text    string // how it is approximated, or why it is ignored
	of      string // what it is an option of: account or qos, "" of the rest
	plain   bool   // it says nothing that a replay could have
}

// Source is a file to read.
type Source struct {
	Name   string // in notes and errors
	Reader io.Reader
}

// Input is what there is to read. Only Conf must be there.
type Input struct {
	Conf, Gres, Topology Source
	Accounts             []Source // sacctmgr dump, sacctmgr -P show assoc or qos, or sacctmgr commands
	// ShareGPUs allocates GPUs of nodes instead of dividing nodes as Slurm does. The backfilling is
	// then EASY, and not that of Slurm.
	ShareGPUs bool
}

// Result is a site as far as it can be expressed. The profile is that of the
// only vCluster of the cluster.
type Result struct {
	Cluster profiles.Cluster
	Profile profiles.Profile
	Notes   []Note // by file and line
}

// maxFile bounds each file, in bytes.
const maxFile = 64 << 20

// Convert reads all of in. Errors name the file and the line; the result is
// valid as profiles.Cluster.Resolve has it.
func Convert(in Input) (*Result, error) {
	c := newConverter(in.ShareGPUs)
	c.main = in.Conf.Name
	for _, step := range []struct {
		src  Source
		read func([]line) error
	}{{in.Conf, c.conf}, {in.Gres, c.gres}, {in.Topology, c.topology}} {
		if step.src.Reader == nil {
			continue
		}
		c.file = step.src.Name
		lines, err := scan(step.src)
		if err == nil {
			err = step.read(lines)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, src := range in.Accounts {
		c.file = src.Name
		if err := c.accounts(src); err != nil {
			return nil, err
		}
	}
	return c.result()
}

// converter collects what the files say.
type converter struct {
	file    string // being read
	main    string // slurm.conf
	of      string // what options are read of, for their notes
	notes   notebook
	cluster profiles.Cluster
	profile profiles.Profile
	share   bool
	selects bool // SelectType was said
	options map[string]func(*converter, pair) error
	named   int // names listed so far

	nodes      []node
	index      map[string]int // into nodes
	sets       map[string][]string
	partitions []partition
	leaves     []leaf
	parents    map[string]string // switch above each switch
	multi      bool              // PriorityType=priority/multifactor
	builtin    bool              // SchedulerType=sched/builtin
	byInterval bool              // bf_interval=-1
	linear     bool              // SelectType=select/linear
	memory     bool              // nodes are divided by memory too
	epilog     bool              // nodes run one
	preempts   bool              // jobs preempt others, by whatever rule
	enforced   bool              // limits are
	byQOS      bool              // preempt/qos
	exit       string            // of PreemptMode, in lower case: requeue, cancel, suspend or checkpoint
	noRequeue  bool              // JobRequeue=0
	raw        bool              // NO_NORMAL_TRES
	weights    []tresWeight
	tree       accountTree
	qos        []profiles.QOS
}

func newConverter(share bool) *converter {
	c := &converter{
		cluster: profiles.DefaultCluster(), profile: profiles.Default(), share: share,
		options: options(), index: map[string]int{}, sets: map[string][]string{}, parents: map[string]string{}, notes: notebook{seen: map[string]int{}},
	}
	c.cluster.Name, c.profile.Order = "slurm", "fcfs"
	c.tree.index, c.tree.has, c.memory = map[string]int{}, map[profiles.Association]bool{}, true
	return c
}

// errorf is an error at a line of the file being read.
func (c *converter) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", c.file, line, fmt.Errorf(format, args...))
}
