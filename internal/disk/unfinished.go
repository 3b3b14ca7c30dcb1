package disk

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// unfinished is what this process has made and not put in place.
var unfinished struct {
	sync.Mutex
	paths   map[string]bool
	folders []string // made for what was to come, outermost first
}

var abandoned atomic.Bool

// errAbandoned is what every step ends with once the work was given up.
var errAbandoned = fmt.Errorf("given up: %w", context.Canceled)

// TemporaryError says that a copy could not be made in the folder for temporary files: not
// what is read is at fault, but that folder.
type TemporaryError struct{ Err error }

// Error names the folder, and what says which it is.
func (e *TemporaryError) Error() string {
	return fmt.Sprintf("the folder for temporary files, %s (TMPDIR): %v", os.TempDir(), e.Err)
}

// Temporary says that a file or folder is to be removed when the process is ended in the
// middle of its work.
func Temporary(path string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.paths == nil {
		unfinished.paths = map[string]bool{}
	}
	unfinished.paths[path] = true
}

// settled says that what was made at a path is in its place, or gone.
func settled(path string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	delete(unfinished.paths, path)
}

func madeFolder(path string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.folders = append(unfinished.folders, path)
}

// stale is how long before something was begun a killed process must have last changed what
// it left, by the clock of the file system.
const stale = time.Hour

var tidied sync.Map // by prefix: looked for once by a process

// Tidy removes what killed processes have left of the same file: names that begin with
// prefix, as Replace and Scratch make them, last changed an hour before made was. What cannot
// be removed stays.
func Tidy(prefix, made string, remove func(path string) error) {
	if _, before := tidied.LoadOrStore(prefix, true); before {
		return
	}
	st, err := os.Lstat(made)
	if err != nil {
		return
	}
	dir, begin := filepath.Split(prefix)
	folder, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return
	}
	names, _ := folder.Readdirnames(-1) // those that can be read
	_ = folder.Close()
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(dir, name)
		if rest, ok := strings.CutPrefix(name, begin); !ok || strings.Trim(strings.TrimSuffix(rest, "-old"), "0123456789-") != "" || pending(path) {
			continue
		}
		if at, err := lastChange(path); err == nil && st.ModTime().Sub(at) > stale {
			_ = remove(path)
		}
	}
}

// pending says whether this process is at a path itself.
func pending(path string) bool {
	unfinished.Lock()
	defer unfinished.Unlock()
	return unfinished.paths[path]
}

// lastChange is when a file, or anything in a folder, last changed.
func lastChange(path string) (at time.Time, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err == nil && st.ModTime().After(at) {
			at = st.ModTime()
		}
		return err
	})
	return at, err
}

// Abandon gives up what this process is at: no further step is taken, and what is not in its
// place is removed, with the folders that were made for it and hold nothing else. It is for a
// process that is about to end.
func Abandon() {
	abandoned.Store(true)
	unfinished.Lock()
	defer unfinished.Unlock()
	for path := range unfinished.paths { //detlint:ordered each is removed, whichever comes first
		_ = removeAll(path)
	}
	for _, path := range slices.Backward(unfinished.folders) {
		_ = os.Remove(path) // fails, as it should, when something is in it
	}
}
