package calibrate

import (
	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// divided says which GPUs MIG divides into GPU instances, by what their inventories say. The power of such a GPU is of all its instances
// together, which no class of work has run on as a whole: nothing is fitted to it.
type divided map[series][]dividedFrom

// dividedFrom is what holds from an instant on.
type dividedFrom struct {
	at model.Time
	on bool
}

func dividedOf(src *Source) (divided, error) {
	list, err := capture.Inventories(src.Events)
	if err != nil {
		return nil, err
	}
	out := divided{}
	for _, r := range list {
		for _, g := range r.GPUs {
			k := series{r.Node, g.Index}
			out[k] = append(out[k], dividedFrom{r.At, r.OfGPU(g.Index, "mig") == "on"})
		}
	}
	return out, nil
}

// at says whether a GPU was divided when a row of it was measured: by the inventory before, and by processes that are in an instance.
func (d divided) at(t *traces.Telemetry, procs []capture.Process) bool {
	for _, p := range procs {
		if p.Instance != "" {
			return true
		}
	}
	on := false
	for _, from := range d[series{t.Node, t.GPU.V}] {
		if from.at <= t.Time {
			on = from.on
		}
	}
	return on
}
