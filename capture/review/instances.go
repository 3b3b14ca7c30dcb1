package review

import (
	"cmp"
	"slices"
	"strings"

	"orrery/capture/energy"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Instance is what is known of a GPU instance of MIG, a part of the GPU of that index. Means are weighted by time. What no row has is null.
type Instance struct {
	Node         string
	GPU          int32
	GPUInstance  int32
	UUID         string
	GPUUUID      string
	Profile      string
	Rows         int64
	First, Last  model.Time // rows, since 1970
	SMActive     traces.Opt[float64]
	TensorActive traces.Opt[float64]
	DRAMActive   traces.Opt[float64]
	MemMax       traces.Opt[int64]
	MemTotal     traces.Opt[int64]

	sums [3]weighted
}

// instances reads the rows of GPU instances, if there are any.
func instances(src Source) (list []Instance, err error) {
	if src.Instances == nil {
		return nil, nil
	}
	stretches := energy.NewStretches(src.Events)
	for i, err := range src.Instances() {
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(list, func(o Instance) bool {
			return o.Node == i.Node && o.GPU == i.GPU && o.GPUInstance == i.GPUInstance && o.UUID == i.UUID
		})
		if at < 0 {
			at, list = len(list), append(list, Instance{Node: i.Node, GPU: i.GPU, GPUInstance: i.GPUInstance, UUID: i.UUID, First: i.Time})
		}
		list[at].row(i, interval(i, stretches))
	}
	for at := range list {
		o := &list[at]
		o.SMActive, o.TensorActive, o.DRAMActive = o.sums[0].mean(), o.sums[1].mean(), o.sums[2].mean()
	}
	slices.SortStableFunc(list, func(a, b Instance) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.GPUInstance, b.GPUInstance), cmp.Compare(a.First, b.First))
	})
	return list, nil
}

// interval is for how long a row stands: its window, or the interval of the agent.
func interval(i *traces.Instance, s *energy.Stretches) model.Duration {
	if i.Width.OK {
		return i.Width.V
	}
	return s.Interval(i.Node, i.Time)
}

func (o *Instance) row(i *traces.Instance, width model.Duration) {
	o.Rows++
	o.Last, o.Profile, o.GPUUUID = i.Time, i.Profile, i.GPUUUID
	o.MemTotal = larger(o.MemTotal, i.MemTotal)
	if i.Stat == "" || i.Stat == "max" {
		o.MemMax = larger(o.MemMax, i.MemUsed)
	}
	if i.Stat == "" || i.Stat == "mean" {
		for n, v := range []traces.Opt[float64]{i.SMActive, i.TensorActive, i.DRAMActive} {
			o.sums[n].add(v, width.Seconds())
		}
	}
}
