package backfill

// Len is the number of running jobs.
func (s *Ends) Len() int { return s.n }
