// Package clitest runs the program in tests: scripts, command lines in this process, and the files that they
// name.
package clitest

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/app"
)

// Main runs the tests of a package, whose binary is orrery too: scripts and verify start it
// by that name.
func Main(m *testing.M) {
	testscript.Main(ownState{m}, map[string]func(){"orrery": func() { os.Exit(app.Main()) }})
}

// ownState runs tests with a ledger of their own, and not that of the user.
type ownState struct{ *testing.M }

// Run implements testscript.TestingM.
func (o ownState) Run() int {
	dir, err := os.MkdirTemp("", "orrery-state-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("XDG_STATE_HOME", dir); err != nil {
		panic(err)
	}
	return o.M.Run()
}

// UnderRace says whether the race detector looks on.
var UnderRace bool

// SmallLog is 60 jobs on 8 processors that queue, with two requested times, so
// that ties decide most of a shortest-first schedule.
func SmallLog() string {
	var b strings.Builder
	b.WriteString("; Version: 2.2\n; UnixStartTime: 843480031\n; TimeZoneString: UTC\n; MaxProcs: 8\n")
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&b, "%d %d 0 %d %d -1 -1 %d %d -1 1 %d 1 1 1 1 -1 -1\n",
			i, 60*(i/3), 300+i*7919%600, 1+i*31%8, 1+i*31%8, 1000+600*(i%2), 1+i%5)
	}
	return b.String()
}

// Small writes SmallLog to a file and returns its path.
func Small(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.swf")
	require.NoError(t, os.WriteFile(path, []byte(SmallLog()), 0o600))
	return path
}

// Built is the program, compiled with further flags.
func Built(t *testing.T, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "orrery")
	out, err := exec.Command("go", slices.Concat([]string{"build"}, flags, []string{"-o", program, "orrery/cmd/orrery"})...).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// Scripts runs the scripts in testdata/script of a package, which call the program as users do. Beside the commands of testscript
// there are
//
//	code N PROGRAM ARGS...   run and ask for the exit code N
//	json [FILE]              ask for one JSON document, by default in stdout
//	silent                   ask for an empty stderr
//	gz FILE                  compress to FILE.gz
//	cut FILE N               keep the first N bytes
//	empty DIR                ask for a directory that holds nothing
//	whole DIR                ask for a directory that holds nothing half-written
//
// and every script finds log.swf in its directory. The condition [race] holds where
// the race detector looks on: scripts of verbs that start no goroutine skip there,
// and so do drawings.
func Scripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("TERM", "xterm")
			return os.WriteFile(filepath.Join(env.WorkDir, "log.swf"), []byte(SmallLog()), 0o600)
		},
		Condition: func(name string) (bool, error) {
			if name != "race" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return UnderRace, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "json": scriptJSON, "silent": scriptSilent, "gz": scriptGzip, "cut": scriptCut, "empty": scriptEmpty, "whole": scriptWhole,
		},
	})
}

func scriptCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, expected %d\n%s", got, want, ts.ReadFile("stderr"))
	}
}

func scriptJSON(ts *testscript.TestScript, _ bool, args []string) {
	name := "stdout"
	if len(args) > 0 {
		name = args[0]
	}
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(name)), &v); err != nil {
		ts.Fatalf("%s is no JSON document: %v", name, err)
	}
}

func scriptSilent(ts *testscript.TestScript, _ bool, _ []string) {
	if text := ts.ReadFile("stderr"); text != "" {
		ts.Fatalf("stderr is not empty: %s", text)
	}
}

func scriptGzip(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[0] + ".gz"))
	ts.Check(err)
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(errors.Join(err, z.Close(), f.Close()))
}

func scriptCut(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

func scriptEmpty(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(entries) > 0 {
		ts.Fatalf("%s holds %s", args[0], entries[0].Name())
	}
}

func scriptWhole(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			ts.Fatalf("%s holds %s", args[0], e.Name())
		}
	}
}

// BrokenBuild builds the program with one piece of a file of the repository replaced.
func BrokenBuild(t *testing.T, file, right, wrong string) string {
	t.Helper()
	source, err := filepath.Abs(filepath.Join("..", "..", "..", "..", filepath.FromSlash(file)))
	require.NoError(t, err)
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), right), "what is replaced in %s has moved: patch it where it is now", file)
	dir := t.TempDir()
	patched := filepath.Join(dir, filepath.Base(source))
	require.NoError(t, os.WriteFile(patched, []byte(strings.Replace(string(text), right, wrong, 1)), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: patched}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	return Built(t, "-overlay", list)
}
