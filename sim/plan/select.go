package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/slurm"
	"orrery/traces"
)

// Select finds the rows of the jobs that the scenario names: those that it leaves out, and the one
// that it prefers. It finds the names of users too where the accounts of Slurm know them by these. It costs a pass over the trace
// for either.
func (p *Resolved) Select(ctx context.Context, open func() (traces.Source, error)) error {
	if p.Site != nil && slices.ContainsFunc(p.Site.Core.Associations, func(a slurm.Association) bool { return a.User != "" }) {
		if err := p.nameUsers(ctx, open); err != nil {
			return err
		}
	}
	s := p.scenario
	if s == nil || s.Prefer == nil && len(s.Without.Jobs)+len(s.Without.Users)+len(s.Without.Tenants) == 0 {
		return nil
	}
	src, err := open()
	if err != nil {
		return err
	}
	defer src.Close()
	sel := newSelection(&s.Without)
	b := traces.Batch{Only: []string{"id", "user"}}
	if len(s.Without.Tenants) > 0 {
		b.Attr, b.Only = &traces.Attributes{}, append(b.Only, "tenant")
	}
	for {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		users := src.Users()
		for i := range b.Len() {
			p.selectRow(sel, &b, i, users)
		}
	}
	if err := p.found(sel, src.Info().Name); err != nil {
		return err
	}
	p.Core.Prefer = sel.preferred
	if p.Site != nil {
		p.Site.Core.Prefer = sel.preferred
	}
	for i := range p.Takeovers {
		p.Takeovers[i].Core.Prefer = sel.preferred
		if c := p.Takeovers[i].Site; c != nil {
			c.Prefer = sel.preferred
		}
	}
	return nil
}

// nameUsers tells the core the names of the users of the trace.
func (p *Resolved) nameUsers(ctx context.Context, open func() (traces.Source, error)) error {
	src, err := open()
	if err != nil {
		return err
	}
	defer src.Close()
	for b := (traces.Batch{Only: []string{"id", "user"}}); ; {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	p.Site.Core.Users = slices.Clone(src.Users())
	for i := range p.Takeovers {
		if c := p.Takeovers[i].Site; c != nil {
			c.Users = p.Site.Core.Users
		}
	}
	return nil
}

// selection is what a pass over the rows looks for and has found.
type selection struct {
	jobs           map[int64]bool // true once a row has it
	users, tenants map[string]bool
	rows           int64
	preferred      *model.JobID
}

func newSelection(w *profiles.ScenarioWithout) *selection {
	sel := &selection{jobs: map[int64]bool{}, users: map[string]bool{}, tenants: map[string]bool{}}
	for _, id := range w.Jobs {
		sel.jobs[id] = false
	}
	for _, name := range w.Users {
		sel.users[name] = false
	}
	for _, name := range w.Tenants {
		sel.tenants[name] = false
	}
	return sel
}

// find says whether a name is looked for, and notes that it was found.
func find[K comparable](in map[K]bool, name K) bool {
	_, wanted := in[name]
	if wanted {
		in[name] = true
	}
	return wanted
}

// selectRow looks whether the scenario names row i of b.
func (p *Resolved) selectRow(sel *selection, b *traces.Batch, i int, users []string) {
	job := b.First + model.JobID(i)
	sel.rows++
	left := find(sel.jobs, b.ID[i])
	if u := b.User[i]; u >= 0 && int(u) < len(users) {
		left = find(sel.users, users[u]) || left
	}
	if b.Attr != nil {
		names := b.Attr.Texts.Of(traces.TextTenant)
		if t := b.Attr.Text[traces.TextTenant][i]; t >= 0 {
			left = find(sel.tenants, names[t]) || left
		}
	}
	if left {
		p.Left = append(p.Left, job)
		return
	}
	if id := p.scenario.Prefer; id != nil && *id == b.ID[i] && sel.preferred == nil {
		sel.preferred = &job
	}
}

// mostMissing names are told that no row has.
const mostMissing = 10

// found refuses names that no row has.
func (p *Resolved) found(sel *selection, trace string) error {
	s := p.scenario
	var missing []string
	miss := func(found bool, what string, name any) {
		if !found && len(missing) < mostMissing {
			missing = append(missing, fmt.Sprint(what, " ", name))
		}
	}
	for _, id := range s.Without.Jobs {
		miss(sel.jobs[id], "job", id)
	}
	for _, name := range s.Without.Users {
		miss(sel.users[name], "user", name)
	}
	for _, name := range s.Without.Tenants {
		miss(sel.tenants[name], "tenant", name)
	}
	if s.Prefer != nil {
		miss(sel.preferred != nil, "job", *s.Prefer)
	}
	switch {
	case len(missing) > 0:
		return usagef("no row of %s is of %s: name jobs by the ids that orrery trace head shows, users and tenants by their names in the trace", trace, strings.Join(missing, ", "))
	case int64(len(p.Left)) == sel.rows:
		return usagef("the scenario leaves out all %d jobs of %s: leave some in", sel.rows, trace)
	}
	return nil
}

// LeavesOut says whether the scenario leaves the job of a row out.
func (p *Resolved) LeavesOut(job model.JobID) bool {
	_, left := slices.BinarySearch(p.Left, job)
	return left
}

// CutDependencies leaves out those of and on jobs that are left out: a job that waits for one of them
// starts without it, as with jobs that are in no row.
func (p *Resolved) CutDependencies(d *traces.Dependencies) *traces.Dependencies {
	if len(p.Left) == 0 || d == nil {
		return d
	}
	out := *d
	out.Edges = slices.DeleteFunc(slices.Clone(d.Edges), func(e traces.Edge) bool { return p.LeavesOut(e.Job) || p.LeavesOut(e.On) })
	return &out
}
