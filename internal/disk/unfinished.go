package disk

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
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
