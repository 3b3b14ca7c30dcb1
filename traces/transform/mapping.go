package transform

import (
	"fmt"
	"slices"

	"orrery/traces"
)

// mapping changes the texts of one column: those listed, or all, to one text or
// to what another column has. Names of tenants and vClusters change in the other
// tables as well.
type mapping struct {
	field traces.JobField
	from  []string // nil for all
	to    string
	take  *traces.JobField // instead of to
}

func newMapping(p *params) step {
	m := mapping{from: p.list("from")}
	text := func(key, name string) (f traces.JobField) {
		f, ok := traces.JobFieldOf(name)
		if !ok || f.Column().Type != traces.String {
			p.fail("%s=%s: want a column of text of the jobs table", key, name)
		}
		return f
	}
	if name := p.need("column"); p.err == nil {
		if m.field = text("column", name); p.err == nil && !m.field.Column().Optional {
			p.fail("column=%s: what kind of work a job is does not change by its name", name)
		}
	}
	to, given := p.get("to")
	m.to = to
	if name, ok := p.get("take"); ok {
		f := text("take", name)
		m.take = &f
		if given {
			p.fail("both to and take are given")
		}
	} else if !given {
		p.fail("to is missing: give to=NAME, or take=COLUMN for what another column has")
	}
	return m
}

// of is what becomes of a text.
func (m mapping) of(s string) string {
	if m.from != nil && !slices.Contains(m.from, s) || m.from == nil && s == "" {
		return s
	}
	return m.to
}

func (m mapping) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	if err := in.needsJobs("map"); err != nil {
		return nil, err
	}
	out := *in
	name := m.field.Column().Name
	out.Rows = in.edit(a, func(j *traces.Job) bool {
		was := m.field.Text(j)
		now := m.of(was)
		if m.take != nil {
			if now = was; m.from == nil || slices.Contains(m.from, was) {
				now = m.take.Text(j)
			}
		}
		if now != was {
			m.field.SetText(j, now)
			a.change(name+" changed", j.ID)
		}
		return true
	})
	if m.take != nil || name != "tenant" && name != "vcluster" {
		return &out, nil
	}
	out.rename(name, m.of, a)
	return &out, nil
}

// rename changes the names of tenants or vClusters in the small tables. Of two
// tenants that become one the first keeps its limits.
func (s *Set) rename(column string, of func(string) string, a *Account) {
	if column == "tenant" {
		var rows []traces.Tenant
		for _, t := range s.Tenants {
			if t.Name = of(t.Name); t.Name == "" || slices.ContainsFunc(rows, func(o traces.Tenant) bool { return o.Name == t.Name }) {
				a.note(fmt.Sprintf("tenants: the limits of one that became %q are left out", t.Name))
				continue
			}
			rows = append(rows, t)
		}
		s.Tenants = rows
	} else {
		s.Nodes = slices.Clone(s.Nodes)
		for i := range s.Nodes {
			s.Nodes[i].VCluster = of(s.Nodes[i].VCluster)
		}
	}
	s.Events = slices.Clone(s.Events)
	for i := range s.Events {
		e := &s.Events[i]
		if column == "tenant" && e.Kind == "quota" || column == "vcluster" && e.Kind == "weights" {
			e.Subject = of(e.Subject)
		}
	}
}
