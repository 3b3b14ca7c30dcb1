// Package search finds good settings by asking for trials and being told their
// results. It is for points that can be evaluated but have no formula: a
// tuner that replays a trace under each profile, above all.
//
// It must not know what a trial costs, who runs it, or where results are kept:
// it opens no file, reads no clock and starts nothing. What it asks for next is
// a function of its Config and of the results told so far, whatever the number
// of workers and the order in which they finish.
//
// Coordinates and models are floating point: trials are the same, bit by bit,
// for all runs on one architecture.
package search

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"orrery/scheduler/model/draw"
)

// Trial is a point to evaluate.
type Trial struct {
	ID     int       `json:"id"`     // 0, 1, 2 … in the order of asking
	Values []float64 `json:"values"` // in the order of Space.Columns
}

// Result is what came of a trial.
type Result struct {
	ID      int                `json:"id"`
	Values  []float64          `json:"values,omitempty"` // of the trial; told along, they are checked
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Failed says that the trial has no metrics and never will: it is worse
	// than any other, and is not asked for again.
	Failed bool `json:"failed,omitempty"`
}

// Config says what to search, for what, and how.
type Config struct {
	Space Space `json:"space"`
	Goal  Goal  `json:"goal"`
	// Method is one of Methods.
	Method string `json:"method"`
	// Trials is how many there will be, 1 at least.
	Trials int `json:"trials"`
	// Batch is how many trials are asked for before the method looks at results;
	// 0 stands for the method's own (docs/SEARCH.md). Designs (random, sobol,
	// halton, latin) never look, so theirs is all trials.
	Batch int `json:"batch,omitempty"`
	// Seed chooses among equally good searches.
	Seed uint64 `json:"seed,omitempty"`
	// Start are points to try first, such as the present profile. CMA-ES starts
	// around the first of them.
	Start [][]float64 `json:"start,omitempty"`
}

// method is an algorithm. It sees whole batches, in the order of trials.
type method interface {
	// propose returns the values of the trials first to first+n-1.
	propose(first, n int) [][]float64
	// learn takes the results of a whole batch that begins with trial first.
	learn(first int, values [][]float64, scores []Score)
	// batch is the size of the next batch.
	batch() int
}

// methods makes a method of a valid Config.
var methods = map[string]func(c *Config) (method, error){
	"random": newDesign,
	"sobol":  newDesign,
	"halton": newDesign,
	"latin":  newDesign,
	"cmaes":  newCMA,
	"bayes":  newBayes,
	"nsga2":  newNSGA,
}

// Methods names the methods.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// Search asks for trials and learns from results. It holds all results told.
type Search struct {
	config Config
	method method

	// The batch in work.
	trials  []Trial
	next    int // the first trial that Ask has not looked at
	told    []*Result
	missing int

	results []Result // of the batches that are complete
	scores  []Score
}

// New returns a search that has asked for nothing.
func New(c Config) (*Search, error) {
	if err := c.Space.Validate(); err != nil {
		return nil, err
	}
	if err := c.Goal.Validate(); err != nil {
		return nil, err
	}
	if c.Trials < 1 || c.Batch < 0 {
		return nil, fmt.Errorf("search: %d trials in batches of %d: give at least one trial, and 0 or more as the batch", c.Trials, c.Batch)
	}
	for i, v := range c.Start {
		if err := c.Space.Check(v); err != nil {
			return nil, fmt.Errorf("starting point %d: %w", i+1, err)
		}
	}
	build, known := methods[c.Method]
	if !known {
		return nil, fmt.Errorf("search: unknown method %q: use one of %v", c.Method, Methods())
	}
	m, err := build(&c)
	if err != nil {
		return nil, err
	}
	s := &Search{config: c, method: m}
	s.prepare()
	return s, nil
}

// prepare makes the next batch.
func (s *Search) prepare() {
	first := len(s.results)
	n := min(s.method.batch(), s.config.Trials-first)
	s.trials, s.next, s.missing = nil, 0, n
	s.told = make([]*Result, n)
	if n == 0 {
		return
	}
	// A last batch that is cut short holds what the whole one would begin with,
	// so a search with a larger budget begins with the trials of this one.
	for i, v := range s.method.propose(first, s.method.batch())[:n] {
		s.trials = append(s.trials, Trial{ID: first + i, Values: v})
	}
}

