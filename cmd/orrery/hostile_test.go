package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/internal/disk"
)

// hostile is a name that would clear the screen, and be an image in a page.
const hostile = "u\x1b[2J<img src=x>"

// atOnce runs the program, which is to end by itself and not by the clock.
func atOnce(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "orrery", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	_ = cmd.Run() // the code says how it ended
	require.NoError(t, ctx.Err(), "%v is still at it: %s", args, stderr.String())
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// TestDocumentsThatAreNoFiles puts pipes, endless devices and huge files in the place of the
// documents of a run and of a study: they are refused at once.
func TestDocumentsThatAreNoFiles(t *testing.T) {
	log, run := small(t), filepath.Join(t.TempDir(), "run")
	require.Zero(t, inProcess(t, "replay", log, "--out", run, "--quiet").code)
	for name, place := range map[string]func(path string) error{
		"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a device":     func(path string) error { return os.Symlink("/dev/zero", path) },
		"bytes": func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, disk.MostWhole+1)
		},
	} {
		for _, document := range []string{"run.json", "metrics.json", "host.json"} {
			path := filepath.Join(run, document)
			require.NoError(t, os.Rename(path, path+".sound"))
			require.NoError(t, place(path))
			for _, args := range [][]string{{"report", run, "--force", "--quiet"}, {"compare", run, run}, {"export", run}, {"verify", run}} {
				got := atOnce(t, "", args...)
				switch {
				case document == "host.json":
					require.Zero(t, got.code, "%s in the place of %s, %v: %s", name, document, args, got.stderr)
				case document == "metrics.json" && (args[0] == "export" || name == "bytes"): // it is not read, or read and another
				default:
					require.Equal(t, exitInput, got.code, "%s in the place of %s, %v: %s", name, document, args, got.stderr)
					require.Contains(t, got.stderr, name, "%v", args)
				}
			}
			require.NoError(t, os.Rename(path+".sound", path))
		}
	}
	study := filepath.Join(t.TempDir(), "study")
	require.Zero(t, inProcess(t, "sweep", gridFile(t, 1), "--out", study, "--quiet").code)
	plan := filepath.Join(study, "experiment.json")
	require.NoError(t, os.Remove(plan))
	require.NoError(t, syscall.Mkfifo(plan, 0o600))
	got := atOnce(t, "", "study", "table", study)
	require.Equal(t, exitInput, got.code, got.stderr)
	require.Contains(t, got.stderr, "experiment.json: found a named pipe")
	for _, args := range [][]string{{"study", "status"}, {"worker"}, {"report"}, {"export"}} {
		got := atOnce(t, "", append(args, plan)...)
		require.Equal(t, exitInput, got.code, "%v: %s", args, got.stderr)
	}
}

// TestAlteredSettingsOfARun: what replays the settings of a run reads none that were altered.
func TestAlteredSettingsOfARun(t *testing.T) {
	log, run := small(t), filepath.Join(t.TempDir(), "run")
	require.Zero(t, inProcess(t, "replay", log, "--procs", "16", "--out", run, "--quiet").code)
	require.Zero(t, inProcess(t, "verify", "--invariants", run, log).code)
	alter(t, filepath.Join(run, "run.json"), `"procs": 16`, `"procs": 17`)
	got := inProcess(t, "verify", "--invariants", run, log)
	require.Equal(t, exitInput, got.code, got.stderr)
	require.Contains(t, got.stderr, "run.json: found content with the SHA-256")
}

