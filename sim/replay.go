package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/rundir"
	"orrery/sim/world/translate"
	"orrery/traces"
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
	Dir string
	// Create starts the run directory, where its path must not lead out of a folder; nil
	// means record.Create.
	Create func(dir string, meta record.Meta) (*record.Writer, error)
	Facts  bool // write facts.parquet too
	// Decisions writes decisions.parquet of a site, and measures for what jobs
	// wait.
	Decisions bool
	Progress  func(Progress) // called now and then, nil for never
	Version   string         // of the program, for run.json
	// Host yields the content of host.json (machine, wall time) when the run is
	// over; nil writes none. It is the only file that differs between two runs.
	Host func() any
}

// create starts the run directory.
func (o *ReplayOptions) create(meta record.Meta) (*record.Writer, error) {
	if o.Create != nil {
		return o.Create(o.Dir, meta)
	}
	return record.Create(o.Dir, meta)
}

// Outcome is a finished replay.
type Outcome struct {
	Result   *Result
	Table    metric.Table
	Document rundir.Document // as in run.json
}

// Replay runs spec over a trace, computes the metrics and, where a directory
// is named, writes it: whole, or not at all.
func Replay(ctx context.Context, spec plan.Spec, in Input, opt ReplayOptions) (*Outcome, error) {
	src, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	info := src.Info()
	prep, p, err := spec.PrepareOn(src)
	if err != nil {
		return nil, err
	}
	spec = p.Spec
	if opt.Dir == "" {
		sink := record.NewMemory()
		if len(spec.Site) > 0 {
			sink = record.NewSiteMemory()
		}
		res, err := RunPrepared(ctx, prep, in.Open, Options{Sink: sink, Progress: opt.Progress, Recorded: true})
		if err != nil {
			return nil, err
		}
		return conclude(&p, res, info, sink, opt)
	}
	var users func() []string // of the source that is replayed, which is opened first; others are read in part
	var names plan.SiteNames  // those behind the ids of results; none on a plain cluster
	if p.Site != nil {
		names = p.Site.Names
	}
	w, err := opt.create(record.Meta{
		VClusters: names.VClusters, Tenants: names.Tenants, Decisions: opt.Decisions, Shared: p.Site != nil && p.Site.Core.Shared,
		Power: p.Site != nil && p.Site.Energy != nil,
		Epoch: info.Epoch, SpecID: spec.ID(), Facts: opt.Facts,
		Users: func() []string { return users() },
	})
	if errors.Is(err, record.ErrNotRun) {
		return nil, &plan.UsageError{Text: err.Error()}
	} else if err != nil {
		return nil, err
	}
	defer w.Abort() // without effect after Close
	open := func() (traces.Source, error) {
		s, err := in.Open()
		if err == nil && users == nil {
			users = s.Users
		}
		return s, err
	}
	o := Options{Sink: w, Progress: opt.Progress, Recorded: true, Power: w}
	if opt.Facts {
		o.Log = w.Log()
	}
	if opt.Decisions {
		o.Decisions = w
	}
	res, err := RunPrepared(ctx, prep, open, o)
	if err != nil {
		return nil, err
	}
	jobs, err := w.Seal()
	if err != nil {
		return nil, err
	}
	out, err := conclude(&p, res, info, jobs, opt)
	if err != nil {
		return nil, err
	}
	return out, rundir.Write(w, &rundir.Contents{Document: out.Document, Metrics: out.Table, Series: res.Series, Work: res.Work, Host: opt.Host})
}

func conclude(p *plan.Resolved, res *Result, info traces.Info, jobs record.Scanner, opt ReplayOptions) (*Outcome, error) {
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
	var nodes *model.Site
	if p.Site != nil {
		nodes = p.Site.World.Site
	}
	d := rundir.Document{
		Schema: record.RunVersion, Version: opt.Version, SpecID: res.Spec.ID(), Spec: res.Spec.JSON(),
		Trace: rundir.Trace{
			Name: info.Name, Hash: info.Hash, Rows: info.Rows, EpochUS: info.Epoch, EpochKnown: info.EpochKnown, TimeZone: info.TimeZone,
		},
		Cluster:     rundir.ClusterOf(res.Cluster, nodes),
		Fingerprint: res.Fingerprint, Verdict: table.Verdict,
		Jobs: rundir.Jobs{
			Submitted: res.State.Submitted, Dropped: dropped, Started: res.State.Started, Left: res.State.Left, Unfinished: res.Unfinished,
		},
		FirstUS: res.First, LastUS: res.Last, Awkward: []rundir.AwkwardRule{}, Site: res.SiteCounts, Hardware: res.Hardware, Power: res.Power, Services: rundir.ServicesOf(res.Services),
		Takings: rundir.TakingsOf(res.Takings, false), OfTenants: rundir.TakingsOf(res.TenantTakings, true),
	}
	for i := range res.Unheeded {
		u := &res.Unheeded[i]
		d.Unheeded = append(d.Unheeded, rundir.Unheeded{Resource: u.Resource, Fate: u.Fate, Jobs: u.Jobs, Of: u.Of, Share: u.Share, Text: u.String(), First: u.First})
	}
	table.Unheeded = res.UnheededWords()
	for _, r := range translate.AllRules() {
		if a.Count[r] > 0 {
			doc := r.Doc()
			if r == translate.RuleMissing && cmp.Or(res.Spec.MissingRequest, "infinite") == "infinite" {
				doc = "kept: no requested time, taken as endless: no job can hold a reservation behind it (see --missing-request)"
			}
			d.Awkward = append(d.Awkward, rundir.AwkwardRule{Rule: r.String(), Doc: doc, Count: a.Count[r], Examples: a.Examples[r]})
		}
	}
	if res.LeftOut > 0 {
		d.Awkward = append(d.Awkward, rundir.AwkwardRule{Rule: "without", Doc: "left out: the scenario names the job, its user or its tenant (--without)", Count: res.LeftOut})
	}
	for _, x := range res.Ignored {
		d.Awkward = append(d.Awkward, rundir.AwkwardRule{Rule: x.Rule, Doc: x.Doc, Count: x.Count})
	}
	return &Outcome{res, table, d}, nil
}
