// Package wake answers one question of a vCluster: must it look at its queue again? It must
// when something that its last pass depended on has changed, or when an instant has come that
// the pass waits for.
//
// A Board counts, for each vCluster and each source of change, how often that has changed. A
// pass notes in a Look what it depended on, and the counts of then. Facts only count: whether
// one matters is asked when the vCluster may make a pass.
package wake

import (
	"slices"

	"orrery/scheduler/model"
)

// Source is what a pass may depend on. Nodes are those that the vCluster's jobs may use
// without borrowing.
type Source uint8

const (
	Queue          Source = iota // jobs left it without a start, or what all of them asked for so far has changed
	Site                         // limits, caps, prices and nodes in service; a refusal
	CapacityFreed                // nodes that came free, or are kept for others no more
	CapacityTaken                // nodes that were taken or kept, or will come free at another time
	Victim                       // a job started that its jobs may preempt
	Running                      // which jobs run, and whether they are to leave
	LendingChanged               // how many nodes other vClusters lend
	Promises                     // what jobs of other vClusters are promised; some promise was given up
	Promised                     // likewise; some promise was made or moved
	OtherVCluster                // anything else that happened to other vClusters
	NumSources
)

// Sources is a set of them.
type Sources uint16

// Of is the set of some sources.
func Of(sources ...Source) (set Sources) {
	for _, s := range sources {
		set |= 1 << s
	}
	return set
}

// All is the set of all sources.
const All Sources = 1<<NumSources - 1

// Board counts changes. What is given back of limits is counted by whom they are for.
type Board struct {
	changes      []counts // by vCluster
	tenants, qos []uint64 // by id and one: index 0 is none
	given        uint64   // by any of them
}

type counts [NumSources]uint64

// NewBoard is the board of a site.
func NewBoard(vclusters, tenants, qos int) Board {
	return Board{changes: make([]counts, vclusters), tenants: make([]uint64, tenants+1), qos: make([]uint64, qos+1)}
}

// Raise counts a change for one vCluster.
func (b *Board) Raise(v model.VClusterID, s Source) { b.changes[v][s]++ }

// RaiseAll counts a change for all of them.
func (b *Board) RaiseAll(s Source) {
	for v := range b.changes {
		b.changes[v][s]++
	}
}

// Count is how often a source has changed.
func (b *Board) Count(v model.VClusterID, s Source) uint64 { return b.changes[v][s] }

// Given counts that a job gave back what counted against the limits of its tenant and quality of
// service.
func (b *Board) Given(t model.TenantID, q model.QOSID) {
	b.given++
	b.tenants[t+1]++
	b.qos[q+1]++
}

// Look is what the last pass of a vCluster depended on.
type Look struct {
	Until model.Time // nothing changes before by time alone
	Met   Limits     // those that kept jobs from starting: what is given back of them matters

	must, check Sources
	seen        counts
	given       uint64
}

// NewLook is that of a vCluster that has made no pass yet: anything has it make one.
func NewLook() Look { return Look{Until: model.Never, must: All} }

// Begin begins the note of a pass: what changes from now on was not seen by it.
func (l *Look) Begin(b *Board, v model.VClusterID) {
	l.seen, l.given = b.changes[v], b.given
	l.Until = model.Never
	l.Met.reset()
}

// Depend ends it. Another pass is made after a change of a source in must, or of limits met; after one
// of a source in check, it is asked first whether that matters.
func (l *Look) Depend(b *Board, must, check Sources) {
	l.must, l.check = must, check
	l.Met.note(b)
}

// Settle takes in that nothing which has changed so far matters.
func (l *Look) Settle(b *Board, v model.VClusterID) {
	l.seen, l.given = b.changes[v], b.given
	l.Met.note(b)
}

// Bring brings the instant of the next look forward.
func (l *Look) Bring(at model.Time) { l.Until = min(l.Until, at) }

// Answer says what is to be done about what has changed since a pass.
type Answer uint8

const (
	Rest  Answer = iota // nothing that the pass depended on has changed
	Check               // something has that may leave all as it was
	Go                  // another pass is to be made
)

// Changed says what has become of the sources and limits since the pass, whatever the time.
func (l *Look) Changed(b *Board, v model.VClusterID) Answer {
	if l.given != b.given && l.Met.moved(b, l.given) {
		return Go
	}
	now, answer := &b.changes[v], Rest
	if *now == l.seen {
		return Rest
	}
	for s := range NumSources {
		if now[s] == l.seen[s] {
			continue
		}
		if l.must&(1<<s) != 0 {
			return Go
		}
		if l.check&(1<<s) != 0 {
			answer = Check
		}
	}
	return answer
}

// Limits names limits, by whom they are for.
type Limits struct {
	tenants, qos owners
	others       bool // or too many to tell
}

type owners []owner

type owner struct {
	id   int32 // of a tenant or a quality of service, and one
	seen uint64
}

func (l *Limits) reset() { l.tenants, l.qos, l.others = l.tenants[:0], l.qos[:0], false }

// AddTenant adds the limits of a tenant.
func (l *Limits) AddTenant(t model.TenantID) { l.others = !l.tenants.add(int32(t)+1) || l.others }

// AddQOS adds the limits of a quality of service.
func (l *Limits) AddQOS(q model.QOSID) { l.others = !l.qos.add(int32(q)+1) || l.others }

// AddOthers adds limits of users, partitions and whatever else is not told apart.
func (l *Limits) AddOthers() { l.others = true }

func (l *Limits) note(b *Board) {
	l.tenants.note(b.tenants)
	l.qos.note(b.qos)
}

// moved says whether any of them has been given back, when anything has since so many times.
func (l *Limits) moved(b *Board, given uint64) bool {
	return l.others && b.given != given || l.tenants.moved(b.tenants) || l.qos.moved(b.qos)
}

// add adds an owner where it is not there yet; it says whether it is there then, for a list stays short.
func (o *owners) add(id int32) bool {
	const most = 16
	if slices.ContainsFunc(*o, func(x owner) bool { return x.id == id }) {
		return true
	}
	if len(*o) == most {
		return false
	}
	*o = append(*o, owner{id: id})
	return true
}

func (o owners) note(changes []uint64) {
	for i := range o {
		o[i].seen = changes[o[i].id]
	}
}

func (o owners) moved(changes []uint64) bool {
	return slices.ContainsFunc(o, func(x owner) bool { return changes[x.id] != x.seen })
}
