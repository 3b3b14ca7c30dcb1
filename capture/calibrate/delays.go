package calibrate

import (
	"encoding/json"
	"fmt"

	"orrery/capture"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
	"orrery/traces"
)

// bracket is a delay that is known to lie between two times. One that had not ended has a least alone.
type bracket struct {
	least, most model.Duration
	ended, said bool // said: the record has it
}

func exactly(d model.Duration) bracket { return bracket{max(0, d), max(0, d), true, true} }

// heldOf is how long the nodes of a job were held beyond its recorded end.
func heldOf(row *traces.Job) (bracket, error) {
	if row.Extra == "" {
		return bracket{}, nil
	}
	extra := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(row.Extra), &extra); err != nil {
		return bracket{}, &traces.DataError{Column: "extra", Found: row.Extra, Expected: "a JSON object"}
	}
	b := bracket{ended: true, said: true}
	for _, end := range []struct {
		name string
		to   *model.Duration
	}{{capture.CompletingLeast, &b.least}, {capture.CompletingMost, &b.most}} {
		text, there := extra[end.name]
		if !there {
			return bracket{}, nil
		}
		if err := json.Unmarshal(text, end.to); err != nil || *end.to < 0 {
			return bracket{}, &traces.DataError{Column: "extra", Found: end.name + " " + string(text), Expected: "a number of µs from 0"}
		}
	}
	if b.most < b.least {
		return bracket{}, &traces.DataError{Column: "extra", Found: fmt.Sprintf("%s %d above %s %d", capture.CompletingLeast, b.least, capture.CompletingMost, b.most), Expected: "a least that is no more than the most"}
	}
	return b, nil
}

// quantiles are a finding for each quantile of delays: the median under the key itself, first, the others beside it. Ends of brackets are fitted
// apart, and the interval of a quantile has both: bands are these, in the same order, however wide they are.
func quantiles(key, what string, list []bracket, about Finding) (out []Finding, bands []band, err error) {
	about.Unit, about.Rows = "µs", int64(len(list))
	var ends [2][]fit.Watched
	for _, b := range list {
		most := b.most
		if !b.ended {
			most = b.least
		}
		ends[0], ends[1] = append(ends[0], fit.Watched{For: b.least, Ended: b.ended}), append(ends[1], fit.Watched{For: most, Ended: b.ended})
		if b.ended {
			about.Points = append(about.Points, float64(b.least+most)/2)
		}
	}
	var fits [2]fit.DelayFit
	for i := range ends {
		if fits[i], err = fit.Delays(ends[i]); err != nil {
			return nil, nil, err
		}
	}
	for i, q := range fits[0].Quantiles {
		f := about
		f.Target = whole(key)
		if q.P != 0.5 {
			f.Target = whole(fmt.Sprintf("%s, %g %%", what, 100*q.P))
		}
		low, high := q.Time, fits[1].Quantiles[i].Time
		f.Figure = between(low, high)
		b := band{q.P, low.Known() && high.Known(), low.Low, high.High}
		if q.P == 0.5 {
			out, bands = append([]Finding{f}, out...), append([]band{b}, bands...)
			continue
		}
		out, bands = append(out, f), append(bands, b)
	}
	return out, bands, nil
}

// band is where a quantile lies.
type band struct {
	share     float64 // of the delays that stay below it
	known     bool
	low, high float64
}

// mostOfBracket is how wide the brackets of a quantile may be, as a part of it.
const mostOfBracket = 0.5

// between is a quantile of which the least and the most are known.
func between(low, high fit.Figure) fit.Figure {
	if !low.Known() {
		return low
	}
	if !high.Known() {
		return high
	}
	out := low
	out.Value, out.Low, out.High = (low.Value+high.Value)/2, low.Low, high.High
	if wide := high.Value - low.Value; wide > mostOfBracket*out.Value {
		return fit.Figure{Refused: &fit.Refusal{What: "delay", Found: fmt.Sprintf("it is known to lie between %s and %s", Written(low.Value, "µs"), Written(high.Value, "µs")),
			Want: fmt.Sprintf("ends that differ by %.0f %% of it at most", 100*mostOfBracket), Obtain: "ask Slurm more often, by --interval of orrery capture slurm, 1s at least"}}
	}
	return out
}

// startDelays are how long jobs hold their nodes before their first kernel.
func startDelays(_ *Source, jobs *jobTable, seen *observed) ([]Finding, error) {
	list := edges(jobs, seen.begun, func(j *job, at model.Time) model.Duration { return at.Sub(j.start) })
	if len(list) == 0 {
		return []Finding{refused(whole(StartDelay), "no job with a recorded start and a first kernel", "jobs with start and the telemetry of their GPUs", "give the trace of the jobs by --jobs")}, nil
	}
	out, _, err := quantiles(StartDelay, "start delay", list, Finding{From: seen.from, To: seen.to, Valid: fmt.Sprintf("from the recorded start to the first row with a kernel, to within %s", seen.window),
		Apart: "recorded run times begin at the assignment and have it in them: with it in the file it would count twice"})
	return out, err
}

