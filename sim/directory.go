package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
	"orrery/traces/hostlist"
)

// Input is a trace to replay.
type Input struct {
	// Open starts a stream over the trace; it may be called more than once.
	Open func() (traces.Source, error)
}

// ReplayOptions say where results go. None of them changes a result.
type ReplayOptions struct {
	// Dir is the run directory to write; empty writes nothing and keeps the
	// finished jobs in memory until the metrics are computed.
	Dir   string
	Facts bool // write facts.parquet too
	// Decisions writes decisions.parquet of a site, and measures for what jobs
	// wait.
	Decisions bool
	Progress  func(Progress) // called now and then, nil for never
	Version   string         // of the program, for run.json
	// Host yields the content of host.json (machine, wall time) when the run is
	// over; nil writes none. It is the only file that differs between two runs.
	Host func() any
}

// Outcome is a finished replay.
type Outcome struct {
	Result   *Result
	Table    metric.Table
	Document Document // as in run.json
}

// Document is the content of run.json: everything that says what was run, how
// awkward rows were met and what identifies the result.
type Document struct {
	Schema      int               `json:"schema"`
	Version     string            `json:"version,omitempty"`
	SpecID      string            `json:"spec_id"`
	Spec        json.RawMessage   `json:"spec"`
	Trace       DocumentTrace     `json:"trace"`
	Cluster     DocumentCluster   `json:"cluster"`
	Fingerprint string            `json:"fingerprint"`
	Verdict     metric.Verdict    `json:"verdict"`
	Jobs        DocumentJobs      `json:"jobs"`
	FirstUS     model.Time        `json:"first_us"` // since the epoch of the trace
	LastUS      model.Time        `json:"last_us"`
	Awkward     []AwkwardRule     `json:"awkward"`
	Site        *world.SiteCounts `json:"site,omitempty"`
}

// DocumentTrace names the trace.
type DocumentTrace struct {
	Name       string     `json:"name"`
	Hash       string     `json:"hash"`
	Rows       int64      `json:"rows"`
	EpochUS    model.Time `json:"epoch_us"`
	EpochKnown bool       `json:"epoch_known"`
	TimeZone   string     `json:"timezone,omitempty"`
}

// DocumentCluster is the cluster as it was resolved.
type DocumentCluster struct {
	Nodes     int     `json:"nodes"`
	Units     int64   `json:"units"`
	Whole     bool    `json:"whole_nodes"`
	NodeUnits []int32 `json:"node_units,omitempty"` // where nodes differ
	NodeNames string  `json:"node_names,omitempty"` // of a site: a hostlist, in order
}

// DocumentJobs accounts for every row of the trace: rows = submitted + dropped.
type DocumentJobs struct {
	Submitted  int64 `json:"submitted"`
	Dropped    int64 `json:"dropped"`
	Started    int64 `json:"started"`
	Left       int64 `json:"left"`
	Unfinished int64 `json:"unfinished"`
}

// AwkwardRule counts the rows that met one rule of the replay, or that ask for
// something it does not heed.
type AwkwardRule struct {
	Rule     string  `json:"rule"`
	Doc      string  `json:"doc"`
	Count    int64   `json:"count"`
	Examples []int64 `json:"examples,omitempty"` // ids of the first few
}

// Replay runs spec over a trace, computes the metrics and, where a directory
// is named, writes it: whole, or not at all.
func Replay(ctx context.Context, spec Spec, in Input, opt ReplayOptions) (*Outcome, error) {
	src, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	info := src.Info()
	prep, p, err := spec.bind(src)
	if err != nil {
		return nil, err
	}
	spec = p.spec
	if opt.Dir == "" {
		sink := record.NewMemory()
		if len(spec.Site) > 0 {
			sink = record.NewSiteMemory()
		}
		res, err := prep.Run(ctx, in.Open, Options{Sink: sink, Progress: opt.Progress})
		if err != nil {
			return nil, err
		}
		return conclude(res, info, sink, opt)
	}
	users := src.Users
	var names SiteNames // those behind the ids of results; none on a plain cluster
	if p.site != nil {
		names = p.site.names
	}
	w, err := record.Create(opt.Dir, record.Meta{
		VClusters: names.VClusters, Tenants: names.Tenants, Decisions: opt.Decisions,
		Epoch: info.Epoch, SpecID: spec.ID(), Facts: opt.Facts,
		Users: func() []string { return users() },
	})
	if errors.Is(err, record.ErrNotRun) {
		return nil, &UsageError{err.Error()}
	} else if err != nil {
		return nil, err
	}
	defer w.Abort() // without effect after Close
	open := func() (traces.Source, error) {
		s, err := in.Open()
		if err == nil {
			users = s.Users
		}
		return s, err
	}
	o := Options{Sink: w, Progress: opt.Progress}
	if opt.Facts {
		o.Facts = w
	}
	if opt.Decisions {
		o.Decisions = w
	}
	res, err := prep.Run(ctx, open, o)
	if err != nil {
		return nil, err
	}
	jobs, err := w.Seal()
	if err != nil {
		return nil, err
	}
	out, err := conclude(res, info, jobs, opt)
	if err != nil {
		return nil, err
	}
	return out, write(w, out, opt)
}

