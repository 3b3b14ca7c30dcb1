package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Content is what a file is to hold.
type Content struct {
	Path  string
	Bytes []byte
}

// ReplaceAll puts files that lie in dir, or in folders of it, in the place of what is there, in
// this order, when all of them are whole and on the disk: as long as there may be no room for one,
// nothing is changed. Folders that are missing are made, and removed again after an error unless
// something else is in them. Nothing outside dir is written, whatever links are there.
func ReplaceAll(dir string, files []Content) (err error) {
	made := absent(dir)
	defer func() {
		for _, folder := range slices.Backward(made) {
			if err != nil {
				_ = os.Remove(folder) // one that is not empty stays
			}
		}
	}()
	if err := Folder(dir); err != nil {
		return from(err, dir)
	}
	root, err := OpenRoot(dir, Anyone)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, c := range files {
		folder := filepath.Dir(c.Path)
		if folder == root.dir {
			continue
		}
		if _, err := root.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
			made = append(made, folder)
		}
		if err := root.Folder(folder); err != nil {
			return err
		}
	}
	return root.replaceAll(files)
}

func (r *Root) replaceAll(files []Content) (err error) {
	by := r.way()
	var staged []*File
	placed := 0
	defer func() {
		for _, f := range staged[placed:] {
			by.abandon(f)
		}
	}()
	for _, c := range files {
		f, err := by.stage(c.Path, filling(c.Path, c.Bytes))
		if err != nil {
			return err
		}
		staged = append(staged, f)
	}
	for i, f := range staged {
		if err := by.place(f, files[i].Path); err != nil {
			return err
		}
		placed++
		if dir := filepath.Dir(files[i].Path); i+1 == len(staged) || filepath.Dir(files[i+1].Path) != dir {
			if err := by.syncNames(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// absent are the folders of a path that are not there, each before those in it.
func absent(path string) (out []string) {
	for {
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			slices.Reverse(out)
			return out
		}
		out, path = append(out, path), filepath.Dir(path)
	}
}
