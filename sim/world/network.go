package world

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// network is what the attempts on nodes send over the uplinks of groups. Loads are sums, so
// that it does not matter in which order attempts come and leave. Speeds follow when all of
// an instant has happened: a neighbour that starts and ends within it slows no job.
type network struct {
	uplinks []uplink // by group
	touched []int32  // groups whose load has changed since speeds were set
	joined  []model.Ref
	links   model.RefTable[[]link] // of each attempt
	sent    []hwmodel.Link         // space
	slowed  []int32                // likewise
}

// uplink is the link of a group to the rest of the network.
type uplink struct {
	load    int64 // B/s that its users send at full speed
	carries int64 // B/s, 0 before the first of them
	times   model.Fixed
	touched bool
	users   []user
}

// user is an attempt on an uplink.
type user struct {
	ref  model.Ref
	link int32 // of its links
}

// link is a use of an uplink, and its place among the users of that.
type link struct {
	hwmodel.Link
	place int32
}

// sending is how much slower the communication of an attempt is than on an empty network. The
// zero value is no slower.
type sending struct {
	alone model.Fixed // by what its most loaded uplink carries, without other jobs
	above model.Fixed // over One, with them, relative to that
}

// times is how many times as long communication takes.
func (s *sending) times() model.Fixed { return model.One + s.above }

// joinNetwork enters what the attempt under ref sends, which has its nodes and is on no link.
// Cost: the nodes of the attempt.
func (s *Site) joinNetwork(ref model.Ref) {
	if s.network == nil {
		return
	}
	n, l := s.network, s.jobs.At(ref)
	n.links.Reach(ref)
	own := n.links.At(ref)
	l.network.alone = model.One
	if l.where.Groups > 1 {
		n.sent = s.hardware.Links(&l.hw, s.quorum.Held(ref), n.sent[:0])
		for _, x := range n.sent {
			up := n.touch(x.Group)
			up.carries = x.Uplink
			up.load += x.Load
			up.users = append(up.users, user{ref, int32(len(*own))})
			*own = append(*own, link{x, int32(len(up.users) - 1)})
			l.network.alone = max(l.network.alone, hwmodel.Oversubscribed(x.Load, x.Uplink))
		}
	}
	if len(*own) > 0 { // else no other job slows it
		n.joined = append(n.joined, ref)
	}
}

// leaveNetwork takes what the attempt under ref sends off its links. Cost: its groups.
func (s *Site) leaveNetwork(ref model.Ref) {
	if s.network == nil {
		return
	}
	n := s.network
	own := n.links.At(ref)
	for _, x := range *own {
		up := n.touch(x.Group)
		up.load -= x.Load
		last := up.users[len(up.users)-1]
		up.users[x.place] = last
		(*n.links.At(last.ref))[last.link].place = x.place
		up.users = up.users[:len(up.users)-1]
	}
	*own = (*own)[:0]
}

// touch is the uplink of a group, whose load changes.
func (n *network) touch(group int32) *uplink {
	for int(group) >= len(n.uplinks) {
		n.uplinks = append(n.uplinks, uplink{times: model.One})
	}
	up := &n.uplinks[group]
	if !up.touched {
		up.touched = true
		n.touched = append(n.touched, group)
	}
	return up
}

// settleNetwork sets the speeds of the attempts on those uplinks that have become more or
// less oversubscribed, and of those that have come. Cost: the groups whose load has changed,
// and the links of these attempts.
func (s *Site) settleNetwork() {
	n := s.network
	if len(n.touched) == 0 && len(n.joined) == 0 {
		return
	}
	slowed := n.slowed[:0]
	for _, g := range n.touched {
		up := &n.uplinks[g]
		up.touched = false
		if times := hwmodel.Oversubscribed(up.load, up.carries); times != up.times {
			up.times = times
			slowed = append(slowed, g)
		}
	}
	for _, ref := range n.joined {
		if l := s.jobs.At(ref); l.present && l.attempt != nil { // else it has left within the instant
			s.slow(ref)
		}
	}
	for _, g := range slowed {
		for _, u := range n.uplinks[g].users {
			s.slow(u.ref)
		}
	}
	n.touched, n.joined, n.slowed = n.touched[:0], n.joined[:0], slowed
}

// slow sets the speed of the attempt under ref by its most oversubscribed uplink, if that has
// changed.
func (s *Site) slow(ref model.Ref) {
	l := s.jobs.At(ref)
	w := &l.network
	above := model.Fixed(0)
	for _, x := range *s.network.links.At(ref) {
		above = max(above, s.network.uplinks[x.Group].times-model.One)
	}
	if above > 0 && w.alone > model.One {
		above = model.Ratio(int64(above+model.One), int64(w.alone)) - model.One
	}
	if above != w.above {
		w.above = above
		s.setSpeed(ref)
	}
}
