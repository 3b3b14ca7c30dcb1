package tune

import (
	"fmt"
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
)

// page writes Markdown.
type page struct {
	strings.Builder
}

func (p *page) say(format string, args ...any) { fmt.Fprintf(p, format+"\n\n", args...) }

func (p *page) head(title string) { p.say("## %s", title) }

// table writes a table; cells hold no line feeds.
func (p *page) table(head []string, rows [][]string) {
	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		p.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(head)
	p.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, r := range rows {
		line(r)
	}
	p.WriteString("\n")
}

// Markdown is the page: what changes, for whom it gets better and worse, how sure,
// what it costs.
func (r *Report) Markdown() []byte {
	p := &page{}
	p.say("# %s", r.Title())
	for _, s := range r.Summary() {
		p.say("%s", s)
	}
	r.pageChanges(p)
	r.pageFinalists(p)
	r.pageGroups(p)
	r.pageCost(p)
	r.pageSensitivity(p)
	r.pageTried(p)
	r.pageHow(p)
	return []byte(strings.TrimRight(p.String(), "\n") + "\n")
}

// Title is the recommendation in a few words.
func (r *Report) Title() string {
	switch r.Decision {
	case Change:
		return "Change to: " + r.Chosen
	case Keep:
		return "Keep what you have"
	}
	return "Keep what you have, for lack of evidence"
}

// Summary is the recommendation in a few sentences.
func (r *Report) Summary() []string {
	out := []string{strings.ToUpper(r.Why[:1]) + r.Why[1:] + "."}
	for i := range r.Finalists {
		f := &r.Finalists[i]
		if f.Name != r.About {
			continue
		}
		for k, l := range f.Lines {
			fit := f.Fits[k]
			out = append(out, fmt.Sprintf("%s, %s: from %s to %s, %s (%.0f %% interval %s to %s) on the acceptance windows; on the tuning windows it was %s. Verdict: %v, %s.",
				f.Name, l.Metric, said(l.Now.Estimate, l.Metric), said(l.Then.Estimate, l.Metric), percent(l.Relative.Estimate), 100*r.Confidence,
				percent(l.Relative.Low), percent(l.Relative.High), percent(r.sign(k)*fit.Tuned.Estimate), l.Verdict, l.Reason))
		}
		if f.Broken != "" {
			out = append(out, f.Name+" is out: "+f.Broken+".")
		}
	}
	if inert := r.Inert(); len(inert) > 0 {
		out = append(out, "Inert here, whatever their value: "+strings.Join(inert, ", ")+".")
	}
	return out
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
		p.say("Nothing. The one that came closest, %s, would change this:", r.About)
	}
	rows := make([][]string, len(r.Changes))
	for i, c := range r.Changes {
		rows[i] = []string{or(c.VCluster, "–"), c.Key, or(c.Before, "–"), or(c.After, "–")}
	}
	p.table([]string{"vCluster", "key", "now", "then"}, rows)
}

func (r *Report) pageFinalists(p *page) {
	if len(r.Finalists) == 0 {
		return
	}
	p.head("How sure")
	p.say("The finalists of the tuning windows against what runs now, on %d acceptance windows that had no part in finding them. Intervals are of the mean difference (%.0f %%); p is corrected for all lines of this table; nothing below the noise is called a gain.",
		r.Counted(ForAcceptance), 100*r.Confidence)
	var rows [][]string
	for i := range r.Finalists {
		f := &r.Finalists[i]
		for k, l := range f.Lines {
			verdict := l.Verdict.String() + ": " + l.Reason
			if f.Broken != "" {
				verdict = "out: " + f.Broken
			}
			rows = append(rows, append(append([]string{f.Name}, lineCells(&l)...), verdict, percent(r.sign(k)*f.Fits[k].Tuned.Estimate), fitWord(f.Fits[k])))
		}
	}
	p.table([]string{"candidate", "metric", "now", "then", "difference", "interval", "in its unit", "noise", "p", "verdict", "on tuning windows", "overfitted"}, rows)
	r.pageConstraints(p)
	if len(r.Besides) == 0 {
		return
	}
	p.say("What else %s changes on the same windows (p corrected for all lines of this table):", r.About)
	rows = nil
	for _, l := range r.Besides {
		rows = append(rows, append(lineCells(&l), l.Verdict.String()))
	}
	p.table([]string{"metric", "now", "then", "difference", "interval", "in its unit", "noise", "p", "verdict"}, rows)
}

