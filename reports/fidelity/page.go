// Package fidelity shows how near replays come to a record: tables, and a page with the verdict and the
// figures. It must not know how a replay is made or how its figures are computed.
package fidelity

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/fidelity"
	"orrery/sim/metric"
)

// Write writes the page into dir, which is made when it is missing: report.html, which opens without a
// network, and figures/*.svg and *.png, replacing older ones.
func Write(dir string, r *fidelity.Report, made page.Made) error {
	p := page.Page{Made: made, Figures: figures(r), Document: doc.Document{Title: r.Trace + ": the replay beside the record", By: "orrery fidelity"}}
	p.Head = doc.Shown(doc.Part{Text: Lead(r), Role: doc.Lead}, doc.Say("%s", About(r)))
	p.Add("conclusions", "What may be concluded", doc.Show(ConclusionTable(r)), doc.Say("%s", Assumed))
	p.Add("figures", "Figures", doc.Part{Figures: page.Names(p.Figures)})
	p.Add("measures", "All jobs", doc.Show(Table(r)), doc.Part{Notes: r.All.Notes})
	for _, g := range Groups(r) {
		p.Add("by-"+g.Of, "By "+g.Of, doc.Show(g.Table))
	}
	if r.Spread != nil {
		p.Add("spread", "Between real runs", doc.Say("%s", AboutSpread(r.Spread)), doc.Show(PairTable(r.Spread)), doc.Show(AgainstTable(r.Spread)))
	}
	return p.Write(dir)
}

// figures are drawn for the page.
func figures(r *fidelity.Report) []*plot.Figure {
	var pairs []plot.WaitPair
	for _, j := range r.PerJob {
		pairs = append(pairs, plot.WaitPair{Recorded: j.Recorded, Replayed: j.Replayed})
	}
	var rows []plot.ErrorRow
	for i := range r.Sizes {
		e := r.Sizes[i].Measures[fidelity.WaitError]
		rows = append(rows, plot.ErrorRow{
			Name: r.Sizes[i].Name + " " + r.Unit, Value: float64(e.Value), Low: float64(e.Low), High: float64(e.High),
		})
	}
	return []*plot.Figure{plot.RecordedAgainstReplayed(pairs), plot.ErrorBars("error-by-size", "Error of the mean wait by size of job", rows)}
}

// Lead says what matters most in a sentence.
func Lead(r *fidelity.Report) string {
	e := r.All.Measures[fidelity.WaitError]
	return fmt.Sprintf("%s waited %s in the mean as recorded and %s as replayed: %s.",
		page.Count(int64(r.All.Jobs), "job", "jobs"), wait(r.All.MeanWait), wait(r.All.Measures[fidelity.MeanWaitReplayed].Value), errorWords(e))
}

func errorWords(e fidelity.Interval) string {
	if !e.Value.Defined() {
		return "no job waited in the record, so there is no error to state as a part of it"
	}
	return fmt.Sprintf("an error of %s (%s to %s over the draws)", percent(e.Value), percent(e.Low), percent(e.High))
}

func wait(x metric.Number) string { return doc.Digits(float64(x), 4) + " s" }

func percent(x metric.Number) string { return fmt.Sprintf("%+.1f %%", float64(100*x)) }

// About says what the figures rest on.
func About(r *fidelity.Report) string {
	text := fmt.Sprintf("Means over %s of the replay, in which submissions lie anywhere within the step of the record's clock (%s); low and high are the 2.5 %% and 97.5 %% points of the draws",
		page.Count(int64(r.Draws), "draw", "draws"), r.Resolution)
	if r.Draws < 40 {
		text += ", with fewer than 40 the least and the largest"
	}
	text += "."
	for _, l := range r.LeftOut {
		text += fmt.Sprintf(" Not compared: %s, %s.", page.Count(int64(l.Jobs), "job", "jobs"), l.Why)
	}
	return text
}

// Assumed says what the verdicts go by.
const Assumed = "The bounds of these verdicts are assumptions, which docs/FIDELITY.md states: they are as strict as a change of policy has to be large to be worth a decision."
