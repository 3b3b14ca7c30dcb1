package workload

import (
	"fmt"

	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Odd is something in a trace that surprises, and what it does to the results of replays.
type Odd struct {
	What   string `json:"what"`
	Count  int64  `json:"count,omitempty"`
	First  string `json:"first,omitempty"`
	Effect string `json:"effect"`
}

// effects are what the rules of imports and of validation do to results, where that is known.
var effects = map[string]string{
	"not-ended":     "jobs that still ran or waited are not replayed: the end of the log has less load than there was",
	"job-step":      "none: steps are parts of jobs",
	"unknown-state": "those jobs are not replayed",
	"sorted":        "none: rows are in order of submission now",

	"nodes-as-allocated":      "the log does not say how many nodes they asked for: what the recorded policy gave them is their request",
	"cpus-as-allocated":       "the log does not say how many processors they asked for: what the recorded policy gave them is their request",
	"gpus-as-allocated":       "the log does not say which GPUs they asked for: what the recorded policy gave them is their request",
	"memory-as-allocated":     "the log does not say how much memory they asked for: what the recorded policy gave them is their request",
	"exclusive-by-allocation": "they were allocated GPUs that they had not asked for, and many more processors: they take whole nodes",
}

// Check lists what is odd in a trace: by its statistics, and by the accounts of its import.
func Check(s *Stats, accounts ...traces.Report) []Odd {
	all := CheckAccounts(accounts...)
	note := func(count int64, effect, what string, args ...any) {
		all = append(all, Odd{What: fmt.Sprintf(what, args...), Count: count, Effect: effect})
	}
	if s.EpochUS == nil {
		note(0, "hours and weekdays are those of the log; prices and carbon by date cannot be joined", "the date of the log is not known")
	}
	if s.CapacityBy == "the most that was held at once" {
		note(0, "a replay needs a size: --procs, --nodes or a cluster file", "the log does not say how large the machine was; at most %s %s were held at once", plot.Count(s.PeakHeld), s.Unit)
	}
	if s.TooLarge > 0 {
		note(s.TooLarge, "a replay rejects them at their submission, and is refused where they are more than 1 % of the work", "jobs larger than the machine")
	}
	allocated(s, note)
	requests(s, note)
	if n := s.Jobs - s.Started; n > 0 {
		note(n, "those with a run time are replayed; those withdrawn wait and leave; others are dropped and counted", "jobs without a recorded start and end")
	}
	if s.ZeroTime > 0 {
		note(s.ZeroTime, "they are replayed and hold nothing; bounded slowdown counts them with its least run time", "jobs that ran for no time")
	}
	shape(s, note)
	return all
}

// CheckAccounts lists what an import dropped, repaired and assumed.
func CheckAccounts(accounts ...traces.Report) (all []Odd) {
	for _, r := range accounts {
		for _, rule := range r.Dropped {
			all = append(all, Odd{"dropped: " + rule.Rule, rule.Count, rule.Example, effect(rule.Rule, "a replay lacks these rows")})
		}
		for _, rule := range r.Repaired {
			all = append(all, Odd{"repaired: " + rule.Rule, rule.Count, rule.Example, effect(rule.Rule, "these rows are replayed as they were mended")})
		}
		for _, a := range r.Assumed {
			all = append(all, Odd{What: "assumed: " + a.What + " " + a.Value, Effect: a.Why})
		}
	}
	return all
}

func effect(rule, otherwise string) string {
	if known, ok := effects[rule]; ok {
		return known
	}
	return otherwise
}

type noter func(count int64, effect, what string, args ...any)

// allocated is where jobs held what they had not asked for, and what the recorded scheduler decided.
func allocated(s *Stats, note noter) {
	if b := &s.Beyond; b.Jobs > 0 {
		note(b.Jobs, "a replay gives them what they requested, and whole nodes where they are exclusive; replay with --exclusive if nodes were allocated whole",
			"jobs were allocated more than they requested: %s processor hours (%s), %s node hours and %s GPU hours more (first id %d)", page.Number(b.ProcessorHours), percent(b.Share), page.Number(b.NodeHours), page.Number(b.GPUHours), b.First)
	}
	if n := s.Beyond.Exclusive; n > 0 {
		note(n, "a site gives them whole nodes; a machine of processors (--procs) does not know nodes", "jobs share no node with others (exclusive)")
	}
	if s.Cut > 0 {
		note(s.Cut, "they are replayed for as long as they ran then, as jobs of their own: what ended them was a decision of the recorded policy", "attempts ended by the recorded scheduler (preempted or requeued)")
	}
}

// requests are what is odd in requested times.
func requests(s *Stats, note noter) {
	a := &s.Accuracy
	if a.Exceeded > 0 {
		note(a.Exceeded, "they are killed at their request (TIMEOUT), or run on with --overrun extend", "jobs ran longer than they requested")
	}
	if n := s.Requests.Unknown; n > 0 {
		note(n, "backfilling takes them to run for ever, unless --missing-request says otherwise", "jobs without a requested time")
	}
	if s.Requests.Known > 9 && s.Requests.P10 == s.Requests.P90 {
		note(s.Requests.Known, "orders and backfilling by requested time have nothing to go by", "nearly all jobs request the same time, %s", span(s.Requests.P50))
	}
}

// shape is what is odd in the whole.
func shape(s *Stats, note noter) {
	offered, longest, since := 0.0, int64(0), s.FirstUS
	for _, b := range s.Load {
		offered += b.Offered / float64(len(s.Load))
		if b.Submitted > 0 {
			since = b.StartUS + b.WidthUS
		} else if b.StartUS < s.LastUS { // behind the last submission the log is over, and its jobs end

			longest = max(longest, b.StartUS+b.WidthUS-since)
		}
	}
	if s.Runtimes.Known > 0 && offered > 1 {
		note(0, "the queue grows throughout: waits say how long the log is, and not how good a policy is", "more work was submitted than the machine can do (%s)", percent(offered))
	}
	if length := s.LastUS - s.FirstUS; longest > length/10 && longest > int64(model.Hour) && longest < length {
		note(0, "an outage, or rows that are missing: means over the whole log have it in them; cut it out by windows", "for %s nothing was submitted", span(longest))
	}
	if s.LastUS-s.FirstUS < int64(model.Day) {
		note(0, "too short for windows: verdicts with confidence need some days", "submissions span %s", span(s.LastUS-s.FirstUS))
	}
	if s.Tenants.By == "" {
		note(0, "fair share and metrics by tenant have nothing to go by", "most jobs name no tenant, account or user")
	} else if t := s.Tenants.Rows; len(t) > 1 && t[0].Share > 0.5 && t[0].Name != "all others" {
		note(t[0].Jobs, "metrics over all jobs are mostly its own", "%s %s holds %s of what was held", s.Tenants.By, t[0].Name, percent(t[0].Share))
	}
}
