package world

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
)

func expect(mean model.Duration) hwmodel.Lifetime { return Exponential{hwmodel.Exponential{Expected: mean}} }

// breaking are nodes that break and are repaired after exponential times.
func breaking(life, repair model.Duration) Faults {
	return Faults{Lives: []hwmodel.Lifetime{expect(life)}, Repair: expect(repair)}
}

func until(t model.Time, f Faults) Faults {
	f.Until = t
	return f
}
