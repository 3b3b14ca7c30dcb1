package slurm

import (
	"math"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/traces/hostlist"
)

// ofScheduler is what the notes of the terms of SchedulerParameters begin with.
const ofScheduler = "SchedulerParameters: "

// schedulerTerm is a term of SchedulerParameters that the block slurm of a profile has a key for.
type schedulerTerm struct {
	count  func(*profiles.Slurm) *int32
	span   func(*profiles.Slurm) *model.Duration
	points func(*profiles.Slurm) *int64
	flag   func(*profiles.Slurm) *bool
	unit   model.Duration // of a span
	least  int64
	most   int64 // 0 for the most that there is
	never  bool  // -1 switches it off
	main   bool  // the main scheduler goes by it too
}

var schedulerTerms = map[string]schedulerTerm{
	"sched_interval":      {span: func(s *profiles.Slurm) *model.Duration { return &s.SchedInterval }, unit: model.Second, least: 1, never: true, main: true},
	"batch_sched_delay":   {span: func(s *profiles.Slurm) *model.Duration { return &s.BatchSchedDelay }, unit: model.Second, most: 3600, main: true},
	"default_queue_depth": {count: func(s *profiles.Slurm) *int32 { return &s.DefaultQueueDepth }, least: 1, main: true},
	"partition_job_depth": {count: func(s *profiles.Slurm) *int32 { return &s.PartitionJobDepth }, main: true},
	"sched_max_job_start": {count: func(s *profiles.Slurm) *int32 { return &s.SchedMaxJobStart }, main: true},
	"defer":               {flag: func(s *profiles.Slurm) *bool { return &s.Defer }, main: true},
	"assoc_limit_stop":    {flag: func(s *profiles.Slurm) *bool { return &s.AssocLimitStop }, main: true},

	"bf_interval":               {span: func(s *profiles.Slurm) *model.Duration { return &s.BFInterval }, unit: model.Second, least: 1, never: true},
	"bf_resolution":             {span: func(s *profiles.Slurm) *model.Duration { return &s.BFResolution }, unit: model.Second, least: 1},
	"bf_window":                 {span: func(s *profiles.Slurm) *model.Duration { return &s.BFWindow }, unit: model.Minute, least: 1},
	"bf_window_linear":          {span: func(s *profiles.Slurm) *model.Duration { return &s.BFWindowScale }, unit: model.Second},
	"bf_max_job_test":           {count: func(s *profiles.Slurm) *int32 { return &s.BFMaxJobTest }, least: 1},
	"bf_max_job_user":           {count: func(s *profiles.Slurm) *int32 { return &s.BFMaxJobUser }},
	"bf_max_job_part":           {count: func(s *profiles.Slurm) *int32 { return &s.BFMaxJobPart }},
	"bf_max_job_assoc":          {count: func(s *profiles.Slurm) *int32 { return &s.BFMaxJobAssoc }},
	"bf_max_job_start":          {count: func(s *profiles.Slurm) *int32 { return &s.BFMaxJobStart }},
	"bf_job_part_count_reserve": {count: func(s *profiles.Slurm) *int32 { return &s.BFPartCountReserve }},
	"bf_min_age_reserve":        {span: func(s *profiles.Slurm) *model.Duration { return &s.BFMinAgeReserve }, unit: model.Second, main: true},
	"bf_min_prio_reserve":       {points: func(s *profiles.Slurm) *int64 { return &s.BFMinPrioReserve }, most: math.MaxUint32, main: true},
}

// plainTerms are terms of SchedulerParameters that change nothing here, and why.
var plainTerms = map[string]string{
	"bf_max_time": "a pass takes no time here", "bf_yield_interval": "a pass takes no time here", "bf_yield_sleep": "a pass takes no time here", "max_sched_time": "a pass takes no time here",
	"bf_max_job_array_resv": "rows of arrays are single jobs", "bf_busy_nodes": "not modelled: which nodes are preferred for a later start", "bf_licenses": "licences are not modelled",
	"max_rpc_cnt": "messages to the daemon are not modelled", "sched_min_interval": "passes are made at turns of the controller's loop",
	"bf_allow_magnetic_slot": "magnetic reservations are not modelled", "preempt_youngest_first": "which victims are taken follows the profile", "enable_user_top": "rights of users",
	"bf_node_space_size": "a plan has no bound on its size here", "bf_one_resv_per_job": "a job has at most one promise here", "nohold_on_prolog_fail": "failures of prologues are those of the cluster file",
	"ignore_prefer_validation": "--prefer is not modelled", "permit_job_expansion": "jobs do not change their size", "kill_invalid_depend": "jobs whose dependency never holds are cancelled",
}

