package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// taking is what a job takes by a proposal, and until when by its request.
type taking struct {
	job   *job
	whole *model.Placement // all that it has then
	nodes model.Placement  // beside what it has now
	until model.Time
	wide  bool // a start on more than its least nodes
}

// starting is what j takes when it starts on p.
func (b *base) starting(j *job, p *model.Placement) *taking {
	return &taking{job: j, whole: p, nodes: *p, until: b.now.Add(j.left), wide: p.Nodes() > j.NodesMin}
}

// adds is the power in W and the storage bandwidth in B/s of t beside what its job has.
func (b *base) adds(t *taking) (power, io int64) {
	return max(0, b.site.Draw(&t.job.Allocation, t.whole)-t.job.power), max(0, t.job.Demand(t.whole.Nodes())-t.job.io)
}

// gains is what j, which runs, takes when it holds p instead, beside what it has.
func (b *base) gains(j *job, p *model.Placement) taking {
	t := taking{job: j, whole: p, until: j.start.Add(j.left)}
	if t.until <= b.now {
		t.until = b.now.Add(model.Second) // as it is predicted
	}
	for _, x := range p.Words {
		for _, h := range j.held.Words {
			if h.Word == x.Word {
				x.Mask &^= h.Mask
			}
		}
		if x.Mask != 0 {
			t.nodes.Words = append(t.nodes.Words, x)
		}
	}
	for _, x := range p.Shares {
		if !holds(&j.held, x.Node) {
			t.nodes.Shares = append(t.nodes.Shares, x)
		}
	}
	return t
}

// reservations are those of an administrator, set aside for some jobs or for maintenance: invariant 27.
type reservations struct{ *base }

// setAside checks that j stays clear of the nodes that advance reservations keep for others: invariant 27.
func (rs *reservations) setAside(j *job, t *taking) {
	for i := range rs.site.Reservations {
		r := &rs.site.Reservations[i]
		if !r.Maintenance && j.Reservation == model.ReservationID(i) {
			if r.Outside(rs.now, t.until) {
				rs.fail(27, j, fmt.Sprintf("a run until %s in reservation %s", t.until, r.Name), fmt.Sprintf("one from %s to %s", r.Start, r.End))
			}
			continue
		}
		if rs.now >= r.End || t.until <= r.Start {
			continue
		}
		if n := within(&t.nodes, r.Nodes); n > 0 {
			rs.fail(27, j, fmt.Sprintf("%d nodes until %s of reservation %s, which begins at %s", n, t.until, r.Name, r.Start), "none")
		}
	}
}
