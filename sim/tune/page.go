package tune

import (
	"fmt"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/sim/losers"
	"orrery/sim/metric"
)

// draft is a document that is being written.
type draft struct{ doc.Document }

func (p *draft) head(title string) { p.Sections = append(p.Sections, doc.Section{Title: title}) }

func (p *draft) add(part doc.Part) {
	last := &p.Sections[len(p.Sections)-1]
	last.Parts = append(last.Parts, part)
}

func (p *draft) say(format string, args ...any) { p.add(doc.Say(format, args...)) }

// Page is the report for people: what changes, for which jobs it gets better and worse, how
// sure that is, what it costs, and how it was found.
func (r *Report) Page() *doc.Document {
	p := &draft{doc.Document{Title: r.Title()}}
	for _, s := range r.Unheeded {
		p.Head = append(p.Head, doc.Part{Word: "UNHEEDED", Tone: doc.Bad, Text: s})
	}
	for _, s := range r.Summary() {
		p.Head = append(p.Head, doc.Part{Text: s})
	}
	p.Sections = r.Deciding()
	r.pageSensitivity(p)
	r.pageTried(p)
	r.pageHow(p)
	return &p.Document
}

// Deciding are the sections that say what to do: what changes, for which jobs, how
// sure that is and what it costs.
func (r *Report) Deciding() []doc.Section {
	p := &draft{}
	r.pageChanges(p)
	r.pageGroups(p)
	r.pageFinalists(p)
	if t := r.Costs(); t.Len() > 0 {
		p.head("What it costs the scheduler")
		p.add(doc.Show(t))
	}
	return p.Sections
}

func (r *Report) pageChanges(p *draft) {
	if len(r.Changes) == 0 {
		return
	}
	p.head("What changes")
	if r.Verdict != Change {
		p.say("Nothing. The candidate that came closest, %s, would change this:", r.About)
	}
	p.add(doc.Show(r.ChangeTable()))
}

// ChangeTable has the settings that change. A plain cluster has no vClusters.
func (r *Report) ChangeTable() *doc.Table {
	heads, several := []string{"vcluster", "key", "now", "then"}, slices.ContainsFunc(r.Changes, func(c SettingChange) bool { return c.VCluster != "" })
	if !several {
		heads = heads[1:]
	}
	t := doc.New(heads...)
	for _, c := range r.ChangesInShort() {
		row := []any{or(c.VCluster, "–"), c.Key, or(c.Before, "–"), or(c.After, "–")}
		t.Row(row[len(row)-len(heads):]...)
	}
	return t
}

func (r *Report) pageFinalists(p *draft) {
	if len(r.Finalists) == 0 {
		return
	}
	p.head("How sure")
	p.say("One test of the %d candidates that keep their bounds, over %d windows of equal numbers of jobs (dependence of windows φ %s). p is how often chance alone does as much for one of them. Windows is the change where each window weighs alike, sums where each job does: both must say the same. Over replicas submissions are moved by up to %s.",
		r.Tested, r.Counted(), figure(float64(r.Dependence)), model.Duration(r.JitterUS))
	t := doc.New("candidate", "whole log", "p", "windows", "sums", "gain over replicas", "interval", "one replay ±", "loses most", "verdict")
	for i := range r.Finalists {
		f := &r.Finalists[i]
		end := metric.Undefined
		if w, _ := r.whole(f, r.Goal.Objectives[0].Metric); w != nil {
			end = w.Relative
		}
		verdict := "passes"
		switch {
		case f.Out != "":
			verdict = "out: " + f.Out
		case r.Verdict != Change:
			verdict = "not shown"
		}
		t.Row(f.Name, percent(end), chance(f.P), percent(f.Windows), percent(f.Sums), portion(f.Replicas.Mean), portion(f.Replicas.Low)+" to "+portion(f.Replicas.High), portion(f.Replicas.SD), r.mostHarmed(f), verdict)
	}
	p.add(doc.Show(t))
	if r.DetectableGain.Defined() {
		p.say("%s", r.chanceSentence())
	}
	r.pageLines(p)
	r.pageBounds(p)
	r.pageWhole(p)
	r.pageLoads(p)
}

// mostHarmed names the group of jobs that loses most hours under a finalist.
func (r *Report) mostHarmed(f *Finalist) string {
	if len(f.Losers) == 0 {
		return "no group"
	}
	l := &f.Losers[0]
	where := ""
	if len(r.Traces) > 1 {
		where = " on " + r.Traces[l.Trace].Name
	}
	return fmt.Sprintf("%s %s%s (%+.0f h)", byWord(l.By), l.Name, where, l.Hours)
}

