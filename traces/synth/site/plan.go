package site

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
)

// Shapes of what is submitted at once.
const (
	shapeSingle int8 = iota
	shapeArray       // task group
	shapeDAG
	shapeService
	shapeSession
)

var streamUnit = draw.StreamOf("synth.site.unit")

// plan makes submissions, vCluster by vCluster, until each has its load, puts
// them in order and returns the number of rows. Given their number, arrivals
// of a Poisson process are independent of each other, so their instants can be
// drawn with them.
func (s *site) plan() int64 {
	span := float64(s.p.Days) * model.Day.Seconds()
	whole := s.p.Load * span * float64(s.p.Nodes)
	serving := s.p.ServiceLoad * s.p.Load * span * float64(s.home[service])
	classified := s.p.SensitiveLoad * s.p.Load * span * float64(s.home[sensitive])
	rest := (whole - serving - classified) / float64(s.home[hpc]+s.home[ml])
	for part, target := range [parts]float64{
		hpc: rest * float64(s.home[hpc]), ml: rest * float64(s.home[ml]),
		service: serving, sensitive: classified,
	} {
		s.fill(part, target)
	}
	//detlint:total it ends in the vCluster and the number within it
	slices.SortFunc(s.units, func(a, b unit) int {
		return cmp.Or(cmp.Compare(a.submit, b.submit), cmp.Compare(a.part, b.part), cmp.Compare(a.n, b.n))
	})
	rows := int64(0)
	for i := range s.units {
		s.units[i].first = int32(rows + 1)
		rows += int64(s.units[i].tasks)
	}
	return rows
}

// fill makes submissions to a vCluster of target node-seconds.
func (s *site) fill(part int, target float64) {
	end := model.Time(s.p.Days) * model.Time(model.Day)
	gpus := float64(nodeTypes[part].gpus)
	sum := 0.0
	for n := int32(0); sum < target; n++ {
		u := s.submission(part, n)
		area := 0.0
		var j traces.Job
		for task := range int(u.tasks) {
			s.row(&u, task, &j)
			held := min(j.Runtime.V, end.Sub(u.submit)).Seconds()
			area += held * float64(j.NodesMin.V) * float64(j.GPUsPerNode.V) / gpus
		}
		if sum+area-target > target-sum && sum > 0 {
			return // nearer without it
		}
		sum += area
		s.units = append(s.units, u)
	}
}

// submission draws submission n of a vCluster: when, and of what shape.
func (s *site) submission(part int, n int32) unit {
	d := draw.New(s.seed, streamUnit, entity(part, n), 0)
	u := unit{n: n, part: int8(part), tasks: 1, submit: s.instant(&d)}
	kind := d.Float64()
	switch {
	case part == ml && kind < s.p.Groups:
		u.shape, u.tasks = shapeArray, int16(4+d.IntN(29))
	case part == ml && kind < s.p.Groups+s.p.DAGs:
		u.shape, u.tasks = shapeDAG, int16(3+d.IntN(10))
	case part == service && kind < s.p.Services:
		u.shape = shapeService
		if d.Bool(s.p.Standing) {
			u.submit = 0
		}
	case part == service:
		u.shape = shapeSession
	}
	return u
}

// instant draws a whole second of the days.
func (s *site) instant(d *draw.Source) model.Time {
	at := d.Float64() * s.days[len(s.days)-1]
	day, _ := slices.BinarySearch(s.days, at)
	day = min(day, len(s.days)-1)
	t := model.Time(int64(day)*int64(model.Day) + s.cycle.At(int64(d.Float64()*float64(int64(model.Day)))))
	return t - t%model.Time(model.Second)
}

// entity is the key of the draws of a submission.
func entity(part int, n int32) uint64 { return uint64(part)<<32 | uint64(n) }
