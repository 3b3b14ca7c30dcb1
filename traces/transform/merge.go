package transform

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
)

// merge adds the jobs of other traces. What was split by a filter and merged
// again is as before, where ids ascend within an instant.
type merge struct{ with []string }

func newMerge(p *params) step {
	m := merge{with: p.list("with")}
	if len(m.with) == 0 || slices.Contains(m.with, "") {
		p.fail("with is missing: name the other traces, with=a.trace,b.trace")
	}
	return m
}

func (m merge) apply(in *Set, a *Account, open Opener) (*Set, error) {
	if open == nil {
		return nil, errors.New("other traces cannot be opened here")
	}
	sets := []*Set{in}
	for _, name := range m.with {
		s, err := open(name)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return mergeAll(sets, a)
}

// part is one of the traces that are merged.
type part struct {
	set    *Set
	shift  model.Duration // to the common epoch
	offset int64          // of ids
}

func mergeAll(sets []*Set, a *Account) (*Set, error) {
	out := *sets[0]
	parts, err := align(sets, &out.Meta)
	if err != nil {
		return nil, err
	}
	if err := renumber(parts, a); err != nil {
		return nil, err
	}
	out.Deps, out.Events, out.Prices, out.inputs = nil, nil, nil, slices.Clone(out.inputs)
	for i := range parts {
		p := &parts[i]
		for _, d := range p.set.Deps {
			out.Deps = append(out.Deps, traces.Dep{Job: d.Job + p.offset, On: d.On + p.offset, Condition: d.Condition})
		}
		out.Events = append(out.Events, others(out.Events, p)...)
		for _, x := range p.set.Prices {
			x.Time = x.Time.Add(p.shift)
			out.Prices = append(out.Prices, x)
		}
		if i == 0 {
			continue
		}
		out.inputs = append(out.inputs, p.set.inputs...)
		for _, s := range p.set.steps { // the recipe of what is merged belongs to it
			out.steps = append(slices.Clone(out.steps), "("+p.set.Name+") "+s)
		}
		if err := out.join(p.set, a); err != nil {
			return nil, err
		}
	}
	inOrder(out.Events)
	byTime(out.Prices)
	before := len(out.Prices)
	out.Prices = slices.CompactFunc(out.Prices, func(a, b traces.Price) bool { return a.Time == b.Time })
	if n := before - len(out.Prices); n > 0 {
		a.note(fmt.Sprintf("prices: %d left out, an earlier trace has one at the same instant", n))
	}
	out.Rows = func() iter.Seq2[*traces.Job, error] { return mergeRows(parts, a) }
	out.jobless = !slices.ContainsFunc(parts, func(p part) bool { return !p.set.jobless })
	out.mergeTables(parts, a)
	return &out, nil
}

// others are the events of a part that are not among those of the parts before:
// two logs of one cluster both tell of its failures.
func others(before []traces.Event, p *part) []traces.Event {
	had := make(map[traces.Event]bool, len(before))
	for _, e := range before {
		had[e] = true
	}
	var out []traces.Event
	for _, e := range p.set.Events {
		if id, err := strconv.ParseInt(e.Subject, 10, 64); e.Kind == demandKind && err == nil {
			e.Subject = strconv.FormatInt(id+p.offset, 10)
		}
		if e.Time = e.Time.Add(p.shift); !had[e] {
			out = append(out, e)
		}
	}
	return out
}

// align finds the common epoch: the earliest when all are known, else instants
// are taken as they are.
func align(sets []*Set, meta *traces.Meta) ([]part, error) {
	parts := make([]part, len(sets))
	known, epoch := true, sets[0].Meta.Epoch
	for i, s := range sets {
		parts[i].set = s
		known = known && s.Meta.EpochKnown
		epoch = min(epoch, s.Meta.Epoch)
		meta.MaxProcs, meta.MaxNodes = max(meta.MaxProcs, s.Meta.MaxProcs), max(meta.MaxNodes, s.Meta.MaxNodes)
		if s.Meta.TimeZone != meta.TimeZone {
			meta.TimeZone = ""
		}
	}
	if known {
		for i, s := range sets {
			parts[i].shift = s.Meta.Epoch.Sub(epoch)
		}
		meta.Epoch = epoch
	}
	warm := sets[0].Meta.WarmStart
	for i, s := range sets {
		w := s.Meta.WarmStart
		if w.OK != warm.OK || w.OK && w.V.Add(parts[i].shift) != warm.V.Add(parts[0].shift) {
			return nil, errors.New("the traces begin with warm starts at different instants: cut the windows after merging")
		}
	}
	if warm.OK {
		meta.WarmStart.V = warm.V.Add(parts[0].shift)
		for _, s := range sets { // of all of them no more is known
			meta.History = min(meta.History, s.Meta.History)
		}
	}
	return parts, nil
}

// renumber finds ids that two traces have, and raises those of the later one. It
// keeps the ids of all traces, 8 bytes a job.
func renumber(parts []part, a *Account) error {
	var taken []int64
	for i := range parts {
		var own []int64
		for j, err := range parts[i].set.Rows() {
			if err != nil {
				return err
			}
			own = append(own, j.ID)
		}
		slices.Sort(own)
		if meets(taken, own) {
			parts[i].offset = powerAbove(max(taken[len(taken)-1], own[len(own)-1]))
			a.note(fmt.Sprintf("ids of %s raised by %d, for some are taken", parts[i].set.Name, parts[i].offset))
			for k := range own {
				own[k] += parts[i].offset
			}
		}
		taken = append(taken, own...)
		slices.Sort(taken)
	}
	return nil
}

// meets says whether two ascending lists share a value.
func meets(a, b []int64) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			return true
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return false
}

