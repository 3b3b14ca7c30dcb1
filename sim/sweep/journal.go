package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"orrery/internal/disk"
	"orrery/internal/seal"
)

// Kinds of journal records.
const (
	noteOpen       = "open"       // a process begins to work on the study
	noteClaim      = "claim"      // it claimed a chunk
	noteStart      = "start"      // it begins a task
	noteCommit     = "commit"     // its result is the task's
	noteSame       = "same"       // an equal outcome was there already
	noteFound      = "found"      // another worker's outcome was there when the chunk was claimed again
	noteFault      = "fault"      // a different one was there already
	noteFail       = "fail"       // the task failed by itself, for good
	noteRetry      = "retry"      // a try failed for a transient reason
	noteQuit       = "quit"       // a try was given up because the process was told to stop
	noteLost       = "lost"       // another worker began the task and vanished
	noteQuarantine = "quarantine" // the task is given up
	noteFenced     = "overtaken"  // another worker claimed the chunk, for the lease of this one expired
	noteFree       = "free"       // the chunk was released
	noteDone       = "done"       // all tasks of the chunk have outcomes
	noteSubmit     = "submit"     // an executor started workers
	noteClose      = "close"      // the process is through
)

// note is one line of a journal.
type note struct {
	At         string  `json:"at"`
	Kind       string  `json:"kind"`
	Task       *int    `json:"task,omitempty"`
	Chunk      *int    `json:"chunk,omitempty"` // number of its first task
	Generation int     `json:"generation,omitempty"`
	Worker     int     `json:"worker,omitempty"` // of the process
	Writer     string  `json:"writer,omitempty"` // another one
	Text       string  `json:"text,omitempty"`
	Origin     *origin `json:"origin,omitempty"`
}

// journal is the append-only record of one process. Nothing is decided by it but
// which worker is charged with a lost try; results are decided by links alone. It is
// therefore not synced with each line.
type journal struct {
	writer string
	sealed bool // its lines have digests
	mu     sync.Mutex
	file   *disk.File
}

func (s *Study) openJournal(o origin) (*journal, error) {
	j := &journal{writer: newWriterID(), sealed: s.sealed()}
	var err error
	if j.file, err = s.root.NewFile(s.journalPath(j.writer)); err != nil {
		return nil, fmt.Errorf("opening the journal: %w", suspect(err))
	}
	if err := j.write(note{Kind: noteOpen, Origin: &o, Text: s.binary}); err != nil {
		return nil, errors.Join(err, j.file.Close())
	}
	return j, nil
}

func (s *Study) journalPath(writer string) string { return s.path(journalDir, writer+".jsonl") }

// write appends one line, in one call of the system.
func (j *journal) write(n note) error {
	n.At = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	line, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	if j.sealed {
		line = bytes.TrimSuffix(seal.Object(line), []byte("\n"))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	return nil
}

// of notes something about a task under a claim.
func (j *journal) of(kind string, h *held, task int, text string) error {
	return j.write(note{Kind: kind, Task: &task, Chunk: &h.first, Generation: h.generation, Worker: h.worker, Text: text})
}

// claim notes something about a claim.
func (j *journal) claim(kind string, h *held) error {
	return j.write(note{Kind: kind, Chunk: &h.first, Generation: h.generation, Worker: h.worker})
}

func (j *journal) close() error {
	err := j.write(note{Kind: noteClose})
	return errors.Join(err, j.file.Sync(), j.file.Close())
}

// readNotes calls f with the whole lines of a journal from offset on and returns
// where they end. A last line without an end is being written, or was cut off by
// a crash; lines that are no JSON, or not what their digest says, are damaged.
func (s *Study) readNotes(path string, offset int64, f func(n note, damaged bool)) (int64, error) {
	file, err := s.root.Open(path, os.O_RDONLY)
	if err != nil {
		return offset, fmt.Errorf("reading a journal: %w", suspect(err))
	}
	defer file.Close()
	r := bufio.NewReaderSize(io.NewSectionReader(file, offset, 1<<62), 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return offset, nil
		}
		if err != nil {
			return offset, fmt.Errorf("reading a journal: %w", err)
		}
		offset += int64(len(line))
		var n note
		damaged := json.Unmarshal(line, &n) != nil
		if s.sealed() && !damaged {
			_, err := seal.CutObject(line)
			damaged = err != nil
		}
		f(n, damaged)
	}
}

// loss is a try that came to nothing.
type loss struct {
	task       int
	generation int // of the claim that it was made under
	Attempt
	lost bool // rather than failed
}

