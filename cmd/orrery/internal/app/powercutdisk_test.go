package app_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"orrery/internal/disk"
)

// cutDisk records the steps below a folder.
type cutDisk struct {
	dir   string
	mu    sync.Mutex
	first *diskNode
	steps []disk.Step
}

// diskNode is a file or a folder.
type diskNode struct {
	names, synced map[string]*diskNode // of a folder: now, and on the disk
	data, safe    []byte               // of a file, likewise
}

// watchDisk records what is done below dir, beginning with what is there, until stop is called.
func watchDisk(dir string) (d *cutDisk, stop func(), err error) {
	d = &cutDisk{dir: dir}
	if d.first, err = readDisk(dir); err != nil {
		return nil, nil, err
	}
	return d, disk.Through(func(s *disk.Step, do func() error) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		err := do()
		if err == nil {
			kept := *s
			kept.Data = bytes.Clone(s.Data)
			kept.Path, kept.To = absolute(s.Path), absolute(s.To)
			d.steps = append(d.steps, kept)
		}
		return err
	}), nil
}

func readDisk(path string) (*diskNode, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		text, err := os.ReadFile(path)
		return &diskNode{data: text, safe: text}, err
	}
	n := &diskNode{names: map[string]*diskNode{}}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if err == nil {
			n.names[e.Name()], err = readDisk(filepath.Join(path, e.Name()))
		}
	}
	n.synced = maps.Clone(n.names)
	return n, err
}

// count is how many were recorded.
func (d *cutDisk) count() int { return len(d.steps) }

// leave writes to a new folder what is left when the power is cut after so many steps. eager
// is the disk that has written all names.
func (d *cutDisk) leave(steps int, eager bool, to string) error {
	root := d.first.clone()
	for i := range steps {
		if err := d.replay(root, &d.steps[i]); err != nil {
			return fmt.Errorf("step %d, %s %s: %w", i, d.steps[i].Kind, d.steps[i].Path, err)
		}
	}
	return root.write(eager, to)
}

func (n *diskNode) clone() *diskNode {
	if n.names == nil {
		return &diskNode{data: n.data, safe: n.safe}
	}
	out := &diskNode{names: map[string]*diskNode{}}
	for name, child := range n.names {
		out.names[name] = child.clone()
	}
	out.synced = maps.Clone(out.names)
	return out
}

// absolute is a path as it is when the step is taken.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// at finds the folder that a path lies in, nil for a path elsewhere.
func (d *cutDisk) at(root *diskNode, path string) (folder *diskNode, name string) {
	below, ok := strings.CutPrefix(path, d.dir+string(filepath.Separator))
	if !ok {
		return nil, ""
	}
	parts := strings.Split(below, string(filepath.Separator))
	for _, part := range parts[:len(parts)-1] {
		if root = root.names[part]; root == nil {
			return nil, ""
		}
	}
	return root, parts[len(parts)-1]
}

func (d *cutDisk) replay(root *diskNode, s *disk.Step) error {
	if s.Path == d.dir && s.Kind == disk.SyncDir {
		root.synced = maps.Clone(root.names)
		return nil
	}
	folder, name := d.at(root, s.Path)
	if folder == nil {
		return nil
	}
	n := folder.names[name]
	if n == nil && s.Kind != disk.Create && s.Kind != disk.Mkdir && s.Kind != disk.Remove {
		return fs.ErrNotExist
	}
	switch s.Kind {
	case disk.Create:
		folder.names[name] = &diskNode{}
	case disk.Mkdir:
		folder.names[name] = &diskNode{names: map[string]*diskNode{}, synced: map[string]*diskNode{}}
	case disk.Write:
		n.data = append(slices.Clip(n.data), s.Data...)
	case disk.Sync:
		n.safe = n.data
	case disk.SyncDir:
		n.synced = maps.Clone(n.names)
	case disk.Remove:
		delete(folder.names, name)
	case disk.Rename, disk.Link:
		into, other := d.at(root, s.To)
		if into == nil {
			return fs.ErrNotExist
		}
		into.names[other] = n
		if s.Kind == disk.Rename {
			delete(folder.names, name)
		}
	}
	return nil
}

func (n *diskNode) write(eager bool, path string) error {
	if n.names == nil {
		return os.WriteFile(path, n.safe, 0o600)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	names := n.synced
	if eager {
		names = n.names
	}
	for name, child := range names {
		if err := child.write(eager, filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}
