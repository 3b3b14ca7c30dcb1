package study

// markFront sets Front in all rows: true for those that are feasible, have
// every objective, and than which no other such row is at least as good in
// every objective and better in one. Write calls it when no row says that
// it is on the front. Cost is quadratic in the rows; 5,000 take about 0.1 s.
func (s *Study) markFront() {
	objectives := s.objectives()
	costs := make([][]float64, len(s.Rows)) // all to be made small; nil for rows that do not count
	for i := range s.Rows {
		r := &s.Rows[i]
		r.Front = false
		row := make([]float64, 0, len(objectives))
		for _, k := range objectives {
			if r.Metrics[k].Defined() {
				row = append(row, -float64(s.Metrics[k].sense())*float64(r.Metrics[k]))
			}
		}
		if r.Feasible && len(row) == len(objectives) && len(row) > 0 {
			costs[i] = row
		}
	}
	for i, a := range costs {
		s.Rows[i].Front = a != nil
		for _, b := range costs {
			if a != nil && b != nil && dominates(b, a) {
				s.Rows[i].Front = false
				break
			}
		}
	}
}

// dominates says whether a is as good as b everywhere and better somewhere.
func dominates(a, b []float64) bool {
	better := false
	for k := range a {
		if a[k] > b[k] {
			return false
		}
		better = better || a[k] < b[k]
	}
	return better
}

func (s *Study) frontKnown() bool {
	for i := range s.Rows {
		if s.Rows[i].Front {
			return true
		}
	}
	return false
}