// pageLines has the changes of the finalists with their intervals, and what else changes.
func (r *Report) pageLines(p *draft) {
	head := []string{"metric", "now", "then", "change", "interval", "in its unit", "noise"}
	t := doc.New(append([]string{"candidate"}, head...)...)
	for i := range r.Finalists {
		f := &r.Finalists[i]
		for k := range f.Lines {
			t.Row(append([]any{f.Name}, lineCells(&f.Lines[k])...)...)
		}
	}
	p.say("Intervals of the change (%.0f %%) over windows and replicas; noise is the part of the variance that jittered arrivals make. They decide nothing.", 100*r.Confidence)
	p.add(doc.Show(t))
	if len(r.Secondary) == 0 {
		return
	}
	p.say("What else %s changes (p corrected for all lines of this table):", r.About)
	t = doc.New(append(head, "p", "verdict")...)
	for i := range r.Secondary {
		l := &r.Secondary[i]
		t.Row(append(lineCells(l), chance(l.P), l.Verdict.String())...)
	}
	p.add(doc.Show(t))
}

// pageBounds says which bounds the finalists keep, and by how much.
func (r *Report) pageBounds(p *draft) {
	t := doc.New("candidate", "bound", "to hold", "now", "then", "beyond", "")
	for i := range r.Finalists {
		f := &r.Finalists[i]
		for j := range f.Bounds {
			b := &f.Bounds[j]
			t.Row(f.Name, b.String(), said(b.Limit, b.Metric), said(b.Now, b.Metric), said(b.Then, b.Metric), percent(b.Beyond), b.word())
		}
	}
	if t.Len() == 0 {
		return
	}
	p.say("Bounds, on the whole log. What the current policy breaks may be broken as far; a bound that was not asked for may be exceeded by half of what it is now. Beyond says how far a value is beyond what is to hold; below 0 it is kept by so much.")
	p.add(doc.Show(t))
}

// pageWhole has the figures of the whole trace.
func (r *Report) pageWhole(p *draft) {
	f := r.about()
	if f == nil {
		return
	}
	p.say("%s from end to end, over all jobs of the trace, as orrery replay has it:", f.Name)
	heads := []string{"trace", "metric", "now", "then", "change"}
	if len(r.Traces) < 2 {
		heads = heads[1:]
	}
	t := doc.New(heads...)
	for _, l := range f.Whole {
		row := []any{r.Traces[l.Trace].Name, l.Metric, said(l.Now, l.Metric), said(l.Then, l.Metric), percent(l.Relative)}
		t.Row(row[len(row)-len(heads):]...)
	}
	p.add(doc.Show(t))
}

// pageLoads says how the gain holds under other loads.
func (r *Report) pageLoads(p *draft) {
	if len(r.Loads) > 0 {
		name := r.Goal.Objectives[0].Metric
		p.say("%s of %s under other loads: the same jobs with the time between submissions divided by the load; the range is over %d replicas.", name, r.About, loadReplicas+1)
		t := doc.New("load", "now", "then", "change", "range", "overloaded")
		for _, l := range r.Loads {
			t.Row(fmt.Sprintf("%.2f", l.Load), said(l.Now, name), said(l.Then, name), percent(l.Relative.Estimate), percent(l.Relative.Low)+" to "+percent(l.Relative.High), l.Overloaded)
		}
		p.add(doc.Show(t))
	}
}

// lineCells are metric, now, then, change in percent with its interval, the
// interval in the unit of the metric, and noise.
func lineCells(l *Line) []any {
	name := l.Metric
	if l.Unit != "" && l.Unit != "s" {
		name += " (" + l.Unit + ")"
	}
	say := func(x float64) string { return said(metric.Number(x), l.Metric) }
	return []any{
		name, say(float64(l.Now.Estimate)), say(float64(l.Then.Estimate)), percent(l.Relative.Estimate), percents(l.Relative),
		span(l.Difference, say), portion(l.Noise),
	}
}

func (r *Report) pageGroups(p *draft) {
	if r.about() == nil {
		return
	}
	p.head("Who pays")
	p.say("%s against the current policy, over all jobs of the log. Groups are by run time, size, user, tenant, partition and vCluster, and by two of these; each says what the ones above it do not. Hours are those of waiting, of all their jobs together. A group whose mean wait changes by less than a minute is not listed.", r.About)
	for _, side := range []struct {
		word string
		list []LoserLine
	}{{"longer", r.Losers}, {"less", r.Gainers}} {
		if len(side.list) == 0 {
			p.say("No group waits %s.", side.word)
			continue
		}
		p.say("Groups that wait %s:", side.word)
		p.add(doc.Show(r.Payers(len(side.list), side.list)))
	}
}

// Payers is a table of groups of jobs that wait longer or less, of each list as many as most.
func (r *Report) Payers(most int, lists ...[]LoserLine) *doc.Table {
	heads := []string{"log", "by", "group", "jobs", "of the jobs", "of the work", "mean wait", "then", "change", "hours"}
	if len(r.Traces) < 2 {
		heads = heads[1:]
	}
	t := doc.New(heads...).Optional("jobs", "of the jobs")
	part := func(x float64, text string) doc.Cell { return doc.Quantity(text, x) }
	for _, list := range lists {
		for i := range list[:min(len(list), most)] {
			l, growth := &list[i], losers.Growth(list[i].Loser)
			row := []any{
				r.Traces[l.Trace].Name, byWord(l.By), l.Name, l.Jobs, part(l.PartOfJobs, portion(metric.Number(l.PartOfJobs))), part(l.PartOfWork, portion(metric.Number(l.PartOfWork))),
				part(l.WaitNow, said(metric.Number(l.WaitNow), "wait_mean")), part(l.WaitThen, said(metric.Number(l.WaitThen), "wait_mean")), part(growth, percent(metric.Number(growth))), part(l.Hours, fmt.Sprintf("%+.0f", l.Hours)),
			}
			t.Row(row[len(row)-len(heads):]...)
		}
	}
	return t
}