// tails are how long jobs go on behind their last kernel.
func tails(_ *Source, jobs *jobTable, seen *observed) ([]Finding, error) {
	list := edges(jobs, seen.ended, func(j *job, at model.Time) model.Duration { return j.start.Add(j.ran).Sub(at) })
	if len(list) == 0 {
		return nil, nil // as of startDelays, which says what is missing
	}
	out, _, err := quantiles(Tail, Tail, list, Finding{From: seen.from, To: seen.to, Valid: fmt.Sprintf("to within %s", seen.window),
		Apart: "it is a part of the recorded run time, and no key means it"})
	return out, err
}

// edges are times at one end of jobs.
func edges(jobs *jobTable, at map[int]model.Time, of func(*job, model.Time) model.Duration) (list []bracket) {
	for i := range jobs.list {
		if t, ok := at[i]; ok && jobs.list[i].start != model.Never {
			list = append(list, exactly(of(&jobs.list[i], t)))
		}
	}
	return list
}

// completions are how long the nodes of a job are held beyond its end. The key means a delay that is uniform from 0: where that is not what was found,
// the quantiles stand beside it.
func completions(_ *Source, jobs *jobTable, _ *observed) ([]Finding, error) {
	var list []bracket
	for i := range jobs.list {
		if j := &jobs.list[i]; j.held.said {
			list = append(list, j.held)
		}
	}
	if len(list) == 0 {
		return []Finding{refused(whole(CompletionDelay), "no job that says until when its nodes were held beyond its end", "polls of a Slurm at the time", "run orrery capture slurm while the jobs end, with a short --interval")}, nil
	}
	const name = "completion delay"
	found, bands, err := quantiles(name+", 50 %", name, list, Finding{From: jobs.from, To: jobs.to, Valid: "from the recorded end of a job until it no longer completes in Slurm, between two polls",
		Apart: "a quantile of what " + CompletionDelay + " draws"})
	if err != nil {
		return nil, err
	}
	key := found[0]
	key.Target, key.Apart = whole(CompletionDelay), ""
	if key.Figure.Known() {
		key.Figure.Value, key.Figure.Low, key.Figure.High = 2*key.Figure.Value, 2*key.Figure.Low, 2*key.Figure.High
		key.Valid = "twice the median of delays that are uniform from 0 as far as their quantiles tell; " + key.Valid
		if why := uneven(bands, key.Figure.Value); why != nil {
			key.Figure = fit.Figure{Refused: why}
		}
	}
	return append([]Finding{key}, found...), nil
}

// uneven refuses delays as uniform from 0 up to a time whose quantiles are others, or not known at the ends.
func uneven(bands []band, upTo float64) *fit.Refusal {
	ends := 0
	for _, b := range bands {
		if !b.known {
			continue
		}
		if want := b.share * upTo; want < b.low || want > b.high {
			return &fit.Refusal{What: CompletionDelay, Found: fmt.Sprintf("%g %% of the delays stay below %s to %s", 100*b.share, Written(b.low, "µs"), Written(b.high, "µs")),
				Want: fmt.Sprintf("delays that are uniform from 0, as the key has them: %s there", Written(want, "µs")), Obtain: "no other record would: the quantiles beside it say what was found"}
		}
		if b.share == 0.1 || b.share == 0.9 {
			ends++
		}
	}
	if ends < 2 {
		return &fit.Refusal{What: CompletionDelay, Found: "the median alone", Want: "quantiles at 10 and 90 %, to tell whether they are uniform", Obtain: "record 36 jobs and more, with a short --interval"}
	}
	return nil
}

// boots are how long nodes took until they took work, by the states of Slurm, and by the start of their kernels.
func boots(src *Source, jobs *jobTable, seen *observed) (out []Finding, err error) {
	known := map[string]bool{}
	for _, n := range src.Nodes {
		known[n] = true
	}
	lists := map[string][]bracket{}
	failed := 0
	about := Finding{}
	about.From, about.To = window(src, jobs, seen)
	for i := range src.Events {
		e := &src.Events[i]
		if e.Kind != capture.EventKind || !known[e.Subject] {
			continue
		}
		r, err := capture.ReadRecord(e)
		if err != nil {
			return nil, err
		}
		switch {
		case r.Record != capture.RecordBoot:
		case r.Reason == capture.BootFailed:
			failed++
		case r.Most == 0:
			lists[r.Reason] = append(lists[r.Reason], bracket{least: r.Least})
		default:
			lists[r.Reason] = append(lists[r.Reason], bracket{r.Least, r.Most, true, true})
		}
	}
	if failed > 0 {
		seen.fits = append(seen.fits, Count{"boots that failed, which no delay has in it", int64(failed)})
	}
	const twice = "up of a recorded trace is when the node had booted, and a repair that was fitted has it in it: with it in the file it would count twice"
	for _, of := range []struct{ reason, key, name, valid, found, obtain string }{
		{capture.BootPowered, BootDelay, "boot delay", "from when Slurm had the node switched on or booted anew until it took work, between two polls", "no node that Slurm had switched on or booted anew",
			"run orrery capture slurm while nodes are resumed or rebooted, with a short --interval"},
		{capture.BootKernel, KernelBoot, KernelBoot, "from the start of the kernel of a node that was down until Slurm had it back, without the firmware before it", "", ""},
	} {
		list := lists[of.reason]
		if len(list) == 0 {
			if of.found != "" {
				out = append(out, refused(whole(of.key), of.found, "polls of a Slurm at the time", of.obtain))
			}
			continue
		}
		about.Valid, about.Apart = of.valid, twice
		found, _, err := quantiles(of.key, of.name, list, about)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}
