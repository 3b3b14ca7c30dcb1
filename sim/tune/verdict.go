package tune

import (
	"fmt"
	"math"
	"strings"

	"orrery/internal/doc"
	"orrery/sim/metric"
	"orrery/sim/search"
)

// Title is the recommendation in a few words.
func (r *Report) Title() string {
	switch r.Verdict {
	case Change:
		return "Change to " + r.About
	case Keep:
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
	if r.Verdict == Change {
		out = append(out, r.Trade(), r.Price(), capital(r.Why)+".")
		out = append(out, r.replicaSentence())
		if len(r.Equal) > 0 {
			out = append(out, fmt.Sprintf("Equally good, as far as jittered arrivals can tell: %s.", list(r.Equal)))
		}
	} else {
		out = append(out, capital(r.Why)+".")
		if s := r.chanceSentence(); s != "" {
			out = append(out, s)
		}
		if r.about() != nil {
			out = append(out, "What came closest: "+r.Trade(), r.Price())
		}
	}
	if len(r.Overloaded) > 0 {
		text := fmt.Sprintf("The current policy is overloaded on %s: its waits grow with the length of the log.", list(r.Overloaded))
		if r.Verdict == Change {
			text += " Expect this change only of a log as long as this one."
		}
		out = append(out, text)
	}
	out = append(out, r.boundSentences()...)
	if s := r.loadSentence(); s != "" {
		out = append(out, s)
	}
	if n := len(r.NotReplayed); n > 0 {
		out = append(out, fmt.Sprintf("The budget of %d jobs did not pay for %d candidates: %s.", r.Budget, n, list(r.NotReplayed)))
	}
	if r.NoGroupWorse.Defined() && r.Verdict == Change {
		out = append(out, fmt.Sprintf("No group of jobs with 1 %% of the work waits more than %s longer.", portion(r.NoGroupWorse)))
	}
	for _, what := range r.LeftOut {
		out = append(out, "Left out, "+what+".")
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
	for i := range r.Finalists {
		if f := &r.Finalists[i]; f.Name == r.About {
			return f
		}
	}
	return nil
}

// Trade says in one sentence what the candidate of the report changes.
func (r *Report) Trade() string {
	f := r.about()
	if f == nil {
		return ""
	}
	text := f.Name + ": "
	if w, where := r.whole(f, r.Goal.Objectives[0].Metric); w != nil {
		if len(r.Traces) == 1 {
			text += fmt.Sprintf("%s %s on the whole log (%s to %s)", w.Metric, percent(w.Relative), said(w.Now, w.Metric), said(w.Then, w.Metric))
		} else {
			text += fmt.Sprintf("a gain of %s in %s over %d logs, %s%s", portion(f.Gain), w.Metric, len(r.Traces), percent(w.Relative), where)
		}
	}
	if w, where := r.whole(f, "wait_max"); w != nil {
		text += fmt.Sprintf("; the longest wait%s goes from %s to %s", where, said(w.Now, "wait_max"), said(w.Then, "wait_max"))
	}
	return text + "."
}

// replicaSentence says how the gain holds when arrivals are jittered.
func (r *Report) replicaSentence() string {
	f := r.about()
	return fmt.Sprintf("With jittered arrivals (%d replicas) it gains %s on average, %.0f %% interval %s to %s; one replay is off by %s (standard deviation).",
		f.Replicas.Count, portion(f.Replicas.Mean), 100*r.Confidence, portion(f.Replicas.Low), portion(f.Replicas.High), portion(f.Replicas.SD))
}

// chanceSentence says what the test would have found, and how much more log would settle
// what was seen.
func (r *Report) chanceSentence() string {
	if !r.DetectableGain.Defined() {
		return ""
	}
	text := fmt.Sprintf("This log shows gains of %s and more four times in five (%d windows, %d candidates).", portion(r.DetectableGain), r.Counted(), r.Tested)
	if r.WeeksNeeded.Defined() && r.Verdict == Unsure {
		text += fmt.Sprintf(" The gain that was seen would take %.0f weeks of log like this one.", math.Ceil(float64(r.WeeksNeeded)))
	}
	return text
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

// mostPayers are named in a sentence.
const mostPayers = 3

// Price says in one sentence which jobs pay for it.
func (r *Report) Price() string {
	if len(r.Losers) == 0 {
		return "Who pays: no group of jobs waits a minute longer on average."
	}
	var parts []string
	for i := range r.Losers[:min(len(r.Losers), mostPayers)] {
		l := &r.Losers[i]
		parts = append(parts, fmt.Sprintf("%s wait %s instead of %s", r.words(l), said(metric.Number(l.WaitThen), "wait_mean"), said(metric.Number(l.WaitNow), "wait_mean")))
	}
	text := "Who pays: " + strings.Join(parts, "; ")
	if n := len(r.Losers) - len(parts); n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text + "."
}

// words name a group of jobs, with its part of them and of their work.
func (r *Report) words(l *LoserLine) string {
	text := fmt.Sprintf("jobs of %s %s", byWord(l.By), l.Name)
	if len(r.Traces) > 1 {
		text += " on " + r.Traces[l.Trace].Name
	}
	return fmt.Sprintf("%s (%s of the jobs, %s of the work)", text, portion(metric.Number(l.PartOfJobs)), portion(metric.Number(l.PartOfWork)))
}

// byWord is what a kind of group is called in a sentence.
func byWord(by string) string { return strings.ReplaceAll(by, metric.ByRuntime, "run time") }

// portion writes a part without a sign of its own.
func portion(n metric.Number) string {
	if !n.Defined() {
		return "–"
	}
	x := 100 * float64(n)
	switch {
	case math.Abs(x) < 10:
		return fmt.Sprintf("%.1f %%", x)
	}
	return fmt.Sprintf("%.0f %%", x)
}

// boundSentences say of each constraint whether the candidate of the report keeps it.
func (r *Report) boundSentences() []string {
	if r.about() == nil {
		return nil
	}
	var out []string
	for i := range r.Bounds {
		b := &r.Bounds[i]
		if !b.Then.Defined() && b.Kept {
			continue
		}
		where := ""
		if len(r.Traces) > 1 {
			where = " on " + r.Traces[b.Trace].Name
		}
		text := fmt.Sprintf("Bound %s: %s (%s%s, now %s).", b, b.word(), said(b.Then, b.Metric), where, said(b.Now, b.Metric))
		if b.Default && float64(b.Limit) != b.Asked {
			text += fmt.Sprintf(" It was not asked for, so it may come to %s.", said(b.Limit, b.Metric))
		}
		out = append(out, text)
	}
	return out
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

// chance writes a p-value.
func chance(p metric.Number) string {
	if !p.Defined() {
		return "–"
	}
	return doc.Chance(float64(p))
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
