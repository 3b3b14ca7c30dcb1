package caps

import "orrery/scheduler/model"

// Idle is what the nodes draw that no job holds or has been proposed, where that counts
// against the cap on power. It is empty where it does not, and then nothing costs anything.
type Idle struct {
	watts   []int64 // by node
	holders []int32 // by node, the jobs that hold anything of it or have been proposed that
	up      model.NodeSet
}

// CountIdle counts the nodes of a site from now on, none of which a job holds.
func (s *State) CountIdle(site *model.Site) {
	n := len(site.Nodes)
	s.Idle = Idle{watts: make([]int64, n), holders: make([]int32, n), up: model.NewNodeSet(n)}
	for i := range site.Nodes {
		s.Idle.watts[i] = site.Nodes[i].IdlePower
		s.SetUp(model.NodeID(i), site.Nodes[i].State != model.Down)
	}
}

// Counts says whether idle nodes count.
func (i *Idle) Counts() bool { return i.watts != nil }

// SetUp takes in that a node draws power from now on, or is down.
func (s *State) SetUp(n model.NodeID, up bool) {
	i := &s.Idle
	if !i.Counts() || i.up.Has(n) == up {
		return
	}
	if i.up.Remove(n); up {
		i.up.Add(n)
	}
	if i.holders[n] == 0 {
		by := i.watts[n]
		if up {
			by = -by
		}
		s.Used.Idle += by
	}
}

// Hold counts a job onto the nodes of p with sign 1, and off them with sign -1. Cost: the nodes.
func (s *State) Hold(p *model.Placement, sign int32) {
	if s.Idle.Counts() {
		s.Used.Idle += s.Idle.hold(p, sign)
	}
}

// On is what the nodes of p draw as long as no job is on them: those that are held already draw
// nothing of the kind.
func (i *Idle) On(p *model.Placement) (watts int64) {
	if i.Counts() {
		p.EachNode(func(n model.NodeID) {
			if i.holders[n] == 0 {
				watts += i.of(n)
			}
		})
	}
	return watts
}

// CopyFrom makes i a copy of o on which jobs may leave for trial.
func (i *Idle) CopyFrom(o *Idle) {
	i.watts, i.up, i.holders = o.watts, o.up, append(i.holders[:0], o.holders...)
}

// Leave lets a job with these needs leave the nodes of p, and says what it gives back: less where
// nodes are idle then.
func (i *Idle) Leave(needs Usage, p *model.Placement) Usage {
	if i.Counts() {
		needs.Idle = -i.hold(p, -1)
	}
	return needs
}

// Return undoes Leave, and says what the job takes.
func (i *Idle) Return(needs Usage, p *model.Placement) Usage {
	if i.Counts() {
		needs.Idle = i.hold(p, 1)
	}
	return needs
}

// hold returns by how much less idle nodes draw.
func (i *Idle) hold(p *model.Placement, sign int32) (less int64) {
	p.EachNode(func(n model.NodeID) {
		before := i.holders[n]
		i.holders[n] += sign
		switch {
		case before == 0:
			less += i.of(n)
		case before+sign == 0:
			less -= i.of(n)
		}
	})
	return less
}

func (i *Idle) of(n model.NodeID) int64 {
	if i.up.Has(n) {
		return i.watts[n]
	}
	return 0
}
