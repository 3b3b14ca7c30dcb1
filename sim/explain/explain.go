// Package explain tells why jobs started when they did, from a run directory or, where
// that does not say, from one more replay. It judges nothing: reasons are those that the
// core gave.
package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/rundir"
	"orrery/traces"
)

// Options say where to look when a run has not recorded why jobs wait.
type Options struct {
	// Open starts a stream over the trace of the run, to replay it once more; nil
	// when there is none.
	Open func() (traces.Source, error)
	// Tables of the trace say what nodes there are where the cluster file leaves
	// that to it; nil when there is no trace.
	Tables   plan.Tables
	Progress func(sim.Progress)
	// Places asks for the places of the jobs in their queues, which takes a replay.
	Places bool
}

// NoDecisionsError says that a run of a site has not recorded why jobs wait.
type NoDecisionsError struct{ Dir, Trace string }

// Error says how to mend it.
func (e *NoDecisionsError) Error() string {
	return fmt.Sprintf("%s has not recorded why its jobs waited: name its trace (%s) with --trace, and it is worked out by one more replay, or replay with --decisions next time", e.Dir, e.Trace)
}

// OtherRunError says that the replay of a run came out otherwise than the run.
type OtherRunError struct{ Dir, Recorded, Replayed, Version string }

// Error names both fingerprints.
func (e *OtherRunError) Error() string {
	return fmt.Sprintf("the replay of %s came out otherwise (fingerprint %s, recorded %s by version %q): replay it again with this build of orrery",
		e.Dir, e.Replayed, e.Recorded, e.Version)
}

// Jobs tells why the jobs with the number id in their log started when they
// did, in the order of their rows. Cost: a scan of the tables of the run, twice of
// jobs; where the run has recorded no reasons, a replay.
func Jobs(ctx context.Context, run *record.Run, id int64, opt Options) ([]Explanation, error) {
	x := explainer{run: run, id: id, others: map[model.JobID]*Other{}}
	if err := x.load(opt.Tables); err != nil {
		return nil, err
	}
	if run.OfSite() {
		if err := x.decide(ctx, opt); err != nil {
			return nil, err
		}
	}
	if opt.Places && opt.Open != nil && !x.placed {
		if err := x.replay(ctx, opt, sim.Options{Explain: x.asked}); err != nil {
			return nil, err
		}
	}
	if err := x.look(); err != nil {
		return nil, err
	}
	out := make([]Explanation, len(x.jobs))
	for i := range x.jobs {
		x.finish(&x.jobs[i])
		out[i] = x.jobs[i].Explanation
	}
	return out, nil
}

// explainer gathers what a run says of the jobs of one number.
type explainer struct {
	run    *record.Run
	id     int64
	doc    rundir.Document
	table  bool              // the nodes table of the trace is the cluster
	of     *profiles.Cluster // nil on a plain cluster
	site   profiles.Site     // nodes and reservations, where they are known
	policy []site.Policy     // of each vCluster
	names  *record.NodeNames // nil where nodes have numbers only
	jobs   []story
	others map[model.JobID]*Other // named in decisions, looked up by row only
	placed bool                   // a replay has told the places of the jobs
}

// traceName is what the trace was called, for messages.
func (x *explainer) traceName() string { return cmp.Or(record.TraceName(x.run.Dir()), "its log") }

// wanted is the explanation of a row, nil when it is not asked for.
func (x *explainer) wanted(job model.JobID) *story {
	for i := range x.jobs {
		if x.jobs[i].Row == job {
			return &x.jobs[i]
		}
	}
	return nil
}

func (x *explainer) asked(job model.JobID) bool { return x.wanted(job) != nil }

// load reads what was run, the jobs and their attempts.
func (x *explainer) load(src plan.Tables) error {
	if err := x.document(src); err != nil {
		return err
	}
	if err := x.run.Scan(func(c *record.Columns) error { x.find(c); return nil }); err != nil {
		return err
	}
	if len(x.jobs) == 0 {
		return &plan.UsageError{Text: fmt.Sprintf("no job has the number %d among the %d jobs of %s: give the number of the log; rows that a replay drops are no jobs (see awkward in %s)", x.id, x.run.Rows(), x.run.Dir(), record.FileRun)}
	}
	//detlint:total each job is a row of its own in the trace
	slices.SortFunc(x.jobs, func(a, b story) int { return cmp.Compare(a.Row, b.Row) })
	for i := range x.jobs {
		x.jobs[i].Rows = len(x.jobs)
	}
	return x.run.Attempts(x.asked, func(a record.Attempt) error {
		e := x.wanted(a.Job)
		e.Attempts = append(e.Attempts, x.attempt(e, &a))
		return nil
	})
}