func (c *converter) schedulerParameters(p pair) error {
	for _, term := range hostlist.Terms(p.value, ",") {
		name, value, _ := strings.Cut(term, "=")
		one := pair{p.key + ": " + name, value, p.line}
		if to, ok := schedulerTerms[name]; ok {
			if err := c.schedulerTerm(one, &to); err != nil {
				return err
			}
			continue
		}
		why := plainTerms[name]
		switch {
		case name == "bf_continue":
			c.approximated(one, "a backfill pass takes no time here and is never interrupted")
			continue
		case why != "":
			c.plain(one, why)
			continue
		case strings.HasPrefix(name, "bf_"):
			why = "a detail of backfilling that is not modelled"
		default:
			why = "a detail of Slurm's scheduling that is not modelled"
		}
		c.ignored(one, why)
	}
	return nil
}

// schedulerTerm reads a term that has a key.
func (c *converter) schedulerTerm(p pair, t *schedulerTerm) error {
	s := &c.profile.Slurm
	switch {
	case t.flag != nil:
		*t.flag(s) = true
	case t.never && p.value == "-1":
		*t.span(s) = 0
		c.byInterval = c.byInterval || strings.HasSuffix(p.key, "bf_interval")
	default:
		most := t.most
		switch {
		case most > 0:
		case t.span != nil:
			most = maxSpan
		default:
			most = math.MaxInt32
		}
		n, err := c.number(p, t.least, most)
		if err != nil {
			return err
		}
		switch {
		case t.count != nil:
			*t.count(s) = int32(n)
		case t.span != nil:
			*t.span(s) = model.Duration(n) * t.unit
		default:
			*t.points(s) = n
		}
	}
	c.understood(p)
	return nil
}

// ofConservative are the terms that the conservative backfilling of this program has too, in the place of those of Slurm.
var ofConservative = []string{"bf_window", "bf_resolution", "bf_interval", "bf_max_job_test", "bf_max_job_user"}

// unusedTerms says of the terms of SchedulerParameters that are not to be kept that they have no meaning, and takes them out.
func (c *converter) unusedTerms(why string, keep func(name string, t *schedulerTerm) bool) {
	def := profiles.Default().Slurm
	var keys []string
	for name, t := range schedulerTerms { //detlint:ordered each is set on its own, and the keys are looked up only
		if keep(name, &t) {
			continue
		}
		keys = append(keys, strings.ToLower(ofScheduler)+name)
		switch s := &c.profile.Slurm; {
		case t.flag != nil:
			*t.flag(s) = *t.flag(&def)
		case t.count != nil:
			*t.count(s) = *t.count(&def)
		case t.span != nil:
			*t.span(s) = *t.span(&def)
		default:
			*t.points(s) = *t.points(&def)
		}
	}
	if c.inSlurm() {
		c.notes.demote("", why, keys...)
	} else {
		c.notes.revise("", Ignored, why, keys...)
	}
}

// inSlurm says whether the core that decides as Slurm does holds for this site: it knows no preemption, and GPUs are
// not allocated apart from the rest of a node.
func (c *converter) inSlurm() bool { return !c.share && !c.preempts }

// settleSlurm completes the profile of a site in which the schedulers of Slurm decide.
func (c *converter) settleSlurm() {
	c.profile.Backfill = "slurm"
	s := &c.profile.Slurm
	if c.builtin {
		s.BFInterval = 0
	}
	s.Epilog = c.epilog
	s.UsageAtEnds = c.enforced && c.multi
	if c.linear {
		return
	}
	c.cluster.Sharing = "resources"
	s.ConsumableMemory = c.memory
}

// settleOther has the backfilling of this program take the place of Slurm's, where the core that follows Slurm does not hold.
func (c *converter) settleOther() {
	p, s := &c.profile, c.profile.Slurm
	p.Slurm = profiles.Default().Slurm
	switch {
	case c.stopped():
		p.Backfill = "none"
	case c.share:
		p.Backfill = "easy"
	default:
		p.Backfill = "conservative"
		p.BFWindow, p.BFResolution, p.BFInterval, p.BFMaxJobTest, p.BFMaxJobUser = s.BFWindow, s.BFResolution, s.BFInterval, s.BFMaxJobTest, s.BFMaxJobUser
	}
	if c.share {
		c.cluster.Sharing = "gpus"
	}
	why := "with preemption the schedulers of Slurm are not modelled: the backfilling of this program, conservative, stands for theirs"
	if c.share {
		why = "with --share-gpus the backfilling of this program, EASY, stands for that of Slurm"
	}
	c.notes.add(Note{File: c.main, Key: "SchedulerType", Value: "sched/backfill", Verdict: Approximated, Text: why})
}

