package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/sim/explain"
	"orrery/sim/record"
	"orrery/sim/rundir"
	"orrery/traces"
)

// job explains the jobs of one number.
func (v *explainVerb) job(ctx context.Context, dir string, id int64) error {
	var found []explain.Explanation
	err := v.open(ctx, dir, func(run *record.Run, o explain.Options) (err error) {
		o.Places = v.trace != ""
		found, err = explain.Jobs(ctx, run, id, o)
		return err
	})
	if err != nil {
		return err
	}
	if v.print.JSON() {
		return v.print.Document(map[string]any{"jobs": found})
	}
	for i := range found {
		if err := v.tell(&found[i], i); err != nil {
			return err
		}
	}
	return nil
}

// open reads a run, and its trace where there is one, for what explains it.
func (v *explainVerb) open(ctx context.Context, dir string, explained func(*record.Run, explain.Options) error) error {
	run, err := record.Open(dir)
	if err != nil {
		return formats.ReadError(err)
	}
	defer run.Close()
	o := explain.Options{}
	path := v.traceOf(run)
	if path != "" || run.OfSite() { // scores and reasons are worked out by the scheduler of this program
		if err := formats.SameSemantics(dir); err != nil {
			return err
		}
	}
	if err := formats.MayRead(v.app, v.quiet, dir); err != nil {
		return err
	}
	if path != "" {
		t, err := logfile.OpenLog(ctx, v.app, []string{path}, v.quiet)
		if err != nil {
			return err
		}
		defer t.Close()
		if err := of(run, t); err != nil {
			return err
		}
		o.Tables, o.Open = t, t.Open
		if bar := v.app.Progress("replaying", "jobs", v.quiet || run.HasDecisions() && v.at == "" && v.trace == ""); bar != nil {
			defer bar.Done()
			o.Progress = bar.Replay
		}
	}
	err = explained(run, o)
	var none *explain.NoDecisionsError
	var other *explain.OtherRunError
	switch {
	case errors.As(err, &none):
		return cli.Coded(cli.ExitUsage, err)
	case errors.As(err, &other):
		return cli.Coded(cli.ExitMismatch, err)
	case err != nil:
		return formats.ReadError(err)
	}
	return nil
}

// of refuses the trace of another run.
func of(run *record.Run, t *logfile.Trace) error {
	var d rundir.Document
	err := json.Unmarshal(run.Info(), &d) // sim.Explain says what is wrong with the run
	if err == nil && d.Trace.Hash != "" && d.Trace.Hash != t.About.Hash {
		return cli.Usagef("--trace %s is the trace %s, but %s is of the trace %s (%s): name that one", t.Label, t.About.Hash, run.Dir(), d.Trace.Hash, cmp.Or(record.TraceName(run.Dir()), "its log"))
	}
	return nil
}

// traceOf is where the trace of a site's run is: where --trace says, or beside the
// run or here under its own name; "" when it is nowhere, or not needed.
func (v *explainVerb) traceOf(run *record.Run) string {
	if v.trace != "" || !run.OfSite() && v.at == "" {
		return v.trace
	}
	var d rundir.Document
	name := record.TraceName(run.Dir())
	if json.Unmarshal(run.Info(), &d) != nil || name == "" || name != filepath.Base(name) {
		return "" // sim.Explain says what is wrong with it
	}
	for _, dir := range []string{".", filepath.Dir(filepath.Clean(run.Dir()))} {
		for _, ext := range []string{".trace", ".parquet"} {
			path := filepath.Join(dir, name+ext)
			src, err := traces.Open(path)
			if err != nil {
				continue
			}
			hash := src.Info().Hash
			if src.Close() == nil && hash == d.Trace.Hash {
				return path
			}
		}
	}
	return ""
}

// tell prints one job: the answer first.
func (v *explainVerb) tell(e *explain.Explanation, at int) error {
	out := cli.Escaped(v.app.Stdout)
	if at > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, e.Answer)
	fmt.Fprintln(out)
	if e.Rows > 1 {
		fmt.Fprintf(out, "The log has this number %d times; this is row %d.\n", e.Rows, e.Row)
	}
	fmt.Fprintln(out, about(e))
	for _, r := range e.Refusals {
		fmt.Fprintf(out, "%s a proposal to start it was refused: %s (%s).\n", e.Moment(r.At), r.What, r.Reason)
	}
	for i := range e.Places {
		fmt.Fprintln(out, placed(e, &e.Places[i]))
	}
	for i := range e.NoVictims {
		n := &e.NoVictims[i]
		fmt.Fprintf(out, "%s to %s no job was preempted for it: %s.\n", e.Moment(n.From), e.Moment(n.To), n.What)
	}
	for i := range e.Moves {
		fmt.Fprintln(out, moved(e, &e.Moves[i]))
	}
	for i := range e.Attempts {
		fmt.Fprintln(out, ran(e, &e.Attempts[i]))
	}
	if e.Recomputed {
		fmt.Fprintf(out, "The run has recorded no reasons: a replay of it worked them out, with the same fingerprint %s.\n", e.Fingerprint)
	}
	t, left := sizes(e)
	if err := v.print.Section("its nodes"+left, t); err != nil {
		return err
	}
	t, left = waits(e)
	if err := v.print.Section("what it waited for"+left, t); err != nil {
		return err
	}
	t, left = rejected(e)
	if err := v.print.Section("the best nodes that it did not start on"+left, t); err != nil {
		return err
	}
	t, order, left := scores(e)
	what := "its score"
	if order == "multifactor" {
		what = "its priority in points"
	}
	return v.print.Section(what+", as value x weight = contribution"+left, t)
}

