package transform

import (
	"errors"
	"slices"

	"orrery/scheduler/model"
)

// mergeOpen is the step merge, with sets that are open.
func mergeOpen(sets ...*Set) (*Set, error) {
	if len(sets) == 0 {
		return nil, errors.New("no trace to merge")
	}
	a := &Account{Step: "merge"}
	out, err := mergeAll(sets, a)
	if err != nil {
		return nil, err
	}
	out.steps, out.accounts = append(slices.Clone(out.steps), a.Step), append(slices.Clone(out.accounts), a)
	return out, nil
}

// windows are the Spans of a trace, each as a Set.
func windows(s *Set, length model.Duration, count int, warm bool) ([]*Set, error) {
	spans, err := s.Spans(length, count)
	if err != nil {
		return nil, err
	}
	var out []*Set
	for _, at := range spans {
		w, err := s.Window(at.Begin, at.End, warm, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// balanced says whether the counts of a step add up.
func balanced(a *Account) bool {
	sum := a.Kept
	for _, d := range a.Dropped {
		sum += d.Count
	}
	return sum == a.Read+a.Added
}
