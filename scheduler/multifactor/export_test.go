package multifactor

import "orrery/scheduler/model"

// Shares is the part of the machine that association i is promised.
func (t *Tree) Shares(i int32) model.Fixed {
	return model.Fixed(t.of[i].shares >> (62 - model.FractionBits))
}

// Used is the usage of association i with all below it as of the last Freeze,
// in units times microseconds.
func (t *Tree) Used(i int32) int64 { return t.of[i].used }