// join adds the nodes and tenants that s lacks.
func (s *Set) join(o *Set, a *Account) error {
	s.Nodes, s.Tenants = slices.Clone(s.Nodes), slices.Clone(s.Tenants)
	for _, n := range o.Nodes {
		i := slices.IndexFunc(s.Nodes, func(m traces.Node) bool { return m.Name == n.Name })
		switch {
		case i < 0:
			s.Nodes = append(s.Nodes, n)
		case s.Nodes[i] != n:
			return fmt.Errorf("the node %s is described differently in %s: rename the nodes of one trace", n.Name, o.Name)
		}
	}
	for _, t := range o.Tenants {
		i := slices.IndexFunc(s.Tenants, func(m traces.Tenant) bool { return m.Name == t.Name })
		switch {
		case i < 0:
			s.Tenants = append(s.Tenants, t)
		case s.Tenants[i] != t:
			a.note(fmt.Sprintf("tenants: the limits of %s are those of the first trace that has it", t.Name))
		}
	}
	return nil
}

// mergeRows goes through all parts by submission, then id.
func mergeRows(parts []part, a *Account) iter.Seq2[*traces.Job, error] {
	return func(yield func(*traces.Job, error) bool) {
		a.reset()
		instants, _ := timeFields()
		heads := make([]head, len(parts))
		for i := range parts {
			next, stop := iter.Pull2(parts[i].set.Rows())
			defer stop()
			heads[i] = head{part: &parts[i], next: next}
			if err := heads[i].advance(instants); err != nil {
				yield(nil, err)
				return
			}
		}
		for {
			least := -1
			for i := range heads {
				if heads[i].there && (least < 0 || heads[i].before(&heads[least])) {
					least = i
				}
			}
			if least < 0 {
				return
			}
			h := &heads[least]
			if least == 0 {
				a.read()
			} else {
				a.Added++
			}
			a.keep()
			if h.part.offset != 0 {
				a.change("id raised", h.row.ID-h.part.offset)
			}
			if !yield(&h.row, nil) {
				return
			}
			if err := h.advance(instants); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// head is the next row of a part.
type head struct {
	part  *part
	next  func() (*traces.Job, error, bool)
	row   traces.Job
	there bool
}

func (h *head) before(o *head) bool {
	return cmp.Or(cmp.Compare(h.row.Submit, o.row.Submit), cmp.Compare(h.row.ID, o.row.ID)) < 0
}

func (h *head) advance(instants []traces.JobField) error {
	j, err, ok := h.next()
	if h.there = ok; !ok || err != nil {
		return err
	}
	h.row = *j
	h.row.ID += h.part.offset
	if h.row.AfterJob.OK {
		h.row.AfterJob.V += h.part.offset
	}
	move(instants, &h.row, h.part.shift)
	return nil
}
