package slurm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
)

// Lines are those of slurm.conf that express a profile of the order multifactor.
// left names what of the profile Slurm has no option for. Convert reads the lines
// back to the same profile when nothing is left.
func Lines(p *profiles.Profile) (text string, left []string, err error) {
	if p.Order != "multifactor" {
		return "", nil, fmt.Errorf("the profile %s orders by %s: Slurm has multifactor only", p.Name, p.Order)
	}
	w := writer{p: p}
	w.priority()
	w.backfill()
	for _, x := range []struct {
		key string
		is  bool
	}{
		{"cycle", p.Cycle != 0}, {"preemption", p.Preemption.Enabled}, {"selection", p.Selection != "documented"},
		{"multifactor.site", p.Multifactor.Site != 1},
		{"depth", p.Backfill == "conservative" && p.Depth != 0},
	} {
		if x.is {
			w.left = append(w.left, x.key)
		}
	}
	return w.b.String(), w.left, nil
}

type writer struct {
	p    *profiles.Profile
	b    strings.Builder
	left []string
}

func (w *writer) line(key string, value any) { fmt.Fprintf(&w.b, "%s=%v\n", key, value) }

// whole notes a span that is no multiple of what Slurm counts in.
func (w *writer) whole(key string, d, unit model.Duration) int64 {
	if d%unit != 0 {
		w.left = append(w.left, fmt.Sprintf("%s in parts of its unit", key))
	}
	return int64(d / unit)
}

func (w *writer) priority() {
	m := &w.p.Multifactor
	w.line("PriorityType", "priority/multifactor")
	for _, x := range []struct {
		key   string
		value int64
	}{
		{"PriorityWeightAge", m.Age}, {"PriorityWeightAssoc", m.Assoc}, {"PriorityWeightFairshare", m.FairShare},
		{"PriorityWeightJobSize", m.JobSize}, {"PriorityWeightPartition", m.Partition}, {"PriorityWeightQOS", m.QOS},
	} {
		w.line(x.key, x.value)
	}
	var tres []string
	for _, x := range []struct {
		key   string
		value int32
	}{{"CPU", m.TRES.CPU}, {"Mem", m.TRES.Memory}, {"Node", m.TRES.Node}, {"GRES/gpu", m.TRES.GPU}} {
		if x.value != 0 {
			tres = append(tres, fmt.Sprintf("%s=%d", x.key, x.value))
		}
	}
	if m.TRES.GPU != 0 {
		w.b.WriteString("# A weight of GPUs needs the next line, and slurmdbd; without them slurmctld does not start.\n")
		w.line("AccountingStorageTRES", "gres/gpu")
	}
	if len(tres) > 0 {
		w.line("PriorityWeightTRES", strings.Join(tres, ","))
	}
	w.whole("multifactor.max_age", m.MaxAge, model.Second)
	w.whole("multifactor.half_life", m.HalfLife, model.Second)
	w.line("PriorityMaxAge", written(m.MaxAge))
	w.line("PriorityDecayHalfLife", written(m.HalfLife))
	w.whole("accounting_tick", w.p.AccountingTick, model.Minute)
	w.line("PriorityCalcPeriod", written(w.p.AccountingTick))
	w.line("PriorityFavorSmall", map[bool]string{true: "YES", false: "NO"}[m.FavorSmall])
	var flags []string
	if !m.FairTree {
		flags = append(flags, "NO_FAIR_TREE")
		w.line("FairShareDampeningFactor", m.Dampening)
	}
	if m.SizeToTime {
		flags = append(flags, "SMALL_RELATIVE_TO_TIME")
	}
	if len(flags) > 0 {
		w.line("PriorityFlags", strings.Join(flags, ","))
	}
}

// schedulers writes the block slurm: what differs from the defaults of Slurm.
func (w *writer) schedulers() {
	s, def := &w.p.Slurm, profiles.Default().Slurm
	w.line("SchedulerType", "sched/backfill")
	var list []string
	for _, name := range slices.Sorted(maps.Keys(schedulerTerms)) {
		t := schedulerTerms[name]
		if text, differs := t.written(w, name, s, &def); differs {
			list = append(list, text)
		}
	}
	if len(list) > 0 {
		w.line("SchedulerParameters", strings.Join(list, ","))
	}
	if !s.ConsumableMemory {
		w.b.WriteString("# Where nodes are divided (sharing: resources).\n")
		w.line("SelectType", "select/cons_tres")
		w.line("SelectTypeParameters", "CR_Core")
	}
	if s.UsageAtEnds {
		w.line("AccountingStorageEnforce", "limits")
	}
	for _, x := range []struct {
		key string
		is  bool
	}{
		{"slurm.epilog (Epilog names a program)", s.Epilog}, {"slurm.loop", s.Loop != def.Loop}, {"slurm.requeue_delay", s.RequeueDelay != def.RequeueDelay},
	} {
		if x.is {
			w.left = append(w.left, x.key)
		}
	}
}

// written is a term of SchedulerParameters as it stands there, and whether it differs from the default.
func (t *schedulerTerm) written(w *writer, name string, s, def *profiles.Slurm) (text string, differs bool) {
	var n int64
	switch {
	case t.flag != nil:
		return name, *t.flag(s) != *t.flag(def)
	case t.count != nil:
		n, differs = int64(*t.count(s)), *t.count(s) != *t.count(def)
	case t.points != nil:
		n, differs = *t.points(s), *t.points(s) != *t.points(def)
	default:
		d := *t.span(s)
		if differs = d != *t.span(def); differs {
			n = w.whole("slurm."+name, d, t.unit)
		}
		if d == 0 && t.never {
			n = -1
		}
	}
	return fmt.Sprintf("%s=%d", name, n), differs
}

func (w *writer) backfill() {
	p := w.p
	if p.Backfill == "slurm" {
		w.schedulers()
		return
	}
	if p.Backfill == "none" {
		w.line("SchedulerType", "sched/builtin")
		return
	}
	w.line("SchedulerType", "sched/backfill")
	if p.Backfill != "conservative" {
		w.left = append(w.left, "backfill: "+p.Backfill)
		return
	}
	var list []string
	add := func(key string, n int64) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s=%d", key, n))
		} else {
			w.left = append(w.left, key+" without a bound")
		}
	}
	add("bf_window", w.whole("bf_window", p.BFWindow, model.Minute))
	add("bf_resolution", w.whole("bf_resolution", p.BFResolution, model.Second))
	add("bf_interval", w.whole("bf_interval", p.BFInterval, model.Second))
	add("bf_max_job_test", int64(p.BFMaxJobTest))
	if p.BFMaxJobUser > 0 {
		add("bf_max_job_user", int64(p.BFMaxJobUser))
	}
	w.line("SchedulerParameters", strings.Join(list, ","))
}