// document reads what was run.
func (x *explainer) document(src plan.Tables) error {
	if err := json.Unmarshal(x.run.Info(), &x.doc); err != nil {
		return &record.DataError{File: x.run.Dir() + "/" + record.FileRun, Row: -1, Found: err.Error(), Expected: "the document of a run", Mend: "replay once more to write it anew"}
	}
	var plain struct {
		Cluster plan.ClusterSpec `json:"cluster"`
	}
	if err := json.Unmarshal(x.doc.Spec, &plain); err == nil {
		x.table = plain.Cluster.Table
	}
	if x.run.OfSite() {
		if err := x.resolve(src); err != nil {
			return err
		}
		var err error
		if x.names, err = x.run.NodeNames(); err != nil {
			return err
		}
	}
	return nil
}

// resolve reads the site from the spec of the run, and its nodes as far as they
// are known without the trace.
func (x *explainer) resolve(src plan.Tables) error {
	var spec plan.Spec
	if err := json.Unmarshal(x.doc.Spec, &spec); err != nil {
		return err
	}
	var err error
	if x.of, err = profiles.ParseSite("site", spec.Site); err != nil {
		return err
	}
	if err := x.of.Inline("."); err != nil {
		return err
	}
	if x.policy, err = plan.Policies(x.of); err != nil {
		return err
	}
	switch {
	case src != nil && src.Info().Hash != x.doc.Trace.Hash:
		return &plan.UsageError{Text: fmt.Sprintf("%s is the trace %s, but %s is of the trace %s (%s)", src.Info().Name, src.Info().Hash, x.run.Dir(), x.doc.Trace.Hash, x.traceName())}
	case src == nil && len(x.of.Groups) == 0:
		return nil
	}
	site, err := plan.SiteOn(x.of, src)
	if err != nil {
		return err
	}
	x.site = *site
	return nil
}

// find picks the jobs of the number out of a batch.
func (x *explainer) find(c *record.Columns) {
	for i := range c.ID {
		if c.ID[i] != x.id {
			continue
		}
		e := story{
			Explanation: Explanation{
				ID: x.id, Row: model.JobID(c.Job[i]), State: model.JobState(c.State[i]).String(), Reason: model.Reason(c.Reason[i]).String(),
				Units: c.Procs[i], sizeOf: x.sizeOf(), epoch: x.run.Epoch(), known: x.doc.Trace.EpochKnown,
			},
			submit: model.Time(c.Submit[i]), eligible: model.Time(c.Eligible[i]), start: model.Time(c.Start[i]), end: model.Time(c.End[i]),
			why: model.Reason(c.Reason[i]), vcluster: -1,
		}
		if u := c.User[i]; u >= 0 {
			e.User = x.run.Users()[u]
		}
		if x.of != nil {
			e.VCluster = x.run.VClusters()[c.VCluster[i]]
			e.vcluster = model.VClusterID(slices.IndexFunc(x.of.VClusters, func(v profiles.VCluster) bool { return v.Name == e.VCluster }))
			if e.vcluster >= 0 {
				e.cycle = x.of.VClusters[e.vcluster].Profile.Inline.Cycle
			}
			if t := c.Tenant[i]; t >= 0 {
				e.Tenant = x.run.Tenants()[t]
			}
			class := c.Class[i]
			e.Class = &class
		}
		x.jobs = append(x.jobs, e)
	}
}

// Decision implements DecisionWriter.
func (x *explainer) Decision(d *record.Decision) {
	if e := x.wanted(d.Job); e != nil {
		e.decisions = append(e.decisions, *d)
	}
}

// decide reads why the jobs waited, or works it out anew.
func (x *explainer) decide(ctx context.Context, opt Options) error {
	if x.run.HasDecisions() {
		return x.run.Decisions(func(d *record.Decision) error { x.Decision(d); return nil })
	}
	if opt.Open == nil {
		return &NoDecisionsError{x.run.Dir(), x.traceName()}
	}
	if err := x.replay(ctx, opt, sim.Options{Decisions: x, Explain: x.asked}); err != nil {
		return err
	}
	for i := range x.jobs {
		x.jobs[i].Recomputed, x.jobs[i].Fingerprint = true, x.doc.Fingerprint
	}
	return nil
}

