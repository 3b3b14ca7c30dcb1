package workflow

import "orrery/scheduler/model"

// tallies counts by the dense ids of task groups or mutexes: how many jobs of
// each are in the system and how many of them have started. Memory: the ids in
// use, since ids grow with the trace.
type tallies struct {
	slots map[int32]int32 // by id, looked up and never walked
	all   []tally
	spare []int32
}

type tally struct {
	id      int32
	jobs    int32
	started int32
}

// join counts a job in and returns the slot of its id, none for a negative id.
func (t *tallies) join(id int32) int32 {
	if id < 0 {
		return none
	}
	slot, ok := t.slots[id]
	switch n := len(t.spare); {
	case ok:
	case n > 0:
		slot, t.spare = t.spare[n-1], t.spare[:n-1]
	default:
		slot = int32(len(t.all))
		t.all = append(t.all, tally{})
	}
	if !ok {
		t.all[slot] = tally{id: id}
		t.slots[id] = slot
	}
	t.all[slot].jobs++
	return slot
}

// leave counts a job out.
func (t *tallies) leave(slot int32) {
	if slot == none {
		return
	}
	x := &t.all[slot]
	if x.jobs--; x.jobs == 0 {
		delete(t.slots, x.id)
		t.spare = append(t.spare, slot)
	}
}

// mutexesOf are the mutexes of m.
func (g *Graph) mutexesOf(m *member) []int32 {
	if m.mutexes == none {
		return nil
	}
	return g.lists[m.mutexes]
}

// addMutex adds one to those of m.
func (g *Graph) addMutex(m *member, lock int32) {
	if n := len(g.idle); m.mutexes == none && n > 0 {
		m.mutexes, g.idle = g.idle[n-1], g.idle[:n-1]
	} else if m.mutexes == none {
		m.mutexes = int32(len(g.lists))
		g.lists = append(g.lists, nil)
	}
	g.lists[m.mutexes] = append(g.lists[m.mutexes], lock)
}

// dropMutexes takes them off m.
func (g *Graph) dropMutexes(m *member) {
	if m.mutexes != none {
		g.lists[m.mutexes] = g.lists[m.mutexes][:0]
		g.idle = append(g.idle, m.mutexes)
		m.mutexes = none
	}
}

// Gate says why the job under ref may not start now as far as its task group
// and its mutexes go: ReasonGroupLimit, ReasonMutex or ReasonNone. Dependencies
// are not looked at. Cost: its mutexes.
func (g *Graph) Gate(ref model.Ref) model.Reason {
	m := &g.members[ref]
	if m.group != none && m.bound > 0 && g.groups.all[m.group].started >= m.bound {
		return model.ReasonGroupLimit
	}
	if g.locked(m) {
		return model.ReasonMutex
	}
	return model.ReasonNone
}

// Reopened counts the jobs of task groups and those with mutexes that had started and do so no
// more: while it stays, Gate lets no job through that it kept back.
func (g *Graph) Reopened() uint64 { return g.reopens }

func (g *Graph) locked(m *member) bool {
	for _, l := range g.mutexesOf(m) {
		if g.locks.all[l].started > 0 {
			return true
		}
	}
	return false
}

// Started takes in that the job under ref runs or is about to: it counts in its
// task group and holds its mutexes until Stopped or Ended. A second time is
// nothing. Gate must have said ReasonNone. Cost: its mutexes.
func (g *Graph) Started(ref model.Ref) {
	m := &g.members[ref]
	if m.started {
		return
	}
	if g.locked(m) {
		panic("workflow: start of a job whose mutex another holds")
	}
	m.started = true
	g.count(m, 1)
}

// Stopped takes in that the job under ref does not run after all, or not any
// more. A job that has not started is left as it is.
func (g *Graph) Stopped(ref model.Ref) {
	if m := &g.members[ref]; m.started {
		m.started = false
		g.count(m, -1)
	}
}

func (g *Graph) count(m *member, by int32) {
	if by < 0 && (m.group != none || m.mutexes != none) {
		g.reopens++
	}
	if m.group != none {
		g.groups.all[m.group].started += by
	}
	for _, l := range g.mutexesOf(m) {
		g.locks.all[l].started += by
	}
}
