// Package disk is how the program touches files that it must not lose or must not
// believe. What it writes is written beside its place, synced, renamed, and its folder
// synced, so that after a power cut a file is whole or absent, and stays once its verb
// has ended. What it reads is a regular file: a pipe or a device in its place is
// refused at once, and not waited for. It does not know what files mean.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// Kind is what is done to the disk.
type Kind string

// The kinds of steps.
const (
	Create  Kind = "create"
	Write   Kind = "write"
	Sync    Kind = "sync"
	Rename  Kind = "rename"
	Link    Kind = "link"
	Remove  Kind = "remove" // a file, or a folder with all that is in it
	Mkdir   Kind = "mkdir"
	SyncDir Kind = "syncdir"
)

// Step is one change of the disk.
type Step struct {
	Kind Kind
	Path string
	To   string // of Rename and Link
	Data []byte // of Write; what stands here when it is done is written
}

// Port stands between the program and the disk: it sees each step and does it by calling
// do, or answers with an error in its place.
type Port func(step *Step, do func() error) error

var port atomic.Pointer[Port]

// Through sends all steps of this process through p until restore is called: tests record
// them, and let them fail.
func Through(p Port) (restore func()) {
	before := port.Swap(&p)
	return func() { port.Store(before) }
}

func take(s Step, do func(s *Step) error) error {
	if abandoned.Load() {
		return errAbandoned
	}
	if p := port.Load(); p != nil {
		return (*p)(&s, func() error { return do(&s) })
	}
	return do(&s)
}

// NotFileError says that there is something else in the place of a file.
type NotFileError struct {
	Path string
	Mode fs.FileMode
}

// Error names what was found.
func (e *NotFileError) Error() string {
	if e.Mode&fs.ModeSymlink != 0 {
		return fmt.Sprintf("%s: found %s, which is not followed here; want a file or a folder: remove it", e.Path, e.Kind())
	}
	return fmt.Sprintf("%s: found %s, want a file", e.Path, e.Kind())
}

// Kind says what was found.
func (e *NotFileError) Kind() string {
	switch m := e.Mode; {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a device"
}

// Open opens a regular file for reading, and nothing else.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // or a pipe would be waited for
	if err != nil {
		return nil, err
	}
	return regular(f, path)
}

// regular closes what is no file.
func regular(f *os.File, path string) (*os.File, error) {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &NotFileError{path, st.Mode()}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// MostWhole is how many bytes a file may have that is read whole, into memory.
const MostWhole = 1 << 30

// LargeError says that a file is too large to be read whole.
type LargeError struct {
	Path string
	Size int64
}

// Error says how large it is.
func (e *LargeError) Error() string {
	return fmt.Sprintf("%s: found a file of %d bytes, want at most %d", e.Path, e.Size, MostWhole)
}

// ReadFile reads a regular file whole.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	text, err := whole(f, path)
	return text, errors.Join(err, f.Close())
}

// whole reads a file that is not larger than one may be, also when it grows meanwhile.
func whole(f *os.File, path string) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > MostWhole {
		return nil, &LargeError{path, st.Size()}
	}
	return io.ReadAll(io.LimitReader(f, MostWhole))
}

// File is a file that is being written.
type File struct {
	name string
	f    *os.File
}

