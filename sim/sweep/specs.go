package sweep

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Digest is the SHA-256 of a spec, the name of its task.
type Digest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// DigestOf is the name of the task with this spec.
func DigestOf(spec []byte) Digest { return sha256.Sum256(spec) }

// ParseDigest reads what String writes.
func ParseDigest(text string) (d Digest, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(d) {
		return d, fmt.Errorf("found the digest %q, want %d hexadecimal digits", text, 2*len(d))
	}
	return Digest(raw), nil
}

// Limits of a pack: a file that is neither too many nor too large.
const (
	maxPackTasks = 4096
	maxPackBytes = 64 << 20
)

// Tasks per claim: enough to make a claim cheap, few enough that the last ones
// of a study are shared out evenly.
const (
	maxChunk       = 16
	chunksPerBatch = 64 // aimed at
)

// packHeader is the first line of a pack; the specs follow in order, each with
// a line feed behind it.
type packHeader struct {
	Format int        `json:"format"`
	First  int        `json:"first"` // number of its first task
	Chunk  int        `json:"chunk"` // tasks per claim
	Tasks  []packTask `json:"tasks"`
}

type packTask struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// task is where a spec lies.
type task struct {
	digest Digest
	pack   string // its file
	offset int64
	bytes  int64
}

// chunk is the tasks of one claim.
type chunk struct{ first, n int }

// Add makes tasks of the specs that the study does not hold yet and returns the
// numbers of all of them, in order, and how many are new. Specs of one call are
// on disk when it returns. Several programs may add at once; equal specs are
// one task. Cost: one file per 4,096 new specs, whatever is there already.
func (s *Study) Add(specs [][]byte) (numbers []int, added int, err error) {
	if err := s.writable(); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	digests := make([]Digest, len(specs))
	for i, spec := range specs {
		digests[i] = DigestOf(spec)
	}
	for {
		fresh := s.fresh(digests)
		if len(fresh) == 0 {
			break
		}
		first, err := s.addPack(specs, digests, fresh)
		if err != nil {
			return nil, added, fmt.Errorf("adding specs to the study: %w", err)
		}
		if err := s.reload(); err != nil {
			return nil, added, err
		}
		if first {
			added += len(fresh) - len(s.fresh(digests))
		}
	}
	numbers = make([]int, len(specs))
	for i, d := range digests {
		numbers[i] = s.index[d]
	}
	return numbers, added, nil
}

// fresh are the places of the digests without a task, each digest once.
func (s *Study) fresh(digests []Digest) []int {
	seen := map[Digest]bool{}
	var places []int
	for i, d := range digests {
		if _, known := s.index[d]; !known && !seen[d] {
			seen[d] = true
			places = append(places, i)
		}
	}
	return places
}

// addPack writes as many of the fresh specs as a pack holds. Its name is the
// number of its first task, so of two programs that add at once one is first.
func (s *Study) addPack(specs [][]byte, digests []Digest, fresh []int) (first bool, err error) {
	head := packHeader{Format: s.head.Format, First: len(s.tasks), Chunk: min(maxChunk, max(1, len(fresh)/chunksPerBatch))}
	var body bytes.Buffer
	for _, i := range fresh {
		if len(head.Tasks) == maxPackTasks || body.Len() > maxPackBytes {
			break
		}
		head.Tasks = append(head.Tasks, packTask{digests[i].String(), int64(len(specs[i]))})
		body.Write(specs[i])
		body.WriteByte('\n')
	}
	text, err := json.Marshal(head)
	if err != nil {
		return false, err
	}
	first, err = commit(s.root, s.packPath(head.First), append(append(text, '\n'), body.Bytes()...), newWriterID())
	return first, errors.Join(err, s.root.SyncFolder(s.path(specsDir)))
}

func (s *Study) packPath(first int) string { return s.path(specsDir, fmt.Sprintf("%06d.jsonl", first)) }

// Reload takes note of specs that others have added. Cost: one look for a file
// when there are none.
func (s *Study) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reload()
}

func (s *Study) reload() error {
	for {
		path := s.packPath(len(s.tasks))
		f, err := s.root.Open(path, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the specs of the study: %w", suspect(err))
		}
		err = s.load(f, path)
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("reading the specs of the study: %w", cerr)
		}
		if err != nil {
			return err
		}
	}
}

// load takes the tasks of a pack from its header.
func (s *Study) load(f *os.File, path string) error {
	damaged := func(format string, args ...any) error {
		return &DataError{path, fmt.Sprintf(format, args...) + "; restore it from a copy"}
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the specs of the study: %w", err)
	}
	line, err := bufio.NewReader(f).ReadBytes('\n')
	if err != nil {
		return damaged("found no header (%v)", err)
	}
	var head packHeader
	if err := json.Unmarshal(line, &head); err != nil {
		return damaged("found a damaged header (%v)", err)
	}
	if head.Format != s.head.Format || head.First != len(s.tasks) || head.Chunk < 1 || len(head.Tasks) == 0 {
		return damaged("found format %d, first task %d, %d tasks in chunks of %d, want format %d, first task %d and positive counts",
			head.Format, head.First, len(head.Tasks), head.Chunk, s.head.Format, len(s.tasks))
	}
	offset := int64(len(line))
	tasks := make([]task, len(head.Tasks))
	for i, t := range head.Tasks {
		d, err := ParseDigest(t.SHA256)
		if err != nil || t.Bytes < 0 || t.Bytes > info.Size() {
			return damaged("found a damaged entry for task %d", head.First+i)
		}
		tasks[i] = task{d, path, offset, t.Bytes}
		offset += t.Bytes + 1
	}
	if offset != info.Size() {
		return damaged("found %d bytes, want %d", info.Size(), offset)
	}
	s.enter(head, tasks)
	return nil
}

func (s *Study) enter(head packHeader, tasks []task) {
	for i, t := range tasks {
		s.index[t.digest] = head.First + i
	}
	s.tasks = append(s.tasks, tasks...)
	for first := 0; first < len(tasks); first += head.Chunk {
		s.chunks = append(s.chunks, chunk{head.First + first, min(head.Chunk, len(tasks)-first)})
	}
}

// Len is the number of tasks.
func (s *Study) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks)
}

// Digest names task n, from 0 below Len.
func (s *Study) Digest(n int) Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks[n].digest
}

// Spec reads the spec of task n, from 0 below Len, and checks it against its
// digest. Cost: one file opened and read.
func (s *Study) Spec(n int) (spec []byte, err error) {
	s.mu.Lock()
	t := s.tasks[n]
	s.mu.Unlock()
	f, err := s.root.Open(t.pack, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("reading the spec of task %d: %w", n, suspect(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	spec = make([]byte, t.bytes)
	if _, err := io.ReadFull(io.NewSectionReader(f, t.offset, t.bytes), spec); err != nil {
		return nil, fmt.Errorf("reading the spec of task %d: %w", n, err)
	}
	if DigestOf(spec) != t.digest {
		return nil, &DataError{t.pack, fmt.Sprintf("the spec of task %d does not have its digest; restore the file from a copy", n)}
	}
	return spec, nil
}

// chunkList is the claims there are to make, of all tasks.
func (s *Study) chunkList() []chunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chunks // only ever appended to
}
