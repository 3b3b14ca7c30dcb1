package metric

import (
	"encoding/json"
	"fmt"
	"math"

	"orrery/sim/record/column"
)

// TableSchema is the version of metrics.json.
const TableSchema = 1

// Verdict says whether the queue was bounded; see docs/METRICS.md.
type Verdict string

// Verdicts, from the mildest.
const (
	Stable     Verdict = "STABLE"
	Backlogged Verdict = "BACKLOGGED"
	Overloaded Verdict = "OVERLOADED"
	// Unknown: there is no time between the submissions, or no job started.
	Unknown Verdict = "UNKNOWN"
)

// Metric is one measured number.
type Metric struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Window string   `json:"window"`
	Value  *float64 `json:"value"` // finite; nil when undefined, Note says why
	Count  int64    `json:"count"` // of the jobs behind Value
	Note   string   `json:"note,omitempty"`
}

// Table is the content of metrics.json.
type Table struct {
	Schema  int     `json:"schema"` // TableSchema
	Verdict Verdict `json:"verdict"`
	// Unheeded says, a sentence each, what more of the work asked for than a replay may leave
	// unmet, where it was allowed to: the metrics are of another workload to that extent.
	Unheeded []string `json:"unheeded,omitempty"`
	Metrics  []Metric `json:"metrics"` // window by window in the order of Definitions, then of SiteDefinitions and ServiceDefinitions

	// Of a site: by vCluster, tenant and class, window by window.
	Groups []column.Group `json:"groups,omitempty"`
	// Reasons says for what jobs waited, where that was recorded.
	Reasons []ReasonTime `json:"reasons,omitempty"`
}

// Get finds a metric by name and window.
func (t *Table) Get(name, window string) (Metric, bool) {
	for _, m := range t.Metrics {
		if m.Name == name && m.Window == window {
			return m, true
		}
	}
	return Metric{}, false
}

// Value is the value of a metric; false when it is undefined or unknown.
func (t *Table) Value(name, window string) (float64, bool) {
	m, ok := t.Get(name, window)
	if !ok || m.Value == nil {
		return 0, false
	}
	return *m.Value, true
}

// ParseTable reads the content of metrics.json.
func ParseTable(b []byte) (Table, error) {
	var t Table
	if err := json.Unmarshal(b, &t); err != nil {
		return Table{}, fmt.Errorf("reading metrics: %w", err)
	}
	if t.Schema != TableSchema {
		return Table{}, fmt.Errorf("reading metrics: found schema %d, expected %d; replay the trace again to measure it anew", t.Schema, TableSchema)
	}
	for i := range t.Metrics {
		if m := &t.Metrics[i]; !plausible(m.Value) {
			return Table{}, fmt.Errorf("reading metrics: found %s = %g in the window %s, expected a number below %g", m.Name, *m.Value, m.Window, largest)
		}
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		for _, v := range []*float64{g.WaitMean, g.WaitP50, g.WaitP90, g.WaitP95, g.WaitP99, g.WaitMax, g.Within, g.Starved, g.Share, g.Target, g.Deviation} {
			if !plausible(v) {
				return Table{}, fmt.Errorf("reading metrics: found %g of %s %s in the window %s, expected numbers below %g", *v, g.By, g.Name, g.Window, largest)
			}
		}
	}
	return t, nil
}

// largest is beyond every metric: what is summed up has 64 bits, and is divided by what it is
// stated in.
const largest = 1e21

func plausible(v *float64) bool { return v == nil || math.Abs(*v) < largest }

// metrics evaluates all definitions on a window.
func (r *reduction) metrics() []Metric {
	list := definitions
	if r.site != nil {
		list = append(list[:len(list):len(list)], siteDefinitions...)
	}
	if r.power != nil && r.power.Supplied {
		list = append(list[:len(list):len(list)], supplyDefinitions...)
	}
	if r.services != nil {
		list = append(list[:len(list):len(list)], serviceDefinitions...)
	}
	var out []Metric
	for i := range list {
		d := &list[i]
		if d.onlyAll && r.name != All {
			continue
		}
		m := Metric{Name: d.Name, Unit: d.Unit, Window: r.name}
		if !r.open {
			m.Note = "the run has no such window"
		} else {
			v := d.eval(r)
			m.Count, m.Note = v.count, v.note
			if v.ok {
				m.Value = &v.x
			}
		}
		out = append(out, m)
	}
	return out
}
