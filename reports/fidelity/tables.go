package fidelity

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/sim/fidelity"
	"orrery/sim/metric"
)

// Table has a row for each figure of all jobs.
func Table(r *fidelity.Report) *doc.Table {
	t := doc.New("figure", "value", "low", "high", "unit", "definition")
	for _, x := range []struct {
		name, is string
		value    metric.Number
	}{
		{"mean_wait_recorded_s", "mean(w)", r.All.MeanWait}, {"median_wait_recorded_s", "p50(w)", r.All.MedianWait}, {"p95_wait_recorded_s", "p95(w)", r.All.P95Wait},
	} {
		t.Row(x.name, number(x.value), nil, nil, "s", x.is)
	}
	for m, d := range fidelity.Definitions() {
		i := r.All.Measures[m]
		t.Row(d.Key, number(i.Value), number(i.Low), number(i.High), d.Unit, d.Formula)
	}
	return t.Optional("definition").Optional("unit")
}

// number is a figure in four digits, and whole for programs.
func number(x metric.Number) doc.Cell {
	if !x.Defined() {
		return doc.Cell{}
	}
	return doc.Quantity(doc.Digits(float64(x), 4), float64(x))
}

// part is a figure of unit 1 in percent, with its sign.
func part(x metric.Number) doc.Cell {
	if !x.Defined() {
		return doc.Cell{}
	}
	return doc.Quantity(percent(x), float64(x))
}

// GroupTable is a table of groups of one kind.
type GroupTable struct {
	Of    string
	Table *doc.Table
}

// Groups are the tables of groups that have any.
func Groups(r *fidelity.Report) (out []GroupTable) {
	for _, g := range []struct {
		of   string
		rows []fidelity.Row
	}{{"size", r.Sizes}, {"partition", r.Partitions}, {"QOS", r.QOS}, {"user", r.Users}} {
		if len(g.rows) == 0 {
			continue
		}
		t := doc.New(g.of, "jobs", "recorded", "replayed", "error", "low", "high", "rank correlation of waits", "p90 start error")
		t.Key("recorded", "mean_wait_recorded_s")
		t.Key("replayed", "mean_wait_replayed_s")
		t.Key("p90 start error", "start_error_p90_s")
		for i := range g.rows {
			row := &g.rows[i]
			e := row.Measures[fidelity.WaitError]
			t.Row(row.Name, row.Jobs, number(row.MeanWait), number(row.Measures[fidelity.MeanWaitReplayed].Value), part(e.Value), part(e.Low), part(e.High),
				number(row.Measures[fidelity.RankCorrelationWaits].Value), number(row.Measures[fidelity.StartErrorP90].Value))
		}
		out = append(out, GroupTable{g.of, t.Optional("p90 start error").Optional("rank correlation of waits")})
	}
	return out
}

// ConclusionTable has a row for each question.
func ConclusionTable(r *fidelity.Report) *doc.Table {
	t := doc.New("about", "a replay", "so")
	for _, c := range r.Conclusions {
		cell := doc.Cell{Text: string(c.Verdict), JSON: string(c.Verdict)}
		switch c.Verdict {
		case fidelity.Holds:
			cell = cell.In(doc.Good)
		case fidelity.Not:
			cell = cell.In(doc.Bad)
		case fidelity.Unknown:
			cell = cell.In(doc.Faint)
		case fidelity.Roughly:
		}
		t.Row(c.About, cell, c.Text)
	}
	return t
}

// AboutSpread says how far real runs are apart.
func AboutSpread(s *fidelity.Spread) string {
	text := fmt.Sprintf("%d recorded runs of the same jobs, matched by %s", len(s.Runs), s.MatchedBy)
	if s.MatchedBy == "position" {
		text += " in the order of submission"
	}
	text += fmt.Sprintf("; a job was submitted up to %s s earlier or later. Their mean waits are %s s with a standard deviation of %s s",
		doc.Digits(s.SubmissionDifference, 3), digits(s.MeanWait), digits(s.MeanWaitSD))
	if s.MeanWaitSDOfMean.Defined() {
		text += fmt.Sprintf(" (%.1f %%)", float64(100*s.MeanWaitSDOfMean))
	}
	return text + "."
}

func digits(x metric.Number) string { return doc.Digits(float64(x), 4) }

// PairTable has a row for each pair of real runs.
func PairTable(s *fidelity.Spread) *doc.Table {
	t := doc.New("run", "other", "jobs", "mean wait difference", "part", "rank correlation of waits", "of starts", "difference a job")
	t.Key("mean wait difference", "mean_wait_difference_s")
	t.Key("difference a job", "mean_difference_per_job_s")
	for _, p := range s.Pairs {
		t.Row(p.A, p.B, p.Jobs, number(p.MeanWaitDifference), part(p.RelativeDifference), number(p.RankCorrelationWaits), number(p.RankCorrelationStarts), number(p.PerJob))
	}
	return t.Optional("jobs").Optional("difference a job")
}

// AgainstTable has the replay of the first run beside each of the real ones.
func AgainstTable(s *fidelity.Spread) *doc.Table {
	t := doc.New("replay beside", "error", "low", "high", "rank correlation of waits", "of starts")
	for _, a := range s.Replay {
		t.Row(a.Run, part(a.WaitError.Value), part(a.WaitError.Low), part(a.WaitError.High), number(a.RankCorrelationWaits.Value), number(a.RankCorrelationStarts.Value))
	}
	return t
}
