package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/workflow"
	"orrery/traces"
)

// Dependencies reads what jobs wait for, refuses workflows that cannot be, and
// pairs the elements of task groups. It costs a pass over the trace when there
// are edges, and memory for the jobs that have any or are in a workflow.
func Dependencies(ctx context.Context, src traces.Source, open func() (traces.Source, error)) (*traces.Dependencies, error) {
	d, err := src.Dependencies(true)
	if err != nil || len(d.Edges) == 0 {
		return d, err
	}
	name := src.Info().Name
	if c := d.Circle(); c != nil {
		return nil, workflowError(name, fmt.Sprintf("%d jobs that wait for each other in a circle, one of them in row %d of the jobs", len(c), c[0]+1))
	}
	w := workflows{edges: d, pairs: slices.ContainsFunc(d.Edges, func(e traces.Edge) bool { return e.Condition == model.AfterCorr })}
	for _, e := range d.Edges {
		w.on = append(w.on, e.On)
	}
	slices.Sort(w.on)
	w.on = slices.Compact(w.on)
	if err := w.read(ctx, open); err != nil {
		return nil, err
	}
	if err := w.check(name); err != nil {
		return nil, err
	}
	w.pair()
	return d, nil
}

func workflowError(name, found string) error {
	return &traces.DataError{
		File: name, Found: found, Expected: fmt.Sprintf("workflows without circles, of at most %d jobs that depend on each other", workflow.MaxMembers),
		Mend: "correct the table deps or the column dag",
	}
}

// workflows holds the jobs that others wait for, or that wait, or that are in a
// workflow.
type workflows struct {
	edges   *traces.Dependencies
	on      []model.JobID // ascending, each once
	next    int           // of edges.Edges, the first of the next rows
	nextOn  int           // likewise of on
	pairs   bool          // some edge pairs elements of task groups
	members []workflow.Member
	deps    []model.Dependency // of the members, one after another
	dag     []int32            // of each member, -1 none
	names   []string
}

func (w *workflows) read(ctx context.Context, open func() (traces.Source, error)) error {
	src, err := open()
	if err != nil {
		return err
	}
	defer src.Close()
	b := traces.Batch{Attr: &traces.Attributes{}, Only: []string{"id", "group", "index", "dag"}}
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		for i := range b.Len() {
			w.row(&b, i)
		}
		w.names = b.Attr.Texts.Of(traces.TextDAG)
	}
}

func (w *workflows) row(b *traces.Batch, i int) {
	job := b.First + model.JobID(i)
	m := workflow.Member{Job: job, ID: b.ID[i], Group: b.Attr.Text[traces.TextGroup][i], Index: b.Attr.Index[i]}
	dag := b.Attr.Text[traces.TextDAG][i]
	from := len(w.deps)
	for ; w.next < len(w.edges.Edges) && w.edges.Edges[w.next].Job == job; w.next++ {
		e := &w.edges.Edges[w.next]
		w.deps = append(w.deps, model.Dependency{On: e.On, Condition: e.Condition})
	}
	m.Deps = w.deps[from:len(w.deps):len(w.deps)] // what is appended to these is elsewhere
	awaited := w.nextOn < len(w.on) && w.on[w.nextOn] == job
	if awaited {
		w.nextOn++
	}
	if len(m.Deps) > 0 || awaited || dag >= 0 || (w.pairs && m.Group >= 0) {
		w.members, w.dag = append(w.members, m), append(w.dag, dag)
	}
}

// check holds every named workflow to the rules of package workflow.
func (w *workflows) check(name string) error {
	order := make([]int, len(w.members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.dag[a], w.dag[b]) })
	var of []workflow.Member
	var v workflow.Validator
	for i := 0; i < len(order); {
		dag, first := w.dag[order[i]], i
		of = of[:0]
		for ; i < len(order) && w.dag[order[i]] == dag; i++ {
			of = append(of, w.members[order[i]])
		}
		if dag < 0 {
			continue
		}
		if err := v.Validate(w.names[dag], of); err != nil {
			return workflowError(name, fmt.Sprintf("%v (its first job is in row %d)", err, w.members[order[first]].Job+1))
		}
	}
	return nil
}

// pair lets edges between task groups name the element of equal index; elements
// without partner wait for nothing.
func (w *workflows) pair() {
	if !w.pairs {
		return
	}
	for i := range w.members {
		m := &w.members[i]
		m.Deps = slices.DeleteFunc(m.Deps, func(d model.Dependency) bool { return d.Condition != model.AfterCorr })
	}
	workflow.Pair(w.members)
	edges := slices.DeleteFunc(slices.Clone(w.edges.Edges), func(e traces.Edge) bool { return e.Condition == model.AfterCorr })
	for i := range w.members {
		for _, d := range w.members[i].Deps {
			edges = append(edges, traces.Edge{Job: w.members[i].Job, On: d.On, Condition: d.Condition})
		}
	}
	slices.SortStableFunc(edges, func(a, b traces.Edge) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.On, b.On), cmp.Compare(a.Condition, b.Condition))
	})
	w.edges.Edges = slices.Compact(edges)
}
