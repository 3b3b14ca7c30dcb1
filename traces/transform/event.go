package transform

import (
	"fmt"
	"slices"

	"orrery/scheduler/model"
	"orrery/traces"
)

// event adds an event to the table of events: what a study of many runs asks of a log that has no
// such event. One of several subjects is one for each.
type event struct {
	kind, value string
	subjects    []string
	at          model.Duration
}

// mostSubjects bounds the events that one step adds.
const mostSubjects = 100_000

func newEvent(p *params) step {
	e := event{kind: p.need("kind"), subjects: p.list("subject"), at: p.span("time", 0)}
	e.value, _ = p.get("value")
	if len(e.subjects) == 0 {
		e.subjects = []string{""}
	}
	if len(e.subjects) > mostSubjects {
		p.fail("subject: found %d names, want at most %d", len(e.subjects), mostSubjects)
		return e
	}
	for _, x := range e.rows() {
		if rule := traces.NewRules().Event(&x); rule != "" && p.err == nil {
			p.fail("kind=%s subject=%s value=%s: %s", x.Kind, x.Subject, x.Value, rule)
		}
	}
	return e
}

func (s event) rows() []traces.Event {
	var out []traces.Event
	for _, subject := range s.subjects {
		out = append(out, traces.Event{Time: model.Time(s.at), Kind: s.kind, Subject: subject, Value: s.value})
	}
	return out
}

// ofNodes are the kinds of events that name a node.
var ofNodes = []string{"down", "up", "degraded", "drain", "undrain"}

func (s event) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	out := *in
	nodes, tenants := map[string]bool{}, map[string]bool{}
	for i := range in.Nodes {
		nodes[in.Nodes[i].Name] = true
	}
	for i := range in.Tenants {
		tenants[in.Tenants[i].Name] = true
	}
	for _, name := range s.subjects {
		table := ""
		switch {
		case slices.Contains(ofNodes, s.kind) && len(nodes) > 0 && !nodes[name]:
			table = "nodes"
		case s.kind == "quota" && len(tenants) > 0 && !tenants[name]:
			table = "tenants"
		}
		if table != "" {
			return nil, &traces.DataError{
				File: in.Name + ", table " + table, Found: "no row of the name " + name, Expected: "the one that the event is about", Mend: "name one that is there, or drop the table",
			}
		}
	}
	out.Events = inOrder(append(slices.Clone(in.Events), s.rows()...)) // behind those of its instant
	a.note(fmt.Sprintf("events of kind %s at %s: %d added", s.kind, model.Time(s.at), len(s.subjects)))
	out.Rows = in.edit(a, func(*traces.Job) bool { return true })
	return &out, nil
}
