package rundata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orrery/reports/page"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// About is what a report says of a run apart from its results, read from
// run.json. A key that is missing leaves its field empty: a report of an older
// run says less and does not fail.
type About struct {
	traceName string
	TraceHash string
	Rows      int64 // jobs in the trace

	Dropped    int64 // rows that did not become jobs
	Unfinished int64 // jobs that still waited or ran when the replay stopped

	EpochKnown bool
	Units      []int32 // of each node; nil when run.json does not say
	names      *record.NodeNames
	NameList   string // of all nodes, as run.json has it; "" for none
	Order      string
	Backfill   string
	EventOrder string
	Cycle      string

	Awkward []awkward
	Rest    []fact // everything in run.json, key by key

	Site   Document   // the cluster file of a site; nil otherwise
	Shared bool       // jobs share nodes
	Served []Document // services of the cluster file
	Taken  []Document // what these and the jobs of vClusters took from each other

	TakenOfTenants []Document // likewise with the jobs of tenants
}

// awkward is one rule about rows that needed special handling.
type awkward struct {
	Rule     string
	Doc      string
	Count    int64
	Examples []int64
}

// fact is one key of a document with its value as text.
type fact struct{ Key, Value string }

// Document is a decoded JSON object with access by dotted path.
type Document map[string]any

// At is the value at a dotted path, nil where there is none.
func (d Document) At(path string) any {
	var v any = map[string]any(d)
	for key := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// Text returns the first path that holds a non-empty text.
func (d Document) Text(def string, paths ...string) string {
	for _, p := range paths {
		if s, ok := d.At(p).(string); ok && s != "" {
			return s
		}
	}
	return def
}

// Integer returns the first path that holds a whole number, 0 where none does.
func (d Document) Integer(paths ...string) int64 {
	for _, p := range paths {
		if n, ok := d.At(p).(json.Number); ok {
			if v, err := n.Int64(); err == nil {
				return v
			}
		}
	}
	return 0
}

// Number is the number at a path, 0 where there is none.
func (d Document) Number(path string) float64 {
	n, _ := d.At(path).(json.Number)
	x, err := n.Float64()
	if err != nil {
		return 0
	}
	return x
}

// ReadAbout decodes run.json. Defaults are those of the spec, whose canonical
// form leaves them out.
func ReadAbout(f *record.Run) (About, error) {
	dec := json.NewDecoder(bytes.NewReader(f.Info()))
	dec.UseNumber()
	var d Document
	if err := dec.Decode(&d); err != nil {
		return About{}, Damaged(f, record.FileRun, "text that is not a JSON object")
	}
	a := About{
		traceName:  record.TraceName(f.Dir()),
		TraceHash:  d.Text("", "trace.hash", "spec.trace"),
		Rows:       d.Integer("trace.rows"),
		Dropped:    d.Integer("jobs.dropped"),
		Unfinished: d.Integer("jobs.unfinished"),
		Order:      d.Text("fcfs", "spec.order"),
		Backfill:   d.Text("easy", "spec.backfill"),
		EventOrder: d.Text("batch", "spec.event_order"),
		Awkward:    readAwkward(d),
	}
	a.EpochKnown, _ = d.At("trace.epoch_known").(bool)
	if depth := d.Integer("spec.depth"); depth > 0 {
		a.Backfill += ":" + strconv.FormatInt(depth, 10)
	}
	if us := d.Integer("spec.cycle_us"); us > 0 {
		a.Cycle = model.Duration(us).String()
	}
	a.Units = readUnits(d)
	var err error
	if a.names, err = f.NodeNames(); err != nil {
		return About{}, err
	}
	a.NameList = d.Text("", "cluster.node_names")
	whole, ok := d.At("cluster.whole_nodes").(bool)
	a.Shared = ok && !whole
	if m, ok := d.At("spec.site").(map[string]any); ok {
		a.Site = m
	}
	a.Served, a.Taken, a.TakenOfTenants = d.take("services"), d.take("takings"), d.take("takings_of_tenants")
	delete(d, "files") // digests, which are no setting
	delete(d, "digest")
	a.Rest = flatten("", map[string]any(d), nil)
	return a, nil
}

// take removes a list of documents that has a table of its own.
func (d Document) take(key string) (out []Document) {
	list, _ := d[key].([]any)
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	delete(d, key)
	return out
}

// NameOf names a node of the run, nil where they have numbers only.
func (a *About) NameOf() func(node int) string {
	if a.names == nil {
		return nil
	}
	return a.names.Name
}

// readUnits gives the units of each node from cluster.node_units, a list, or
// from the totals, shared out evenly.
func readUnits(d Document) []int32 {
	if list, ok := d.At("cluster.node_units").([]any); ok {
		units := make([]int32, 0, len(list))
		for _, v := range list {
			n, _ := v.(json.Number)
			u, err := n.Int64()
			if err != nil || u < 1 {
				return nil
			}
			units = append(units, int32(u))
		}
		return units
	}
	const most = 1 << 22 // nodes; more is not a cluster but a mistake
	nodes := d.Integer("cluster.nodes")
	if nodes < 1 || nodes > most {
		return nil
	}
	total := max(d.Integer("cluster.units"), nodes)
	units := make([]int32, nodes)
	for i := range units {
		units[i] = int32(total / nodes)
		if int64(i) < total%nodes {
			units[i]++
		}
	}
	return units
}

// BeginsIdle says so of a run whose trace has a warm start with no job; "" of others.
func (a *About) BeginsIdle() string {
	for _, rule := range a.Awkward {
		if rule.Rule == record.RuleBeginsIdle {
			return strings.ToUpper(rule.Doc[:1]) + rule.Doc[1:] + "."
		}
	}
	return ""
}

// readAwkward takes a list of {rule, count, ...} objects; rules that met no
// row are left out.
func readAwkward(d Document) []awkward {
	list, _ := d.At("awkward").([]any)
	var out []awkward
	for _, v := range list {
		m, _ := v.(map[string]any)
		row := Document(m)
		a := awkward{Rule: row.Text("", "rule"), Doc: row.Text("", "doc", "meaning"), Count: row.Integer("count")}
		examples, _ := row.At("examples").([]any)
		for _, e := range examples {
			if n, ok := e.(json.Number); ok {
				id, _ := n.Int64()
				a.Examples = append(a.Examples, id)
			}
		}
		if a.Rule != "" && a.Count > 0 {
			out = append(out, a)
		}
	}
	return out
}

// flatten lists the scalars of a tree by dotted path, ascending; lists of
// scalars are one entry, lists of objects are left to their own tables.
func flatten(prefix string, v any, out []fact) []fact {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = flatten(strings.TrimPrefix(prefix+"."+k, "."), v[k], out)
		}
	case []any:
		if len(v) > 0 && len(v) <= 20 && !slices.ContainsFunc(v, compound) {
			out = append(out, fact{prefix, strings.Trim(fmt.Sprint(v...), "[]")})
		}
	case nil:
	default:
		out = append(out, fact{prefix, fmt.Sprint(v)})
	}
	return out
}

