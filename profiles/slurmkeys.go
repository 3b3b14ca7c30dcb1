package profiles

import "orrery/scheduler/model"

// Association is an account of Slurm's database, or a user in one.
type Association struct {
	Account string `yaml:"account" unit:"name" doc:"that it is, or that the user is in; without one the user is below the root"`
	Parent  string `yaml:"parent" unit:"name" doc:"of an account; without one it is below the root"`
	User    string `yaml:"user" unit:"name" doc:"of a user in the account"`
	Shares  int64  `yaml:"shares" default:"1" min:"0" max:"2147483647" unit:"shares" doc:"Fairshare, of those beside it"`
}

// Slurm holds the options of Slurm's own schedulers. Defaults are those of Slurm 22.05.
type Slurm struct {
	SchedInterval      model.Duration `yaml:"sched_interval" zero:"never" default:"60s" min:"1s" when:"backfill=slurm" unit:"span" doc:"time between main passes that test all jobs"`
	BatchSchedDelay    model.Duration `yaml:"batch_sched_delay" default:"3s" min:"0s" max:"1h" when:"backfill=slurm" unit:"span" doc:"shortest time between two main passes that submissions and ends ask for"`
	DefaultQueueDepth  int32          `yaml:"default_queue_depth" default:"100" min:"1" when:"backfill=slurm" unit:"jobs" doc:"jobs that such a pass tests"`
	PartitionJobDepth  int32          `yaml:"partition_job_depth" zero:"none" same:"0" default:"none" min:"0" when:"backfill=slurm" unit:"jobs" doc:"jobs of one partition that a main pass tests"`
	SchedMaxJobStart   int32          `yaml:"sched_max_job_start" zero:"none" same:"0" default:"none" min:"0" when:"backfill=slurm" unit:"jobs" doc:"jobs that a main pass starts"`
	Defer              bool           `yaml:"defer" default:"false" when:"backfill=slurm" doc:"no main pass is made at the very end of a job"`
	Epilog             bool           `yaml:"epilog" default:"false" when:"backfill=slurm" doc:"nodes run an Epilog, whose end asks for a main pass at once; without one the controller's loop makes it"`
	AssocLimitStop     bool           `yaml:"assoc_limit_stop" default:"false" when:"backfill=slurm" doc:"a job that a limit of its account or quality of service holds stops its partition"`
	BFInterval         model.Duration `yaml:"bf_interval" zero:"never" default:"30s" min:"1s" when:"backfill=slurm" unit:"span" doc:"time between two cycles of backfilling"`
	BFResolution       model.Duration `yaml:"bf_resolution" default:"60s" min:"1s" when:"backfill=slurm" unit:"span" doc:"grid of the plan"`
	BFWindow           model.Duration `yaml:"bf_window" default:"1d" min:"1s" when:"backfill=slurm" unit:"span" doc:"how far ahead is planned"`
	BFMaxJobTest       int32          `yaml:"bf_max_job_test" default:"500" min:"1" when:"backfill=slurm" unit:"jobs" doc:"jobs that one cycle tests"`
	BFMaxJobUser       int32          `yaml:"bf_max_job_user" zero:"none" same:"0" default:"none" min:"0" when:"backfill=slurm" unit:"jobs" doc:"of one user"`
	BFMaxJobPart       int32          `yaml:"bf_max_job_part" zero:"none" same:"0" default:"none" min:"0" when:"backfill=slurm" unit:"jobs" doc:"of one partition"`
	BFMaxJobAssoc      int32          `yaml:"bf_max_job_assoc" zero:"none" same:"0" default:"none" min:"0" when:"backfill=slurm" unit:"jobs" doc:"of one user in one account"`
	BFMaxJobStart      int32          `yaml:"bf_max_job_start" zero:"none" same:"0" default:"none" min:"0" when:"backfill=slurm" unit:"jobs" doc:"jobs that one cycle starts"`
	BFMinAgeReserve    model.Duration `yaml:"bf_min_age_reserve" zero:"none" same:"0" default:"none" min:"0s" when:"backfill=slurm" unit:"span" doc:"age below which a job reserves nothing and stops no partition"`
	BFMinPrioReserve   int64          `yaml:"bf_min_prio_reserve" zero:"none" same:"0" default:"none" min:"0" max:"4294967295" when:"backfill=slurm,order=multifactor" unit:"points" doc:"priority below which that is so"`
	BFPartCountReserve int32          `yaml:"bf_job_part_count_reserve" zero:"none" same:"0" default:"none" min:"0" when:"backfill=slurm" unit:"jobs" doc:"jobs of one partition that nodes are reserved for"`
	BFWindowScale      model.Duration `yaml:"bf_window_scale" zero:"double" same:"0" default:"double" min:"0s" when:"backfill=slurm" unit:"span" doc:"how much longer each group of ends is than the one before; double: twice as long"`
	ConsumableMemory   bool           `yaml:"consumable_memory" default:"true" when:"backfill=slurm" doc:"nodes are divided by memory too (CR_*_Memory)"`
	UsageAtEnds        bool           `yaml:"usage_at_ends" default:"false" when:"backfill=slurm,order=multifactor" doc:"usage counts to the end of a job, as where AccountingStorageEnforce has limits; else what ran after its last accounting_tick is lost"`
	Loop               model.Duration `yaml:"loop" default:"1003ms" min:"10ms" when:"backfill=slurm" unit:"span" doc:"period of the controller's loop, where main passes begin; measured on Slurm 22.05"`
	RequeueDelay       model.Duration `yaml:"requeue_delay" default:"121s" min:"0s" when:"backfill=slurm" unit:"span" doc:"after which a requeued job may start again; measured on Slurm 22.05"`
}
