package metric

import "orrery/scheduler/model"

// cell gathers the jobs of one vCluster, tenant and class in a window during the first
// pass: what they add to each of their groups is added up once.
type cell struct {
	vcluster, tenant, class int32
	next                    int32 // of the tenant and class, from 1; 0 for none
	target                  int64 // for the waits of its jobs, 0 for none
	sum                     groupSum
	waits                   []uint64 // while the budget lasts
}

// cell of a job. Those of a tenant and a class are few.
func (s *siteSums) cell(o *observation) *cell {
	first := &s.first[len(s.first)-1]
	if t := int(o.tenant) + 1; t >= 0 && t <= len(s.tenants) && o.class >= 0 && o.class < numClasses {
		first = &s.first[t*int(numClasses)+int(o.class)]
	}
	for i := *first; i > 0; i = s.cells[i-1].next {
		if c := &s.cells[i-1]; c.class == o.class && c.vcluster == o.vcluster && c.tenant == o.tenant {
			return c
		}
	}
	c := cell{vcluster: o.vcluster, tenant: o.tenant, class: o.class, next: *first}
	if o.class >= 0 && int(o.class) < len(s.cfg.TargetWait) {
		c.target = int64(s.cfg.TargetWait[o.class])
	}
	s.cells = append(s.cells, c)
	*first = int32(len(s.cells))
	return &s.cells[*first-1]
}

// add gathers a job in the first pass.
func (s *siteSums) add(o *observation) {
	if o.state == model.Suspended || o.state == model.Checkpointing || o.state == model.Pending && o.again {
		s.suspended++
	}
	c := s.cell(o)
	g := &c.sum
	g.jobs++
	g.requeues += o.requeues
	g.preemptions += o.preemptions
	g.own.add(&o.own)
	waited := int64(model.Time(o.end).Sub(model.Time(o.submit)))
	if o.started {
		wait := o.key[qWait]
		waited = int64(wait)
		if !o.waiting {
			g.started++
		}
		g.wait.add(wait)
		s.keep(c, wait)
	}
	if o.state != model.Rejected {
		g.eligible++
		if waited > s.limit {
			g.starved++
		}
	}
	if c.target > 0 && (o.started || o.state == model.Pending) {
		g.targeted++
		if o.started && !o.waiting && waited <= c.target {
			g.within++
		}
	}
}

// keep keeps a wait for the percentiles of the groups of a cell, or gives it to them
// when the budget is used up.
func (s *siteSums) keep(c *cell, wait uint64) {
	if len(c.waits) < cap(c.waits) || s.budget.grow(&c.waits) {
		c.waits = append(c.waits, wait)
		return
	}
	for _, g := range s.of(c.vcluster, c.tenant, c.class) {
		if g != nil {
			s.pick(g).add(wait)
		}
	}
}

// fold adds what was gathered in cells to their groups. The waits that these have kept
// do not change afterwards.
func (s *siteSums) fold(cells []cell) {
	for i := range cells {
		c := &cells[i]
		s.all.join(&c.sum)
		for _, g := range s.of(c.vcluster, c.tenant, c.class) {
			if g == nil {
				continue
			}
			g.join(&c.sum)
			s.pick(g).joinKeys(c.waits)
		}
	}
}

// closeCells ends the first pass, once others have joined the cells.
func (s *siteSums) closeCells() {
	if s != nil {
		s.fold(s.cells)
		s.cells = nil
	}
}
