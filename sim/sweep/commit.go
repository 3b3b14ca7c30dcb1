package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"orrery/internal/disk"
)

// commit puts content at path unless something is there, whole and on disk, and
// says whether it is this call's content that is there now. Of several writers
// that commit at once, on one machine or many, exactly one is first: the file is
// written beside, synced, and linked into place.
//
// A link whose reply was lost on the network comes back as "exists"; then both
// names are one file, and it was first after all. Cost: one fsync. The folder is not
// synced: that is done once for many, by settle.
func commit(root *disk.Root, path string, content []byte, writer string) (first bool, err error) {
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+writer)
	for range 2 {
		if err = writeSynced(root, beside, content); err == nil {
			return linkOnce(root, beside, path)
		}
		mending := err
		switch {
		case errors.Is(err, fs.ErrNotExist):
			mending = root.Folder(filepath.Dir(path))
		case errors.Is(err, fs.ErrExist): // never written over: it may be linked already
			mending = root.Remove(beside)
		}
		if mending != nil {
			return false, mending
		}
	}
	return false, err
}

// linkOnce gives the file beside the name path unless it is taken, and removes
// its own name.
func linkOnce(root *disk.Root, beside, path string) (first bool, err error) {
	linking := root.Link(beside, path)
	switch {
	case linking == nil:
		first = true
	case errors.Is(linking, fs.ErrExist):
		first, err = sameFile(root, beside, path)
	default:
		err = fmt.Errorf("%w; a study needs hard links: see what 'orrery doctor --study' finds there", linking)
	}
	return first, errors.Join(suspect(err), root.Remove(beside))
}

func writeSynced(root *disk.Root, path string, content []byte) error {
	f, err := root.NewFile(path)
	if err != nil {
		return suspect(err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, root.Remove(path))
	}
	return nil
}

func sameFile(root *disk.Root, a, b string) (bool, error) {
	one, err := root.Lstat(a)
	if err != nil {
		return false, err
	}
	two, err := root.Lstat(b)
	if err != nil {
		return false, err
	}
	return os.SameFile(one, two), nil
}

// commitOutcome commits an outcome with its digest, and remembers its folder for settle.
func (s *Study) commitOutcome(path string, text []byte, writer string) (first bool, err error) {
	first, err = commit(s.root, path, s.seal(text), writer)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsettled[filepath.Dir(path)] = true
	return first, err
}

// settle returns once the names of all outcomes that were committed are on the disk. Until
// then a power cut may take some, and Mend opens their tasks again.
func (s *Study) settle() error {
	s.mu.Lock()
	folders := slices.Sorted(maps.Keys(s.unsettled))
	clear(s.unsettled)
	s.mu.Unlock()
	for _, dir := range folders {
		if err := s.root.SyncFolder(dir); err != nil {
			return fmt.Errorf("waiting until the outcomes are on the disk: %w", err)
		}
	}
	return nil
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
	first, err := s.commitOutcome(s.resultPath(d), result, writer)
	if err != nil {
		return 0, fmt.Errorf("committing the result of %s: %w", d, err)
	}
	if !first {
		there, err := s.readOutcome(s.resultPath(d))
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
	first, err := s.commitOutcome(s.failurePath(f.digest), text, writer)
	if err != nil {
		return 0, fmt.Errorf("recording the failure of %s: %w", f.digest, err)
	}
	if _, err := s.root.Lstat(s.resultPath(f.digest)); err == nil && !f.Quarantined {
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
	if _, err := s.commitOutcome(s.path(faultsDir, name), other, writer); err != nil {
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
