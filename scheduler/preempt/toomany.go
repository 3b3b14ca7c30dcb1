package preempt

import "orrery/scheduler/model"

// TooMany finds out, from less than a whole list of candidates, that Select chooses none for a job that
// lacks so many nodes, any of which will do, since too many would remain. Some of MaxVictims that suffice
// holds a fair part of the nodes; Select takes none that does where those before all of these free enough.
// Candidates are told class by class, the lowest first: those of a class that hold a fair part, each to Large; then others of it.
type TooMany struct {
	cfg   *Config
	now   model.Time
	nodes int32
	fair  int32  // usable nodes of a candidate, at least, that are a fair part of these
	first Victim // in the order of preference, of those that hold a fair part
	found bool
	freed int32
}

// TooMany is a question about a job that lacks so many nodes now.
func (c *Config) TooMany(now model.Time, nodes int32) TooMany {
	most := int64(c.MaxVictims)
	return TooMany{cfg: c, now: now, nodes: nodes, fair: int32((int64(nodes) + most - 1) / most)}
}

// Fair says whether so many usable nodes are a fair part of those that the job lacks.
func (t *TooMany) Fair(usable int32) bool {
	return usable >= t.fair
}

// Large takes in a candidate that holds a fair part.
func (t *TooMany) Large(v *Victim) {
	if v.cost = t.cfg.Cost(v, t.now, t.cfg.Bandwidth); !t.found || compare(v, &t.first) < 0 {
		t.first, t.found = *v, true
	}
}

// Found says whether there was any. Where there is none in the end, too many would remain.
func (t *TooMany) Found() bool { return t.found }

// Before says whether a candidate that holds less than a fair part comes before all that do; there must be some. It counts with
// Frees then.
func (t *TooMany) Before(v *Victim) bool {
	v.cost = t.cfg.Cost(v, t.now, t.cfg.Bandwidth)
	return compare(v, &t.first) < 0
}

// Frees takes in how many nodes such a candidate frees for sure, and says whether too many would remain by now.
func (t *TooMany) Frees(sure int32) bool {
	t.freed += sure
	return t.freed >= t.nodes
}
