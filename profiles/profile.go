// Package profiles reads and writes the files in which people say how a site is
// and how it is to be scheduled: profile.yaml (how one vCluster orders its queue)
// and cluster.yaml (nodes, vClusters, tenants, limits). It also holds the
// profiles that are part of the program. Its structs have the shape of the
// files: plain data with every default filled in. It decides nothing about jobs
// and knows neither a core nor a world; what runs a schedule takes the values
// over.
package profiles

import "orrery/scheduler/model"

//go:generate go test . -run Document -update

// Profile says how one vCluster orders, backfills and preempts. The tags of its
// fields are the one description of profile.yaml: the decoder, the printer, the
// canonical JSON and docs/PROFILE-FORMAT.md all read them.
//
//	yaml     the key
//	default  its value when the key is absent
//	unit     of a number, or what kind of word it is
//	of       the words it may be
//	zero     the word that is written where there is none of it. It is not 0: a 0 that is
//	         written is one where the field is a pointer, and else an error
//	same     "0" where a written 0 says what the word says: a grid of 0 is no grid
//	min, max its range, both ends included
//	when     what other keys must be for this one to apply
//	doc      what it means
type Profile struct {
	Name        string `yaml:"name" unit:"name" doc:"what the profile is called in results; the name of the file where it is left out"`
	Description string `yaml:"description" unit:"text" doc:"what it is for"`
	Source      string `yaml:"source" unit:"text" doc:"where its numbers come from"`

	Mode      string `yaml:"mode" of:"documented,as-coded" default:"documented" doc:"the semantics: as the documents of Lattice mean it, or as its public sources have it"`
	Order     string `yaml:"order" of:"orders" default:"score" doc:"what orders the queue: the weights below, the priority of Slurm, or a baseline by name"`
	Selection string `yaml:"selection" of:"documented,conformance-first,least-fragmentation" default:"documented" when:"mode=documented" doc:"how nodes are chosen: fewest dragonfly groups first, the largest conformance group first, or for shares of nodes where the fragmentation of GPUs grows least"`

	Weights       Weights        `yaml:"weights" when:"order=score" doc:"of the nine factors; where the block is there, a weight that it leaves out is 0"`
	ReferenceWait model.Duration `yaml:"reference_wait" default:"1h" min:"1s" when:"order=score" unit:"span" doc:"wait at which the factor wait_time is ln 2"`
	MinScore      *float64       `yaml:"min_score" zero:"off" default:"off" min:"0" when:"order=score,mode=documented" unit:"score" doc:"a job whose score is below it is held"`
	Energy        string         `yaml:"energy" of:"instant,expected" default:"instant" when:"order=score,mode=documented" doc:"the price that the factor energy takes: of now, or its mean over the requested time of the job"`

	Backfill     string         `yaml:"backfill" of:"none,first-fit,easy,conservative,slurm" default:"easy" when:"mode=documented" doc:"which jobs may start behind a job that is blocked; slurm: the two schedulers of Slurm decide, by their own clocks"`
	Depth        int32          `yaml:"depth" zero:"all" default:"all" min:"1" when:"backfill=conservative" unit:"jobs" doc:"blocked jobs that hold reservations"`
	BFWindow     model.Duration `yaml:"bf_window" zero:"none" default:"none" min:"0s" when:"backfill=conservative" unit:"span" doc:"how far ahead reservations are made; Slurm: 1d"`
	BFResolution model.Duration `yaml:"bf_resolution" zero:"exact" same:"0" default:"exact" min:"0s" when:"backfill=conservative" unit:"span" doc:"grid of the reservations; Slurm: 1m"`
	BFInterval   model.Duration `yaml:"bf_interval" zero:"every-pass" same:"0" default:"every-pass" min:"0s" when:"backfill=conservative" unit:"span" doc:"shortest time between two backfill passes; Slurm: 30s"`
	BFMaxJobTest int32          `yaml:"bf_max_job_test" zero:"none" default:"none" min:"1" when:"backfill=conservative" unit:"jobs" doc:"jobs that one backfill pass looks at; Slurm: 500"`
	BFMaxJobUser int32          `yaml:"bf_max_job_user" zero:"none" same:"0" default:"none" min:"0" when:"backfill=conservative" unit:"jobs" doc:"jobs of one user that one backfill pass looks at; 0, as in Slurm, is none too"`

	Reservations string `yaml:"reservations" of:"shared,private" default:"shared" when:"backfill=easy|conservative,mode=documented" doc:"whether other vClusters leave the nodes of no vCluster alone that the first blocked job waits for; private lets them take these"`

	Cycle model.Duration  `yaml:"cycle" zero:"event" same:"0" default:"event" min:"0s" unit:"span" doc:"time between passes; event makes one whenever something changed"`
	Phase *model.Duration `yaml:"phase" zero:"spread" default:"spread" min:"0s" when:"cycle!=event" unit:"span" doc:"instant of the first pass, less than cycle; spread: cycle x place of the vCluster in the file / number of vClusters, from 0 on"`

	AccountingTick model.Duration `yaml:"accounting_tick" default:"5m" min:"1s" when:"order=score|multifactor" unit:"span" doc:"how often usage, shares and budgets are brought up to date; the same for all vClusters of a site"`
	Usage          Usage          `yaml:"usage" doc:"what counts as the usage of a tenant; the same for all vClusters of a site"`
	Slurm          Slurm          `yaml:"slurm" doc:"the options of Slurm's schedulers, by their names in slurm.conf"`
	Preemption     Preemption     `yaml:"preemption" doc:"taking nodes from running work for a blocked job of this vCluster"`
	Multifactor    Multifactor    `yaml:"multifactor" doc:"the priority of Slurm's multifactor plugin"`

	src  *source // where it was read from, nil when built in memory
	base string  // its path in that file, "" when it is the whole file
}

