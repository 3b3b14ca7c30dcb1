package site

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
)

var (
	streamReactive = draw.StreamOf("synth.site.reactive")
	streamDemand   = draw.StreamOf("synth.site.demand")
)

// demandNoise is by how much the demand of an hour is off the daily cycle at most, either
// way, as a part of it. Assumption.
const demandNoise = 0.3

// events lists what reactive services are to have, hour by hour while they run if they
// start at once, wherever that changes: their least nodes, and of the rest as much as the
// daily cycle shows of its rush hour, on weekends as much of that as submissions are.
func (s *site) events() []traces.Event {
	var out []traces.Event
	var j traces.Job
	for i := range s.units {
		u := &s.units[i]
		if u.part != service || u.shape != shapeService {
			continue
		}
		if s.row(u, 0, &j); j.Kind != "reactive" {
			continue
		}
		had := j.NodesMin.V
		end := min(u.submit.Add(j.Runtime.V), model.Time(s.p.Days)*model.Time(model.Day))
		for at := u.submit; at < end; at = (at + 1).Grid(model.Hour, 0) {
			nodes := s.demand(u, &j, at)
			if nodes != had {
				out = append(out, traces.Event{Time: at, Kind: "demand", Subject: strconv.FormatInt(j.ID, 10), Value: strconv.FormatInt(int64(nodes), 10)})
			}
			had = nodes
		}
	}
	slices.SortStableFunc(out, func(a, b traces.Event) int { return cmp.Compare(a.Time, b.Time) })
	return out
}

// demand is how many nodes a service is to have at an instant.
func (s *site) demand(u *unit, j *traces.Job, at model.Time) int32 {
	d := draw.New(s.seed, streamDemand, entity(int(u.part), u.n), uint64(at/model.Time(model.Hour)))
	busy := s.cycle.Busy(int64(at)) * d.Uniform(1-demandNoise, 1+demandNoise)
	if day := int64(at) / int64(model.Day); day%7 >= 5 {
		busy *= s.p.Weekend
	}
	more := float64(j.NodesMax.V - j.NodesMin.V)
	return j.NodesMin.V + int32(math.Round(more*min(busy, 1)))
}
