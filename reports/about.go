package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orrery/sim/record"
)

// about is what a report says of a run apart from its results, read from
// run.json. A key that is missing leaves its field empty: a report of an older
// run says less and does not fail.
type about struct {
	traceName string
	traceHash string
	rows      int64 // jobs in the trace

	dropped    int64 // rows that did not become jobs
	unfinished int64 // jobs that still waited or ran when the replay stopped

	epochKnown bool
	units      []int32 // of each node; nil when run.json does not say
	names      *record.NodeNames
	nameList   string // of all nodes, as run.json has it; "" for none
	order      string
	backfill   string
	eventOrder string
	cycle      string

	awkward []awkward
	rest    []fact // everything in run.json, key by key

	site   document // the cluster file of a site; nil otherwise
	shared bool     // jobs share nodes
}

// awkward is one rule about rows that needed special handling.
type awkward struct {
	rule     string
	doc      string
	count    int64
	examples []int64
}

// fact is one key of a document with its value as text.
type fact struct{ key, value string }

// document is a decoded JSON object with access by dotted path.
type document map[string]any

func (d document) at(path string) any {
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

// text returns the first path that holds a non-empty text.
func (d document) text(def string, paths ...string) string {
	for _, p := range paths {
		if s, ok := d.at(p).(string); ok && s != "" {
			return s
		}
	}
	return def
}

func (d document) integer(paths ...string) int64 {
	for _, p := range paths {
		if n, ok := d.at(p).(json.Number); ok {
			if v, err := n.Int64(); err == nil {
				return v
			}
		}
	}
	return 0
}

// readAbout decodes run.json. Defaults are those of the spec, whose canonical
// form leaves them out.
func readAbout(f *record.Run) (about, error) {
	dec := json.NewDecoder(bytes.NewReader(f.Info()))
	dec.UseNumber()
	var d document
	if err := dec.Decode(&d); err != nil {
		return about{}, damaged(f, record.FileRun, "text that is not a JSON object")
	}
	a := about{
		traceName:  record.TraceName(f.Dir()),
		traceHash:  d.text("", "trace.hash", "spec.trace"),
		rows:       d.integer("trace.rows"),
		dropped:    d.integer("jobs.dropped"),
		unfinished: d.integer("jobs.unfinished"),
		order:      d.text("fcfs", "spec.order"),
		backfill:   d.text("easy", "spec.backfill"),
		eventOrder: d.text("batch", "spec.event_order"),
		awkward:    readAwkward(d),
	}
	a.epochKnown, _ = d.at("trace.epoch_known").(bool)
	if depth := d.integer("spec.depth"); depth > 0 {
		a.backfill += ":" + strconv.FormatInt(depth, 10)
	}
	if us := d.integer("spec.cycle_us"); us > 0 {
		a.cycle = duration(us)
	}
	a.units = readUnits(d)
	var err error
	if a.names, err = f.NodeNames(); err != nil {
		return about{}, err
	}
	a.nameList = d.text("", "cluster.node_names")
	whole, ok := d.at("cluster.whole_nodes").(bool)
	a.shared = ok && !whole
	if m, ok := d.at("spec.site").(map[string]any); ok {
		a.site = m
	}
	delete(d, "files") // digests, which are no setting
	delete(d, "digest")
	a.rest = flatten("", map[string]any(d), nil)
	return a, nil
}

// nameOf names a node of the run, nil where they have numbers only.
func (a *about) nameOf() func(node int) string {
	if a.names == nil {
		return nil
	}
	return a.names.Name
}

// readUnits gives the units of each node from cluster.node_units, a list, or
// from the totals, shared out evenly.
func readUnits(d document) []int32 {
	if list, ok := d.at("cluster.node_units").([]any); ok {
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
	nodes := d.integer("cluster.nodes")
	if nodes < 1 || nodes > most {
		return nil
	}
	total := max(d.integer("cluster.units"), nodes)
	units := make([]int32, nodes)
	for i := range units {
		units[i] = int32(total / nodes)
		if int64(i) < total%nodes {
			units[i]++
		}
	}
	return units
}

// beginsIdle says so of a run whose trace has a warm start with no job; "" of others.
func (a *about) beginsIdle() string {
	for _, rule := range a.awkward {
		if rule.rule == record.RuleBeginsIdle {
			return strings.ToUpper(rule.doc[:1]) + rule.doc[1:] + "."
		}
	}
	return ""
}

// readAwkward takes a list of {rule, count, ...} objects; rules that met no
// row are left out.
func readAwkward(d document) []awkward {
	list, _ := d.at("awkward").([]any)
	var out []awkward
	for _, v := range list {
		m, _ := v.(map[string]any)
		row := document(m)
		a := awkward{rule: row.text("", "rule"), doc: row.text("", "doc", "meaning"), count: row.integer("count")}
		examples, _ := row.at("examples").([]any)
		for _, e := range examples {
			if n, ok := e.(json.Number); ok {
				id, _ := n.Int64()
				a.examples = append(a.examples, id)
			}
		}
		if a.rule != "" && a.count > 0 {
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

func (a *about) title() string {
	if a.traceName != "" {
		return a.traceName
	}
	return "replay"
}

// totalUnits is the size of the cluster.
func (a *about) totalUnits() int64 {
	n := int64(0)
	for _, u := range a.units {
		n += int64(u)
	}
	return n
}

// unitWord is what the cluster is measured in, in the plural.
func (a *about) unitWord() string {
	switch {
	case a.shared:
		return "GPUs"
	case a.totalUnits() == int64(len(a.units)) && a.site == nil:
		return "processors"
	}
	return "nodes"
}

// machine describes the cluster in words.
func (a *about) machine() string {
	units, nodes := a.totalUnits(), int64(len(a.units))
	switch {
	case units == nodes && a.site != nil:
		return count(nodes, "node", "nodes")
	case units == nodes:
		return count(units, "processor", "processors")
	case nodes > 0 && units%nodes == 0 && newNodeMap(a.units).runEnd[0] == int32(nodes-1):
		return fmt.Sprintf("%s of %s each", count(nodes, "node", "nodes"), a.countUnits(units/nodes))
	}
	return fmt.Sprintf("%s with %s in all", count(nodes, "node", "nodes"), a.countUnits(units))
}

// countUnits counts what a node has: GPUs in a site, processors elsewhere.
func (a *about) countUnits(n int64) string {
	if a.shared || a.site != nil {
		return count(n, "GPU", "GPUs")
	}
	return count(n, "processor", "processors")
}

// policy describes the scheduler in words.
func (a *about) policy() string {
	if list, ok := a.site.at("vclusters").([]any); ok {
		return count(int64(len(list)), "vCluster", "vClusters") + ", each with its own profile"
	}
	s := a.order + " order"
	switch a.backfill {
	case "none":
		s += " without backfilling"
	default:
		s += " with " + a.backfill + " backfilling"
	}
	if a.eventOrder != "batch" {
		s += ", " + a.eventOrder + " events"
	}
	if a.cycle != "" {
		s += ", a pass every " + a.cycle
	}
	return s
}
