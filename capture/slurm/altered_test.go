package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/seal"
	"orrery/scheduler/model"
)

// captured makes a folder of so many polls, each with a job, and closes it.
func captured(t *testing.T, polls int) (dir string, s *site) {
	t.Helper()
	dir, s = t.TempDir(), &site{}
	r := open(t, dir, s)
	for i := range polls {
		s.rows = append(s.rows, ended(fmt.Sprint(i+1), i, i+1, i+2, "j"))
		polled(t, r, i+3)
	}
	require.NoError(t, r.Close())
	return dir, s
}

// TestAlteredIsRefused: whatever is done to the polls or the state of a capture, no bundle is made
// that lacks a job of it: the next start or the bundle says which file was altered.
func TestAlteredIsRefused(t *testing.T) {
	const polls = together + 4
	in := func(name string) func(dir string) string {
		return func(dir string) string { return filepath.Join(dir, newsFolder, name) }
	}
	state := func(dir string) string { return filepath.Join(dir, stateFile) }
	large, small, last := file{level: 1, last: together - 1}, file{first: together + 1, last: together + 1}, file{first: polls - 1, last: polls - 1}
	replace := func(old, by string) func(string) string {
		return func(text string) string {
			require.Contains(t, text, old)
			return strings.Replace(text, old, by, 1)
		}
	}
	withoutLine := func(n int) func(string) string {
		return func(text string) string {
			lines := strings.SplitAfter(text, "\n")
			return strings.Join(append(lines[:n:n], lines[n+1:]...), "")
		}
	}
	withoutPoll := func(text string) string { // the second whole one of a file of several
		ends := strings.SplitAfter(text, `"kind":"seal"`)
		return ends[0] + strings.Join(ends[2:], "")
	}
	for what, c := range map[string]struct {
		path  func(dir string) string
		alter func(text string) string // nil removes the file
	}{
		"a value of a poll":             {in(small.name()), replace("physics", "biology")},
		"a line of a poll":              {in(large.name()), withoutLine(3)},
		"a poll of a file":              {in(large.name()), withoutPoll},
		"the end of a file":             {in(last.name()), func(text string) string { return text[:len(text)/2] }},
		"a seal":                        {in(last.name()), func(text string) string { return strings.SplitAfter(text, "\n")[0] }},
		"the first file":                {in(large.name()), nil},
		"a file in the middle":          {in(small.name()), nil},
		"the last file":                 {in(last.name()), nil},
		"what a state has acknowledged": {state, replace(`"acknowledged":17`, `"acknowledged":18`)},
		"the number of the next file":   {state, replace(`"next":`, `"next":1`)},
		"the half of a state":           {state, func(text string) string { return text[:len(text)/2] }},
		"the seal of a state":           {state, func(text string) string { return text[:strings.Index(text, `,"sha256"`)] + "}\n" }},
		"an empty state":                {state, func(string) string { return "{}" }},
	} {
		t.Run(what, func(t *testing.T) {
			dir, s := captured(t, polls)
			path := c.path(dir)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if c.alter == nil {
				require.NoError(t, os.Remove(path))
			} else {
				changed := c.alter(string(text))
				require.NotEqual(t, string(text), changed)
				require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
			}
			r, err := Open(dir, s.tool, begin)
			if err == nil {
				defer func() { _ = r.Close() }()
				_, err = r.Bundle(filepath.Join(t.TempDir(), "x.trace"))
			}
			require.Error(t, err)
			require.Contains(t, err.Error(), dir)
		})
	}
}

// TestStateIsMadeAnew: without a state all is asked again from the first poll on, and the files
// say what is known.
func TestStateIsMadeAnew(t *testing.T) {
	dir, s := captured(t, 5)
	require.NoError(t, os.Remove(filepath.Join(dir, stateFile)))
	r, err := Open(dir, s.tool, begin.Add(9*model.Hour)) // as a start without --since has it
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	require.LessOrEqual(t, r.state.Acknowledged, begin.Add(3*model.Second))
	s.rows = append(s.rows, ended("77", 5, 6, 7, "meanwhile"))
	polled(t, r, 60)
	_, _, jobs := bundle(t, r)
	require.Len(t, jobs, 6)
}

// TestOldCaptureGoesOn: files and a state without seals are read, and those that follow have some.
func TestOldCaptureGoesOn(t *testing.T) {
	dir, s := captured(t, 3)
	for i := range int64(3) { // as an earlier version wrote them
		f := file{first: i, last: i}
		path := filepath.Join(dir, newsFolder, f.name())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		lines := strings.SplitAfter(string(text), "\n")
		f.old = true
		require.NoError(t, os.WriteFile(filepath.Join(dir, newsFolder, f.name()), []byte(strings.Join(lines[:len(lines)-2], "")), 0o600))
		require.NoError(t, os.Remove(path))
	}
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	require.NoError(t, err)
	body, err := seal.CutObject(text)
	require.NoError(t, err)
	plain := string(body)
	at := strings.Index(plain, `,"seal":"`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, stateFile), []byte(plain[:at]+"}\n"), 0o600))
	r := open(t, dir, s)
	for i := 3; i < 2*together; i++ {
		s.rows = append(s.rows, ended(fmt.Sprint(i+1), i, i+1, i+2, "j"))
		polled(t, r, i+3)
	}
	require.NoError(t, r.Close())
	r = open(t, dir, s)
	_, _, jobs := bundle(t, r)
	require.Len(t, jobs, 2*together)
	require.NotEmpty(t, r.state.Seal)
}
