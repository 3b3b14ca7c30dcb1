package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"orrery/profiles"
	"orrery/sim/record"
	"orrery/traces"
)

// written are the files that people write, which say themselves what is wrong in them.
var written = []string{"a profile file", "a cluster file", "an experiment file", "a gate file", "a scenario file"}

// contentRun is what the directory of a run is.
const contentRun = "the directory of a run"

// What verbs ask for, as errors name it.
const (
	wantRun = "the directory of a run that orrery replay --out made"
	wantLog = "a trace bundle, a Parquet table of jobs or a workload log"
)

// contentOf says what is at a path, by its name and its beginning, "" where that is not
// known: verbs that want something else name it in one line, instead of saying what is
// wrong with its first lines.
func contentOf(path string) string {
	st, err := os.Stat(path)
	switch {
	case err != nil || special(st):
		return ""
	case st.IsDir():
		for _, known := range []struct{ file, is string }{
			{record.FileRun, contentRun},
			{"study.json", "the directory of a study"},
		} {
			if there(filepath.Join(path, known.file)) != nil {
				return known.is
			}
		}
		if traces.IsBundle(path) {
			return "a trace bundle"
		}
		return "a directory"
	}
	text := opening(path)
	switch {
	case bytes.HasPrefix(text, []byte("PAR1")):
		return "a Parquet table"
	case isLog(path):
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

// readText reads such a file, which may be a pipe.
func readText(path string) ([]byte, error) {
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

// opening is what a file begins with, enough to tell what it is.
func opening(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text := make([]byte, 1<<16)
	n, _ := io.ReadFull(f, text) // a short file is read whole
	return text[:n]
}

// otherContent is err, or in its place that there is something else at the path than
// what is wanted; fits are the contents that err is about.
func otherContent(path string, err error, want string, code int, fits ...string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	is := contentOf(path)
	if is == "" || slices.Contains(fits, is) {
		return err
	}
	return coded(code, &profiles.Error{Problems: []profiles.Problem{{File: path, Text: fmt.Sprintf("is %s, want %s", is, want)}}})
}
