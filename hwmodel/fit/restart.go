package fit

import (
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// Held are the GPUs that a job holds in a round.
type Held struct {
	Job  int
	GPUs []int // ascending
}

// Schedule is a recorded run that hands out GPUs by rounds. Jobs are numbered from 0.
type Schedule struct {
	Length     model.Duration   // that a round is to last
	Rounds     [][]Held         // by round
	Arrival    []model.Duration // by job, from the start of the run
	Completion []model.Duration // by job, as recorded, from the start of the run
	Makespan   model.Duration   // as recorded
}

// Validate says what a schedule lacks.
func (s *Schedule) Validate() error {
	if s.Length <= 0 {
		return fmt.Errorf("length of a round: found %v, want a positive time", s.Length)
	}
	if len(s.Rounds) == 0 || len(s.Arrival) == 0 || len(s.Arrival) != len(s.Completion) {
		return fmt.Errorf("found %d rounds, %d arrivals and %d completions, want some, and as many completions as arrivals",
			len(s.Rounds), len(s.Arrival), len(s.Completion))
	}
	held := make([]bool, len(s.Arrival))
	for r, round := range s.Rounds {
		for _, h := range round {
			if h.Job < 0 || h.Job >= len(held) || len(h.GPUs) == 0 {
				return fmt.Errorf("round %d: found job %d on %d GPUs, want a job from 0 to %d on at least one", r, h.Job, len(h.GPUs), len(held)-1)
			}
			held[h.Job] = true
		}
	}
	if j := slices.Index(held, false); j >= 0 {
		return fmt.Errorf("found job %d in no round, want each job in at least one", j)
	}
	return nil
}

// Restarts are, by round, how many of its jobs run on other GPUs than in the round before, or
// did not run in it.
func (s *Schedule) Restarts() []int {
	out := make([]int, len(s.Rounds))
	before := make([][]int, len(s.Arrival))
	at := make([]int, len(s.Arrival)) // the round of before, plus 1
	for r, round := range s.Rounds {
		for _, h := range round {
			if r == 0 || at[h.Job] != r || !slices.Equal(before[h.Job], h.GPUs) {
				out[r]++
			}
			before[h.Job], at[h.Job] = h.GPUs, r+1
		}
	}
	return out
}

// arrived is, by round, when the last of its jobs arrives.
func (s *Schedule) arrived() []model.Duration {
	out := make([]model.Duration, len(s.Rounds))
	for r, round := range s.Rounds {
		for _, h := range round {
			out[r] = max(out[r], s.Arrival[h.Job])
		}
	}
	return out
}

// last is, by job, the last round that holds it.
func (s *Schedule) last() []int {
	out := make([]int, len(s.Arrival))
	for r, round := range s.Rounds {
		for _, h := range round {
			out[h.Job] = r
		}
	}
	return out
}

// Replay is when each job completes if its rounds take what the model says.
func (s *Schedule) Replay(cost hwmodel.Restart) []model.Duration {
	p := prepare(s)
	starts := p.starts(cost)
	out := make([]model.Duration, len(p.last))
	for j, r := range p.last {
		out[j] = starts[r] + cost.End(s.Length)
	}
	return out
}

// RestartFit is the cost of restarts that explains recorded runs.
type RestartFit struct {
	Cost hwmodel.Restart
	// Loss is the mean distance of completions from the recorded ones.
	Loss model.Duration
	// FinalLow and FinalHigh are the values of Cost.Final between which some cost of a restart
	// comes within 2 % of the least loss: the runs tell it no closer.
	FinalLow, FinalHigh float64
}

// RestartOptions say what is fitted.
type RestartOptions struct {
	// FreeRound fits the cost of a round too. One run tells it from the cost of restarts only
	// where their number differs between rounds, so it is 0 else.
	FreeRound bool
}

// Steps of the grids. The loss is nearly flat in Final, where a local search stops where it
// starts, so all points are tried.
const (
	roundStep    = model.Second / 2
	mostRound    = 20 * model.Second
	restartStep  = model.Second / 50
	mostRestart  = 5 * model.Second
	finalStep    = 0.02
	leastFinal   = -5.0
	mostFinal    = 5.0
	flatPart     = 1.02 // of the least loss
	leastJobs    = 10
	secondsFloat = float64(model.Second)
)

// Restarts fits the cost of restarts to runs, by the least sum of the distances of completions.
func Restarts(runs []Schedule, options RestartOptions) (RestartFit, error) {
	jobs := 0
	for i := range runs {
		if err := runs[i].Validate(); err != nil {
			return RestartFit{}, fmt.Errorf("run %d: %w", i, err)
		}
		jobs += len(runs[i].Arrival)
	}
	if jobs < leastJobs {
		return RestartFit{}, tooFew("jobs of the runs", jobs, leastJobs)
	}
	best, bestSum := hwmodel.Restart{}, math.Inf(1)
	finals := int(math.Round((mostFinal-leastFinal)/finalStep)) + 1
	profile := slices.Repeat([]float64{math.Inf(1)}, finals)
	var most model.Duration
	if options.FreeRound {
		most = mostRound
	}
	var all []prepared
	for i := range runs {
		all = append(all, prepare(&runs[i]))
	}
	for round := model.Duration(0); round <= most; round += roundStep {
		for restart := model.Duration(0); restart <= mostRestart; restart += restartStep {
			cost := hwmodel.Restart{PerRound: round, PerRestart: restart}
			left := remainders(all, cost)
			for i := range profile {
				cost.Final = leastFinal + float64(i)*finalStep
				sum := 0.0
				for _, l := range left {
					sum += math.Abs(l.after - cost.Final*l.length)
				}
				profile[i] = min(profile[i], sum)
				if sum < bestSum {
					best, bestSum = cost, sum
				}
			}
		}
	}
	out := RestartFit{Cost: best, Loss: model.Duration(math.Round(bestSum / float64(jobs) * secondsFloat))}
	out.FinalLow, out.FinalHigh = flat(profile, bestSum*flatPart)
	out.Cost.Final = math.Round(best.Final*100) / 100
	return out, nil
}

// prepared is what a run says once for all costs.
type prepared struct {
	run            *Schedule
	restarts, last []int
	arrived        []model.Duration
}

func prepare(s *Schedule) prepared { return prepared{s, s.Restarts(), s.last(), s.arrived()} }

// starts are when the rounds start: when the round before has ended and all jobs of the round
// have arrived.
func (p *prepared) starts(cost hwmodel.Restart) []model.Duration {
	out := make([]model.Duration, len(p.arrived))
	var free model.Duration
	for r, arrived := range p.arrived {
		out[r] = max(free, arrived)
		free = model.Duration(model.Plus(int64(out[r]), int64(cost.Round(p.run.Length, p.restarts[r]))))
	}
	return out
}

// remainder is how long after the start of its last round a job was recorded to complete, and
// the length of rounds, in s.
type remainder struct{ after, length float64 }

func remainders(all []prepared, cost hwmodel.Restart) (out []remainder) {
	for i := range all {
		p := &all[i]
		starts := p.starts(cost)
		for j, r := range p.last {
			out = append(out, remainder{(p.run.Completion[j] - starts[r]).Seconds(), p.run.Length.Seconds()})
		}
	}
	return out
}

// flat is the range of Final whose loss is at most that.
func flat(profile []float64, most float64) (low, high float64) {
	first := slices.IndexFunc(profile, func(x float64) bool { return x <= most })
	last := first
	for i, x := range profile {
		if x <= most {
			last = i
		}
	}
	at := func(i int) float64 { return math.Round((leastFinal+float64(i)*finalStep)*100) / 100 }
	return at(first), at(last)
}
