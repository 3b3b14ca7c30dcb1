package translate

import (
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Route says in which vCluster jobs are whose rows name none.
type Route struct {
	ByUser    bool              // Column is the user, which is no column of text
	Column    traces.TextColumn // whose texts say it; TextColumns for none
	To        map[string]model.VClusterID
	Otherwise model.VClusterID // of rows without one of the texts; -1 rejects their jobs
}

// Name is the name of the column, "" for none.
func (r *Route) Name() string {
	switch {
	case r.ByUser:
		return "user"
	case r.Column == traces.TextColumns:
		return ""
	}
	return r.Column.String()
}

// routes are the vClusters of texts by their index, found as they are met.
type routes []model.VClusterID

// Values of routes that are no vCluster.
const (
	unresolved model.VClusterID = -3
	noRoute    model.VClusterID = -2
)

// route sets the vCluster of a row that names none.
func (t *Site) route(b *traces.Batch, i int, a *model.Allocation, of *rowState) {
	r := t.rows.Route
	if r == nil {
		of.met.Add(RuleFirstVCluster)
		return
	}
	k, text := t.routedBy(b, i)
	if k >= 0 {
		for int(k) >= len(t.routed) {
			t.routed = append(t.routed, unresolved)
		}
		if t.routed[k] == unresolved {
			t.routed[k] = r.find(text())
		}
		if to := t.routed[k]; to >= 0 {
			a.VCluster = to
			of.met.Add(RuleRouted)
			return
		}
	}
	if r.Otherwise >= 0 {
		a.VCluster = r.Otherwise
		of.met.Add(RuleRoutedRest)
		return
	}
	found := "no " + r.Name()
	if k >= 0 {
		found = r.Name() + " " + text()
	}
	t.lacks("routing", "of "+found)
	t.neverRuns(of)
}

// find is the vCluster of a text, or of several partitions that of the first that has one.
func (r *Route) find(text string) model.VClusterID {
	if to, ok := r.To[text]; ok {
		return to
	}
	if !r.ByUser && r.Column == traces.TextPartition {
		for name := range strings.SplitSeq(text, ",") {
			if to, ok := r.To[name]; ok {
				return to
			}
		}
	}
	return noRoute
}

// routedBy is the text that says where a row goes: its index, -1 where there is none, and
// how to read it.
func (t *Site) routedBy(b *traces.Batch, i int) (k int32, text func() string) {
	r := t.rows.Route
	switch {
	case r.ByUser:
		return b.User[i], func() string { return t.rows.Users()[b.User[i]] }
	case r.Column == traces.TextColumns || b.Attr == nil || b.Attr.Len() == 0:
		return -1, nil
	}
	k = b.Attr.Text[r.Column][i]
	return k, func() string { return b.Attr.Texts.Of(r.Column)[k] }
}