// Weights of the nine factors, in their order f1 to f9, on any scale that is not
// negative.
type Weights struct {
	Priority      float64 `yaml:"priority" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w1: the preemption class"`
	WaitTime      float64 `yaml:"wait_time" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w2: how long the job has waited"`
	FairShare     float64 `yaml:"fair_share" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w3: how far the tenant is below its share"`
	Topology      float64 `yaml:"topology" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w4: how few groups could hold the job"`
	DataReadiness float64 `yaml:"data_readiness" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w5: how much of its input is on the hot tier"`
	Backlog       float64 `yaml:"backlog" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w6: queued against running GPU time; equal for all jobs"`
	Energy        float64 `yaml:"energy" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w7: how cheap energy is"`
	Checkpoint    float64 `yaml:"checkpoint" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w8: how fast the job is checkpointed"`
	Conformance   float64 `yaml:"conformance" default:"0" min:"0" max:"1e9" when:"order=score" unit:"weight" doc:"w9: how much of the job one conformance group could hold"`
}

// Usage says how the usage of a tenant is counted.
type Usage struct {
	Rule     string         `yaml:"rule" of:"instantaneous,rolling,decay" default:"instantaneous" when:"order=score,mode=documented" doc:"nodes held now, node time within the window, or node time that halves with every half_life"`
	Window   model.Duration `yaml:"window" default:"90d" min:"1h" when:"order=score" unit:"span" doc:"rolling window of the budgets, and of the usage when it is rolling"`
	HalfLife model.Duration `yaml:"half_life" default:"7d" min:"1m" when:"usage.rule=decay" unit:"span" doc:"time in which past usage loses half of its weight"`
}

// Preemption says whether and how a blocked job takes nodes from running work.
type Preemption struct {
	Enabled        bool           `yaml:"enabled" default:"false" when:"mode=documented" doc:"whether jobs of this vCluster may preempt"`
	Rule           string         `yaml:"rule" of:"strict,banded" default:"strict" when:"preemption.enabled=true" doc:"which jobs give way: any lower class, or a lower band of classes (0, 1-3, 4-6, 7-9)"`
	MaxVictims     int32          `yaml:"max_victims" default:"3" min:"1" max:"1000000" when:"preemption.enabled=true" unit:"jobs" doc:"victims for one job; where more would be needed no job is preempted"`
	MaxTries       int32          `yaml:"max_tries" default:"16" min:"1" max:"1000000" when:"preemption.enabled=true" unit:"jobs" doc:"blocked jobs for which a pass looks for victims, by class"`
	NearCompletion model.Duration `yaml:"near_completion" default:"5m" min:"0s" when:"preemption.enabled=true" unit:"span" doc:"running work with less of its requested time left is spared"`
	Timeout        model.Duration `yaml:"timeout" default:"10m" min:"1s" when:"preemption.enabled=true" unit:"span" doc:"time a victim has to write its checkpoint; this and the five below are the same in all profiles of a site that preempt"`
	Extension      float64        `yaml:"extension" default:"0.5" min:"0" max:"10" when:"preemption.enabled=true" unit:"of timeout" doc:"how much longer it has, once, when it is late"`
	Deferral       model.Duration `yaml:"deferral" default:"5m" min:"0s" when:"preemption.enabled=true" unit:"span" doc:"how long a victim may put its checkpoint off"`
	DeferralsAuto  int32          `yaml:"deferrals_auto" default:"3" min:"0" max:"1000" when:"preemption.enabled=true" unit:"times" doc:"how often a victim with automatic checkpoints may do so"`
	DeferralsOwn   int32          `yaml:"deferrals_manual" default:"5" min:"0" max:"1000" when:"preemption.enabled=true" unit:"times" doc:"how often a victim that writes its own checkpoints may do so"`
}

