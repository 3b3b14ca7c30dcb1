package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Below opens the folder at a path as a folder of its own, whose files are reached through
// it even when another one is put under its name. The folder is made where it is missing.
func (r *Root) Below(path string) (*Root, error) {
	path = filepath.Clean(path)
	if path == r.dir {
		root, err := r.root.OpenRoot(".")
		return &Root{path, root, r.trust}, err
	}
	if err := r.Folders(path); err != nil {
		return nil, err
	}
	name, st, err := r.plain(path)
	if err != nil {
		return nil, err
	}
	if st == nil || !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	root, err := r.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Root{path, root, r.trust}, nil
}

// Dir is the path of the folder.
func (r *Root) Dir() string { return r.dir }

// Close ends the use of the folder.
func (r *Root) Close() error { return r.root.Close() }

// Folders makes a folder and those above it, as far as they are missing. A file in the
// place of one is an error.
func (r *Root) Folders(path string) error {
	if path == r.dir {
		return nil
	}
	if _, err := r.within(path); err != nil {
		return err
	}
	if err := r.Folders(filepath.Dir(path)); err != nil {
		return err
	}
	return r.Folder(path)
}

// Scratch makes a folder with a name of its own in dir, which begins with prefix, for what
// is being prepared.
func (r *Root) Scratch(dir, prefix string) (path string, err error) {
	err = untaken(filepath.Join(dir, prefix), func(made string) error {
		path = made
		name, st, err := r.plain(made)
		if err != nil {
			return err
		}
		if st != nil {
			return fs.ErrExist
		}
		err = take(Step{Kind: Mkdir, Path: made}, func(*Step) error { return r.root.Mkdir(name, 0o777) })
		if err == nil {
			Temporary(made)
		}
		return err
	})
	return path, err
}

// Move renames a file or folder within the folder, in the way of the function Move.
func (r *Root) Move(old, path string) error {
	from, err := r.target(old)
	if err != nil {
		return err
	}
	to, err := r.target(path)
	if err != nil {
		return err
	}
	if err := take(Step{Kind: Rename, Path: old, To: path}, func(*Step) error { return r.root.Rename(from, to) }); err != nil {
		return err
	}
	settled(old)
	return nil
}

// target is the name of a path whose folders are plain; what is there itself is replaced or
// removed, and not followed.
func (r *Root) target(path string) (name string, err error) {
	if name, err = r.within(path); err != nil {
		return "", err
	}
	if above := filepath.Dir(path); above != r.dir {
		_, _, err = r.plain(above)
	}
	return name, err
}

// Delete removes a file, or a folder with all that is in it; it may be gone already. Of a
// symbolic link the link is removed.
func (r *Root) Delete(path string) error {
	name, err := r.target(path)
	if err != nil {
		return err
	}
	if err := take(Step{Kind: Remove, Path: path}, func(*Step) error { return r.removeAll(name) }); err != nil {
		return err
	}
	settled(path)
	return nil
}

// removeAll gets by with one open folder where no more files may be open.
func (r *Root) removeAll(name string) error {
	err := r.root.RemoveAll(name)
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return err
	}
	f, err := r.root.Open(name)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	err = errors.Join(err, f.Close())
	for _, inside := range names {
		err = errors.Join(err, r.root.RemoveAll(filepath.Join(name, inside)))
	}
	return errors.Join(err, r.root.Remove(name))
}

// SyncFile returns once the content of a file is on the disk.
func (r *Root) SyncFile(path string) error {
	f, err := r.Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	return take(Step{Kind: Sync, Path: path}, func(*Step) error { return errors.Join(f.Sync(), f.Close()) })
}

// Replace fills a file beside path and puts it in the place of what is there, in the way of
// the function Replace.
func (r *Root) Replace(path string, fill func(io.Writer) error) error {
	return r.way().replace(path, fill)
}

// WriteFile puts content at path, in the way of Replace.
func (r *Root) WriteFile(path string, content []byte) error {
	return r.Replace(path, filling(path, content))
}

func (r *Root) way() way { return way{r.NewFile, r.Move, r.Delete, r.SyncFolder} }
