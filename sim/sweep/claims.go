package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A claim is a file claims/FIRST.GENERATION that covers the chunk of tasks from
// FIRST on. It is made by exclusive create and never removed: a worker that finds the
// lease of the latest generation expired, or released, makes the next one, and of
// several workers exactly one succeeds. FIRST.GENERATION.free releases a claim,
// FIRST.done says that all its tasks have outcomes. So one listing of names
// tells nearly all; only leases need a look at a file.

// held is a claim of this process.
type held struct {
	chunk
	generation int
	worker     int
	path       string
}

// claimText is the first line of a claim. Each heartbeat adds a dot.
type claimText struct {
	Writer string `json:"writer"`
	Worker int    `json:"worker"` // in its process
	Origin origin `json:"origin"`
}

// claimMarks is what the names in claims/ say, by the first task of the chunk.
type claimMarks struct {
	generation map[int]int // the latest
	free       map[int]int // the latest that was released
	done       map[int]bool
}

func (s *Study) claimPath(first, generation int) string {
	return s.path(claimsDir, fmt.Sprintf("%06d.%d", first, generation))
}

func (s *Study) donePath(first int) string { return s.path(claimsDir, fmt.Sprintf("%06d.done", first)) }

// listClaims reads the names of all claims.
func (s *Study) listClaims() (claimMarks, error) {
	m := claimMarks{map[int]int{}, map[int]int{}, map[int]bool{}}
	list, err := s.root.Names(s.path(claimsDir))
	if err != nil {
		return m, fmt.Errorf("listing the claims: %w", suspect(err))
	}
	for _, name := range list {
		text, mark, ok := strings.Cut(name, ".")
		first, err := strconv.Atoi(text)
		if !ok || err != nil {
			continue
		}
		if mark == "done" {
			m.done[first] = true
			continue
		}
		number, free := strings.CutSuffix(mark, ".free")
		generation, err := strconv.Atoi(number)
		switch {
		case err != nil:
		case free:
			m.free[first] = max(m.free[first], generation)
		default:
			m.generation[first] = max(m.generation[first], generation)
		}
	}
	return m, nil
}

// newClaim makes a claim; nil when it exists already.
func (s *Study) newClaim(c chunk, generation, worker int, writer string, o origin) (*held, error) {
	h := &held{c, generation, worker, s.claimPath(c.first, generation)}
	text, err := json.Marshal(claimText{writer, worker, o})
	if err != nil {
		return nil, fmt.Errorf("claiming tasks: %w", suspect(err))
	}
	f, err := s.root.NewFile(h.path)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claiming tasks: %w", suspect(err))
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("claiming tasks: %w", suspect(err))
	}
	return h, nil
}

// heartbeat renews the lease: the write moves the file's time of change, by the clock of
// the file system.
func (s *Study) heartbeat(h *held) error {
	f, err := s.root.Append(h.path)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte{'.'})
	return errors.Join(err, f.Close())
}

// fenced says whether another worker holds a later generation of this claim.
func (s *Study) fenced(h *held) (bool, error) {
	_, err := s.root.Lstat(s.claimPath(h.first, h.generation+1))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// mark leaves an empty file; that it is there already is fine.
func (s *Study) mark(path string) error {
	f, err := s.root.NewFile(path)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("marking a claim: %w", suspect(err))
	}
	return nil
}

func (s *Study) markDone(h *held) error { return s.mark(s.donePath(h.first)) }

func (s *Study) markFree(first, generation int) error {
	return s.mark(s.claimPath(first, generation) + ".free")
}

// reopen makes the tasks of a chunk that was done open to the next claim.
func (s *Study) reopen(c chunk, generation int) error {
	if generation > 0 {
		if err := s.markFree(c.first, generation); err != nil {
			return err
		}
	}
	if err := s.root.Remove(s.donePath(c.first)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("opening tasks again: %w", err)
	}
	return nil
}

// readClaim reads a claim and its last heartbeat. Opening the file first
// makes network file systems ask the server instead of their cache. A worker may
// have died before it wrote its name: then the text is empty.
func (s *Study) readClaim(first, generation int) (text claimText, size int64, alive time.Time, err error) {
	f, err := s.root.Open(s.claimPath(first, generation), os.O_RDONLY)
	if err != nil {
		return text, 0, alive, fmt.Errorf("reading a claim: %w", suspect(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return text, 0, alive, fmt.Errorf("reading a claim: %w", suspect(err))
	}
	buf := make([]byte, 2048) // host names have at most 255 characters
	n, _ := f.ReadAt(buf, 0)  // what cannot be read counts as empty
	if line, _, whole := bytes.Cut(buf[:n], []byte{'\n'}); whole && json.Unmarshal(line, &text) != nil {
		text = claimText{}
	}
	return text, info.Size(), info.ModTime(), nil
}

// now is the time by the clock of the file system: that of a file just written.
func (s *Study) now(writer string) (time.Time, error) {
	path := s.path(clockDir, writer)
	f, err := s.root.Append(path)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = s.root.NewFile(path); errors.Is(err, fs.ErrExist) { // another worker of this process asked at once
			f, err = s.root.Append(path)
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("asking the file system for the time: %w", suspect(err))
	}
	_, err = f.Write([]byte{'.'})
	if err = errors.Join(err, f.Close()); err != nil {
		return time.Time{}, fmt.Errorf("asking the file system for the time: %w", suspect(err))
	}
	info, err := s.root.Lstat(path)
	if err != nil {
		return time.Time{}, fmt.Errorf("asking the file system for the time: %w", suspect(err))
	}
	return info.ModTime(), nil
}

// observer judges leases. Its memory covers file systems whose clock jumps.
type observer struct {
	study  *Study
	writer string
	origin origin

	mu   sync.Mutex
	seen map[int]sign
}

// sign is a claim as it was when it last looked different.
type sign struct {
	generation int
	size       int64
	since      time.Time // by the monotonic clock of this process
}

func newObserver(s *Study, writer string, o origin) *observer {
	return &observer{study: s, writer: writer, origin: o, seen: map[int]sign{}}
}

// nameless is how long a claim holds whose worker has not written its name, which it does
// at once: one that was killed in between left no origin by which to tell that it is gone.
const nameless = 5 * time.Second

// expired says whether a claim has lost its worker: the process has ended, as
// far as that is known here, or has sent no heartbeat for a lease, by the clock of
// the file system, or by this process's own when it watched all along.
func (o *observer) expired(first, generation int) (bool, error) {
	text, size, alive, err := o.study.readClaim(first, generation)
	if err != nil {
		return false, err
	}
	if text.Origin.gone(o.origin) {
		return true, nil
	}
	now, err := o.study.now(o.writer)
	if err != nil {
		return false, err
	}
	lease := o.study.Lease()
	if now.Sub(alive) > lease || text == (claimText{}) && now.Sub(alive) > nameless {
		return true, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	last, known := o.seen[first]
	if !known || last.generation != generation || last.size != size {
		o.seen[first] = sign{generation, size, time.Now()}
		return false, nil
	}
	return time.Since(last.since) > 2*lease, nil
}