// NewFile creates a file, which must not be there.
func NewFile(path string) (*File, error) {
	out := &File{name: path}
	return out, take(Step{Kind: Create, Path: path}, func(*Step) (err error) {
		out.f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
}

// Name is the path under which it was created.
func (f *File) Name() string { return f.name }

// Write implements io.Writer.
func (f *File) Write(p []byte) (n int, err error) {
	err = take(Step{Kind: Write, Path: f.name, Data: p}, func(s *Step) (err error) {
		n, err = f.f.Write(s.Data)
		return err
	})
	return n, err
}

// Sync returns once all that was written is on the disk.
func (f *File) Sync() error {
	return take(Step{Kind: Sync, Path: f.name}, func(*Step) error { return f.f.Sync() })
}

// Close closes the file, which need not have reached the disk by that.
func (f *File) Close() error { return f.f.Close() }

// way is how a file is put in its place: by its path, or within a Root.
type way struct {
	create            func(path string) (*File, error)
	move              func(old, path string) error
	remove, syncNames func(path string) error
}

// Replace fills a file beside path and, when it is whole and on the disk, puts it in the
// place of what is there. Whatever goes wrong, path stays as it is, and nothing is left.
// An error of fill is returned as it is.
func Replace(path string, fill func(io.Writer) error) error {
	return way{NewFile, Move, Delete, SyncFolder}.replace(path, fill)
}

func (by way) replace(path string, fill func(io.Writer) error) error {
	f, err := by.stage(path, fill)
	if err != nil {
		return err
	}
	if err := by.place(f, path); err != nil {
		by.abandon(f)
		return err
	}
	return by.syncNames(filepath.Dir(path))
}

// stage fills a file beside path, whole and on the disk. After an error nothing is left.
func (by way) stage(path string, fill func(io.Writer) error) (*File, error) {
	var f *File
	err := untaken(beside(path), func(name string) (err error) {
		Temporary(name)
		if f, err = by.create(name); err != nil {
			settled(name)
		}
		return err
	})
	if err != nil {
		return nil, from(err, path)
	}
	Tidy(beside(path), f.Name(), by.remove)
	if err = fill(f); err == nil {
		if err = f.Sync(); err != nil {
			err = from(err, path)
		}
	}
	if closing := f.Close(); err == nil && closing != nil {
		err = from(closing, path)
	}
	if err != nil {
		by.abandon(f)
		return nil, err
	}
	return f, nil
}

// place moves f, which is whole, to path.
func (by way) place(f *File, path string) error {
	if err := by.move(f.Name(), path); err != nil {
		return from(err, path)
	}
	settled(f.Name())
	return nil
}

// abandon removes f.
func (by way) abandon(f *File) {
	_ = by.remove(f.Name()) // it may be gone already
	settled(f.Name())
}

// WriteFile puts content at path, in the way of Replace.
func WriteFile(path string, content []byte) error {
	return Replace(path, filling(path, content))
}

func filling(path string, content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := w.Write(content); err != nil {
			return from(err, path)
		}
		return nil
	}
}

// from is an error about the file beside path, whose name means nothing to people.
func from(err error, path string) error {
	var beside *fs.PathError
	var moved *os.LinkError
	switch {
	case errors.As(err, &beside):
		err = beside.Err
	case errors.As(err, &moved):
		err = moved.Err
	}
	return fmt.Errorf("writing %s: %w", path, err)
}

// partial stands in the names of what is being prepared; the number of the process follows.
const partial = ".partial-"

// beside is what the names of files that are to become path begin with: hidden, and in the
// same folder.
func beside(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+partial)
}

var made atomic.Uint64

// untaken calls create with names that begin with prefix, until one is not taken.
func untaken(prefix string, create func(path string) error) error {
	for {
		err := create(fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), made.Add(1)))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// Move renames a file or folder. The new name is on the disk once its folder is synced; a
// file must have been synced before.
func Move(old, path string) error {
	err := take(Step{Kind: Rename, Path: old, To: path}, func(*Step) error { return os.Rename(old, path) })
	if err == nil {
		settled(old)
	}
	return err
}

// Delete removes a file, or a folder with all that is in it; it may be gone already.
func Delete(path string) error {
	err := take(Step{Kind: Remove, Path: path}, func(*Step) error { return removeAll(path) })
	if err == nil {
		settled(path)
	}
	return err
}

// removeAll is os.RemoveAll, which holds two folders open at a time, and gets by with one
// where no more files may be open: what failed for want of them is to leave nothing.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if inside := filepath.Join(path, e.Name()); e.IsDir() {
			err = errors.Join(err, removeAll(inside))
		} else {
			err = errors.Join(err, os.Remove(inside))
		}
	}
	return errors.Join(err, os.Remove(path))
}

// Folder makes a folder and those above it, and returns once they are on the disk.
func Folder(path string) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil
	}
	if above := filepath.Dir(path); above != path {
		if err := Folder(above); err != nil {
			return err
		}
	}
	err := take(Step{Kind: Mkdir, Path: path}, func(*Step) error { return os.Mkdir(path, 0o777) })
	if errors.Is(err, fs.ErrExist) { // made meanwhile, or a file, of which the next call says more
		return os.MkdirAll(path, 0o777)
	}
	if err != nil {
		return err
	}
	madeFolder(path)
	return SyncFolder(filepath.Dir(path))
}

// Scratch makes a folder with a name of its own, which begins with prefix, for what is
// being prepared.
func Scratch(dir, prefix string) (path string, err error) {
	err = untaken(filepath.Join(dir, prefix), func(name string) error {
		path = name
		err := take(Step{Kind: Mkdir, Path: path}, func(*Step) error { return os.Mkdir(path, 0o777) })
		if err == nil {
			Temporary(path)
		}
		return err
	})
	return path, err
}

// SyncFile returns once the content of a file is on the disk, also what another program wrote.
func SyncFile(path string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	return take(Step{Kind: Sync, Path: path}, func(*Step) error { return errors.Join(f.Sync(), f.Close()) })
}

// SyncFolder returns once the names in a folder are on the disk. Some file systems keep
// them there without being asked, and refuse.
func SyncFolder(path string) error {
	return take(Step{Kind: SyncDir, Path: path}, func(*Step) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return syncFolder(f)
	})
}

func syncFolder(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
