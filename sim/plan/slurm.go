package plan

import (
	"cmp"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/slurm"
)

// slurmOptionsOf is what Slurm's own schedulers are told by a profile, but for their phases.
func slurmOptionsOf(p *profiles.Profile) *slurm.Options {
	s := &p.Slurm
	return &slurm.Options{
		Interval: cmp.Or(s.SchedInterval, model.Forever), BatchDelay: s.BatchSchedDelay, Depth: int(s.DefaultQueueDepth), PartDepth: int(s.PartitionJobDepth),
		MaxStarts: int(s.SchedMaxJobStart), Defer: s.Defer, Epilog: s.Epilog, AssocLimitStop: s.AssocLimitStop,
		BackfillInterval: cmp.Or(s.BFInterval, model.Forever), Resolution: s.BFResolution, Window: s.BFWindow,
		MaxTest: int(s.BFMaxJobTest), MaxUser: int(s.BFMaxJobUser), MaxPart: int(s.BFMaxJobPart), MaxAssoc: int(s.BFMaxJobAssoc), MaxStart: int(s.BFMaxJobStart),
		MinAgeReserve: s.BFMinAgeReserve, MinPriorityReserve: s.BFMinPrioReserve, PartReserve: int(s.BFPartCountReserve), WindowScale: s.BFWindowScale,
		UsageAtEnds: s.UsageAtEnds, CalcPeriod: p.AccountingTick, LoopPeriod: s.Loop, RequeueDelay: s.RequeueDelay,
	}
}

// phases is the stream of when the controller's clocks begin: no log tells it, and it decides which job is first.
var phases = draw.StreamOf("phases of slurmctld")

// drawPhases draws when the clocks of the controller begin, each within its period.
func drawPhases(o *slurm.Options, seed uint64) {
	within := func(entity uint64, period model.Duration) model.Duration {
		if period == model.Forever {
			return 0
		}
		s := draw.New(seed, phases, entity, 0)
		return model.Duration(s.IntN(int64(period)))
	}
	o.LoopPhase, o.BackfillPhase, o.CalcPhase = within(0, o.LoopPeriod), within(1, o.BackfillInterval), within(2, o.CalcPeriod)
}