func compound(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Title is the name of the trace, or "replay".
func (a *About) Title() string {
	if a.traceName != "" {
		return a.traceName
	}
	return "replay"
}

// TotalUnits is the size of the cluster.
func (a *About) TotalUnits() int64 {
	n := int64(0)
	for _, u := range a.Units {
		n += int64(u)
	}
	return n
}

// UnitWord is what the cluster is measured in, in the plural.
func (a *About) UnitWord() string {
	switch {
	case a.Shared, a.Site != nil && a.TotalUnits() > int64(len(a.Units)):
		return "GPUs"
	case a.TotalUnits() == int64(len(a.Units)) && a.Site == nil:
		return "processors"
	}
	return "nodes"
}

// Machine describes the cluster in words.
func (a *About) Machine() string {
	units, nodes := a.TotalUnits(), int64(len(a.Units))
	switch {
	case units == nodes && a.Site != nil:
		return page.Count(nodes, "node", "nodes")
	case units == nodes:
		return page.Count(units, "processor", "processors")
	case nodes > 0 && units%nodes == 0 && NewNodeMap(a.Units).runEnd[0] == int32(nodes-1):
		return fmt.Sprintf("%s of %s each", page.Count(nodes, "node", "nodes"), a.countUnits(units/nodes))
	}
	return fmt.Sprintf("%s with %s in all", page.Count(nodes, "node", "nodes"), a.countUnits(units))
}

// countUnits counts what a node has: GPUs in a site, processors elsewhere.
func (a *About) countUnits(n int64) string {
	if a.Shared || a.Site != nil {
		return page.Count(n, "GPU", "GPUs")
	}
	return page.Count(n, "processor", "processors")
}

// Policy describes the scheduler in words.
func (a *About) Policy() string {
	if list, ok := a.Site.At("vclusters").([]any); ok {
		return page.Count(int64(len(list)), "vCluster", "vClusters") + ", each with its own profile"
	}
	s := a.Order + " order"
	switch a.Backfill {
	case "none":
		s += " without backfilling"
	default:
		s += " with " + a.Backfill + " backfilling"
	}
	if a.EventOrder != "batch" {
		s += ", " + a.EventOrder + " events"
	}
	if a.Cycle != "" {
		s += ", a pass every " + a.Cycle
	}
	return s
}