// Ask returns up to n trials that were not returned yet. It returns none when all
// trials of the batch are out: tell results first. What the trials are does not
// depend on n. A trial is returned once; a caller that loses one runs it again.
func (s *Search) Ask(n int) []Trial {
	var out []Trial
	for ; s.next < len(s.trials) && len(out) < n; s.next++ {
		if s.told[s.next] == nil {
			trial := s.trials[s.next]
			out = append(out, Trial{ID: trial.ID, Values: slices.Clone(trial.Values)})
		}
	}
	return out
}

// Batch is the size of the batch in work, 0 at the end.
func (s *Search) Batch() int { return len(s.trials) }

// Done says whether all results are there.
func (s *Search) Done() bool { return len(s.results) == s.config.Trials }

// Tell takes results in any order, and any of them again: a second result that
// differs from the first is an error, since a trial has one outcome. When the
// batch is complete the method learns from it and the next one can be asked
// for, which for "bayes" takes most of a second at 500 results. On an error the
// results before the offending one are taken.
func (s *Search) Tell(results []Result) error {
	for i := range results {
		if err := s.tell(&results[i]); err != nil {
			return err
		}
	}
	return nil
}

// tell takes one result.
func (s *Search) tell(r *Result) error {
	first := len(s.results)
	if r.ID < 0 || r.ID >= first+len(s.trials) {
		return fmt.Errorf("search: the result of trial %d: trials %d to %d are out", r.ID, first, first+len(s.trials)-1)
	}
	if r.ID < first {
		return same(&s.results[r.ID], r)
	}
	i := r.ID - first
	if r.Values != nil && !slices.Equal(r.Values, s.trials[i].Values) {
		return fmt.Errorf("search: trial %d was told for %v and asked for %v: the result belongs to another search", r.ID, r.Values, s.trials[i].Values)
	}
	if s.told[i] != nil {
		return same(s.told[i], r)
	}
	if _, err := s.config.Goal.Score(*r); err != nil {
		return err
	}
	s.told[i] = &Result{ID: r.ID, Values: s.trials[i].Values, Metrics: maps.Clone(r.Metrics), Failed: r.Failed}
	if s.missing--; s.missing == 0 {
		s.close()
	}
	return nil
}

// same says whether two results of one trial agree.
func same(a, b *Result) error {
	alike := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	if a.Failed == b.Failed && maps.EqualFunc(a.Metrics, b.Metrics, alike) {
		return nil
	}
	return fmt.Errorf("search: trial %d was told twice with different results, %v and %v: its evaluation is not deterministic", a.ID, a.Metrics, b.Metrics)
}

// close teaches the method a complete batch.
func (s *Search) close() {
	first := len(s.results)
	values := make([][]float64, len(s.trials))
	for i, r := range s.told {
		score, err := s.config.Goal.Score(*r)
		if err != nil {
			panic("search: a result that was accepted: " + err.Error())
		}
		values[i] = r.Values
		s.results = append(s.results, *r)
		s.scores = append(s.scores, score)
	}
	s.method.learn(first, values, s.scores[first:])
	s.prepare()
}

// single refuses goals of several objectives.
func (c *Config) single() error {
	if len(c.Goal.Objectives) == 1 {
		return nil
	}
	return fmt.Errorf("search: method %q takes one objective, not %d: use bayes or nsga2, or turn all but one into constraints", c.Method, len(c.Goal.Objectives))
}

// sobolReaches refuses spaces whose dimension no Sobol sequence has.
func sobolReaches(c *Config) error {
	if dim := c.Space.Dim(); dim > maxSobol {
		return fmt.Errorf("search: method %q in %d dimensions: it begins with a Sobol sequence, which has %d at most", c.Method, dim, maxSobol)
	}
	return nil
}

// draws returns the random source of an entity, as a rule a trial: draws for
// one purpose move no others.
func (c *Config) draws(purpose string, entity int) *draw.Source {
	s := draw.New(c.Seed, draw.StreamOf("search/"+c.Method+"/"+purpose), uint64(entity), 0)
	return &s
}
