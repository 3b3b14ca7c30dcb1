package main

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"orrery/internal/disk"
)

// forceFlag adds --force to a verb that writes what the user names.
func forceFlag(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "replace what is there")
}

// mayWrite refuses an output that is there already, unless --force is given. An
// empty directory, a device or a pipe is no result that could be lost.
func mayWrite(flag, path string, force bool) error {
	if force || path == "" || path == "-" {
		return nil
	}
	st := there(path)
	if st == nil || special(st) {
		return nil
	}
	if st.IsDir() {
		if entries, err := os.ReadDir(path); err == nil && len(entries) == 0 {
			return nil
		}
	}
	return usagef("%s %s: it exists already: give --force to replace it, or name another", flag, path)
}

// mayHold refuses a directory that has the file of an earlier result in it, unless
// --force is given.
func mayHold(flag, dir, file string, force bool) error {
	if force || dir == "" {
		return nil
	}
	if there(filepath.Join(dir, file)) == nil {
		return nil
	}
	return usagef("%s: %s exists already: give --force to replace it, or name another directory", strings.TrimSpace(flag+" "+dir), filepath.Join(dir, file))
}

// there looks at what is at a path, nil for nothing: where nothing can be looked at,
// nothing can be written either, and writing says why.
func there(path string) fs.FileInfo {
	st, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	return st
}

// special says whether a file is a device, a pipe or a socket.
func special(st fs.FileInfo) bool {
	return st.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice) != 0
}

// create writes the file at path by fill, beside its place and renamed when it
// is whole and on the disk; "" or "-" is standard output. A device or a pipe is
// written to as it stands.
func (m *Main) create(path string, fill func(io.Writer) error) error {
	if path == "" || path == "-" {
		return fill(m.Stdout)
	}
	if st, err := os.Stat(path); err == nil && special(st) {
		return writeThrough(path, fill)
	}
	return disk.Replace(path, fill)
}

func writeThrough(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// createPacked is create; where the name of the file ends in .gz, what fill writes is
// compressed.
func (m *Main) createPacked(path string, fill func(io.Writer) error) error {
	if !strings.HasSuffix(path, ".gz") {
		return m.create(path, fill)
	}
	return m.create(path, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := fill(z); err != nil {
			return err
		}
		return z.Close()
	})
}
