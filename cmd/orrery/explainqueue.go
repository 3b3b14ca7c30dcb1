package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/sim/explain"
	"orrery/sim/record"
	"orrery/sim/rundir"
)

// queue shows what waited at an instant: of one job where its number is given.
func (v *explainVerb) queue(ctx context.Context, dir string, id *int64) error {
	var q *explain.Queue
	err := v.open(ctx, dir, func(run *record.Run, o explain.Options) error {
		at, err := instantOf(run, v.at)
		if err != nil {
			return err
		}
		q, err = explain.QueueAt(ctx, run, at, o)
		return err
	})
	if err != nil {
		return err
	}
	if id != nil {
		jobs := q.Jobs[:0]
		for i := range q.Jobs {
			if q.Jobs[i].ID == *id {
				jobs = append(jobs, q.Jobs[i])
			}
		}
		if q.Jobs = jobs; len(jobs) == 0 {
			return usagef("job %d does not wait at %s: see when it does with 'orrery explain %s %d'", *id, q.Moment(q.At), dir, *id)
		}
	}
	if v.print.json() {
		return v.print.document(q)
	}
	if len(q.Jobs) == 0 {
		fmt.Fprintf(v.m.Stdout, "No job waited at %s.\n", q.Moment(q.At))
		return nil
	}
	fmt.Fprintf(v.m.Stdout, "Jobs that waited at %s:\n", q.Moment(q.At))
	for from := 0; from < len(q.Jobs); {
		to := from + 1
		for to < len(q.Jobs) && sameQueue(&q.Jobs[from], &q.Jobs[to]) {
			to++
		}
		what := "in the queue"
		if name := q.Jobs[from].VCluster; name != "" {
			what += " of vCluster " + name
		}
		if q.Jobs[from].Position == 0 {
			what = "in no queue"
		}
		if err := v.print.section(what, lined(q, q.Jobs[from:to])); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// sameQueue says whether two jobs stand in one section: those in no queue have one.
func sameQueue(a, b *explain.Queued) bool {
	return a.Position == 0 && b.Position == 0 || a.Position > 0 && b.Position > 0 && a.VCluster == b.VCluster
}

// lined is the jobs of one queue, with what each factor adds to their scores.
func lined(q *explain.Queue, jobs []explain.Queued) *doc.Table {
	head := []string{"position", "job", "user", "size", "waited"}
	var of *explain.Score
	for i := range jobs {
		if of == nil {
			of = jobs[i].Score
		}
	}
	if of != nil {
		if head = append(head, of.Order); of.Order == "score" {
			head = append(head, "penalty")
		}
		for i := range of.Factors {
			head = append(head, of.Factors[i].Name)
		}
	}
	t := doc.New(append(head, "waits", "predicted start")...)
	for i := range jobs {
		j := &jobs[i]
		position, start := fmt.Sprint(j.Position), ""
		if j.Position == 0 {
			position = "-"
		}
		if j.PredictedStart != nil {
			start = q.Moment(*j.PredictedStart)
		}
		cells := []any{position, fmt.Sprint(j.ID), j.User, fmt.Sprint(j.Units), explain.Words(seconds(j.Waited))}
		cells = append(cells, scored(of, j.Score)...)
		why := strings.TrimSpace(j.Reason + " " + j.What)
		if j.Behind != nil {
			why += fmt.Sprintf(" (job %d)", j.Behind.ID)
		}
		t.Row(append(cells, why, start)...)
	}
	return t
}

// scored is the score of a job and what its factors add, as many cells as that of another has,
// which are empty where its priority is not known yet. Factors of points without a weight are in
// none but those that have any.
func scored(of, s *explain.Score) (cells []any) {
	if of == nil {
		return nil
	}
	number := func(x float64) string {
		if of.Order == "score" {
			return fmt.Sprintf("%.4f", x)
		}
		return fmt.Sprintf("%.2f", x)
	}
	score, penalty := "", ""
	if s != nil {
		score, penalty = number(s.Score), fmt.Sprintf("%.3f", s.Penalty)
	}
	if cells = append(cells, score); of.Order == "score" {
		cells = append(cells, penalty)
	}
	for i := range of.Factors {
		cell := ""
		for k := 0; s != nil && k < len(s.Factors); k++ {
			if s.Factors[k].Name == of.Factors[i].Name {
				cell = number(s.Factors[k].Contribution)
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// instantOf reads TIME as an instant of the trace of a run.
func instantOf(run *record.Run, text string) (model.Time, error) {
	var d rundir.Document
	_ = json.Unmarshal(run.Info(), &d) // explain says what is wrong with it
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		t, err := time.Parse(layout, text)
		if err == nil && !d.Trace.EpochKnown {
			return 0, usagef("--at %s: the trace of %s knows no dates: give a span since it begins, such as 36h", text, run.Dir())
		}
		if err == nil {
			return model.Time(t.UnixMicro()) - run.Epoch(), nil
		}
	}
	span, err := parseSpan(text)
	if err != nil {
		return 0, usagef("--at %s: want an instant such as 2026-05-03 14:00:00 (UTC), or a span since the epoch of the trace such as 36h", text)
	}
	return model.Time(span), nil
}
