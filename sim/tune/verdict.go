package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
)

// Title is the recommendation in a few words.
func (r *Report) Title() string {
	switch {
	case r.Decision == Change && len(r.Equal) > 1:
		return fmt.Sprintf("Leave %s: %s are equally good", r.Current, list(r.Equal))
	case r.Decision == Change:
		return "Change to: " + r.Chosen
	case r.Decision == Keep:
		return "Keep the current policy: " + r.Current
	}
	return "Keep the current policy, for lack of evidence: " + r.Current
}

// list writes words one behind the other.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Summary is the recommendation in a few sentences: the trade first, then what it
// rests on.
func (r *Report) Summary() []string {
	var out []string
	f := r.about()
	if f != nil && r.Decision == Change {
		out = append(out, r.Trade())
		for i := range r.Finalists {
			if o := &r.Finalists[i]; o.Name != f.Name && slices.Contains(r.Equal, o.Name) {
				out = append(out, "Or "+r.trade(o, "")+".")
			}
		}
		out = append(out, capital(r.Why)+".")
	} else {
		out = append(out, capital(r.Why)+".")
		if f != nil {
			closest := "What came closest: "
			if gain := better(r.Goal.Objectives[0].Direction).Gain(float64(f.Lines[0].Relative.Estimate)); !(gain > 0) {
				closest = "None was better on the acceptance windows. What came closest: "
			}
			out = append(out, closest+r.Trade())
		}
	}
	if len(r.Overloaded) > 0 {
		text := fmt.Sprintf("The current policy is overloaded on %s: its waits grow with the length of the log.", list(r.Overloaded))
		if r.Decision == Change {
			text += " Expect this change only of a log as long as this one."
		}
		out = append(out, text)
	}
	out = append(out, r.boundSentences()...)
	if s := r.againSentence(); s != "" {
		out = append(out, s)
	}
	if s := r.loadSentence(); s != "" {
		out = append(out, s)
	}
	idle, withinNoise := r.inertSettings()
	if len(idle) > 0 {
		out = append(out, "Change nothing here, whatever their value: "+strings.Join(idle, ", ")+".")
	}
	if len(withinNoise) > 0 {
		out = append(out, "What these change is within the noise of jittered arrivals: "+strings.Join(withinNoise, ", ")+".")
	}
	return out
}

// about is the finalist that the report tells of.
func (r *Report) about() *Finalist {
	i := slices.IndexFunc(r.Finalists, func(f Finalist) bool { return f.Name == r.About && len(f.Lines) > 0 })
	if i < 0 {
		return nil
	}
	return &r.Finalists[i]
}

// Trade says in one sentence what the recommendation wins, and which jobs pay for
// it.
func (r *Report) Trade() string {
	f := r.about()
	if f == nil {
		return ""
	}
	return r.trade(f, r.price()) + "."
}

// trade says what a finalist wins, at which price: groups are known of the one that the
// report tells of.
func (r *Report) trade(f *Finalist, price string) string {
	l := &f.Lines[0]
	text := fmt.Sprintf("%s: %s %s%s on %d acceptance windows, %.0f %% interval %s", f.Name, l.Metric, percent(l.Relative.Estimate), r.levels(l), l.Windows,
		100*r.Confidence, percents(l.Relative))
	if l.Verdict == stat.NotEnoughEvidence && l.P.Defined() { // the interval is of one comparison, p of all of them
		text += fmt.Sprintf(", p %s corrected for all candidates", figure(float64(l.P)))
	}
	if w, where := r.whole(f, l.Metric); w != nil {
		text += fmt.Sprintf("; %s from end to end%s", percent(w.Relative), where)
	}
	if price != "" {
		text += "; " + price
	}
	if w, where := r.whole(f, "wait_max"); w != nil {
		text += fmt.Sprintf("; the longest wait%s goes from %s to %s", where, said(w.Now, "wait_max"), said(w.Then, "wait_max"))
	}
	return text
}

