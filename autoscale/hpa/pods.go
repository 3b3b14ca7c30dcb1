package hpa

import (
	"math"
	"slices"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// sample is the last value of a metric.
type sample struct {
	milli  int64 // in thousandths, as the original computes
	ratio  float64
	at     model.Time
	window model.Duration
	has    bool
}

// largest is what a float64 can count to; more than that is as much.
const largest = 1 << 53

// toMilli rounds a value to thousandths.
func toMilli(v float64) int64 {
	return int64(max(min(math.Round(float64(v*1000)), largest), -largest))
}

// ceil rounds a number of replicas up.
func ceil(v float64) int64 {
	return int64(max(min(math.Ceil(v), largest), -largest))
}

// fresh says whether there is a value that is not too old.
func (s *sample) fresh(now model.Time, age model.Duration) bool {
	return s.has && (age == model.Forever || now.Sub(s.at) <= age)
}

// pod is one replica, or an entity that has a sample and is no pod of the workload.
type pod struct {
	entity   autoscale.Entity
	known    bool
	state    autoscale.State
	started  model.Time // when it was first seen
	changed  model.Time // of its state
	requests autoscale.Resources
	samples  []sample // by metric
}

// pods is all of them, by entity.
type pods struct {
	metrics int
	list    []pod
}

// at is the pod of an entity, which is added if it is not there.
func (p *pods) at(e autoscale.Entity) *pod {
	i, found := slices.BinarySearchFunc(p.list, e, func(x pod, e autoscale.Entity) int { return int(x.entity) - int(e) })
	if !found {
		p.list = slices.Insert(p.list, i, pod{entity: e, samples: make([]sample, p.metrics)})
	}
	return &p.list[i]
}

// enter takes in that an entity has entered a state.
func (p *pods) enter(f *autoscale.Fact) {
	if f.State == autoscale.Stopped {
		if i, found := slices.BinarySearchFunc(p.list, f.Entity, func(x pod, e autoscale.Entity) int { return int(x.entity) - int(e) }); found {
			p.list = slices.Delete(p.list, i, i+1)
		}
		return
	}
	x := p.at(f.Entity)
	if !x.known {
		x.known, x.started = true, f.At
	}
	if x.state != f.State {
		x.state, x.changed = f.State, f.At
	}
	if f.Resources != (autoscale.Resources{}) {
		x.requests = f.Resources
	}
}

func (p *pods) sampled(e autoscale.Entity, metric int, s sample) { p.at(e).samples[metric] = s }

// ready says that the pod serves.
func (x *pod) ready() bool { return x.state == autoscale.Ready || x.state == autoscale.Busy }

// request of the resource of a metric, in thousandths of its unit.
func (x *pod) request(m *Metric) int64 {
	if m.Memory {
		return x.requests.Memory * 1000
	}
	return x.requests.CPU
}

// group says how a pod enters the calculation of a metric.
type group uint8

const (
	counted group = iota
	unready       // its sample is set aside
	missing       // it has none
	ignored       // it is leaving or has failed, or is no pod of the workload
)

// group finds it. The CPU of a pod that has just started says nothing about its load.
func (p *Policy) group(now model.Time, x *pod, m *Metric, s *sample) group {
	switch {
	case !x.known || x.state == autoscale.Draining || x.state == autoscale.Failed:
		return ignored
	case x.state == autoscale.Requested:
		return unready
	case !s.fresh(now, p.cfg.MaxAge):
		return missing
	case !m.CPU:
		return counted
	}
	if x.started.Add(p.cfg.CPUInit) > now {
		if !x.ready() || s.at < x.changed.Add(s.window) {
			return unready
		}
	} else if !x.ready() && x.started.Add(p.cfg.ReadyDelay) > x.changed {
		return unready
	}
	return counted
}
