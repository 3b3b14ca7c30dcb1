package profiles

import (
	"cmp"
	"fmt"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// CapThroughput is the throughput under a cap.
type CapThroughput struct {
	Draw       float64 `yaml:"draw" default:"1" min:"1e-3" max:"1" unit:"of its draw" doc:"the cap, as a part of what the job draws without one; none is set below the first"`
	Throughput float64 `yaml:"throughput" default:"1" min:"1e-3" max:"1" unit:"of that without" doc:"relative throughput"`
}

// ClockResponse is what a class of work does on a kind of GPU at a locked clock.
type ClockResponse struct {
	GPU        string  `yaml:"gpu" unit:"name" doc:"a GPU of the catalogue, or of a node type: a card answers its clock in its own way"`
	Clock      float64 `yaml:"clock" default:"1" min:"1e-3" max:"1" unit:"of that without" doc:"the clock of the multiprocessors, as a part of that at which the job runs without a lock; none is set below the first"`
	Throughput float64 `yaml:"throughput" default:"1" min:"1e-3" max:"1" unit:"of that without" doc:"relative throughput"`
	Power      float64 `yaml:"power" default:"1" min:"1e-3" max:"1" unit:"of that without" doc:"relative draw of the GPU at work"`
}

func (w *Workload) checkCaps(k *checker, at string) {
	for j, p := range w.Caps {
		at := fmt.Sprintf("%s.caps[%d]", at, j)
		switch {
		case p.Draw >= 1:
			k.add(at+".draw", "found %g, want less than 1: at 1 a cap has no effect", p.Draw)
		case j > 0 && p.Draw <= w.Caps[j-1].Draw:
			k.add(at+".draw", "found %g after %g: want them ascending", p.Draw, w.Caps[j-1].Draw)
		case j > 0 && p.Throughput < w.Caps[j-1].Throughput:
			k.add(at+".throughput", "found %g after %g: want no less under a higher cap", p.Throughput, w.Caps[j-1].Throughput)
		}
	}
}

func (w *Workload) checkClocks(k *checker, at string, gpus []string, modelOf func(string) string) {
	last := map[string]ClockResponse{}
	for j, p := range w.Clocks {
		at := fmt.Sprintf("%s.clocks[%d]", at, j)
		k.known(at+".gpu", "GPU of the catalogue or of a node type", p.GPU, gpus)
		below, met := last[modelOf(p.GPU)]
		last[modelOf(p.GPU)] = p
		switch {
		case p.GPU == "":
			k.add(at+".gpu", "want the GPU that answers so")
		case p.Clock >= 1:
			k.add(at+".clock", "found %g, want less than 1: at 1 there is no lock", p.Clock)
		case met && p.Clock <= below.Clock:
			k.add(at+".clock", "found %g after %g of the same GPU: want them ascending", p.Clock, below.Clock)
		case met && p.Throughput < below.Throughput:
			k.add(at+".throughput", "found %g after %g: want no less at a higher clock", p.Throughput, below.Throughput)
		case met && p.Power < below.Power:
			k.add(at+".power", "found %g after %g: want no less at a higher clock", p.Power, below.Power)
		}
	}
}

// clocks are those of the class by GPU model; number gives the id of one.
func (w *Workload) clocks(number func(string) int32) (out [][]hwmodel.ClockStep) {
	for _, p := range w.Clocks {
		id := int(number(p.GPU))
		out = append(out, make([][]hwmodel.ClockStep, max(0, id+1-len(out)))...)
		out[id] = append(out[id], hwmodel.ClockStep{Clock: model.FixedOf(p.Clock), Throughput: model.FixedOf(p.Throughput), Power: model.FixedOf(p.Power)})
	}
	return out
}

// gpuModel is the model of a GPU that a node type names, else the name itself.
func (c *Cluster) gpuModel(name string) string {
	for i := range c.NodeTypes {
		if t := &c.NodeTypes[i]; t.GPU == name {
			return cmp.Or(t.GPUModel, t.GPU)
		}
	}
	return name
}