// losses reads what became of the tries of a chunk under the claims before
// generation. A claim whose worker vanished is charged to the task that it began
// last; when its journal did not survive, to the chunk's first open one. A task
// that was given up and opened again by hand starts anew. Cost: the journals of
// those workers are read.
func (s *Study) losses(c chunk, generation int, open []int) ([]loss, error) {
	var all []loss
	for g := 1; g < generation; g++ {
		text, _, _, err := s.readClaim(c.first, g)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		t := s.tries(text.Writer, c, g)
		all = slices.DeleteFunc(all, func(l loss) bool { return t.givenUp[l.task] })
		all = append(all, t.failed...)
		switch {
		case t.running >= 0:
			all = append(all, loss{t.running, g, Attempt{Writer: text.Writer}, true})
		case !t.noted && len(open) > 0:
			if _, err := s.root.Lstat(s.claimPath(c.first, g) + ".free"); err != nil {
				all = append(all, loss{open[0], g, Attempt{Writer: text.Writer}, true})
			}
		}
	}
	return all, nil
}

// tried is what a journal says of one claim.
type tried struct {
	noted   bool         // at all
	failed  []loss       // by their place
	running int          // the task that was begun last and has not ended, -1 when there is none
	givenUp map[int]bool // tasks that were given up
}

// tries reads the tries of a chunk under one claim from the journal of its
// writer.
func (s *Study) tries(writer string, c chunk, generation int) tried {
	t := tried{running: -1, givenUp: map[int]bool{}}
	if writer == "" {
		return t
	}
	last, ended := -1, map[int]bool{}
	_, _ = s.readNotes(s.journalPath(writer), 0, func(n note, damaged bool) { // it may not have survived the crash of its machine
		if damaged || n.Chunk == nil || *n.Chunk != c.first || n.Generation != generation {
			return
		}
		t.noted = true
		if n.Task == nil {
			return
		}
		switch n.Kind {
		case noteStart:
			last = *n.Task
		case noteRetry:
			t.failed = append(t.failed, loss{*n.Task, generation, Attempt{writer, n.Text}, false})
			ended[*n.Task] = true
		case noteQuarantine:
			t.givenUp[*n.Task] = true
		case noteCommit, noteSame, noteFault, noteFail, noteQuit:
			ended[*n.Task] = true
		}
	})
	if last >= 0 && !ended[last] {
		t.running = last
	}
	return t
}

// Tally counts what the journals say so far. Results are counted by Status.
type Tally struct {
	Tasks       int // in the study
	Finished    int // tasks with an outcome
	Failed      int // of these, failed by themselves
	Quarantined int // of these, given up
	Started     int // tries
	Retried     int // tries that failed for a transient reason
	Lost        int // tries whose worker vanished
	Duplicates  int // results that came second, and were equal
	Faults      int // results that came second, and were not
	Writers     int // processes that have worked on the study
	Open        int // of these, ended unexpectedly or still at work
	Damaged     int // lines that are not what was written
}

// Follower reads the journals of a study as they grow.
type Follower struct {
	study  *Study
	offset map[string]int64
	ended  map[int]bool
	tally  Tally
}

// Follow makes a follower from the beginning.
func (s *Study) Follow() *Follower {
	return &Follower{study: s, offset: map[string]int64{}, ended: map[int]bool{}}
}

// Poll reads what was written since the last call. A task whose worker was
// killed between its result and the line about it counts as finished only once
// another worker has found it. Cost: the new lines, and one open per journal.
func (f *Follower) Poll() (Tally, error) {
	if err := f.study.Reload(); err != nil {
		return f.tally, err
	}
	list, err := f.study.root.Names(f.study.path(journalDir))
	if err != nil {
		return f.tally, fmt.Errorf("listing the journals: %w", err)
	}
	for _, name := range list {
		if writer, ok := strings.CutSuffix(name, ".jsonl"); ok {
			end, err := f.study.readNotes(f.study.journalPath(writer), f.offset[writer], f.count)
			if err != nil {
				return f.tally, err
			}
			f.offset[writer] = end
		}
	}
	f.tally.Tasks = f.study.Len()
	f.tally.Finished = len(f.ended)
	return f.tally, nil
}

func (f *Follower) count(n note, damaged bool) {
	t := &f.tally
	if damaged {
		t.Damaged++
		return
	}
	switch n.Kind {
	case noteOpen:
		t.Writers++
		t.Open++
	case noteClose:
		t.Open--
	case noteStart:
		t.Started++
	case noteRetry:
		t.Retried++
	case noteLost:
		t.Lost++
	case noteFault:
		t.Faults++
	}
	if n.Task == nil {
		return
	}
	before := f.ended[*n.Task]
	switch n.Kind {
	case noteFail:
		t.Failed += once(before)
	case noteQuarantine:
		t.Quarantined += once(before)
	case noteSame:
		t.Duplicates++
	case noteCommit, noteFound, noteFault:
	default:
		return
	}
	f.ended[*n.Task] = true
}

func once(before bool) int {
	if before {
		return 0
	}
	return 1
}
