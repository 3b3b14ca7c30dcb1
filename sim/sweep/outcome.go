package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"orrery/internal/seal"
)

// Failure is the outcome of a task without a result.
type Failure struct {
	Number      int       `json:"task"`
	Error       string    `json:"error"`
	Quarantined bool      `json:"quarantined,omitempty"` // given up after too many tries, rather than failed by itself
	Attempts    []Attempt `json:"attempts,omitempty"`    // of a quarantined task

	digest Digest
}

// Attempt is a try that gave no outcome.
type Attempt struct {
	Writer string `json:"writer"`          // worker process; its journal has this name
	Error  string `json:"error,omitempty"` // "" when the worker was lost
}

// ErrNoOutcome says that a task has not been computed yet.
var ErrNoOutcome = errors.New("the task has no outcome yet")

// Outcome gives the result of a task, or its failure, or ErrNoOutcome. A result
// prevails over a failure. Cost: one file read.
func (s *Study) Outcome(d Digest) (result []byte, failed *Failure, err error) {
	result, err = s.readOutcome(s.resultPath(d))
	if err == nil {
		return result, nil, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("reading a result: %w", err)
	}
	if failed, err = s.failure(d); err == nil && failed == nil {
		err = ErrNoOutcome
	}
	return nil, failed, err
}

// seal adds the digest of an outcome to it, in studies that have them.
func (s *Study) seal(text []byte) []byte {
	if !s.sealed() {
		return text
	}
	return seal.Line(text)
}

// readOutcome reads a file of results or failures and checks its digest.
func (s *Study) readOutcome(path string) ([]byte, error) {
	text, err := s.root.ReadFile(path)
	if err != nil || !s.sealed() {
		return text, suspect(err)
	}
	if text, err = seal.CutLine(text); err != nil {
		return nil, &DataError{path, fmt.Sprintf("found %v; remove it to have the task computed again", err)}
	}
	return text, nil
}

// failure reads the recorded failure of a task, nil when there is none.
func (s *Study) failure(d Digest) (*Failure, error) {
	text, err := s.readOutcome(s.failurePath(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a failure: %w", err)
	}
	f := &Failure{digest: d}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, &DataError{s.failurePath(d), fmt.Sprintf("it is damaged (%v); remove it to have the task computed again", err)}
	}
	return f, nil
}

// Remedy says how a task is computed again: which file of its outcome to remove.
func (s *Study) Remedy(d Digest) string {
	path := s.resultPath(d)
	if _, err := s.root.Lstat(path); err != nil {
		path = s.failurePath(d)
	}
	return fmt.Sprintf("remove %s to have the task computed again", path)
}

func encodeFailure(f Failure) ([]byte, error) {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("recording a failure: %w", err)
	}
	return append(text, '\n'), nil
}

// resolved says whether a task has an outcome. Cost: two looks for a file.
func (s *Study) resolved(d Digest) (bool, error) {
	for _, path := range []string{s.resultPath(d), s.failurePath(d)} {
		_, err := s.root.Lstat(path)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("looking for an outcome: %w", suspect(err))
		}
	}
	return false, nil
}

// listResults collects the digests of all results. Cost: 256 folders listed.
func (s *Study) listResults() (map[Digest]bool, error) {
	have := map[Digest]bool{}
	shards, err := s.root.Names(s.path(resultsDir))
	if err != nil {
		return nil, fmt.Errorf("listing the results: %w", suspect(err))
	}
	for _, shard := range shards {
		if len(shard) != 2 {
			continue
		}
		if err := s.listDigests(s.path(resultsDir, shard), have); err != nil {
			return nil, err
		}
	}
	return have, nil
}

// listFailures collects the digests of all recorded failures.
func (s *Study) listFailures() (map[Digest]bool, error) {
	have := map[Digest]bool{}
	return have, s.listDigests(s.path(failuresDir), have)
}

// listFaults collects the digests of all tasks with two outcomes, ascending.
func (s *Study) listFaults() ([]string, error) {
	names, err := s.root.Names(s.path(faultsDir))
	if err != nil {
		return nil, fmt.Errorf("listing the faults: %w", suspect(err))
	}
	seen := map[string]bool{}
	for _, name := range names {
		if d, _, ok := strings.Cut(name, "-"); ok && !strings.HasPrefix(name, ".") {
			seen[d] = true
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

func (s *Study) listDigests(dir string, into map[Digest]bool) error {
	names, err := s.root.Names(dir)
	if err != nil {
		return fmt.Errorf("listing outcomes: %w", suspect(err))
	}
	for _, name := range names {
		if d, err := ParseDigest(strings.TrimSuffix(name, ".json")); err == nil { // others are being written
			into[d] = true
		}
	}
	return nil
}

// Mend makes tasks open again whose claim says that they are done while their
// outcome is gone: a machine lost power before its last files were on disk, or
// a file was removed to have its task computed again. It also removes what
// killed workers have left half-written. Cost: all results listed.
func (s *Study) Mend() error {
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.Reload(); err != nil {
		return err
	}
	marks, err := s.listClaims() // before the results: what is done now has its results in place
	if err != nil {
		return err
	}
	have, err := s.listResults()
	if err != nil {
		return err
	}
	if err := s.listDigests(s.path(failuresDir), have); err != nil {
		return err
	}
	for _, c := range s.chunkList() {
		if !marks.done[c.first] {
			continue
		}
		for n := c.first; n < c.first+c.n; n++ {
			if !have[s.Digest(n)] {
				if err := s.reopen(c, marks.generation[c.first]); err != nil {
					return err
				}
				break
			}
		}
	}
	return s.tidy()
}

// tidy removes half-written files that have not changed for a lease.
func (s *Study) tidy() error {
	left, err := filepath.Glob(s.path(resultsDir, "*", ".*"))
	if err != nil || len(left) == 0 {
		return err
	}
	now, err := s.now(newWriterID())
	if err != nil {
		return err
	}
	for _, path := range left {
		info, err := s.root.Lstat(path)
		if err != nil || now.Sub(info.ModTime()) <= s.Lease() {
			continue // in its place by now, or under way
		}
		if err := s.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing what a lost worker left: %w", err)
		}
	}
	return nil
}

// Verdict says what a complete study came to: nil when all tasks have results,
// *FaultError when some have two, *PartialError when some failed, ErrNoOutcome
// inside when some are still open. Cost: all results listed.
func (s *Study) Verdict() error {
	faults, err := s.listFaults()
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return &FaultError{s.dir, faults}
	}
	have, err := s.listResults()
	if err != nil {
		return err
	}
	partial := PartialError{Dir: s.dir, Tasks: s.Len()}
	for n := range s.Len() {
		d := s.Digest(n)
		if have[d] {
			continue
		}
		f, err := s.failure(d)
		if err != nil {
			return err
		}
		if f == nil {
			return fmt.Errorf("task %d of %s: %w", n, s.dir, ErrNoOutcome)
		}
		if partial.Failed+partial.Quarantined == 0 {
			partial.First, partial.Remedy = *f, ""
			if f.Quarantined {
				partial.Remedy = s.Remedy(d)
			}
		}
		if f.Quarantined {
			partial.Quarantined++
		} else {
			partial.Failed++
		}
	}
	if partial.Failed+partial.Quarantined == 0 {
		return nil
	}
	return &partial
}
