package tune

import (
	"fmt"
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/losers"
	"orrery/sim/metric"
)

// Section is a part of the page under a title.
type Section struct {
	Title string
	Parts []Part
}

// Part is a paragraph, or a table where it has a head.
type Part struct {
	Text string
	Head []string
	Rows [][]string
}

// page gathers sections.
type page struct{ sections []Section }

func (p *page) head(title string) { p.sections = append(p.sections, Section{Title: title}) }

func (p *page) add(part Part) {
	last := &p.sections[len(p.sections)-1]
	last.Parts = append(last.Parts, part)
}

func (p *page) say(format string, args ...any) { p.add(Part{Text: fmt.Sprintf(format, args...)}) }

// table adds a table; cells hold no line feeds.
func (p *page) table(head []string, rows [][]string) { p.add(Part{Head: head, Rows: rows}) }

// markdown writes a part.
func (p *Part) markdown(w *strings.Builder) {
	if p.Head == nil {
		w.WriteString(p.Text + "\n\n")
		return
	}
	line := func(cells []string) {
		w.WriteString("|")
		for _, c := range cells {
			w.WriteString(" " + strings.ReplaceAll(c, "|", "\\|") + " |")
		}
		w.WriteString("\n")
	}
	line(p.Head)
	w.WriteString("|" + strings.Repeat("---|", len(p.Head)) + "\n")
	for _, r := range p.Rows {
		line(r)
	}
	w.WriteString("\n")
}

// Markdown is the page: what changes, for which jobs it gets better and worse, how
// sure that is, what it costs.
func (r *Report) Markdown() []byte {
	var w strings.Builder
	w.WriteString("# " + r.Title() + "\n\n")
	for _, s := range r.Unheeded {
		w.WriteString("**UNHEEDED**: " + s + "\n\n")
	}
	for _, s := range r.Summary() {
		w.WriteString(s + "\n\n")
	}
	for _, s := range r.Sections() {
		w.WriteString("## " + s.Title + "\n\n")
		for i := range s.Parts {
			s.Parts[i].markdown(&w)
		}
	}
	return []byte(strings.TrimRight(w.String(), "\n") + "\n")
}

// Sections are what stands under the summary.
func (r *Report) Sections() []Section {
	p := r.deciding()
	r.pageSensitivity(p)
	r.pageTried(p)
	r.pageHow(p)
	return p.sections
}

// Deciding are the sections that say what to do: what changes, for which jobs, how
// sure that is and what it costs.
func (r *Report) Deciding() []Section { return r.deciding().sections }

func (r *Report) deciding() *page {
	p := &page{}
	r.pageChanges(p)
	r.pageGroups(p)
	r.pageFinalists(p)
	r.pageCost(p)
	return p
}

