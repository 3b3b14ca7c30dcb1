package sweep

import (
	"fmt"
	"strings"
)

// Status is the state of a study as its files say.
type Status struct {
	Tally           // from the journals
	Results     int // tasks with a result
	Claimed     int // chunks claimed and not done
	Remaining   int // tasks without an outcome
	FaultyTasks int // tasks with two outcomes
}

// Status counts outcomes in the folders, and tries in the journals. Cost: all
// results listed and all journals read.
func (s *Study) Status() (Status, error) {
	var st Status
	var err error
	if st.Tally, err = s.Follow().Poll(); err != nil {
		return st, err
	}
	marks, err := s.listClaims()
	if err != nil {
		return st, err
	}
	for _, c := range s.chunkList() {
		if g := marks.generation[c.first]; g > 0 && !marks.done[c.first] && marks.free[c.first] < g {
			st.Claimed++
		}
	}
	results, err := s.listResults()
	if err != nil {
		return st, err
	}
	failures, err := s.listFailures()
	if err != nil {
		return st, err
	}
	st.Tally.Failed, st.Tally.Quarantined = 0, 0
	for n := range s.Len() {
		switch d := s.Digest(n); {
		case results[d]:
			st.Results++
		case failures[d]:
			if err := st.failed(s, d); err != nil {
				return st, err
			}
		default:
			st.Remaining++
		}
	}
	st.Finished = s.Len() - st.Remaining
	faults, err := s.listFaults()
	st.FaultyTasks = len(faults)
	return st, err
}

func (st *Status) failed(s *Study, d Digest) error {
	f, err := s.failure(d)
	if err != nil {
		return err
	}
	if f != nil && f.Quarantined {
		st.Tally.Quarantined++
		return nil
	}
	st.Tally.Failed++
	return nil
}

// String is the state in one line.
func (st Status) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tasks: %d results", st.Tasks, st.Results)
	for _, part := range []struct {
		n    int
		text string
	}{
		{st.Failed, "failed"}, {st.Quarantined, "given up"}, {st.Remaining, "to do"},
		{st.Lost, "lost tries"}, {st.Duplicates, "computed twice"}, {st.FaultyTasks, "with two outcomes"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %d %s", part.n, part.text)
		}
	}
	return b.String()
}
