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
	"syscall"
	"time"

	"orrery/internal/disk"
	"orrery/internal/seal"
)

// Format is the version of the study directory that is written. Since 2 its files hold
// their SHA-256. Readers refuse others than oldestFormat to Format.
const (
	Format       = 2
	oldestFormat = 1
	sealedFormat = 2 // the first whose files have digests
)

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
	root   *disk.Root
	head   header
	binary string // of this process; "" opens for reading

	mu     sync.Mutex
	tasks  []task
	chunks []chunk
	index  map[Digest]int
	// unsettled are the folders with outcomes that a power cut may take yet.
	unsettled map[string]bool
}

// Create makes a study in dir, which is missing or empty. Where one is already
// there, errors.Is(err, fs.ErrExist) holds.
func Create(dir string, o Options) (*Study, error) {
	dir = filepath.Clean(dir)
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
	root, err := newRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("creating the study: %w", err)
	}
	first, err := commit(root, filepath.Join(dir, "study.json"), seal.Object(text), newWriterID())
	if err != nil {
		return nil, fmt.Errorf("creating the study: %w", err)
	}
	if err := root.SyncFolder(dir); err != nil {
		return nil, fmt.Errorf("creating the study: %w", err)
	}
	if !first {
		return nil, &fs.PathError{Op: "create study", Path: dir, Err: fs.ErrExist}
	}
	return Open(dir, o.Binary)
}

// newRoot makes the folders of a study.
func newRoot(dir string) (*disk.Root, error) {
	if err := disk.Folder(dir); err != nil {
		return nil, err
	}
	root, err := disk.OpenRoot(dir)
	for _, sub := range folders {
		if err == nil {
			err = root.Folder(filepath.Join(dir, sub))
		}
	}
	return root, err
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
// at and not worked on. Files of other users are refused, but those of root and of the
// users trust. Cost: one read per pack of specs.
func Open(dir, binary string, trust ...int) (*Study, error) {
	dir = filepath.Clean(dir)
	path := filepath.Join(dir, "study.json")
	root, err := disk.OpenRoot(dir, trust...)
	var text []byte
	if err == nil {
		text, err = root.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, &DataError{dir, "no study is there (it has no study.json); name the folder that 'sweep' made"}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the study: %w", suspect(err))
	}
	s := &Study{dir: dir, root: root, binary: binary, index: map[Digest]int{}, unsettled: map[string]bool{}}
	if err := json.Unmarshal(text, &s.head); err != nil {
		return nil, &DataError{path, fmt.Sprintf("it is damaged (%v); restore it from a copy", err)}
	}
	if s.head.Format < oldestFormat || s.head.Format > Format {
		return nil, &DataError{path, fmt.Sprintf("found format %d, this program reads %d to %d; use the release that wrote it", s.head.Format, oldestFormat, Format)}
	}
	if s.sealed() {
		if _, err := seal.CutObject(text); err != nil {
			return nil, &DataError{path, fmt.Sprintf("found %v; restore it from a copy", err)}
		}
	}
	if s.Lease() < MinLease || s.Lease() > MaxLease {
		return nil, &DataError{path, fmt.Sprintf("found a lease of %v, want %v to %v", s.Lease(), MinLease, MaxLease)}
	}
	if binary != "" && binary != s.head.Binary {
		return nil, &MixedError{dir, s.head.Binary, binary}
	}
	return s, s.Reload()
}

// suspect makes what is no file, or belongs to another user, a complaint about the study.
func suspect(err error) error {
	var (
		other *disk.NotFileError
		owner *disk.OwnerError
	)
	switch {
	case errors.As(err, &other):
		return &DataError{other.Path, fmt.Sprintf("found %s, want a file; nothing outside the study is read or written: remove it", other.Kind())}
	case errors.As(err, &owner):
		return &DataError{owner.Path, fmt.Sprintf("it belongs to user %d; give --trust-owner %d if that is one of yours", owner.UID, owner.UID)}
	}
	return err
}

// Plain refuses a file or folder of the study, by the path below it, that is a symbolic link
// or belongs to a user who is not trusted, and what lies in a folder likewise.
func (s *Study) Plain(elem ...string) error {
	path := s.path(elem...)
	st, err := s.root.Lstat(path)
	if err != nil || !st.IsDir() {
		return suspect(err)
	}
	list, err := s.root.Names(path)
	for _, name := range list {
		if err == nil {
			_, err = s.root.Lstat(filepath.Join(path, name))
		}
	}
	return suspect(err)
}

// Dir is the directory of the study.
func (s *Study) Dir() string { return s.dir }

// Format is the version of the directory.
func (s *Study) Format() int { return s.head.Format }

// sealed says whether its files have digests.
func (s *Study) sealed() bool { return s.head.Format >= sealedFormat }

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

// selfImage is the program that runs, whatever has been put under its name since it was
// started; other systems than Linux have no such file.
const selfImage = "/proc/self/exe"

// BinaryDigest is the SHA-256 of the running program, in hexadecimal. Cost: one
// read of its file.
func BinaryDigest() (string, error) {
	path := selfImage
	if _, err := os.Stat(path); err != nil {
		if path, err = os.Executable(); err != nil {
			return "", fmt.Errorf("finding the running program: %w", err)
		}
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