func (r *Report) pageChanges(p *page) {
	if len(r.Changes) == 0 {
		return
	}
	p.head("What changes")
	if r.Verdict != Change {
		p.say("Nothing. The candidate that came closest, %s, would change this:", r.About)
	}
	head := []string{"vCluster", "key", "now", "then"}
	var rows [][]string
	plain := true
	for _, c := range r.ChangesInShort() {
		plain = plain && c.VCluster == ""
		rows = append(rows, []string{or(c.VCluster, "–"), c.Key, or(c.Before, "–"), or(c.After, "–")})
	}
	if plain {
		head = head[1:]
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	p.table(head, rows)
}

func (r *Report) pageFinalists(p *page) {
	if len(r.Finalists) == 0 {
		return
	}
	p.head("How sure")
	p.say("One test of the %d candidates that keep their bounds, over %d windows of equal numbers of jobs (dependence of windows φ %s). p is how often chance alone does as much for one of them. Windows is the change where each window weighs alike, sums where each job does: both must say the same. Over replicas submissions are moved by up to %s.",
		r.Tested, r.Counted(), figure(float64(r.Dependence)), model.Duration(r.JitterUS))
	rows := make([][]string, len(r.Finalists))
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
		rows[i] = []string{
			f.Name, percent(end), chance(f.P), percent(f.Windows), percent(f.Sums), portion(f.Replicas.Mean), portion(f.Replicas.Low) + " to " + portion(f.Replicas.High), portion(f.Replicas.SD), r.mostHarmed(f), verdict,
		}
	}
	p.table([]string{"candidate", "whole log", "p", "windows", "sums", "gain over replicas", "interval", "one replay ±", "loses most", "verdict"}, rows)
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
func (r *Report) pageLines(p *page) {
	var rows [][]string
	for i := range r.Finalists {
		f := &r.Finalists[i]
		for k := range f.Lines {
			rows = append(rows, append([]string{f.Name}, lineCells(&f.Lines[k])...))
		}
	}
	head := []string{"metric", "now", "then", "change", "interval", "in its unit", "noise"}
	p.say("Intervals of the change (%.0f %%) over windows and replicas; noise is the part of the variance that jittered arrivals make. They decide nothing.", 100*r.Confidence)
	p.table(append([]string{"candidate"}, head...), rows)
	if len(r.Secondary) == 0 {
		return
	}
	p.say("What else %s changes (p corrected for all lines of this table):", r.About)
	rows = nil
	for i := range r.Secondary {
		l := &r.Secondary[i]
		rows = append(rows, append(lineCells(l), chance(l.P), l.Verdict.String()))
	}
	p.table(append(head, "p", "verdict"), rows)
}

// pageBounds says which bounds the finalists keep, and by how much.
func (r *Report) pageBounds(p *page) {
	var rows [][]string
	for i := range r.Finalists {
		f := &r.Finalists[i]
		for j := range f.Bounds {
			b := &f.Bounds[j]
			rows = append(rows, []string{f.Name, b.String(), said(b.Limit, b.Metric), said(b.Now, b.Metric), said(b.Then, b.Metric), percent(b.Beyond), b.word()})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.say("Bounds, on the whole log. What the current policy breaks may be broken as far; a bound that was not asked for may be exceeded by half of what it is now. Beyond says how far a value is beyond what is to hold; below 0 it is kept by so much.")
	p.table([]string{"candidate", "bound", "to hold", "now", "then", "beyond", ""}, rows)
}

// pageWhole has the figures of the whole trace.
func (r *Report) pageWhole(p *page) {
	f := r.about()
	if f == nil {
		return
	}
	p.say("%s from end to end, over all jobs of the trace, as orrery replay has it:", f.Name)
	var rows [][]string
	for _, l := range f.Whole {
		row := []string{l.Metric, said(l.Now, l.Metric), said(l.Then, l.Metric), percent(l.Relative)}
		if len(r.Traces) > 1 {
			row = append([]string{r.Traces[l.Trace].Name}, row...)
		}
		rows = append(rows, row)
	}
	head := []string{"metric", "now", "then", "change"}
	if len(r.Traces) > 1 {
		head = append([]string{"trace"}, head...)
	}
	p.table(head, rows)
}

// pageLoads says how the gain holds under other loads.
func (r *Report) pageLoads(p *page) {
	if len(r.Loads) > 0 {
		name := r.Goal.Objectives[0].Metric
		p.say("%s of %s under other loads: the same jobs with the time between submissions divided by the load; the range is over %d replicas.", name, r.About, loadReplicas+1)
		var rows [][]string
		for _, l := range r.Loads {
			rows = append(rows, []string{fmt.Sprintf("%g", l.Load), said(l.Now, name), said(l.Then, name), percent(l.Relative.Estimate), percent(l.Relative.Low) + " to " + percent(l.Relative.High), l.Overloaded})
		}
		p.table([]string{"load", "now", "then", "change", "range", "overloaded"}, rows)
	}
}

// lineCells are metric, now, then, change in percent with its interval, the
// interval in the unit of the metric, and noise.
func lineCells(l *Line) []string {
	name := l.Metric
	if l.Unit != "" && l.Unit != "s" {
		name += " (" + l.Unit + ")"
	}
	say := func(x float64) string { return said(metric.Number(x), l.Metric) }
	return []string{
		name, say(float64(l.Now.Estimate)), say(float64(l.Then.Estimate)), percent(l.Relative.Estimate), percents(l.Relative),
		span(l.Difference, say), portion(l.Noise),
	}
}

func (r *Report) pageGroups(p *page) {
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
		rows := make([][]string, len(side.list))
		for i := range side.list {
			l := &side.list[i]
			rows[i] = []string{
				byWord(l.By), l.Name, fmt.Sprint(l.Jobs), portion(metric.Number(l.PartOfJobs)), portion(metric.Number(l.PartOfWork)),
				said(metric.Number(l.WaitNow), "wait_mean"), said(metric.Number(l.WaitThen), "wait_mean"), percent(metric.Number(losers.Growth(l.Loser))), fmt.Sprintf("%+.0f", l.Hours),
			}
			if len(r.Traces) > 1 {
				rows[i][1] += " on " + r.Traces[l.Trace].Name
			}
		}
		p.table([]string{"by", "group", "jobs", "of the jobs", "of the work", "mean wait, now", "then", "change", "hours"}, rows)
	}
}

func (r *Report) pageCost(p *page) {
	now, then := r.Work[0], r.Work[1]
	if now.Passes == 0 || then.Passes == 0 {
		return
	}
	p.head("What it costs the scheduler")
	row := func(what string, a, b uint64) []string {
		return []string{what, fmt.Sprint(a), fmt.Sprint(b), percent(metric.Number(float64(b)/float64(a) - 1))}
	}
	p.table([]string{"on the whole trace", "now", "then", "change"}, [][]string{
		row("passes", now.Passes, then.Passes), row("waiting jobs examined", now.Examined, then.Examined),
	})
}

func (r *Report) pageTried(p *page) {
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
	rows := make([][]string, len(r.Tried))
	for i := range r.Tried {
		t := &r.Tried[i]
		row := []string{t.Name}
		for k, m := range t.Metrics {
			row = append(row, said(m, r.metricAt(k)))
		}
		rows[i] = append(row, percent(t.Gain), chance(t.P), or(t.WorstGroup, "–"), portion(t.Worse), rankWord(t))
	}
	p.table(head, rows)
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

func (r *Report) pageHow(p *page) {
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