// Bind ties a spec to a trace: it enters the content hash and the cluster that
// was left to the trace, and checks the rest.
func (s Spec) Bind(src Tables) (Spec, error) {
	_, p, err := s.bind(src)
	return p.spec, err
}

// BindJSON is the canonical form of Bind, which reads the site once only.
func (s Spec) BindJSON(src Tables) ([]byte, error) {
	_, p, err := s.bind(src)
	if err != nil {
		return nil, err
	}
	return p.spec.plainest().marshal(), nil
}

// bind is Bind with what it takes to run the spec.
func (s Spec) bind(src Tables) (*Prepared, plan, error) {
	info := src.Info()
	if s.Trace != "" && s.Trace != info.Hash {
		return nil, plan{spec: s}, usagef("the spec is for the trace %s, but %s is %s", s.Trace, info.Name, info.Hash)
	}
	s.Trace = info.Hash
	prep, err := Prepare(s)
	if err != nil {
		return nil, plan{spec: s}, err
	}
	p, err := prep.resolve(src)
	return prep, p, err
}

func conclude(res *Result, info traces.Info, jobs record.Scanner, opt ReplayOptions) (*Outcome, error) {
	table, err := metric.Compute(jobs, res.Series)
	if err != nil {
		return nil, err
	}
	a := &res.Awkward
	if res.State.Submitted == 0 {
		return nil, &traces.DataError{
			File: info.Name, Found: fmt.Sprintf("%d rows, of which none can be replayed", info.Rows),
			Expected: "jobs with a submission, a size and a runtime", Mend: "orrery trace validate says what is wrong with the rows",
		}
	}
	dropped := res.dropped()
	d := Document{
		Schema: record.SchemaVersion, Version: opt.Version, SpecID: res.Spec.ID(), Spec: res.Spec.JSON(),
		Trace: DocumentTrace{
			Name: info.Name, Hash: info.Hash, Rows: info.Rows, EpochUS: info.Epoch, EpochKnown: info.EpochKnown, TimeZone: info.TimeZone,
		},
		Cluster:     clusterDocument(res.Cluster),
		Fingerprint: res.Fingerprint, Verdict: table.Verdict,
		Jobs: DocumentJobs{
			Submitted: res.State.Submitted, Dropped: dropped, Started: res.State.Started, Left: res.State.Left, Unfinished: res.Unfinished,
		},
		FirstUS: res.First, LastUS: res.Last, Awkward: []AwkwardRule{}, Site: res.SiteCounts,
	}
	for _, r := range translate.AllRules() {
		if a.Count[r] > 0 {
			doc := r.Doc()
			if r == translate.RuleMissing && or(res.Spec.MissingRequest, "infinite") == "infinite" {
				doc = "kept: no requested time, taken as endless: no job can hold a reservation behind it (see --missing-request)"
			}
			d.Awkward = append(d.Awkward, AwkwardRule{r.String(), doc, a.Count[r], a.Examples[r]})
		}
	}
	d.Awkward = append(d.Awkward, ignored(info, res)...)
	if res.site != nil {
		d.Cluster.NodeNames = nodeNames(res.site.core.Site)
	}
	return &Outcome{res, table, d}, nil
}

func clusterDocument(c model.Cluster) DocumentCluster {
	d := DocumentCluster{Nodes: len(c.Units), Units: c.Total(), Whole: c.Whole}
	for _, u := range c.Units {
		if u != c.Units[0] {
			d.NodeUnits = c.Units
			break
		}
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

func write(w *record.Writer, out *Outcome, opt ReplayOptions) error {
	if err := w.WriteSeries(out.Result.Series.Bins()); err != nil {
		return err
	}
	if out.Result.site != nil {
		if err := w.WriteGroups(out.Table.Groups); err != nil {
			return err
		}
		if err := w.WriteShares(out.Result.Series.VClusterBins()); err != nil {
			return err
		}
	}
	if err := w.WriteJSON(record.FileMetrics, out.Table); err != nil {
		return err
	}
	if err := w.WriteJSON(record.FileWork, out.Result.Work); err != nil {
		return err
	}
	if opt.Host != nil {
		if err := w.WriteJSON(record.FileHost, opt.Host()); err != nil {
			return err
		}
	}
	if err := w.WriteJSON(record.FileRun, out.Document); err != nil {
		return err
	}
	return w.Close()
}
