package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"orrery/internal/spelling"
	"orrery/sim/record"
	"orrery/sim/sweep"
)

// noFile is the error of a path at which there is nothing: want is what was expected
// there, words may stand for a path too. label is what the user knows the path by.
func noFile(label, path, want string, words ...string) error {
	return input(fmt.Errorf("%s: there is no such file%s: want %s; check the path", label, meant(path, words...), want))
}

// meant suggests the file beside the path, or the word, that has nearly its name.
func meant(path string, words ...string) string {
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
	return fmt.Sprintf(" (did you mean %s?)", quoted(filepath.Join(filepath.Dir(path), found)))
}

// readError is for verbs that read a run directory: a missing one is bad input.
func readError(err error) error {
	var none *record.DataError
	if errors.As(err, &none) && none.Found == record.NoRun { // a directory of something else
		return otherContent(none.File, err, wantRun, exitInput, "a directory")
	}
	if none != nil && strings.HasSuffix(none.Mend, record.MendReplay) { // its settings say by which command
		dir := filepath.Dir(none.File)
		r, ok := recorded(dir)
		switch v, bad := strconv.Atoi(none.Schema); {
		case !ok:
		case bad == nil:
			return schemaFormat(none.File).refusal(none.File, v, replayAnew(dir, &r))
		default:
			return input(fmt.Errorf("%w: %s", err, replayAnew(dir, &r)))
		}
	}
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	if filepath.Base(path.Path) == record.FileRun { // where a file stands for the directory
		return otherContent(filepath.Dir(path.Path), err, wantRun, exitInput)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if isRun(filepath.Dir(path.Path)) { // it lacks a table, and no other will do
		return input(err)
	}
	return input(fmt.Errorf("%w%s", err, meant(path.Path)))
}

// schemaFormat is the format of a file of a run.
func schemaFormat(path string) *fileFormat {
	switch filepath.Base(path) {
	case record.FileRun:
		return runFormat
	case record.TableFacts + ".parquet":
		return factsFormat
	}
	return tableFormat
}

// openStudy opens a study that the user names; binary is the build that is to compute
// in it, "" to read alone.
func (m *Main) openStudy(dir, binary string) (*sweep.Study, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, input(fmt.Errorf("%s: there is no such directory%s: want a study that orrery sweep or tune made; check the path", dir, meant(dir)))
	}
	s, err := sweep.Open(dir, binary, m.trust...)
	return s, otherContent(dir, mixed(err, sweepAnew(dir)), "a study that orrery sweep or tune made", exitInput, "the directory of a study", "a directory")
}
