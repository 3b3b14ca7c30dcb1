package gate

import (
	"fmt"
	"strings"

	"orrery/internal/doc"
)

// Page is the report as a comment for a pull request: the verdict, what failed and why, and the
// rest folded away.
func (r *Report) Page() *doc.Document {
	d := &doc.Document{Title: fmt.Sprintf("Gate %s: %s", r.Gate, heading(r.Verdict))}
	for _, text := range r.Unheeded() {
		d.Head = append(d.Head, doc.Part{Word: "UNHEEDED", Tone: doc.Bad, Text: text})
	}
	d.Head = append(d.Head, doc.Shown(doc.Part{Text: r.Description})...)
	d.Head = append(d.Head, doc.Say("Checks: %d, replays: %d; %d hold, %d found a regression, %d lack evidence.",
		len(r.Checks), len(r.Replays), r.Count(Holds), r.Count(Regression), r.Count(Undecided)))
	for _, v := range []Verdict{Regression, Undecided} {
		d.Add("", heading(v), doc.Show(r.rows(v, "kind", "check", "found", "want", "why")))
	}
	d.Add("", "What holds", doc.Part{Fold: fmt.Sprintf("Checks that hold: %d", r.Count(Holds)), Parts: []doc.Part{doc.Show(r.rows(Holds, "kind", "check", "found", "want"))}})
	d.Add("", "Baseline", doc.Part{Notes: r.sources()})
	return d
}

func heading(v Verdict) string {
	switch v {
	case Regression:
		return "Regression"
	case Undecided:
		return "Not enough evidence"
	}
	return "All hold"
}

func (r *Report) rows(v Verdict, columns ...string) *doc.Table {
	t := doc.New(columns...)
	for i := range r.Checks {
		if f := &r.Checks[i]; f.Verdict == v {
			t.Row([]any{f.Kind, f.Check, f.Found, f.Want, f.Why}[:len(columns)]...)
		}
	}
	return t
}

// sources says where the stored numbers come from, each once.
func (r *Report) sources() (out []string) {
	seen := map[string]bool{}
	for i := range r.Checks {
		if f := &r.Checks[i]; f.Baseline != nil && !seen[f.Run] {
			seen[f.Run] = true
			out = append(out, f.Run+": "+f.Baseline.String())
		}
	}
	return out
}

// String is the provenance in a line.
func (p *Provenance) String() string {
	out := p.Reason
	var by []string
	for _, part := range []struct{ word, text string }{{"by ", p.By}, {"at ", p.At}, {"with orrery ", p.Version}, {"commit ", short(p.Commit)}} {
		if part.text != "" {
			by = append(by, part.word+part.text)
		}
	}
	if len(by) > 0 {
		out += " (" + strings.Join(by, ", ") + ")"
	}
	return out
}