// pageConstraints says which constraints the finalists keep, and by how much.
func (r *Report) pageConstraints(p *page) {
	var rows [][]string
	for i := range r.Finalists {
		for _, k := range r.Finalists[i].Constraints {
			word := "kept"
			switch {
			case !k.Then.Defined() && k.Holds:
				word = "no window has a value"
			case !k.Holds:
				word = "broken"
			}
			beyond := "–"
			if k.Beyond.Defined() {
				beyond = percent(k.Beyond)
			}
			rows = append(rows, []string{r.Finalists[i].Name, k.Metric, string(k.Relation) + " " + said(k.Bound, k.Metric), said(k.Now, k.Metric), said(k.Then, k.Metric), beyond, word})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.say("Constraints in the worst acceptance window. Beyond says how far that is beyond the bound; below 0 it is kept by so much.")
	p.table([]string{"candidate", "metric", "to hold", "now", "then", "beyond", ""}, rows)
}

func fitWord(f Fit) string {
	if f.Shown {
		return "shown, gap " + percent(f.Gap.Estimate)
	}
	return "not shown"
}

// lineCells are metric, now, then, difference in percent with its interval, the
// interval in the unit of the metric, noise and p.
func lineCells(l *Line) []string {
	name := l.Metric
	if l.Unit != "" && l.Unit != "s" {
		name += " (" + l.Unit + ")"
	}
	say := func(x float64) string { return amount(metric.Number(x), l.Unit) }
	return []string{
		name, say(float64(l.Now.Estimate)), say(float64(l.Then.Estimate)), percent(l.Relative.Estimate), span(l.Relative, func(x float64) string { return percent(metric.Number(x)) }),
		span(l.Difference, say), say(float64(l.Floor)), figure(float64(l.P)),
	}
}

func (r *Report) pageGroups(p *page) {
	if len(r.Groups) == 0 {
		return
	}
	p.head("For whom")
	p.say("%s against what runs now on the acceptance windows, by parts of the work. Sizes are in the units that a job asks for. p is corrected for all lines of this table.", r.About)
	for _, verdict := range []stat.Verdict{stat.Worse, stat.Better} {
		var who []string
		for i := range r.Groups {
			if g := &r.Groups[i]; g.Verdict == verdict {
				who = append(who, fmt.Sprintf("%s %s (%s %s)", g.By, g.Name, g.Metric, percent(g.Relative.Estimate)))
			}
		}
		if len(who) == 0 {
			who = []string{"nobody beyond doubt"}
		}
		word := verdict.String()
		p.say("%s for: %s.", strings.ToUpper(word[:1])+word[1:], strings.Join(who, ", "))
	}
	rows := make([][]string, len(r.Groups))
	for i := range r.Groups {
		g := &r.Groups[i]
		rows[i] = append(append([]string{g.By + " " + g.Name, fmt.Sprint(g.Jobs)}, lineCells(&g.Line)...), g.Verdict.String())
	}
	p.table([]string{"group", "jobs", "metric", "now", "then", "difference", "interval", "in its unit", "noise", "p", "verdict"}, rows)
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
	p.table([]string{"on the acceptance windows", "now", "then", "difference"}, [][]string{
		row("passes", now.Passes, then.Passes), row("waiting jobs looked at", now.Examined, then.Examined),
	})
}

func (r *Report) pageTried(p *page) {
	if len(r.Tried) == 0 {
		return
	}
	p.head("What was tried")
	left := "when it was worse than the leader beyond doubt"
	if r.Race == search.Halving {
		left = "when two thirds had to, being the worse"
	}
	p.say("On the tuning windows. Who has fewer of them left the race %s; means over different windows do not compare. Who is overloaded in more windows than chance explains has no rank.", left)
	head := []string{"candidate", "windows"}
	for _, o := range r.Goal.Objectives {
		head = append(head, o.Metric)
	}
	for _, c := range r.Goal.Constraints {
		head = append(head, c.Metric+worstOf)
	}
	head = append(head, "rank")
	rows := make([][]string, len(r.Tried))
	for i := range r.Tried {
		t := &r.Tried[i]
		row := []string{t.Name, fmt.Sprint(t.Windows)}
		for k, m := range t.Metrics {
			row = append(row, said(m, r.metricAt(k)))
		}
		rows[i] = append(row, rankWord(t))
	}
	p.table(head, rows)
	if len(r.Search) > 0 {
		p.say("The search (%s) tried %d points, of which the best entered the race.", r.Method, len(r.Search))
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
	case t.Overloaded > 0:
		return fmt.Sprintf("overloaded in %d windows", t.Overloaded)
	case !t.Feasible:
		return "breaks a constraint"
	}
	return "left the race"
}

func (r *Report) pageHow(p *page) {
	p.head("How it was found")
	p.say("Trace %s, content %.12s; %d runs of windows; seed %d.", r.Trace, r.Hash, r.Runs, r.Seed)
	var goals []string
	for _, o := range r.Goal.Objectives {
		goals = append(goals, string(o.Direction)+" "+o.Metric)
	}
	for _, c := range r.Goal.Constraints {
		goals = append(goals, fmt.Sprintf("%s %s %s in each window", c.Metric, c.Relation, said(metric.Number(c.Value), c.Metric)))
	}
	p.say("Goal: %s.", strings.Join(goals, "; "))
	if len(r.Varied) > 0 {
		p.say("Settings that were varied: %s.", strings.Join(r.Varied, "; "))
	}
	for _, f := range r.Floors {
		p.say("Noise of %s on the %s windows: %s, at most %s (%.1f %%), from %d replicas with arrivals shaken by up to %s.", f.Metric, f.Windows,
			said(f.Value, f.Metric), said(f.High, f.Metric), 100*float64(f.Share), r.Replicas, model.Duration(r.ShakeUS))
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
