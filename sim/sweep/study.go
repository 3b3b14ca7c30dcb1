package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Format is the version of the study directory. Readers refuse others.
const Format = 1

// Spans of a lease. Attribute caches of network file systems hold for up to a
// minute, hence the default. Studies with shorter or longer ones are refused.
const (
	defaultLease = time.Minute
	MinLease     = 200 * time.Millisecond
	MaxLease     = time.Hour
)

// Folders of a study.
const (
	specsDir    = "specs"
	claimsDir   = "claims"
	journalDir  = "journal"
	resultsDir  = "results"
	failuresDir = "failures"
	faultsDir   = "faults"
	clockDir    = "clock"
	logDir      = "log"
)

var folders = []string{specsDir, claimsDir, journalDir, resultsDir, failuresDir, faultsDir, clockDir, logDir}

// Options are what a study is created with and keeps for ever.
type Options struct {
	// Binary is the digest of the program that computes the tasks, usually from
	// BinaryDigest. Programs with another digest are refused.
	Binary string
	// Lease is how long a claim holds without a heartbeat of its worker:
	// a minute when 0, from 200 ms to 1 h. Workers send four heartbeats in
	// it.
	Lease time.Duration
	// About is one JSON value of the creator's own, such as the experiment that
	// the specs come from; it may be nil.
	About json.RawMessage
}

// header is study.json.
type header struct {
	Format  int             `json:"format"`
	Binary  string          `json:"binary"`
	LeaseMS int64           `json:"lease_ms"`
	About   json.RawMessage `json:"about,omitempty"`
}

// Study is an open study directory. Its methods may be called by several
// goroutines.
type Study struct {
	dir    string
	head   header
	binary string // of this process; "" opens for reading

	mu     sync.Mutex
	tasks  []task
	chunks []chunk
	index  map[Digest]int
}

// Create makes a study in dir, which is missing or empty. Where one is already
// there, errors.Is(err, fs.ErrExist) holds.
func Create(dir string, o Options) (*Study, error) {
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Lease < MinLease || o.Lease > MaxLease {
		return nil, fmt.Errorf("creating the study %s: found a lease of %v, want %v to %v", dir, o.Lease, MinLease, MaxLease)
	}
	if o.Binary == "" {
		return nil, fmt.Errorf("creating the study %s: found no digest of the binary; without it results of several builds would mix", dir)
	}
	head := header{Format: Format, Binary: o.Binary, LeaseMS: o.Lease.Milliseconds(), About: o.About}
	text, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("creating the study %s: %w", dir, err)
	}
	if err := vacant(dir); err != nil {
		return nil, err
	}
	for _, sub := range folders {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("creating the study: %w", err)
		}
	}
	first, err := commit(filepath.Join(dir, "study.json"), append(text, '\n'), newWriterID())
	if err != nil {
		return nil, fmt.Errorf("creating the study: %w", err)
	}
	if !first {
		return nil, &fs.PathError{Op: "create study", Path: dir, Err: fs.ErrExist}
	}
	return Open(dir, o.Binary)
}

// vacant refuses a folder that holds something else.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating the study: %w", err)
	}
	for _, e := range entries {
		if e.Name() == "study.json" {
			return &fs.PathError{Op: "create study", Path: dir, Err: fs.ErrExist}
		}
	}
	for _, e := range entries {
		if e.Name() != specsDir && e.Name() != claimsDir { // of a creation under way or cut short
			continue
		}
		return nil
	}
	if len(entries) > 0 {
		return &DataError{dir, fmt.Sprintf("the folder holds %s and is no study; name a new or an empty one", entries[0].Name())}
	}
	return nil
}

// Open opens the study in dir for a program with the digest binary, and refuses
// one that another program began (*MixedError). With binary "" it may be looked
// at and not worked on. Cost: one read per pack of specs.
func Open(dir, binary string) (*Study, error) {
	path := filepath.Join(dir, "study.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DataError{dir, "no study is there (it has no study.json); name the folder that 'sweep' made"}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the study: %w", err)
	}
	s := &Study{dir: dir, binary: binary, index: map[Digest]int{}}
	if err := json.Unmarshal(text, &s.head); err != nil {
		return nil, &DataError{path, fmt.Sprintf("it is damaged (%v); restore it from a copy", err)}
	}
	if s.head.Format != Format {
		return nil, &DataError{path, fmt.Sprintf("found format %d, this program reads %d; use the release that wrote it", s.head.Format, Format)}
	}
	if s.Lease() < MinLease || s.Lease() > MaxLease {
		return nil, &DataError{path, fmt.Sprintf("found a lease of %v, want %v to %v", s.Lease(), MinLease, MaxLease)}
	}
	if binary != "" && binary != s.head.Binary {
		return nil, &MixedError{dir, s.head.Binary, binary}
	}
	return s, s.Reload()
}

// Dir is the directory of the study.
func (s *Study) Dir() string { return s.dir }

// Lease is how long a claim holds without a heartbeat.
func (s *Study) Lease() time.Duration { return time.Duration(s.head.LeaseMS) * time.Millisecond }

// About is what the study was created with; nil when nothing was said.
func (s *Study) About() json.RawMessage {
	return bytes.Clone(s.head.About)
}

// writable refuses work by a study that was opened for reading.
func (s *Study) writable() error {
	if s.binary == "" {
		return fmt.Errorf("the study %s was opened for reading; open it with the digest of the binary to work on it", s.dir)
	}
	return nil
}

func (s *Study) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// BinaryDigest is the SHA-256 of the running program, in hexadecimal. Cost: one
// read of its file.
func BinaryDigest() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the running program: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the running program: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("reading the running program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
