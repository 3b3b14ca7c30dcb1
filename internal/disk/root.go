package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Root is a folder that others can write to, as a study on a shared file system is. What
// lies in it is opened relative to the folder, so that no name leads out of it, and only
// where it is a file or a folder, no symbolic link, and belongs to this user, to root or
// to one of the owners that are trusted. Its methods take paths that begin with that of
// the folder.
type Root struct {
	dir   string
	root  *os.Root
	trust []int
}

// Anyone is trusted in the place of an owner: all are.
const Anyone = -1

// OpenRoot opens a folder; trust are the numbers of users whose files are read too.
func OpenRoot(dir string, trust ...int) (*Root, error) {
	dir = filepath.Clean(dir)
	if st, err := os.Stat(dir); err == nil && !st.IsDir() { // a pipe would be waited for
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	r := &Root{dir, root, trust}
	st, err := root.Stat(".")
	if err == nil {
		err = r.owned(dir, st)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return r, nil
}

// OwnerError says that a file belongs to another user.
type OwnerError struct {
	Path string
	UID  int
}

// Error names the owner.
func (e *OwnerError) Error() string {
	return fmt.Sprintf("%s: it belongs to user %d, whose files are not trusted", e.Path, e.UID)
}

func (r *Root) owned(path string, st fs.FileInfo) error {
	if uid, known := ownerOf(st); known && uid != 0 && uid != os.Geteuid() && !slices.Contains(r.trust, uid) && !slices.Contains(r.trust, Anyone) {
		return &OwnerError{path, uid}
	}
	return nil
}

// within is the name of a path below the folder.
func (r *Root) within(path string) (string, error) {
	name, ok := path, true
	if r.dir != "." {
		name, ok = strings.CutPrefix(path, strings.TrimSuffix(r.dir, string(filepath.Separator))+string(filepath.Separator))
	}
	if !ok || !filepath.IsLocal(name) {
		return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("not below " + r.dir)}
	}
	return name, nil
}

// plain checks every folder on the way to a path, and what is there; nil where nothing is.
func (r *Root) plain(path string) (name string, st fs.FileInfo, err error) {
	if name, err = r.within(path); err != nil {
		return "", nil, err
	}
	for i := range len(name) + 1 {
		if i < len(name) && !os.IsPathSeparator(name[i]) {
			continue
		}
		if st, err = r.root.Lstat(name[:i]); errors.Is(err, fs.ErrNotExist) {
			return name, nil, nil
		}
		if err != nil {
			return "", nil, err
		}
		at := filepath.Join(r.dir, name[:i])
		if st.Mode()&fs.ModeSymlink != 0 {
			return "", nil, &NotFileError{at, st.Mode()}
		}
		if err := r.owned(at, st); err != nil {
			return "", nil, err
		}
	}
	return name, st, nil
}

// Lstat looks at what is at a path, and says that nothing is there by fs.ErrNotExist.
func (r *Root) Lstat(path string) (fs.FileInfo, error) {
	_, st, err := r.plain(path)
	if err == nil && st == nil {
		err = &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
	}
	return st, err
}

// Open opens a file that is there, with the flags of os.OpenFile.
func (r *Root) Open(path string, flag int) (*os.File, error) {
	name, st, err := r.plain(path)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if !st.Mode().IsRegular() {
		return nil, &NotFileError{path, st.Mode()}
	}
	f, err := r.root.OpenFile(name, flag, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(st, now) { // another one was put there meanwhile
		return nil, errors.Join(err, &fs.PathError{Op: "open", Path: path, Err: errors.New("it was replaced while it was opened")}, f.Close())
	}
	return f, nil
}

// ReadFile reads a file whole.
func (r *Root) ReadFile(path string) ([]byte, error) {
	f, err := r.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	text, err := whole(f, path)
	return text, errors.Join(err, f.Close())
}

// NewFile creates a file, which must not be there.
func (r *Root) NewFile(path string) (*File, error) {
	name, st, err := r.plain(path)
	if err != nil {
		return nil, err
	}
	if st != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	out := &File{name: path}
	return out, take(Step{Kind: Create, Path: path}, func(*Step) (err error) {
		out.f, err = r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o666)
		return err
	})
}

// Append opens a file to write behind what is in it.
func (r *Root) Append(path string) (*File, error) {
	f, err := r.Open(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	return &File{name: path, f: f}, nil
}

// Log opens a file to append to, and creates it where there is none, for what a process
// prints.
func (r *Root) Log(path string) (*os.File, error) {
	name, st, err := r.plain(path)
	if err != nil {
		return nil, err
	}
	if st != nil {
		return r.Open(path, os.O_WRONLY|os.O_APPEND)
	}
	return r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o666)
}

// Link gives a file a second name, which must not be taken.
func (r *Root) Link(old, path string) error {
	from, _, err := r.plain(old)
	if err != nil {
		return err
	}
	to, _, err := r.plain(path)
	if err != nil {
		return err
	}
	return take(Step{Kind: Link, Path: old, To: path}, func(*Step) error { return r.root.Link(from, to) })
}

// Remove removes a file.
func (r *Root) Remove(path string) error {
	name, err := r.within(path)
	if err != nil {
		return err
	}
	return take(Step{Kind: Remove, Path: path}, func(*Step) error { return r.root.Remove(name) })
}

// Folder makes a folder in one that is there, unless there is one.
func (r *Root) Folder(path string) error {
	name, st, err := r.plain(path)
	if err != nil || st != nil && st.IsDir() {
		return err
	}
	err = take(Step{Kind: Mkdir, Path: path}, func(*Step) error { return r.root.Mkdir(name, 0o777) })
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.SyncFolder(filepath.Dir(path))
}

// Names lists a folder, in no order, without looking at its files.
func (r *Root) Names(path string) ([]string, error) {
	f, err := r.folder(path)
	if err != nil {
		return nil, err
	}
	list, err := f.Readdirnames(-1)
	return list, errors.Join(err, f.Close())
}

// SyncFolder returns once the names in a folder are on the disk.
func (r *Root) SyncFolder(path string) error {
	return take(Step{Kind: SyncDir, Path: path}, func(*Step) error {
		f, err := r.folder(path)
		if err != nil {
			return err
		}
		return syncFolder(f)
	})
}

func (r *Root) folder(path string) (*os.File, error) {
	if path == r.dir {
		return r.root.Open(".")
	}
	name, st, err := r.plain(path)
	if err != nil {
		return nil, err
	}
	if st == nil || !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return r.root.Open(name)
}
