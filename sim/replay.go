package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/world"
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
		res, err := RunPrepared(ctx, prep, in.Open, Options{Sink: sink, Progress: opt.Progress})
		if err != nil {
			return nil, err
		}
		return conclude(&p, res, info, sink, opt)
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
	return out, Write(w, &Contents{out.Document, out.Table, res.Series, res.Work, opt.Host})
}

func conclude(p *plan, res *Result, info traces.Info, jobs record.Scanner, opt ReplayOptions) (*Outcome, error) {
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
	if p.site != nil {
		nodes = p.site.core.Site
	}
	d := Document{
		Schema: record.SchemaVersion, Version: opt.Version, SpecID: res.Spec.ID(), Spec: res.Spec.JSON(),
		Trace: Trace{
			Name: info.Name, Hash: info.Hash, Rows: info.Rows, EpochUS: info.Epoch, EpochKnown: info.EpochKnown, TimeZone: info.TimeZone,
		},
		Cluster:     ClusterOf(res.Cluster, nodes),
		Fingerprint: res.Fingerprint, Verdict: table.Verdict,
		Jobs: Jobs{
			Submitted: res.State.Submitted, Dropped: dropped, Started: res.State.Started, Left: res.State.Left, Unfinished: res.Unfinished,
		},
		FirstUS: res.First, LastUS: res.Last, Awkward: []AwkwardRule{}, Site: res.SiteCounts,
	}
	for _, r := range world.Rules() {
		if a.Count[r] > 0 {
			doc := r.Doc()
			if r == world.RuleMissing && cmp.Or(res.Spec.MissingRequest, "infinite") == "infinite" {
				doc = "kept: no requested time, taken as endless: no job can hold a reservation behind it (see --missing-request)"
			}
			d.Awkward = append(d.Awkward, AwkwardRule{r.String(), doc, a.Count[r], a.Examples[r]})
		}
	}
	for _, x := range res.Ignored {
		d.Awkward = append(d.Awkward, AwkwardRule{Rule: x.Rule, Doc: x.Doc, Count: x.Count})
	}
	return &Outcome{res, table, d}, nil
}
