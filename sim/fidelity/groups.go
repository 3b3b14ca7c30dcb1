package fidelity

import (
	"cmp"
	"math"
	"slices"

	"orrery/sim/metric"
)

// mostGroups are shown of one kind: those with most jobs.
const mostGroups = 50

// kind is by what jobs are divided.
type kind int

const (
	byPartition kind = iota
	bySize
	byQOS
	byUser
	kinds
)

// group is a part of the jobs.
type group struct {
	*sample
	kind kind
	name string
}

// nameOf the group of a kind that a job is in, "" for none. order puts size classes in order, and is 0 for others.
func (k kind) nameOf(j *Job, units int64) (name string, order int) {
	switch k {
	case byPartition:
		return j.Partition, 0
	case bySize:
		class := metric.SizeOf(int32(min(units, math.MaxInt32)))
		return metric.SizeName(class), class
	case byQOS:
		return j.QOS, 0
	}
	return j.User, 0
}

// groupsOf divides the jobs in each way: size classes ascend, others begin with the one of most jobs.
func groupsOf(jobs []Job, units []int64) (out []group) {
	for k := range kinds {
		type part struct {
			name  string
			order int
			jobs  []int
		}
		var parts []part
		at := map[string]int{}
		for i := range jobs {
			name, order := k.nameOf(&jobs[i], units[i])
			if name == "" {
				continue
			}
			if _, met := at[name]; !met {
				at[name] = len(parts)
				parts = append(parts, part{name: name, order: order})
			}
			p := &parts[at[name]]
			p.jobs = append(p.jobs, i)
		}
		//detlint:total names of one kind are distinct, and so are the places of size classes
		slices.SortFunc(parts, func(a, b part) int {
			if k == bySize {
				return cmp.Compare(a.order, b.order)
			}
			return cmp.Or(cmp.Compare(len(b.jobs), len(a.jobs)), cmp.Compare(a.name, b.name))
		})
		for _, p := range parts[:min(len(parts), mostGroups)] {
			out = append(out, group{sampleOf(jobs, p.jobs), k, p.name})
		}
	}
	return out
}
