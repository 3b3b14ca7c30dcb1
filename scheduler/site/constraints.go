package site

import (
	"slices"

	"orrery/scheduler/model"
)

// define takes in what the constraint of a stands for, when it is named first. Ids that
// are skipped belong to rows that were never submitted; a nil constraint is known, or of
// the site.
func (s *nodeState) define(a *model.Allocation, c *model.Constraint) {
	for int(a.Constraint) >= len(s.constraints) {
		s.constraints = append(s.constraints, nil)
	}
	if c == nil || s.constraints[a.Constraint] != nil {
		return
	}
	own := *c
	own.Features, own.Include, own.Exclude = slices.Clone(c.Features), slices.Clone(c.Include), slices.Clone(c.Exclude)
	s.constraints[a.Constraint] = &own
}
