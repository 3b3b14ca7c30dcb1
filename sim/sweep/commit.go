package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// commit puts content at path unless something is there, whole and on disk, and
// says whether it is this call's content that is there now. Of several writers
// that commit at once, on one machine or many, exactly one is first: the file is
// written beside, synced, and linked into place.
//
// A link whose reply was lost on the network comes back as "exists"; then both
// names are one file, and it was first after all. Cost: one fsync.
func commit(path string, content []byte, writer string) (first bool, err error) {
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+writer)
	for range 2 {
		if err = writeSynced(beside, content); err == nil {
			return linkOnce(beside, path)
		}
		mending := err
		switch {
		case errors.Is(err, fs.ErrNotExist):
			mending = os.MkdirAll(filepath.Dir(path), 0o755)
		case errors.Is(err, fs.ErrExist): // never written over: it may be linked already
			mending = os.Remove(beside)
		}
		if mending != nil {
			return false, mending
		}
	}
	return false, err
}

// linkOnce gives the file beside the name path unless it is taken, and removes
// its own name.
func linkOnce(beside, path string) (first bool, err error) {
	linking := os.Link(beside, path)
	switch {
	case linking == nil:
		first = true
	case errors.Is(linking, fs.ErrExist):
		first, err = sameFile(beside, path)
	default:
		err = fmt.Errorf("%w; a study needs hard links: see what 'orrery doctor --study' finds there", linking)
	}
	return first, errors.Join(err, os.Remove(beside))
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func sameFile(a, b string) (bool, error) {
	one, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	two, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	return os.SameFile(one, two), nil
}

// landing says how a result came to be in its place.
type landing uint8

const (
	landedFirst   landing = iota
	landedEqual           // an equal one was there
	landedDiffers         // another one was there: a determinism fault
)

// commitResult makes result the outcome of the task unless it has one. A result
// that differs from the one that is there, or that a recorded deterministic
// failure contradicts, is kept in faults/.
func (s *Study) commitResult(d Digest, result []byte, writer string) (landing, error) {
	first, err := commit(s.resultPath(d), result, writer)
	if err != nil {
		return 0, fmt.Errorf("committing the result of %s: %w", d, err)
	}
	if !first {
		there, err := os.ReadFile(s.resultPath(d))
		if err != nil {
			return 0, fmt.Errorf("comparing the result of %s: %w", d, err)
		}
		if bytes.Equal(there, result) {
			return landedEqual, nil
		}
		return landedDiffers, s.recordFault(d, result, writer)
	}
	failed, err := s.failure(d)
	if err != nil || failed == nil || failed.Quarantined {
		return landedFirst, err
	}
	return landedDiffers, s.recordFault(d, result, writer)
}

// commitFailure makes a failure the outcome of the task unless it has one.
func (s *Study) commitFailure(f Failure, writer string) (landing, error) {
	text, err := encodeFailure(f)
	if err != nil {
		return 0, err
	}
	first, err := commit(s.failurePath(f.digest), text, writer)
	if err != nil {
		return 0, fmt.Errorf("recording the failure of %s: %w", f.digest, err)
	}
	if _, err := os.Lstat(s.resultPath(f.digest)); err == nil && !f.Quarantined {
		return landedDiffers, s.recordFault(f.digest, text, writer)
	}
	if first {
		return landedFirst, nil
	}
	return landedEqual, nil
}

// recordFault keeps what came out a second time.
func (s *Study) recordFault(d Digest, other []byte, writer string) error {
	name := fmt.Sprintf("%s-%.16s.json", d, DigestOf(other))
	if _, err := commit(s.path(faultsDir, name), other, writer); err != nil {
		return fmt.Errorf("recording a determinism fault of %s: %w", d, err)
	}
	return nil
}

// resultPath spreads results over 256 folders, so that none holds more than a
// few thousand.
func (s *Study) resultPath(d Digest) string {
	name := d.String()
	return s.path(resultsDir, name[:2], name+".json")
}

func (s *Study) failurePath(d Digest) string { return s.path(failuresDir, d.String()+".json") }
