// Package network keeps what the attempts on nodes send over the uplinks of network groups, and how much slower that
// makes the communication of each.
package network

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// Network is the uplinks of a site. Loads are sums, so that it does not matter in which order attempts come and
// leave. Speeds follow when all of an instant has happened: a neighbour that starts and ends within it slows no job.
type Network struct {
	Uplinks  []Uplink // by group
	touched  []int32  // groups whose load has changed since speeds were set
	joined   []model.Ref
	attempts model.RefTable[attempt]
	slowed   []int32     // space
	changed  []model.Ref // likewise
}

// Uplink is the link of a group to the rest of the network.
type Uplink struct {
	Load    int64 // B/s that its users send at full speed
	Users   []User
	carries int64 // B/s, 0 before the first of them
	times   model.Fixed
	touched bool
}

// User is an attempt on an uplink.
type User struct {
	ref  model.Ref
	link int32 // of its links
}

// attempt is one that is on nodes.
type attempt struct {
	slower *Slower // nil when it has left
	links  []link
}

// link is a use of an uplink, and its place among the users of that.
type link struct {
	hwmodel.Link
	place int32
}

// Slower is how much slower the communication of an attempt is than on an empty network. The zero value is no slower.
type Slower struct {
	alone model.Fixed // by what its most loaded uplink carries, without other jobs
	above model.Fixed // over One, with them, relative to that
}

// Times is how many times as long communication takes.
func (s *Slower) Times() model.Fixed { return model.One + s.above }

// Join enters what the attempt under ref, which is on no link, sends over each uplink.
func (n *Network) Join(ref model.Ref, s *Slower, sends []hwmodel.Link) {
	n.attempts.Reach(ref)
	a := n.attempts.At(ref)
	a.slower, s.alone = s, model.One
	for _, x := range sends {
		up := n.touch(x.Group)
		up.carries = x.Uplink
		up.Load += x.Load
		up.Users = append(up.Users, User{ref, int32(len(a.links))})
		a.links = append(a.links, link{x, int32(len(up.Users) - 1)})
		s.alone = max(s.alone, hwmodel.Oversubscribed(x.Load, x.Uplink))
	}
	if len(a.links) > 0 { // else no other job slows it
		n.joined = append(n.joined, ref)
	}
}

// Leave takes what the attempt under ref sends off its links. Cost: its groups.
func (n *Network) Leave(ref model.Ref) {
	a := n.attempts.At(ref)
	for _, x := range a.links {
		up := n.touch(x.Group)
		up.Load -= x.Load
		last := up.Users[len(up.Users)-1]
		up.Users[x.place] = last
		n.attempts.At(last.ref).links[last.link].place = x.place
		up.Users = up.Users[:len(up.Users)-1]
	}
	a.slower, a.links = nil, a.links[:0]
}

// touch is the uplink of a group, whose load changes.
func (n *Network) touch(group int32) *Uplink {
	for int(group) >= len(n.Uplinks) {
		n.Uplinks = append(n.Uplinks, Uplink{times: model.One})
	}
	up := &n.Uplinks[group]
	if !up.touched {
		up.touched = true
		n.touched = append(n.touched, group)
	}
	return up
}

// Settle are the attempts that are slower or less slow than before: of those on uplinks that have become more or less
// oversubscribed, and of those that have come. Valid until it is asked again. Cost: the groups whose load has
// changed, and the links of these attempts.
func (n *Network) Settle() []model.Ref {
	n.changed = n.changed[:0]
	if len(n.touched) == 0 && len(n.joined) == 0 {
		return n.changed
	}
	slowed := n.slowed[:0]
	for _, g := range n.touched {
		up := &n.Uplinks[g]
		up.touched = false
		if times := hwmodel.Oversubscribed(up.Load, up.carries); times != up.times {
			up.times = times
			slowed = append(slowed, g)
		}
	}
	for _, ref := range n.joined {
		n.slow(ref)
	}
	for _, g := range slowed {
		for _, u := range n.Uplinks[g].Users {
			n.slow(u.ref)
		}
	}
	n.touched, n.joined, n.slowed = n.touched[:0], n.joined[:0], slowed
	return n.changed
}

// slow finds how much slower the attempt under ref is by its most oversubscribed uplink, unless it has left.
func (n *Network) slow(ref model.Ref) {
	a := n.attempts.At(ref)
	if a.slower == nil {
		return
	}
	above := model.Fixed(0)
	for _, x := range a.links {
		above = max(above, n.Uplinks[x.Group].times-model.One)
	}
	if alone := a.slower.alone; above > 0 && alone > model.One {
		above = model.Ratio(int64(above+model.One), int64(alone)) - model.One
	}
	if above != a.slower.above {
		a.slower.above = above
		n.changed = append(n.changed, ref)
	}
}