// leftOut says in a heading how many of so many rows or columns are not shown.
func leftOut(shown, all int, which string) string {
	if shown >= all {
		return ""
	}
	return fmt.Sprintf(" (%d of %d changes: %s; %d more with -o json)", shown, all, which, all-shown)
}

// sizes lists what a service had and was to have, the latest where that changed often.
func sizes(e *explain.Explanation) (t *doc.Table, left string) {
	const most = 12
	t = doc.New("from", "nodes", "to have", "lacks them for")
	from := max(0, len(e.Sizes)-most)
	for i := range e.Sizes[from:] {
		z := &e.Sizes[from+i]
		demand := "not told yet"
		if z.Demand > 0 {
			demand = strconv.Itoa(int(z.Demand))
		}
		t.Row(e.Moment(z.From), strconv.Itoa(int(z.Nodes)), demand, z.Unmet)
	}
	return t, leftOut(len(e.Sizes)-from, len(e.Sizes), "the latest")
}

// rejected lists the best sets of nodes that the job did not start on, where they
// changed, the latest ones where there are many.
func rejected(e *explain.Explanation) (t *doc.Table, left string) {
	const most = 8
	var at []*explain.Interval
	var before []explain.RejectedSet
	for i := range e.Intervals {
		s := &e.Intervals[i]
		if s.Seconds == 0 {
			continue
		}
		if len(s.Rejected) > 0 && !slices.EqualFunc(s.Rejected, before, sameSet) {
			at, before = append(at, s), s.Rejected
		}
	}
	all := len(at)
	at = at[max(0, all-most):]
	t = doc.New("from", "nodes", "why not")
	for _, s := range at {
		from := e.Moment(s.From)
		for k := range s.Rejected {
			nodes, more, cut := strings.Cut(s.Rejected[k].Nodes, ",+")
			if cut {
				nodes += " and " + more + " more"
			}
			t.Row(from, nodes, s.Rejected[k].Why)
			from = ""
		}
	}
	return t, leftOut(len(at), all, "the latest")
}

func sameSet(a, b explain.RejectedSet) bool { return a.Nodes == b.Nodes && a.Why == b.Why }

// about says which user asked for what, and when.
func about(e *explain.Explanation) string {
	var submitter []string
	for _, w := range []struct{ what, name string }{{"user", e.User}, {"tenant", e.Tenant}, {"vCluster", e.VCluster}} {
		if w.name != "" {
			submitter = append(submitter, w.what+" "+w.name)
		}
	}
	if e.Class != nil {
		submitter = append(submitter, fmt.Sprintf("class %d", *e.Class))
	}
	text := "Submitted " + e.Moment(e.Submit)
	if e.Eligible > e.Submit {
		text += ", eligible " + e.Moment(e.Eligible)
	}
	if len(submitter) > 0 {
		text += " (" + strings.Join(submitter, ", ") + ")"
	}
	return text + fmt.Sprintf(", for %s; it left %s as %s.", e.Size(), e.Moment(e.End), strings.Trim(e.State+" "+e.Reason, " "))
}

// placed is a place in a queue in a sentence.
func placed(e *explain.Explanation, p *explain.Place) string {
	text := e.Moment(p.At) + " it was in no queue yet"
	if p.Position > 0 {
		text = fmt.Sprintf("%s it was number %d of %d in its queue", e.Moment(p.At), p.Position, p.Of)
	}
	if p.PredictedStart != nil {
		text += ", with its start predicted for " + e.Moment(*p.PredictedStart)
	}
	return text + "."
}

func moved(e *explain.Explanation, m *explain.Move) string {
	if m.Leaves && m.Reason == model.ReasonPower.String() {
		return fmt.Sprintf("%s it was asked to leave its nodes, since more power was reckoned than the power cap allows (%s).", e.Moment(m.At), m.Reason)
	}
	if m.Leaves {
		return fmt.Sprintf("%s it was asked to leave its nodes to job %d (%s).", e.Moment(m.At), m.Job.ID, m.Reason)
	}
	return fmt.Sprintf("%s job %d was asked to leave its nodes to it (%s).", e.Moment(m.At), m.Job.ID, m.Reason)
}

