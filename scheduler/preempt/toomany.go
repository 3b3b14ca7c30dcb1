package preempt

import "orrery/scheduler/model"

// TooMany finds out, from less than a whole list of candidates, that Select chooses none for a job that
// lacks so many nodes, any of which will do, since too many would remain. Some of MaxVictims that suffice
// holds a fair part of the nodes; Select takes none that does where those before all of these free enough.
// All candidates are told that hold a fair part, each to Large; then others.
type TooMany struct {
	cfg   *Config
	now   model.Time
	nodes int32
	first Victim // in the order of preference, of those that hold a fair part
	found bool
	freed int32
}

// TooMany is a question about a job that lacks so many nodes now.
func (c *Config) TooMany(now model.Time, nodes int32) TooMany {
	return TooMany{cfg: c, now: now, nodes: nodes}
}

// Fair says whether so many usable nodes are a fair part of those that the job lacks.
func (t *TooMany) Fair(usable int32) bool {
	return int64(usable)*int64(t.cfg.MaxVictims) >= int64(t.nodes)
}

// Large takes in a candidate that holds a fair part.
func (t *TooMany) Large(v *Victim) {
	if t.found && v.Class > t.first.Class {
		return
	}
	if v.cost = t.cfg.Cost(v, t.now, t.cfg.Bandwidth); !t.found || compare(v, &t.first) < 0 {
		t.first, t.found = *v, true
	}
}

// None says that no candidate holds a fair part, so that too many would remain. Else
// below is a class above those of which candidates come before all that do.
func (t *TooMany) None() (none bool, below int32) { return !t.found, t.first.Class + 1 }

// Before says whether a candidate that holds less than a fair part comes before all that do. It counts with
// Frees then.
func (t *TooMany) Before(v *Victim) bool {
	if v.Class != t.first.Class {
		return v.Class < t.first.Class
	}
	v.cost = t.cfg.Cost(v, t.now, t.cfg.Bandwidth)
	return compare(v, &t.first) < 0
}

// Frees takes in how many nodes such a candidate frees for sure, and says whether too many would remain by now.
func (t *TooMany) Frees(sure int32) bool {
	t.freed += sure
	return t.freed >= t.nodes
}
