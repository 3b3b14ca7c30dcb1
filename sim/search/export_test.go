package search

import "slices"

// Results returns what was told: complete batches in the order of trials, then
// what there is of the batch in work.
func (s *Search) Results() []Result {
	all := slices.Clone(s.results)
	for _, r := range s.told {
		if r != nil {
			all = append(all, *r)
		}
	}
	return all
}

// Best returns the best results told so far, in the order of trials: for one
// objective the best one, the earlier of equals; for several all feasible ones
// that no other dominates. It is empty when no trial is feasible.
func (s *Search) Best() []Result {
	var results []Result
	var scores []Score
	single := len(s.config.Goal.Objectives) == 1
	for _, r := range s.Results() {
		score, err := s.config.Goal.Score(r)
		if err != nil || !score.Feasible() {
			continue
		}
		switch {
		case !single || len(results) == 0:
			results, scores = append(results, r), append(scores, score)
		case better(&score, &scores[0]) < 0:
			results[0], scores[0] = r, score
		}
	}
	if single || len(results) == 0 {
		return results
	}
	var best []Result
	for _, i := range fronts(scores)[0] {
		best = append(best, results[i])
	}
	return best
}
