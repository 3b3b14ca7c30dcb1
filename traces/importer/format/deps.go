package format

import (
	"slices"

	"orrery/traces"
)

// edges are the dependencies of a log, held until it is known which jobs were kept.
type edges struct {
	list []edge
	kept map[int64]bool // jobs, and whether two have the id
}

type edge struct {
	place Place
	dep   traces.Dep
}

// Rules by which dependencies are dropped.
const (
	ruleNoJob  = "dependency-on-a-job-that-was-not-kept"
	ruleTwice  = "dependency-on-a-job-id-used-twice" // which of the jobs is meant is not known
	ruleCircle = "dependency-in-a-circle"
)

// write hands over those between jobs that were kept, but for those in circles.
func (e *edges) write(s *Sink) error {
	drops := make([]string, len(e.list))
	for i, d := range e.list {
		jobTwice, job := e.kept[d.dep.Job]
		onTwice, on := e.kept[d.dep.On]
		switch {
		case !job || !on:
			drops[i] = ruleNoJob
		case jobTwice || onTwice:
			drops[i] = ruleTwice
		}
	}
	for _, i := range e.circles(drops) {
		drops[i] = ruleCircle
	}
	for i := range e.list {
		if err := finish(s, &s.deps, &e.list[i].place, &e.list[i].dep, drops[i]); err != nil {
			return err
		}
	}
	return nil
}

// circles are the dependencies that are left when jobs leave one after another, each when all
// before it have left: those in circles, and those that wait for one.
func (e *edges) circles(drops []string) (left []int) {
	waits := map[int64]int{} // how many a job waits for
	next := map[int64][]int{}
	for i, d := range e.list {
		if drops[i] == "" {
			waits[d.dep.Job]++
			next[d.dep.On] = append(next[d.dep.On], i)
		}
	}
	var free []int64
	for i, d := range e.list {
		if drops[i] == "" && waits[d.dep.On] == 0 && next[d.dep.On] != nil && next[d.dep.On][0] == i {
			free = append(free, d.dep.On)
		}
	}
	gone := make([]bool, len(e.list))
	for len(free) > 0 {
		on := free[len(free)-1]
		free = free[:len(free)-1]
		for _, i := range next[on] {
			gone[i] = true
			job := e.list[i].dep.Job
			if waits[job]--; waits[job] == 0 {
				free = append(free, job)
			}
		}
	}
	for i := range e.list {
		if drops[i] == "" && !gone[i] {
			left = append(left, i)
		}
	}
	return left
}

// add holds a dependency.
func (e *edges) add(at *Place, d *traces.Dep) {
	place := *at
	place.Repaired = slices.Clone(at.Repaired)
	e.list = append(e.list, edge{place, *d})
}
