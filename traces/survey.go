package traces

import "orrery/scheduler/model"

// survey is what one pass over all rows of a bundle finds out.
type survey struct {
	tableHashes
	sorted bool
}

// visitor is called for every row of a bundle, numbered from 1.
type visitor interface {
	job(row int64, j *Job)
	node(row int64, n *Node)
	dep(row int64, d *Dep)
	tenant(row int64, t *Tenant)
	event(row int64, e *Event)
	price(row int64, p *Price)
	load(row int64, l *Load)
	telemetry(row int64, t *Telemetry)
	instance(row int64, i *Instance)
}

// survey reads everything once.
func (b *Bundle) survey() (*survey, error) {
	s := &survey{}
	return s, s.read(b, noVisitor{})
}

// noVisitor reads rows for their digests alone.
type noVisitor struct{}

func (noVisitor) job(int64, *Job)             {}
func (noVisitor) node(int64, *Node)           {}
func (noVisitor) dep(int64, *Dep)             {}
func (noVisitor) tenant(int64, *Tenant)       {}
func (noVisitor) event(int64, *Event)         {}
func (noVisitor) price(int64, *Price)         {}
func (noVisitor) load(int64, *Load)           {}
func (noVisitor) telemetry(int64, *Telemetry) {}
func (noVisitor) instance(int64, *Instance)   {}

// read feeds the digests and passes every row to v.
func (s *survey) read(b *Bundle, v visitor) error {
	last := model.AbsentTime
	s.sorted = true
	err := digest(b.jobs, b.meta.Epoch, &s.jobs, func(row int64, j *Job) error {
		if j.Submit < last {
			if b.meta.Sorted {
				return orderError(b.jobs.path, row, j.Submit, last)
			}
			s.sorted = false
		}
		last = j.Submit
		v.job(row, j)
		return nil
	})
	for _, next := range []func() error{
		func() error { return digest(b.nodes.table, b.meta.Epoch, &s.nodes, visit(v.node)) },
		func() error { return digest(b.tenants.table, b.meta.Epoch, &s.tenants, visit(v.tenant)) },
		func() error { return digest(b.events.table, b.meta.Epoch, &s.events, visit(v.event)) },
		func() error { return digest(b.prices.table, b.meta.Epoch, &s.prices, visit(v.price)) },
		func() error { return digest(b.load, b.meta.Epoch, &s.load, visit(v.load)) },
		func() error { return digest(b.gauges, b.meta.Epoch, &s.telemetry, visit(v.telemetry)) },
		func() error { return digest(b.parts, b.meta.Epoch, &s.instances, visit(v.instance)) },
		func() error { return digest(b.deps, b.meta.Epoch, &s.deps, visit(v.dep)) },
	} {
		if err != nil {
			return err
		}
		err = next()
	}
	return err
}

func visit[R any](f func(int64, *R)) func(int64, *R) error {
	return func(row int64, r *R) error { f(row, r); return nil }
}

// digest reads a table, nil when there is none.
func digest[R any](t *tableReader[R], epoch model.Time, h *tableHash, visit func(int64, *R) error) error {
	if t == nil {
		return nil
	}
	h.columns = make([]columnHash, len(t.fields))
	for r, err := range t.rows(epoch) {
		if err != nil {
			return err
		}
		h.rows++
		for i := range t.fields {
			f := &t.fields[i]
			if _, err := f.value(f.load(r), epoch, &h.columns[i]); err != nil {
				return rangeError(t.path, &f.Column, h.rows, err.Error())
			}
		}
		if err := visit(h.rows, r); err != nil {
			return err
		}
	}
	return nil
}