// levels are the two levels of a line in brackets; of several traces there is none but
// the ratio.
func (r *Report) levels(l *Line) string {
	if len(r.Traces) > 1 {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", said(l.Now.Estimate, l.Metric), said(l.Then.Estimate, l.Metric))
}

// whole is the line of a number over a whole trace, nil where there is none: of several
// traces the one on which it changes for the worse the most, or gains least, and where
// that is.
func (r *Report) whole(f *Finalist, name string) (worst *WholeLine, where string) {
	sign := metric.Number(1)
	if r.directionOf(name) == search.Maximise {
		sign = -1
	}
	for i := range f.Whole {
		l := &f.Whole[i]
		if l.Metric == name && (worst == nil || sign*l.Relative > sign*worst.Relative) {
			worst = l
		}
	}
	if worst != nil && len(r.Traces) > 1 {
		where = " on " + r.Traces[worst.Trace].Name
	}
	return worst, where
}

// directionOf is the way in which a number is better, as the goal has it.
func (r *Report) directionOf(name string) search.Direction {
	for _, o := range r.Goal.Objectives {
		if o.Metric == name {
			return o.Direction
		}
	}
	return DirectionOf(name)
}

// mostPayers are named in a sentence.
const mostPayers = 4

// payers are the groups that wait longer, of the first kind that has some, those with
// the most work first: by run time first, for in that the orders differ most. Others is
// how many more there are, by kind.
func (r *Report) payers() (first []*GroupLine, others string) {
	var rest []string
	for _, by := range []string{metric.ByRuntime, metric.BySize, metric.ByVCluster, metric.ByTenant, metric.ByClass, metric.ByUser} {
		harmed := r.Harmed(by)
		if len(first) == 0 && len(harmed) > 0 {
			slices.SortStableFunc(harmed, func(a, b *GroupLine) int { return cmp.Compare(b.PartOfWork, a.PartOfWork) })
			first = harmed[:min(len(harmed), mostPayers)]
			harmed = harmed[len(first):]
		}
		if n := len(harmed); n > 0 {
			rest = append(rest, fmt.Sprintf("%d by %s", n, kindWord(by)))
		}
	}
	if len(rest) > 0 {
		others = "and of other groups " + list(rest)
	}
	return first, others
}

// price says which jobs wait longer.
func (r *Report) price() string {
	payers, others := r.payers()
	if len(payers) == 0 {
		return fmt.Sprintf("no group by run time, size, vCluster, tenant, class or user waits %.0f %% longer, or significantly longer", 100*longerBy)
	}
	var parts []string
	for _, g := range payers {
		w := g.Of("wait_mean")
		longer := "wait longer on the acceptance windows"
		if w.Relative > 0 {
			longer = "wait " + portion(w.Relative) + " longer"
		}
		parts = append(parts, fmt.Sprintf("%s %s (mean %s to %s)", r.words(g), longer, said(w.Now, "wait_mean"), said(w.Then, "wait_mean")))
	}
	text := strings.Join(parts, ", ")
	if others != "" {
		text += ", " + others
	}
	return text
}

// words name a group of jobs, with its part of them and of their work.
func (r *Report) words(g *GroupLine) string {
	text := fmt.Sprintf("jobs of %s %s", kindWord(g.By), g.Name)
	switch {
	case g.By == metric.ByRuntime && g.Name == metric.LongRuntime:
		text = "jobs of 6 h and more"
	case g.By == metric.ByRuntime:
		text = "jobs that run for " + g.Name
	}
	if len(r.Traces) > 1 {
		text += " on " + r.Traces[g.Trace].Name
	}
	if g.PartOfWork.Defined() {
		return fmt.Sprintf("%s (%s of the jobs, %s of the work)", text, portion(g.PartOfJobs), portion(g.PartOfWork))
	}
	return text
}

func kindWord(by string) string {
	if by == metric.ByRuntime {
		return "run time"
	}
	return by
}

// portion writes a part without a sign.
func portion(n metric.Number) string {
	if !n.Defined() {
		return "–"
	}
	x := 100 * float64(n)
	if x < 10 {
		return fmt.Sprintf("%.1f %%", x)
	}
	return fmt.Sprintf("%.0f %%", x)
}

// boundSentences say of each constraint whether the candidate of the report keeps it,
// on the whole trace and on the windows.
func (r *Report) boundSentences() []string {
	f := r.about()
	if f == nil {
		return nil
	}
	var out []string
	for i := range f.Constraints {
		k := &f.Constraints[i]
		if !k.Whole.Then.Defined() && !k.Windows.Then.Defined() {
			continue
		}
		text := fmt.Sprintf("Bound %s %s %s: %s on the whole trace (%s, now %s), %s in the worst acceptance window (%s, now %s).",
			k.Metric, k.Relation, said(metric.Number(k.Asked), k.Metric),
			k.word(&k.Whole), said(k.Whole.Then, k.Metric), said(k.Whole.Now, k.Metric), k.word(&k.Windows), said(k.Windows.Then, k.Metric), said(k.Windows.Now, k.Metric))
		if r.Bounds[i].Default && float64(k.Whole.Bound) != k.Asked {
			text += fmt.Sprintf(" It was not asked for, so the whole trace may come to %s.", said(k.Whole.Bound, k.Metric))
		}
		out = append(out, text)
	}
	return out
}

// word says whether what was asked for is kept. It is not where the current policy
// breaks it as well.
func (k *Kept) word(on *KeptOn) string {
	asked := search.Constraint{Metric: k.Metric, Relation: k.Relation, Value: k.Asked}
	switch {
	case !on.Then.Defined() && on.Holds:
		return "no value"
	case !on.Holds:
		return "broken"
	case asked.Beyond(float64(on.Then)) <= 0:
		return "kept"
	case on.Now.Defined() && asked.Beyond(float64(on.Now)) > 0 && asked.Beyond(float64(on.Then)) <= asked.Beyond(float64(on.Now)):
		return "broken no further than now"
	case on.Now.Defined() && asked.Beyond(float64(on.Now)) > 0:
		return "broken further than now, within its slack"
	}
	return "exceeded within its slack"
}

// againSentence says how often the same choice was made.
func (r *Report) againSentence() string {
	if len(r.Again) == 0 {
		return ""
	}
	counts := map[string]int{}
	for _, a := range r.Again {
		counts[a.Choice]++
	}
	var parts []string
	for _, f := range r.Finalists {
		if n := counts[f.Name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", f.Name, n))
		}
	}
	if n := counts[""]; n > 0 {
		parts = append(parts, fmt.Sprintf("none in %d", n))
	}
	return fmt.Sprintf("Decided again over %d other sets of windows and replicas: %s.", len(r.Again), list(parts))
}

// loadSentence gives the gain under other loads.
func (r *Report) loadSentence() string {
	if len(r.Loads) == 0 {
		return ""
	}
	var parts []string
	for _, l := range r.Loads {
		text := fmt.Sprintf("%s at %g", percent(l.Relative.Estimate), l.Load)
		if l.Overloaded != "" {
			text += " (overloaded under the " + l.Overloaded + ")"
		}
		parts = append(parts, text)
	}
	text := fmt.Sprintf("Under other loads %s of the whole trace changes by %s of the load (means of %d runs).", r.Goal.Objectives[0].Metric, list(parts), loadReplicas+1)
	if turns := r.turns(); len(turns) > 0 {
		var at []string
		for _, l := range turns {
			at = append(at, fmt.Sprintf("%g", l.Load))
		}
		text += " No gain at " + list(at) + "."
	}
	return text
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