// ran is an attempt in a sentence.
func ran(e *explain.Explanation, a *explain.Attempt) string {
	nodes := "nodes"
	if a.NodeCount == 1 {
		nodes = "node"
	}
	text := fmt.Sprintf("Attempt %d: %s to %s on %s %s", a.Number, e.Moment(a.Start), e.Moment(a.End), nodes, a.Nodes)
	if len(a.GPUTypes) > 0 {
		text += " (" + strings.Join(a.GPUTypes, ", ") + ")"
	}
	if a.Borrowed > 0 {
		text += fmt.Sprintf(", %d of them borrowed from %s", a.Borrowed, strings.Join(a.Lenders, ", "))
	}
	text += ": " + strings.Trim(a.Outcome+" "+a.Reason, " ")
	if a.Kept > 0 || a.Lost > 0 {
		text += fmt.Sprintf(", %s of work kept", explain.Words(seconds(a.Kept)))
	}
	if a.Lost > 0 {
		text += ", " + explain.Words(seconds(a.Lost)) + " lost"
	}
	return text + "."
}

func seconds(s float64) model.Duration { return model.Duration(s * float64(model.Second)) }

// waits lists the spells of waiting that took time.
func waits(e *explain.Explanation) (t *doc.Table, left string) {
	none := 0
	t = doc.New("from", "for", "what", "free", "best group", "set aside")
	for i := range e.Intervals {
		s := &e.Intervals[i]
		if s.Seconds == 0 {
			if !s.Proposed { // a start is told as an attempt
				none++
			}
			continue
		}
		what := s.What
		if s.Until != "" && s.Behind != nil {
			what += ", from " + e.Moment(s.Until)
		} else if s.Until != "" {
			what += ", until " + e.Moment(s.Until)
		}
		free, group, aside := "", "", ""
		if r := s.Room; r != nil && roomy(s.Reason) {
			free = fmt.Sprintf("%d of %d", r.Free, r.Usable)
			if r.Need > 1 {
				group = fmt.Sprintf("%d alike, %d near", r.Conform, r.Grouped)
			}
			if r.Aside > 0 {
				aside = fmt.Sprint(r.Aside)
			}
		}
		t.Row(e.Moment(s.From), explain.Words(seconds(s.Seconds)), what, free, group, aside)
	}
	if none > 0 && t.Len() > 0 {
		left = fmt.Sprintf(" (%d more with -o json, which took no time)", none)
	}
	return t, left
}

// roomy says whether a reason is about nodes.
func roomy(reason string) bool {
	switch reason {
	case "RESOURCES", "CONFORMANCE", "RESERVED", "PRIORITY":
		return true
	}
	return false
}

// scores lists the score at each change, a column each, the first and the latest
// ones where there are many.
func scores(e *explain.Explanation) (t *doc.Table, order, left string) {
	const most = 4
	var at []*explain.Interval
	for i := range e.Intervals {
		if e.Intervals[i].Score != nil {
			at = append(at, &e.Intervals[i])
		}
	}
	if all := len(at); all > most {
		left = leftOut(most, all, fmt.Sprintf("the first and the latest %d", most-1))
		at = append(at[:1:1], at[len(at)-most+1:]...)
	}
	head := []string{"factor"}
	for _, s := range at {
		head = append(head, e.Moment(s.From))
	}
	t = doc.New(head...)
	if len(at) == 0 {
		return t, "", ""
	}
	order = at[0].Score.Order
	row := func(name string, cell func(*explain.Score) string) {
		cells := []any{name}
		for _, s := range at {
			cells = append(cells, cell(s.Score))
		}
		t.Row(cells...)
	}
	for f := range at[0].Score.Factors {
		row(at[0].Score.Factors[f].Name, func(s *explain.Score) string {
			x := &s.Factors[f]
			switch {
			case order == "score":
				return fmt.Sprintf("%.3f x %.3f = %.4f", x.Value, x.Weight, x.Contribution)
			case x.Value > 1 || x.Value < 0: // points already
				return fmt.Sprintf("%.0f x %.0f = %.2f", x.Value, x.Weight, x.Contribution)
			}
			return fmt.Sprintf("%.6f x %.0f = %.2f", x.Value, x.Weight, x.Contribution)
		})
	}
	if order == "multifactor" {
		row("priority", func(s *explain.Score) string { return fmt.Sprintf("%.0f", s.Score) })
		return t, order, left
	}
	row("penalty", func(s *explain.Score) string { return fmt.Sprintf("x %.3f", s.Penalty) })
	row("score", func(s *explain.Score) string { return fmt.Sprintf("%.4f", s.Score) })
	return t, order, left
}
