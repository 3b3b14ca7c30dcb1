package tune

import (
	"fmt"
	"slices"
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
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

// sign turns a gain in objective k into a difference.
func (r *Report) sign(k int) metric.Number {
	if r.Goal.Objectives[k].Direction == search.Maximise {
		return 1
	}
	return -1
}

func (r *Report) pageChanges(p *page) {
	if len(r.Changes) == 0 {
		return
	}
	p.head("What changes")
	if r.Decision != Change {
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
	var rows, out [][]string
	for i := range r.Finalists {
		f := &r.Finalists[i]
		for k := range f.Lines {
			l := &f.Lines[k]
			verdict := l.Verdict.String() + ": " + l.Reason
			if f.Broken != "" {
				verdict = "out: " + f.Broken
			}
			end := metric.Undefined
			if w, _ := r.whole(f, l.Metric); w != nil {
				end = w.Relative
			}
			rows = append(rows, append(append([]string{f.Name}, lineCells(l)...), percent(end), verdict, percent(r.sign(k)*f.Fits[k].Tuned.Estimate), fitWord(f.Fits[k])))
		}
		if len(f.Lines) == 0 {
			out = append(out, []string{f.Name, f.Broken})
		}
	}
	if len(rows) > 0 {
		p.say("The finalists against the current policy on %d acceptance windows, which have no part in the search, each with %d jittered replicas of both sides. Intervals are of the change (%.0f %%); p is corrected for all lines of this table; noise is the part of the variance that jittered arrivals make. An interval in its unit that says another thing of the sign than that in per cent ends at 0. End to end is the whole trace as orrery replay has it.",
			r.Counted(ForAcceptance), r.Replicas, 100*r.Confidence)
		p.table([]string{"candidate", "metric", "now", "then", "change", "interval", "in its unit", "noise", "p", "end to end", "verdict", "on tuning windows", "overfitted"}, rows)
	}
	if len(out) > 0 {
		p.say("Candidates that were better on the tuning windows, and break a bound when the whole trace is replayed:")
		p.table([]string{"candidate", "why it is out"}, out)
	}
	r.pageConstraints(p)
	r.pageWhole(p)
	r.pageAgain(p)
	if len(r.Secondary) == 0 {
		return
	}
	p.say("What else %s changes on the same windows (p corrected for all lines of this table):", r.About)
	rows = nil
	for i := range r.Secondary {
		rows = append(rows, append(lineCells(&r.Secondary[i]), r.Secondary[i].Verdict.String()))
	}
	p.table([]string{"metric", "now", "then", "change", "interval", "in its unit", "noise", "p", "verdict"}, rows)
}

// pageConstraints says which constraints the finalists keep, and by how much.
func (r *Report) pageConstraints(p *page) {
	var rows [][]string
	for i := range r.Finalists {
		f := &r.Finalists[i]
		for j := range f.Constraints {
			k := &f.Constraints[j]
			for _, on := range []struct {
				where string
				*KeptOn
			}{{"whole trace", &k.Whole}, {"worst acceptance window", &k.Windows}} {
				rows = append(rows, []string{
					f.Name, k.Metric + " " + string(k.Relation) + " " + said(metric.Number(k.Asked), k.Metric), on.where, said(on.Bound, k.Metric), said(on.Now, k.Metric), said(on.Then, k.Metric), percent(on.Beyond), k.word(on.KeptOn),
				})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	p.say("Bounds. What the current policy breaks may be broken as far; a bound that was not asked for may be exceeded by half of what it is now. Beyond says how far a value is beyond what is to hold; below 0 it is kept by so much.")
	p.table([]string{"candidate", "bound", "on", "to hold", "now", "then", "beyond", ""}, rows)
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

// pageAgain says how the decision holds over other windows, replicas and loads.
func (r *Report) pageAgain(p *page) {
	if len(r.Again) > 0 {
		p.say("Decided again between the finalists, from the same runs:")
		var rows [][]string
		for _, a := range r.Again {
			rows = append(rows, []string{a.Windows, a.Replicas, or(a.Choice, "none")})
		}
		p.table([]string{"windows", "replicas", "choice"}, rows)
	}
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

func fitWord(f Fit) string {
	if f.Shown {
		return "shown, gap " + percent(f.Gap.Estimate)
	}
	return "not shown"
}

// lineCells are metric, now, then, change in percent with its interval, the
// interval in the unit of the metric, noise and p.
func lineCells(l *Line) []string {
	name := l.Metric
	if l.Unit != "" && l.Unit != "s" {
		name += " (" + l.Unit + ")"
	}
	say := func(x float64) string { return said(metric.Number(x), l.Metric) }
	return []string{
		name, say(float64(l.Now.Estimate)), say(float64(l.Then.Estimate)), percent(l.Relative.Estimate), percents(l.Relative),
		span(l.Difference, say), portion(l.Noise), figure(float64(l.P)),
	}
}

// mostNamed groups stand in a sentence.
const mostNamed = 10

func (r *Report) pageGroups(p *page) {
	if len(r.Groups) == 0 {
		return
	}
	p.head("For which jobs")
	p.say("%s against the current policy. The change of the mean wait has its interval on the acceptance windows, p is corrected for all lines of this table; the other columns are of the whole trace. Sizes are in the units that a job asks for. Of users the %d with the most work are told.", r.About, 20)
	for _, side := range []struct {
		word string
		is   func(g *GroupLine) bool
	}{
		{"Longer", func(g *GroupLine) bool { return g.Verdict == stat.Worse || g.Of("wait_mean").Relative >= longerBy }},
		{"Shorter", func(g *GroupLine) bool { return g.Verdict == stat.Better || g.Of("wait_mean").Relative <= -longerBy }},
	} {
		var names []string
		for i := range r.Groups {
			if g := &r.Groups[i]; side.is(g) {
				text := fmt.Sprintf("%s %s (%s", kindWord(g.By), g.Name, percent(g.Of("wait_mean").Relative))
				if g.Verdict == stat.NotEnoughEvidence {
					text += ", not shown by the windows"
				}
				names = append(names, text+")")
			}
		}
		if n := len(names) - mostNamed; n > 0 {
			names = append(names[:mostNamed], fmt.Sprintf("and %d more, see the table", n))
		}
		if len(names) == 0 {
			names = []string{"no group"}
		}
		p.say("%s mean wait: %s.", side.word, strings.Join(names, ", "))
	}
	rows := make([][]string, len(r.Groups))
	for i := range r.Groups {
		g := &r.Groups[i]
		row := []string{kindWord(g.By) + " " + g.Name, fmt.Sprint(g.Jobs), portion(g.PartOfWork)}
		for _, name := range groupMetrics[:4] {
			l := g.Of(name)
			row = append(row, said(l.Now, name)+" → "+said(l.Then, name))
		}
		rows[i] = append(row, percent(g.Of("wait_mean").Relative), percents(g.Relative), figure(float64(g.P)), g.Verdict.String())
		if len(r.Traces) > 1 {
			rows[i][0] = r.Traces[g.Trace].Name + ": " + rows[i][0]
		}
	}
	p.table([]string{"jobs by", "jobs", "of the work", "mean wait", "p95 wait", "p99 wait", "longest wait", "change of the mean", "interval on windows", "p", "verdict"}, rows)
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
	p.say("On the tuning windows. Candidates with fewer windows were eliminated early; means over different windows do not compare. A candidate is out when its queue grows without end and that of the current policy does not. Jobs that still waited %s after the windows count with their wait so far.", model.Duration(r.FollowUS))
	head := []string{"candidate", "windows"}
	for _, o := range r.Goal.Objectives {
		head = append(head, o.Metric)
	}
	for _, c := range r.Goal.Constraints {
		head = append(head, c.Metric+worstOf)
	}
	head = append(head, "still waiting", "rank")
	rows := make([][]string, len(r.Tried))
	for i := range r.Tried {
		t := &r.Tried[i]
		row := []string{t.Name, fmt.Sprint(t.Windows)}
		for k, m := range t.Metrics {
			row = append(row, said(m, r.metricAt(k)))
		}
		rows[i] = append(row, fmt.Sprint(t.Waiting), rankWord(t))
	}
	p.table(head, rows)
	if len(r.Search) > 0 {
		p.say("The search (%s, batches of %d) tried %d points on its windows, of which the best entered the race.", r.Method, r.Batch, len(r.Search))
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
	case t.Rank > 0:
		return fmt.Sprint(t.Rank)
	case t.Overloaded:
		return "overloaded"
	case !slices.ContainsFunc(t.Metrics, metric.Number.Defined):
		return "not compared"
	case !t.Feasible:
		return "breaks a constraint"
	}
	return "eliminated early"
}

func (r *Report) pageHow(p *page) {
	p.head("How it was found")
	for _, t := range r.Traces {
		p.say("Trace %s, content %.12s. %s of it before the first window warm the cluster up.", t.Name, t.Hash, model.Duration(t.LeadUS))
	}
	p.say("%d runs; seed %d. All windows of a trace are parts of one replay, which begins with it, so each window meets the backlog that the candidate has left, and the load goes on behind it.", r.Runs, r.Seed)
	var goals []string
	for _, o := range r.Goal.Objectives {
		goals = append(goals, string(o.Direction)+" "+o.Metric)
	}
	for _, c := range r.Goal.Constraints {
		goals = append(goals, fmt.Sprintf("%s %s %s in each window and on the whole trace", c.Metric, c.Relation, said(metric.Number(c.Value), c.Metric)))
	}
	p.say("Goal: %s.", strings.Join(goals, "; "))
	if len(r.Varied) > 0 {
		p.say("Settings that were varied: %s.", strings.Join(r.Varied, "; "))
	}
	for _, f := range r.Floors {
		p.say("Jittered arrivals alone move %s on the %s windows by %s, at most %s (%.1f %%): %d replicas, each submission moved by up to %s.", f.Metric, f.Windows,
			said(f.Value, f.Metric), said(f.High, f.Metric), 100*float64(f.Share), r.Replicas, model.Duration(r.JitterUS))
	}
	if r.Goal.ofServices() {
		p.say("With jittered arrivals each replica also has other requests of the services, drawn anew.")
	}
	var rows [][]string
	for i := range r.Windows {
		w := &r.Windows[i]
		rows = append(rows, []string{w.Set, w.Begin.String(), w.End.Sub(w.Begin).String(), fmt.Sprint(w.Jobs), or(w.Aside, "counts")})
	}
	if len(rows) > 0 {
		p.table([]string{"window", "begins", "length", "jobs", ""}, rows)
	}
}
