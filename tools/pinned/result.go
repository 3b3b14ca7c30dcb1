package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/hwmodel/fit"
	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/scheduler/model"
)

// result is what is printed. Errors are parts of the recorded value.
type result struct {
	Fit         fitted       `json:"fit"`
	Predictions []prediction `json:"predictions"`
	Daylight    []daylight   `json:"daylight_saving"`
}

// fitted is the cost of restarts and what it was fitted on.
type fitted struct {
	Files       []string `json:"files"`
	C0          float64  `json:"c0_s"`
	RoundFitted bool     `json:"c0_fitted"`
	C1          float64  `json:"c1_s"`
	F           float64  `json:"f"`
	FLow        float64  `json:"f_low"`
	FHigh       float64  `json:"f_high"`
	Loss        float64  `json:"mean_distance_s"`
}

// prediction is how near one run is met.
type prediction struct {
	File           string  `json:"file"`
	Policy         string  `json:"policy"`
	Jobs           int     `json:"jobs"`
	Rounds         int     `json:"rounds"`
	Restarts       int     `json:"restarts"`
	Makespan       float64 `json:"makespan_s"`
	Recorded       float64 `json:"makespan_recorded_s"`
	MakespanError  float64 `json:"makespan_error"` // signed: above 0 is too long
	JCTErrorMedian float64 `json:"jct_error_median"`
	JCTErrorP90    float64 `json:"jct_error_p90"`
}

// daylight is whether the makespan of a run holds its last completion.
type daylight struct {
	File      string  `json:"file"`
	Makespan  float64 `json:"makespan_s"`
	Last      float64 `json:"last_completion_s"`
	HourAdded bool    `json:"hour_added"`
}

func (o options) print(out io.Writer) error {
	r, err := o.result()
	if err != nil {
		return err
	}
	if o.format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return r.tables(out)
}

func (o options) result() (result, error) {
	runs, err := readRuns(o.data, slices.Concat(o.fit, o.predict))
	if err != nil {
		return result{}, err
	}
	var known []fit.Schedule
	for _, name := range o.fit {
		known = append(known, runs[name].schedule)
	}
	cost, err := fit.Restarts(known, fit.RestartOptions{FreeRound: o.freeRound})
	if err != nil {
		return result{}, err
	}
	r := result{Fit: fitted{Files: o.fit, C0: cost.Cost.PerRound.Seconds(), RoundFitted: o.freeRound, C1: cost.Cost.PerRestart.Seconds(),
		F: cost.Cost.Final, FLow: cost.FinalLow, FHigh: cost.FinalHigh, Loss: cost.Loss.Seconds()}}
	for _, name := range o.predict {
		r.Predictions = append(r.Predictions, predict(runs[name], cost.Cost))
	}
	for _, name := range sortedNames(runs) {
		run := runs[name]
		r.Daylight = append(r.Daylight, daylight{name, run.makespanS, run.lastS, run.hourAdded})
	}
	return r, nil
}

// predict replays a run and compares it with its record. The makespan of both is the completion
// of the last job.
func predict(run record, cost hwmodel.Restart) prediction {
	s := &run.schedule
	completion := s.Replay(cost)
	p := prediction{File: run.file, Policy: run.policy, Jobs: len(completion), Rounds: len(s.Rounds)}
	for _, n := range s.Restarts() {
		p.Restarts += n
	}
	var errs []float64
	for j, c := range completion {
		want := s.Completion[j] - s.Arrival[j]
		errs = append(errs, math.Abs(float64(c-s.Completion[j]))/float64(want))
	}
	last, recorded := slices.Max(completion), slices.Max(s.Completion)
	p.Makespan, p.Recorded = last.Seconds(), recorded.Seconds()
	p.MakespanError = float64(last-recorded) / float64(max(recorded, model.Microsecond))
	p.JCTErrorMedian, p.JCTErrorP90 = fit.Median(errs), fit.Quantile(0.9, errs)
	return p
}

func (r result) tables(out io.Writer) error {
	fitted := doc.New("fitted on", "c0, s a round", "c1, s a restart", "f", "f within 2 % of the best", "mean distance, s")
	for i, name := range r.Fit.Files {
		if i > 0 {
			fitted.Row(name, "", "", "", "", "")
			continue
		}
		c0 := fmt.Sprintf("%.2f", r.Fit.C0)
		if !r.Fit.RoundFitted {
			c0 += " (not fitted)"
		}
		fitted.Row(name, c0, fmt.Sprintf("%.2f", r.Fit.C1), fmt.Sprintf("%.2f", r.Fit.F), fmt.Sprintf("%.2f to %.2f", r.Fit.FLow, r.Fit.FHigh), fmt.Sprintf("%.1f", r.Fit.Loss))
	}
	predicted := doc.New("predicted", "jobs", "rounds", "restarts", "makespan, s", "recorded, s", "makespan error, %", "JCT error, median, %", "p90, %")
	percent := func(x float64) string { return fmt.Sprintf("%.2f", 100*x) }
	for _, p := range r.Predictions {
		predicted.Row(p.File, p.Jobs, p.Rounds, p.Restarts, fmt.Sprintf("%.0f", p.Makespan), fmt.Sprintf("%.0f", p.Recorded),
			percent(p.MakespanError), percent(p.JCTErrorMedian), percent(p.JCTErrorP90))
	}
	for _, t := range []*doc.Table{fitted, predicted} {
		if err := table.Write(out, t, table.Text, table.Options{}); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	for _, d := range r.Daylight {
		said := "the recorded makespan holds all jobs: no change of daylight saving time"
		if d.HourAdded {
			said = "the recorded makespan ended before the last job: an hour was added, for a change of daylight saving time"
		}
		fmt.Fprintf(out, "%s: %s\n", d.File, said)
	}
	return nil
}