// TestResultOfAnotherTask copies one result of a study over another: both files are sound, and
// the second is not what its name says.
func TestResultOfAnotherTask(t *testing.T) {
	file, study := gridFile(t, 1), filepath.Join(t.TempDir(), "study")
	require.Zero(t, inProcess(t, "sweep", file, "--out", study, "--quiet").code)
	results, err := filepath.Glob(study + "/results/*/*.json")
	require.NoError(t, err)
	require.Greater(t, len(results), 1)
	one, err := os.ReadFile(results[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(results[1], one, 0o600))
	for _, args := range [][]string{{"study", "table", study}, {"sweep", file, "--out", study, "--quiet"}} {
		got := inProcess(t, args...)
		require.Equal(t, exitInput, got.code, "%v: %s", args, got.stderr)
		require.Contains(t, got.stderr, "found the result of the task "+strings.TrimSuffix(filepath.Base(results[0]), ".json")[:12])
		require.Contains(t, got.stderr, "remove "+results[1]+" to have the task computed again")
	}
	require.NoError(t, os.Remove(results[1]))
	got := inProcess(t, "worker", study)
	require.Zero(t, got.code, got.stderr)
	require.FileExists(t, results[1], "what is marked as done and is gone is computed again")
}

// TestWorkerWithoutItsTrace: a trace that is a link, or is not there, says nothing of the tasks.
// None is recorded as failed.
func TestWorkerWithoutItsTrace(t *testing.T) {
	study := filepath.Join(t.TempDir(), "study")
	require.Zero(t, inProcess(t, "sweep", gridFile(t, 1), "--out", study, "--quiet").code)
	results, err := filepath.Glob(study + "/results/*/*.json")
	require.NoError(t, err)
	trace, outside := only(t, study+"/traces/*.trace"), filepath.Join(t.TempDir(), "x.trace")
	require.NoError(t, os.Rename(trace, outside))
	table := filepath.Join(trace, "jobs.parquet")
	for name, place := range map[string]func() error{
		"no such file":    func() error { return nil },
		"a symbolic link": func() error { return os.Symlink(outside, trace) },
		"a symbolic link,": func() error {
			return errorsOf(os.Mkdir(trace, 0o700), os.Symlink(filepath.Join(outside, "jobs.parquet"), table))
		},
	} {
		for _, path := range results {
			require.NoError(t, os.RemoveAll(path))
		}
		require.NoError(t, place())
		got := atOnce(t, "", "worker", study, "--quiet")
		require.Equal(t, exitInput, got.code, "%s: %s", name, got.stderr)
		require.Contains(t, got.stderr, "run the sweep again, which puts the right one there")
		for _, folder := range []string{"results/*/*.json", "failures/*"} {
			left, err := filepath.Glob(filepath.Join(study, folder))
			require.NoError(t, err)
			require.Empty(t, left, name)
		}
		require.NoError(t, os.RemoveAll(trace))
	}
	faults := filepath.Join(study, "faults")
	require.NoError(t, os.RemoveAll(faults))
	require.NoError(t, os.Symlink(outside, faults))
	got := inProcess(t, "study", "status", study)
	require.Equal(t, exitInput, got.code, got.stderr)
	require.Contains(t, got.stderr, faults+": found a symbolic link")
}

func errorsOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestEndlessText gives files without an end where small ones are meant: none is read further
// than such a file may be long.
func TestEndlessText(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("log.swf", []byte(smallLog()), 0o600))
	require.Zero(t, inProcess(t, "replay", "log.swf", "--out", "run", "--quiet").code)
	long := strings.Repeat("x", 5<<20)
	require.NoError(t, os.WriteFile("long", []byte(long), 0o600))
	for _, args := range [][]string{
		{"lint", "/dev/stdin"}, {"scale", "/dev/stdin"}, {"replay", "log.swf", "--profile", "/dev/stdin"}, {"sweep", "/dev/stdin"},
		{"import", "log.swf", "--columns", "long", "--out", "x.trace"}, {"trace", "transform", "log.swf", "--recipe", "long", "--out", "x.trace"},
		{"compare", "run", "--schedule", "long"},
	} {
		got := atOnce(t, long, args...)
		require.Contains(t, []int{exitUsage, exitInput}, got.code, "%v: %s", args, got.stderr)
		require.Regexp(t, `\d bytes`, got.stderr+got.stdout, "%v", args)
		require.Less(t, len(got.stderr), 1000, "%v", args)
	}
	require.NoFileExists(t, "x.trace")
	got := inProcess(t, "scale", dir)
	require.Equal(t, exitUsage, got.code, got.stderr)
	require.Contains(t, got.stderr, "is a directory, want a scaling file")
}

// TestNamesCannotDriveATerminal: names of users and files and words of cases are shown with
// their control characters escaped, and are no HTML in Markdown.
func TestNamesCannotDriveATerminal(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("jobs.csv", []byte("id,submit,run,procs,user\n1,0,60,1,"+hostile+"\n2,1,60,1,"+hostile+"\n"), 0o600))
	require.Zero(t, inProcess(t, "import", "jobs.csv", "--table", "jobs", "--column", "id=id", "--column", "submit=submit:s", "--column", "runtime=run:s",
		"--column", "procs_requested=procs", "--column", "user=user", "--out", hostile[:5]+".trace", "--quiet").code)
	require.NoError(t, os.Mkdir("cases", 0o700))
	require.NoError(t, os.WriteFile("cases/a.json", []byte(`{"schema": "u\u001b[2J<img src=x>"}`), 0o600))
	run := "r\x1b[2J"
	said := ""
	for _, args := range [][]string{
		{"replay", hostile[:5] + ".trace", "--procs", "1", "--out", run}, {"explain", run, "2"}, {"report", run}, {"lint", run},
		{"conform", "cases"}, {"conform", "cases", "-o", "markdown"},
	} {
		got := inProcess(t, args...)
		require.NotContains(t, got.stdout+got.stderr, "\x1b", "%v", args)
		if args[len(args)-1] == "markdown" {
			require.NotContains(t, got.stdout, "<img")
		}
		said += got.stdout
	}
	require.Contains(t, said, `u\x1b[2J`)
	for _, page := range []string{"summary.md", "report.html"} {
		text, err := os.ReadFile(filepath.Join(run, page))
		require.NoError(t, err)
		require.True(t, page != "summary.md" || !bytes.Contains(text, []byte("\x1b")), page)
		require.NotContains(t, string(text), "<img src=x", page)
	}
}