// Multifactor holds the weights of Slurm's priority/multifactor and what its
// factors are measured by.
type Multifactor struct {
	Age       int64 `yaml:"age" default:"0" min:"0" max:"4294967295" when:"order=multifactor" unit:"points" doc:"PriorityWeightAge"`
	FairShare int64 `yaml:"fairshare" default:"0" min:"0" max:"4294967295" when:"order=multifactor" unit:"points" doc:"PriorityWeightFairshare"`
	JobSize   int64 `yaml:"job_size" default:"0" min:"0" max:"4294967295" when:"order=multifactor" unit:"points" doc:"PriorityWeightJobSize"`
	Partition int64 `yaml:"partition" default:"0" min:"0" max:"4294967295" when:"order=multifactor" unit:"points" doc:"PriorityWeightPartition"`
	QOS       int64 `yaml:"qos" default:"0" min:"0" max:"4294967295" when:"order=multifactor" unit:"points" doc:"PriorityWeightQOS"`
	Assoc     int64 `yaml:"assoc" default:"0" min:"0" max:"4294967295" when:"order=multifactor" unit:"points" doc:"PriorityWeightAssoc"`
	TRES      TRES  `yaml:"tres" doc:"PriorityWeightTRES: of what a job asks for, as a part of what its partition has"`
	Site      int64 `yaml:"site" default:"1" min:"0" max:"4294967295" when:"order=multifactor" unit:"factor" doc:"that the points of the site's own factor are multiplied by; Slurm: 1"`

	MaxAge     model.Duration `yaml:"max_age" default:"7d" min:"1s" when:"order=multifactor" unit:"span" doc:"PriorityMaxAge: age at which the age factor is 1"`
	HalfLife   model.Duration `yaml:"half_life" zero:"none" same:"0" default:"7d" min:"0s" when:"order=multifactor" unit:"span" doc:"PriorityDecayHalfLife of past usage; none, as Slurm's 0, never forgets"`
	FairTree   bool           `yaml:"fair_tree" default:"true" when:"order=multifactor" doc:"users are ranked by their accounts; false is the classic factor (NO_FAIR_TREE)"`
	Dampening  int32          `yaml:"dampening" default:"1" min:"1" max:"65535" when:"multifactor.fair_tree=false,order=multifactor" unit:"divisor" doc:"FairShareDampeningFactor"`
	FavorSmall bool           `yaml:"favor_small" default:"false" when:"order=multifactor" doc:"PriorityFavorSmall: small jobs have the larger size factor"`
	SizeToTime bool           `yaml:"small_relative_to_time" default:"false" when:"order=multifactor" doc:"PriorityFlags=SMALL_RELATIVE_TO_TIME: size is node time over requested time"`
}

// TRES are the weights of what is counted.
type TRES struct {
	Node   int32 `yaml:"node" default:"0" min:"-2147483648" max:"2147483647" when:"order=multifactor" unit:"points" doc:"nodes"`
	CPU    int32 `yaml:"cpu" default:"0" min:"-2147483648" max:"2147483647" when:"order=multifactor" unit:"points" doc:"cores that a job asks for on its nodes; its share of the nodes where it does not say"`
	Memory int32 `yaml:"memory" default:"0" min:"-2147483648" max:"2147483647" when:"order=multifactor" unit:"points" doc:"memory, likewise"`
	GPU    int32 `yaml:"gpu" default:"0" min:"-2147483648" max:"2147483647" when:"order=multifactor" unit:"points" doc:"GPUs that a job asks for, or that each node it may use has at least"`
}
