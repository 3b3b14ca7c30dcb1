// Package rundir is the layout of a run directory: the document run.json, and which files
// stand beside the tables of package record. It knows nothing of how a run came about.
package rundir

import (
	"encoding/json"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/world"
	"orrery/traces/hostlist"
)

// Document is the content of run.json: everything that says what was run, how
// awkward rows were met and what identifies the result.
type Document struct {
	Schema      int               `json:"schema"`
	Version     string            `json:"version,omitempty"`
	SpecID      string            `json:"spec_id"`
	Spec        json.RawMessage   `json:"spec"`
	Trace       Trace             `json:"trace"`
	Cluster     Cluster           `json:"cluster"`
	Fingerprint string            `json:"fingerprint"`
	Verdict     metric.Verdict    `json:"verdict"`
	Jobs        Jobs              `json:"jobs"`
	FirstUS     model.Time        `json:"first_us"` // since the epoch of the trace
	LastUS      model.Time        `json:"last_us"`
	Awkward     []AwkwardRule     `json:"awkward"`
	Unheeded    []Unheeded        `json:"unheeded,omitempty"` // with allow_unheeded: what to know before any figure
	Site        *world.SiteCounts `json:"site,omitempty"`
	Hardware    *Hardware         `json:"hardware,omitempty"` // with modelled run times
	Power       *Power            `json:"power,omitempty"`    // where the power of nodes or jobs is known
	Services    []Service         `json:"services,omitempty"` // of the cluster file, in its order
	Takings     []Taking          `json:"takings,omitempty"`  // among services and the jobs of vClusters
	OfTenants   []Taking          `json:"takings_of_tenants,omitempty"`
}

// Trace names the trace.
type Trace struct {
	Name       string     `json:"-"` // after the file, which host.json says
	Hash       string     `json:"hash"`
	Rows       int64      `json:"rows"`
	EpochUS    model.Time `json:"epoch_us"`
	EpochKnown bool       `json:"epoch_known"`
	TimeZone   string     `json:"timezone,omitempty"`
}

// Cluster is the cluster as it was resolved.
type Cluster struct {
	Nodes     int     `json:"nodes"`
	Units     int64   `json:"units"`
	Whole     bool    `json:"whole_nodes"`
	NodeUnits []int32 `json:"node_units,omitempty"` // where nodes differ
	NodeNames string  `json:"node_names,omitempty"` // of a site: a hostlist, in order
}

// Jobs accounts for every row of the trace: rows = submitted + dropped.
type Jobs struct {
	Submitted  int64 `json:"submitted"`
	Dropped    int64 `json:"dropped"`
	Started    int64 `json:"started"`
	Left       int64 `json:"left"`
	Unfinished int64 `json:"unfinished"`
}

// Unheeded is a resource that more of the work asks for than a replay may leave unmet
// unless it is allowed to.
type Unheeded struct {
	Resource string  `json:"resource"`
	Fate     string  `json:"fate"` // ignored, or rejected
	Jobs     int64   `json:"jobs"`
	Of       int64   `json:"of_jobs"`
	Share    float64 `json:"share_of_work"`
	Text     string  `json:"text"` // one sentence
	First    []int64 `json:"first_ids,omitempty"`
}

// AwkwardRule counts the rows that met one rule of the replay, or that ask for
// something it ignores.
type AwkwardRule struct {
	Rule     string  `json:"rule"`
	Doc      string  `json:"doc"`
	Count    int64   `json:"count"`
	Examples []int64 `json:"examples,omitempty"` // ids of the first few
}

// ClusterOf describes a cluster, and the nodes of site by name; site is nil where nodes
// have numbers only.
func ClusterOf(c model.Cluster, site *model.Site) Cluster {
	d := Cluster{Nodes: len(c.Units), Units: c.Total(), Whole: c.Whole}
	for _, u := range c.Units {
		if u != c.Units[0] {
			d.NodeUnits = c.Units
			break
		}
	}
	if site != nil {
		d.NodeNames = nodeNames(site)
	}
	return d
}

// nodeNames is the hostlist of all nodes of a site, "" when one has no name.
func nodeNames(site *model.Site) string {
	names := make([]string, len(site.Nodes))
	for i := range site.Nodes {
		if names[i] = site.Nodes[i].Name; names[i] == "" {
			return ""
		}
	}
	return string(hostlist.NewList(names).All(nil))
}

// Contents are what a run directory holds beside the tables of jobs, attempts, facts
// and decisions.
type Contents struct {
	Document Document
	Metrics  metric.Table
	Series   *metric.Series
	Work     any        // for work.json
	Host     func() any // for host.json, asked for when all else of the run is known; nil writes none
}

// Write writes c behind the tables that w has taken, and closes it: the directory
// appears whole, or not at all.
func Write(w *record.Writer, c *Contents) error {
	if err := w.WriteSeries(c.Series.Bins()); err != nil {
		return err
	}
	if c.Document.Site != nil {
		if err := w.WriteGroups(c.Metrics.Groups); err != nil {
			return err
		}
		if err := w.WriteShares(c.Series.VClusterBins()); err != nil {
			return err
		}
	}
	if err := w.WriteJSON(record.FileMetrics, c.Metrics); err != nil {
		return err
	}
	if err := w.WriteJSON(record.FileWork, c.Work); err != nil {
		return err
	}
	if c.Host != nil {
		if err := w.WriteJSON(record.FileHost, c.Host()); err != nil {
			return err
		}
	}
	if err := w.WriteJSON(record.FileRun, c.Document); err != nil {
		return err
	}
	return w.Close()
}
