package fidelity

import (
	"cmp"
	"math"
	"slices"

	"orrery/scheduler/model"
)

// change is what the jobs hold more from an instant on, in the record and in the replay.
type change struct {
	at                 model.Time
	recorded, replayed int64
}

// utilisationRMSE is the root of the mean over time of the squared difference of what the jobs held, from the
// first submission to the last end, as a part of the most that was held at once in the record. It is exact:
// what is held changes at starts and ends alone. NaN where no time goes by, or nothing was held.
func utilisationRMSE(jobs []Job, units []int64, replayed []Times) float64 {
	var changes []change
	begin := model.Never
	for i := range jobs {
		begin = min(begin, jobs[i].Submit)
		changes = append(changes,
			change{jobs[i].Start, units[i], 0}, change{jobs[i].End, -units[i], 0},
			change{replayed[i].Start, 0, units[i]}, change{replayed[i].End, 0, -units[i]})
	}
	//detlint:total changes of one instant are summed before time goes on
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var recorded, held, most int64
	sum, last := 0.0, begin
	for _, c := range changes {
		if span := c.at.Sub(last); span > 0 {
			d := float64(held - recorded)
			sum += float64(float64(d*d) * (float64(span) / float64(model.Second)))
			most, last = max(most, recorded), c.at
		}
		recorded, held = recorded+c.recorded, held+c.replayed
	}
	if most == 0 || last <= begin {
		return math.NaN()
	}
	return math.Sqrt(sum/(float64(last.Sub(begin))/float64(model.Second))) / float64(most)
}

// held is what each job held, in one unit: CPUs where all jobs say how many, else nodes.
func held(jobs []Job) (units []int64, name string) {
	known := !slices.ContainsFunc(jobs, func(j Job) bool { return j.CPUs <= 0 })
	for i := range jobs {
		if known {
			units = append(units, int64(jobs[i].CPUs))
		} else {
			units = append(units, int64(max(jobs[i].Nodes, 1)))
		}
	}
	if known {
		return units, "CPUs"
	}
	return units, "nodes"
}