// Costs is what the passes of the scheduler come to, on the whole trace; no row where that is not known.
func (r *Report) Costs() *doc.Table {
	t, now, then := doc.New("on the whole trace", "now", "then", "change"), r.Work[0], r.Work[1]
	row := func(what string, a, b uint64) {
		t.Row(what, int64(a), int64(b), doc.Quantity(percent(metric.Number(float64(b)/float64(a)-1)), float64(b)/float64(a)-1))
	}
	if now.Passes > 0 && then.Passes > 0 {
		row("passes", now.Passes, then.Passes)
		row("waiting jobs examined", now.Examined, then.Examined)
	}
	return t
}

func (r *Report) pageTried(p *draft) {
	if len(r.Tried) == 0 {
		return
	}
	p.head("What was tried")
	p.say("Each replayed from end to end. Rank is by the gain, among those that keep their bounds. The worst group is that with 1 %% of the work or more whose mean wait grows by the largest factor.")
	head := []string{"candidate"}
	for k := range r.Tried[0].Metrics {
		head = append(head, r.metricAt(k))
	}
	head = append(head, "gain", "p", "worst group", "waits longer by", "rank")
	all := doc.New(head...)
	for i := range r.Tried {
		t := &r.Tried[i]
		row := []any{t.Name}
		for k, m := range t.Metrics {
			row = append(row, said(m, r.metricAt(k)))
		}
		all.Row(append(row, percent(t.Gain), chance(t.P), or(t.WorstGroup, "–"), portion(t.Worse), rankWord(t))...)
	}
	p.add(doc.Show(all))
	if len(r.Search) > 0 {
		p.say("The search (%s, batches of %d) tried %d points.", r.Method, r.Batch, len(r.Search))
	}
}

// metricAt is the metric of a column of what was tried: the objectives, then the
// constraints.
func (r *Report) metricAt(k int) string {
	if k < len(r.Goal.Objectives) {
		return r.Goal.Objectives[k].Metric
	}
	return r.Goal.Constraints[k-len(r.Goal.Objectives)].Metric
}

func rankWord(t *Tried) string {
	switch {
	case t.Same:
		return "the same schedule as now"
	case t.Rank > 0:
		return fmt.Sprint(t.Rank)
	case t.Role == Current:
		return "–"
	}
	return "out: " + t.Out
}

func (r *Report) pageHow(p *draft) {
	p.head("How it was found")
	for _, t := range r.Traces {
		p.say("Trace %s, content %.12s, %d jobs.", t.Name, t.Hash, t.Jobs)
	}
	p.say("%d runs; %d of the %d jobs of the budget; seed %d. All windows of a trace are parts of one replay, which begins with it, so each window meets the backlog that the candidate has left, and the load goes on behind it.", r.Runs, r.Replayed, r.Budget, r.Seed)
	var goals []string
	for _, o := range r.Goal.Objectives {
		goals = append(goals, string(o.Direction)+" "+o.Metric)
	}
	for _, c := range r.Goal.Constraints {
		goals = append(goals, fmt.Sprintf("%s %s %s", c.Metric, c.Relation, said(metric.Number(c.Value), c.Metric)))
	}
	p.say("Goal: %s.", strings.Join(goals, "; "))
	p.say("A change is recommended from a gain of %s on.", portion(r.Margin))
	if r.NoGroupWorse.Defined() {
		p.say("No group with 1 %% of the work may wait more than %s longer.", portion(r.NoGroupWorse))
	}
	if len(r.Varied) > 0 {
		p.say("Settings that were varied: %s.", strings.Join(r.Varied, "; "))
	}
	for _, f := range r.Floors {
		p.say("Jittered arrivals alone move %s by %s, at most %s (%.1f %%): %d replicas, each submission moved by up to %s.", f.Metric,
			said(f.Value, f.Metric), said(f.High, f.Metric), 100*float64(f.Share), r.Replicas, model.Duration(r.JitterUS))
	}
	if r.Goal.ofServices() {
		p.say("With jittered arrivals each replica also has other requests of the services, drawn anew.")
	}
	if len(r.Windows) == 0 {
		return
	}
	least, most := r.Windows[0].Jobs, r.Windows[0].Jobs
	for i := range r.Windows {
		least, most = min(least, r.Windows[i].Jobs), max(most, r.Windows[i].Jobs)
	}
	p.say("%d windows of %d to %d jobs, from the first submission to the last.", len(r.Windows), least, most)
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Aside != "" {
			p.say("The window from %s to %s is left out: %s.", w.Begin, w.End, w.Aside)
		}
	}
}
