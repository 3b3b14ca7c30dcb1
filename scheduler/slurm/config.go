package slurm

import (
	"errors"
	"fmt"

	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/quota"
)

// Config is what a Core is made of. All of it must outlive the core.
type Config struct {
	Site    *model.Site
	Options Options
	// Weights are those of priority/multifactor, nil for priority/basic: first come, first served.
	Weights *multifactor.Weights
	// Associations are those of Slurm's database: they decide ranks of the fair tree although some submit
	// nothing. Users that are met beside them are added with one share.
	Associations []Association
	// Users are the names of the users of jobs. They may be left out where no association has the name of a user.
	Users []string
	Quota quota.Config
	// AssocPriority of each tenant is for PriorityWeightAssoc, nil for none.
	AssocPriority []int64
	// RejectOverLimit withdraws a job that is over a limit at its submission; else it waits.
	RejectOverLimit bool
	// Prefer is a job that stands before all others, nil for none.
	Prefer *model.JobID
	// MostTenants has the highest limits there will be, nil for those of Quota.
	MostTenants []model.Tenant
}

// Options are what SchedulerParameters and their neighbours in slurm.conf say, by the names there. Zero
// values are not Slurm's defaults: Defaults are.
type Options struct {
	// Main scheduler.
	Interval   model.Duration // sched_interval, Forever for never
	BatchDelay model.Duration // batch_sched_delay
	Depth      int            // default_queue_depth
	PartDepth  int            // partition_job_depth, 0 for no bound
	MaxStarts  int            // sched_max_job_start, 0 for no bound
	Defer      bool           // defer: an end with an epilog asks for no pass at once
	Epilog     bool           // ends of jobs with an epilog ask for a pass at once

	// Backfill.
	BackfillInterval   model.Duration // bf_interval, Forever for none
	Resolution         model.Duration // bf_resolution
	Window             model.Duration // bf_window
	MaxTest            int            // bf_max_job_test
	MaxUser            int            // bf_max_job_user, 0 for no bound, and so below
	MaxPart            int            // bf_max_job_part
	MaxAssoc           int            // bf_max_job_assoc
	MaxStart           int            // bf_max_job_start
	MinAgeReserve      model.Duration // bf_min_age_reserve
	MinPriorityReserve int64          // bf_min_prio_reserve
	PartReserve        int            // bf_job_part_count_reserve, 0 for no bound
	AssocLimitStop     bool           // assoc_limit_stop
	WindowScale        model.Duration // bf_window_scale, 0 to double
	Linear             bool           // select/linear: running jobs are taken off one by one
	UsageAtEnds        bool           // AccountingStorageEnforce has limits: usage counts to the end of a job
	CalcPeriod         model.Duration // PriorityCalcPeriod
	LoopPeriod         model.Duration // of the controller's loop: its sleep of a second, and its work
	LoopPhase          model.Duration // of the first turn, below LoopPeriod
	BackfillPhase      model.Duration // of the first cycle of backfill
	CalcPhase          model.Duration // of the first tick of priorities
	RequeueDelay       model.Duration // before a requeued job may start again
}

// Defaults are those of Slurm 22.05, but for the phases, which are not known. The loop's period was read from
// logs of its controller: ten sleeps of 0.1 s, and 3 ms of work. A requeued job begins 121 s later, when its credential has expired.
func Defaults() Options {
	return Options{
		Interval: 60 * model.Second, BatchDelay: 3 * model.Second, Depth: 100,
		BackfillInterval: 30 * model.Second, Resolution: model.Minute, Window: model.Day, MaxTest: 500,
		CalcPeriod: 5 * model.Minute, LoopPeriod: 1003 * model.Millisecond, RequeueDelay: 121 * model.Second,
	}
}

// Association is an account, or a user in one.
type Association struct {
	Account string // that it is, or that the user is in; empty for a user below the root
	Parent  string // of an account, empty below the root
	User    string // empty for an account
	Shares  int64
}

// Validate says what is wrong with c, or nil.
func (c *Config) Validate() error {
	o := &c.Options
	switch {
	case c.Site == nil || len(c.Site.Nodes) == 0:
		return errors.New("slurm: a cluster without nodes")
	case len(c.Site.VClusters) != 1:
		return fmt.Errorf("slurm: %d vClusters: one controller has one, with partitions", len(c.Site.VClusters))
	case o.LoopPeriod <= 0 || o.Interval <= 0 || o.BatchDelay < 0:
		return errors.New("slurm: the periods of the main scheduler are more than 0")
	case o.BackfillInterval <= 0 || o.Resolution <= 0 || o.Window <= 0:
		return errors.New("slurm: bf_interval, bf_resolution and bf_window are more than 0")
	case o.Depth < 1 || o.MaxTest < 1:
		return errors.New("slurm: default_queue_depth and bf_max_job_test are at least 1")
	case o.Window < o.Resolution:
		return errors.New("slurm: bf_window is at least bf_resolution")
	case o.CalcPeriod <= 0 && c.Weights != nil:
		return errors.New("slurm: PriorityCalcPeriod is more than 0")
	case o.LoopPhase < 0 || o.LoopPhase >= o.LoopPeriod || o.BackfillPhase < 0 || o.CalcPhase < 0:
		return errors.New("slurm: a phase is not below its period")
	}
	_, err := newTree(c)
	return err
}

// floor is the last multiple of a step that is not after t.
func floor(t model.Time, step model.Duration) model.Time {
	if t == model.Never {
		return t
	}
	past := model.Duration(t) % step
	if past < 0 {
		past += step
	}
	return t.Add(-past)
}
