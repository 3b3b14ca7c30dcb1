package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/internal/disk"
	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/sim/record"
	"orrery/traces"
	"orrery/traces/importer"
)

// Apart refuses an output that is the input, or holds it.
func Apart(in, out string) error {
	for _, path := range []string{in, filepath.Dir(filepath.Clean(in))} {
		if Same(path, out) {
			return Usagef("found %s as input and %s as output, which are the same: what is read would be lost; write to another name", in, out)
		}
	}
	return nil
}

// Same says whether both paths are of one file; of what is not there, or cannot be
// looked at, reading and writing say what is wrong.
func Same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Writing fills a file with b.
func Writing(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(b))
		return err
	}
}

// ForceFlag adds --force to a verb that writes what the user names.
func ForceFlag(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "replace what is there")
}

// MayWrite refuses an output that is there already, unless --force is given. An
// empty directory, a device or a pipe is no result that could be lost.
func MayWrite(flag, path string, force bool) error {
	if force || path == "" || path == "-" {
		return nil
	}
	st := There(path)
	if st == nil || special(st) {
		return nil
	}
	if st.IsDir() {
		if entries, err := os.ReadDir(path); err == nil && len(entries) == 0 {
			return nil
		}
	}
	return Usagef("%s %s: it exists already: give --force to replace it, or name another", flag, path)
}

// MayHold refuses a directory that has the file of an earlier result in it, unless
// --force is given.
func MayHold(flag, dir, file string, force bool) error {
	if force || dir == "" {
		return nil
	}
	if There(filepath.Join(dir, file)) == nil {
		return nil
	}
	return Usagef("%s: %s exists already: give --force to replace it, or name another directory", strings.TrimSpace(flag+" "+dir), filepath.Join(dir, file))
}

// There looks at what is at a path, nil for nothing: where nothing can be looked at,
// nothing can be written either, and writing says why.
func There(path string) fs.FileInfo {
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

// Create writes the file at path by fill, beside its place and renamed when it
// is whole and on the disk; "" or "-" is standard output. A device or a pipe is
// written to as it stands.
func (app *App) Create(path string, fill func(io.Writer) error) error {
	if path == "" || path == "-" {
		return fill(app.Stdout)
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

// CreatePacked is create; where the name of the file ends in .gz, what fill writes is
// compressed.
func (app *App) CreatePacked(path string, fill func(io.Writer) error) error {
	if !strings.HasSuffix(path, ".gz") {
		return app.Create(path, fill)
	}
	return app.Create(path, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := fill(z); err != nil {
			return err
		}
		return z.Close()
	})
}

// SampleLog is the word for the log that is part of the program.
const SampleLog = "sample"

// Written are the files that people write, which say themselves what is wrong in them.
var Written = []string{"a profile file", "a cluster file", "an experiment file", "a gate file", "a scenario file"}

// ContentRun is what the directory of a run is.
const ContentRun = "the directory of a run"

// What verbs ask for, as errors name it.
const (
	WantRun = "the directory of a run that orrery replay --out made"
	WantLog = "a trace bundle, a Parquet table of jobs or a workload log"
)

// ContentOf says what is at a path, by its name and its beginning, "" where that is not
// known: verbs that want something else name it in one line, instead of saying what is
// wrong with its first lines.
func ContentOf(path string) string {
	st, err := os.Stat(path)
	switch {
	case err != nil || special(st):
		return ""
	case st.IsDir():
		for _, known := range []struct{ file, is string }{
			{record.FileRun, ContentRun},
			{"study.json", "the directory of a study"},
		} {
			if There(filepath.Join(path, known.file)) != nil {
				return known.is
			}
		}
		if traces.IsBundle(path) {
			return "a trace bundle"
		}
		return "a directory"
	}
	text := Opening(path)
	switch {
	case bytes.HasPrefix(text, []byte("PAR1")):
		return "a Parquet table"
	case IsLog(path):
		return "a workload log"
	}
	if kind := profiles.KindOf(text); kind != "" {
		return profiles.Article(kind) + " file"
	}
	return ""
}

// mostText is how large a small file of settings may be that is no profile: a recipe, a list
// of columns, a key.
const mostText = 4 << 20

// ReadText reads such a file, which may be a pipe.
func ReadText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	text, err := io.ReadAll(io.LimitReader(f, mostText+1))
	if err == nil && len(text) > mostText {
		return nil, fmt.Errorf("%s: it holds more than %d bytes, want at most so many", path, mostText)
	}
	return text, err
}

// Opening is what a file begins with, enough to tell what it is.
func Opening(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text := make([]byte, 1<<16)
	n, _ := io.ReadFull(f, text) // a short file is read whole
	return text[:n]
}

// OtherContent is err, or in its place that there is something else at the path than
// what is wanted; fits are the contents that err is about.
func OtherContent(path string, err error, want string, code int, fits ...string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	is := ContentOf(path)
	if is == "" || slices.Contains(fits, is) {
		return err
	}
	return Coded(code, &profiles.Error{Problems: []profiles.Problem{{File: path, Text: fmt.Sprintf("is %s, want %s", is, want)}}})
}

// WrongFile marks errors about a gate file, or one that it names.
func WrongFile(err error) error {
	var wrong *profiles.Error
	if errors.As(err, &wrong) && ExitCode(err) == ExitFailed {
		return Coded(ExitUsage, err)
	}
	return err
}

// Beside is a path relative to a folder.
func Beside(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// NoFile is the error of a path at which there is nothing: want is what was expected
// there, words may stand for a path too. label is what the user knows the path by.
func NoFile(label, path, want string, words ...string) error {
	return BadInput(fmt.Errorf("%s: there is no such file%s: want %s; check the path", label, Meant(path, words...), want))
}

// Meant suggests the file beside the path, or the word, that has nearly its name.
func Meant(path string, words ...string) string {
	if hint := spelling.Hint(path, words); hint != "" {
		return hint
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "" // nor is there a folder
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	found := spelling.Word(filepath.Base(path), names)
	if found == "" || found == filepath.Base(path) {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", Quoted(filepath.Join(filepath.Dir(path), found)))
}

// IsLog says whether a file is a workload and not text that people write.
func IsLog(path string) bool {
	_, err := importer.Detect(path, importer.Options{})
	return err == nil
}