// look finds the other jobs that the decisions name, and on a plain
// cluster what went on while the jobs waited.
func (x *explainer) look() error {
	for i := range x.jobs {
		for k := range x.jobs[i].decisions {
			d := &x.jobs[i].decisions[k]
			for _, b := range [...]model.JobID{d.Behind, d.KeptFor} {
				if b >= 0 {
					x.others[b] = &Other{Row: b}
				}
			}
		}
	}
	return x.run.Scan(func(c *record.Columns) error {
		for i := range c.Job {
			if o := x.others[model.JobID(c.Job[i])]; o != nil {
				o.ID, o.end = c.ID[i], model.Time(c.End[i])
			}
		}
		if x.of == nil {
			for i := range x.jobs {
				x.jobs[i].surround(c)
			}
		}
		return nil
	})
}

// attempt is a row of the table attempts as an explanation has it.
func (x *explainer) attempt(e *story, a *record.Attempt) Attempt {
	out := Attempt{
		Number: a.Attempt, Start: e.instant(a.Start), End: e.instant(a.End), Nodes: x.names.Of(a.Nodes), NodeCount: a.NodeCount, GPUs: a.GPUs,
		Outcome: a.Outcome.String(), Reason: a.Reason.String(), Kept: a.Kept.Seconds(), Lost: a.Lost.Seconds(), Borrowed: a.Borrowed,
		start: a.Start, end: a.End,
	}
	if x.of == nil {
		return out
	}
	for n := range nodesOf(a.Nodes) {
		if int(n) >= len(x.site.Nodes) {
			break
		}
		node := &x.site.Nodes[n]
		if t := node.GPUType; t >= 0 && !slices.Contains(out.GPUTypes, x.site.GPUTypes[t]) {
			out.GPUTypes = append(out.GPUTypes, x.site.GPUTypes[t])
		}
		if v := node.Home; a.Borrowed > 0 && v >= 0 && v != e.vcluster && !slices.Contains(out.Lenders, x.site.VClusters[v].Name) {
			out.Lenders = append(out.Lenders, x.site.VClusters[v].Name)
		}
	}
	return out
}

// scoreOf is the score of a decision by factor; weights are those of the profile.
func (x *explainer) scoreOf(e *story, d *record.Decision) *Score {
	if !d.Scored || e.vcluster < 0 {
		return nil
	}
	p := &x.policy[e.vcluster]
	out := &Score{Order: "score", Score: d.Score.Float(), Penalty: d.Penalty.Float()}
	if p.Ranking == site.ByMultifactor {
		out.Order, out.Factors = "multifactor", columnsOf(&p.Multifactor, d)
		return out
	}
	w := &p.Weights
	for f := range score.Factor(score.NumFactors) {
		out.Factors = append(out.Factors, Factor{f.String(), d.Values[f].Float(), w[f].Float(), d.Terms[f].Float()})
	}
	return out
}

// columnsOf are the columns of sprio -l that have a weight or add something. The
// points of the site have had nice taken off already.
func columnsOf(w *multifactor.Weights, d *record.Decision) (list []Factor) {
	weight := [multifactor.NumColumns]float64{
		multifactor.ColumnSite: float64(w.Site), multifactor.ColumnAge: float64(w.Age), multifactor.ColumnAssoc: float64(w.Assoc),
		multifactor.ColumnFairShare: float64(w.FairShare), multifactor.ColumnJobSize: float64(w.JobSize),
		multifactor.ColumnPartition: float64(w.Partition), multifactor.ColumnQOS: float64(w.QOS), multifactor.ColumnNice: -1,
	}
	set := slices.DeleteFunc(slices.Clone(w.TRES), func(n int32) bool { return n == 0 })
	if len(set) == 1 {
		weight[multifactor.ColumnTRES] = float64(set[0])
	} else if len(set) > 1 {
		weight[multifactor.ColumnTRES] = 1
	}
	for c := range multifactor.NumColumns {
		value, adds := d.Values[c].Float(), d.Terms[c].Float()
		if points := c == multifactor.ColumnSite || c == multifactor.ColumnNice; weight[c] != 0 && (!points || adds != 0) {
			list = append(list, Factor{c.String(), value, weight[c], adds})
		}
	}
	return list
}

// reservation is the name of the advance reservation of which nodes, ranges of their numbers,
// are a part and which ends at until, "" for none; or of the one that begins at until, which the
// job names itself. Where there are both it is the first if nodes are told: of another's some are free.
func (x *explainer) reservation(until model.Time, nodes string) (name string, named bool) {
	for i := range x.site.Reservations {
		r := &x.site.Reservations[i]
		if r.Start != until && r.End != until || !containsAll(r.Nodes, nodes) {
			continue
		}
		if begins := r.Start == until; name == "" || begins == (nodes == "") {
			name, named = r.Name, begins
		}
	}
	return name, named
}

func containsAll(set model.NodeSet, nodes string) bool {
	for n := range nodesOf(nodes) {
		if !set.Has(n) {
			return false
		}
	}
	return true
}