// stopped says whether there is no backfilling.
func (c *converter) stopped() bool { return c.builtin || c.byInterval }

func (c *converter) unusedBackfill() {
	other := !c.inSlurm()
	if other {
		why := "the backfilling that stands for Slurm's has nothing like it: with preemption, and with --share-gpus, backfill: slurm does not hold"
		c.unusedTerms(why, func(name string, _ *schedulerTerm) bool { return slices.Contains(ofConservative, name) })
		c.notes.demote("", "a program", "epilog")
	}
	switch {
	case c.stopped():
		c.unusedTerms("there is no backfilling, by sched/builtin or bf_interval=-1", func(name string, t *schedulerTerm) bool {
			return t.main || c.byInterval && name == "bf_interval" // which says it
		})
		c.notes.demote("", "there is no backfilling, by sched/builtin or bf_interval=-1", strings.ToLower(ofScheduler)+"bf_continue")
	case c.share:
		c.unusedTerms("with GPUs allocated one by one backfilling is EASY, which has no such bound", func(string, *schedulerTerm) bool { return false })
	}
	if !other && !c.epilog {
		c.unusedTerms("counts where nodes run an Epilog: else passes wait for the controller's loop anyway", func(name string, _ *schedulerTerm) bool { return name != "defer" })
	}
	if !c.multi {
		c.unusedTerms("counts with PriorityType=priority/multifactor only", func(name string, _ *schedulerTerm) bool { return name != "bf_min_prio_reserve" })
	}
}

func (c *converter) selectType(p pair) error {
	c.selects = true
	switch {
	case strings.EqualFold(p.value, "select/linear"):
		c.linear = true
		c.understood(p)
	case strings.EqualFold(p.value, "select/cons_tres"), strings.EqualFold(p.value, "select/cons_res"):
		c.understood(p)
	default:
		c.approximated(p, "read as select/cons_tres: nodes are divided by CPUs, GPUs and memory")
	}
	return nil
}

// wholeNodes says what becomes of jobs that share nodes where the core of Slurm does not hold.
func (c *converter) wholeNodes() string {
	if c.share {
		return "GPUs of a node are allocated one by one; jobs without GPUs take whole nodes"
	}
	return "whole nodes are allocated: jobs that shared a node in Slurm have one each (GPUs can be shared out instead, with backfill: easy)"
}

// selectParameters says by what nodes are divided.
func (c *converter) selectParameters(p pair) error {
	c.memory = false
	for _, word := range hostlist.Terms(p.value, ",") {
		one := pair{p.key, word, p.line}
		switch w := strings.ToUpper(word); w {
		case "CR_CORE", "CR_CPU":
			c.understood(one)
		case "CR_CORE_MEMORY", "CR_CPU_MEMORY":
			c.memory = true
			c.understood(one)
		case "CR_SOCKET", "CR_SOCKET_MEMORY", "CR_MEMORY":
			c.memory = strings.HasSuffix(w, "MEMORY")
			c.approximated(one, "nodes are divided by CPUs, and not by sockets or by memory alone")
		default:
			c.ignored(one, "which CPUs of nodes, and which nodes first, is not modelled")
		}
	}
	return nil
}

// unusedSelection says which words on the selection of nodes mean nothing.
func (c *converter) unusedSelection() {
	switch {
	case !c.selects && c.inSlurm(): // the default of Slurm shares nodes
		c.understood(pair{key: "SelectType", value: "select/cons_tres (by default)"})
	case !c.selects:
		c.approximated(pair{key: "SelectType", value: "select/cons_tres (by default)"}, c.wholeNodes())
	case !c.inSlurm() && !c.linear:
		c.notes.revise("", Approximated, c.wholeNodes(), "selecttype")
	}
	if c.linear || !c.inSlurm() {
		c.notes.demote("", "whole nodes are allocated, or GPUs of them", "selecttypeparameters")
		return
	}
	if c.memory && !slices.ContainsFunc(c.nodes, func(n node) bool { return n.spec.memory > 0 }) {
		c.memory = false
		c.notes.add(Note{File: c.main, Key: "RealMemory", Verdict: Approximated, Text: "no node says how much memory it has: nodes are not divided by memory"})
	}
}
