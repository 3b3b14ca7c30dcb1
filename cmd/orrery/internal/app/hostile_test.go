package app_test

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

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/internal/disk"
)

// hostile is a name that would clear the screen, and be an image in a page.
const hostile = "u\x1b[2J<img src=x>"

// atOnce runs the program, which is to end by itself and not by the clock.
func atOnce(t *testing.T, stdin string, args ...string) clitest.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "orrery", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	_ = cmd.Run() // the code says how it ended
	require.NoError(t, ctx.Err(), "%v is still at it: %s", args, stderr.String())
	return clitest.Outcome{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// TestDocumentsThatAreNoFiles puts pipes, endless devices and huge files in the place of the
// documents of a run and of a study: they are refused at once.
func TestDocumentsThatAreNoFiles(t *testing.T) {
	log, run := clitest.Small(t), filepath.Join(t.TempDir(), "run")
	require.Zero(t, clitest.Run(t, "replay", log, "--out", run, "--quiet").Code)
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
					require.Zero(t, got.Code, "%s in the place of %s, %v: %s", name, document, args, got.Stderr)
				case document == "metrics.json" && (args[0] == "export" || name == "bytes"): // it is not read, or read and another
				default:
					require.Equal(t, cli.ExitInput, got.Code, "%s in the place of %s, %v: %s", name, document, args, got.Stderr)
					require.Contains(t, got.Stderr, name, "%v", args)
				}
			}
			require.NoError(t, os.Rename(path+".sound", path))
		}
	}
	study := filepath.Join(t.TempDir(), "study")
	require.Zero(t, clitest.Run(t, "sweep", clitest.GridFile(t, 1), "--out", study, "--quiet").Code)
	plan := filepath.Join(study, "experiment.json")
	require.NoError(t, os.Remove(plan))
	require.NoError(t, syscall.Mkfifo(plan, 0o600))
	got := atOnce(t, "", "study", "table", study)
	require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "experiment.json: found a named pipe")
	for _, args := range [][]string{{"study", "status"}, {"worker"}, {"report"}, {"export"}} {
		got := atOnce(t, "", append(args, plan)...)
		require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
	}
}

// TestAlteredSettingsOfARun: what replays the settings of a run reads none that were altered.
func TestAlteredSettingsOfARun(t *testing.T) {
	log, run := clitest.Small(t), filepath.Join(t.TempDir(), "run")
	require.Zero(t, clitest.Run(t, "replay", log, "--procs", "16", "--out", run, "--quiet").Code)
	require.Zero(t, clitest.Run(t, "verify", "--invariants", run, log).Code)
	clitest.Alter(t, filepath.Join(run, "run.json"), `"procs": 16`, `"procs": 17`)
	got := clitest.Run(t, "verify", "--invariants", run, log)
	require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "run.json: found content with the SHA-256")
}

// TestResultOfAnotherTask copies one result of a study over another: both files are sound, and
// the second is not what its name says.
func TestResultOfAnotherTask(t *testing.T) {
	file, study := clitest.GridFile(t, 1), filepath.Join(t.TempDir(), "study")
	require.Zero(t, clitest.Run(t, "sweep", file, "--out", study, "--quiet").Code)
	results, err := filepath.Glob(study + "/results/*/*.json")
	require.NoError(t, err)
	require.Greater(t, len(results), 1)
	one, err := os.ReadFile(results[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(results[1], one, 0o600))
	for _, args := range [][]string{{"study", "table", study}, {"sweep", file, "--out", study, "--quiet"}} {
		got := clitest.Run(t, args...)
		require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
		require.Contains(t, got.Stderr, "found the result of the task "+strings.TrimSuffix(filepath.Base(results[0]), ".json")[:12])
		require.Contains(t, got.Stderr, "remove "+results[1]+" to have the task computed again")
	}
	require.NoError(t, os.Remove(results[1]))
	got := clitest.Run(t, "worker", study)
	require.Zero(t, got.Code, got.Stderr)
	require.FileExists(t, results[1], "what is marked as done and is gone is computed again")
}

// TestWorkerWithoutItsTrace: a trace that is a link, or is not there, says nothing of the tasks.
// None is recorded as failed.
func TestWorkerWithoutItsTrace(t *testing.T) {
	study := filepath.Join(t.TempDir(), "study")
	require.Zero(t, clitest.Run(t, "sweep", clitest.GridFile(t, 1), "--out", study, "--quiet").Code)
	results, err := filepath.Glob(study + "/results/*/*.json")
	require.NoError(t, err)
	trace, outside := clitest.Only(t, study+"/traces/*.trace"), filepath.Join(t.TempDir(), "x.trace")
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
		require.Equal(t, cli.ExitInput, got.Code, "%s: %s", name, got.Stderr)
		require.Contains(t, got.Stderr, "run the sweep again, which puts the right one there")
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
	got := clitest.Run(t, "study", "status", study)
	require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, faults+": found a symbolic link")
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
	require.NoError(t, os.WriteFile("log.swf", []byte(clitest.SmallLog()), 0o600))
	require.Zero(t, clitest.Run(t, "replay", "log.swf", "--out", "run", "--quiet").Code)
	long := strings.Repeat("x", 5<<20)
	require.NoError(t, os.WriteFile("long", []byte(long), 0o600))
	for _, args := range [][]string{
		{"lint", "/dev/stdin"}, {"scale", "/dev/stdin"}, {"replay", "log.swf", "--profile", "/dev/stdin"}, {"sweep", "/dev/stdin"},
		{"import", "log.swf", "--columns", "long", "--out", "x.trace"}, {"trace", "transform", "log.swf", "--recipe", "long", "--out", "x.trace"},
		{"compare", "run", "--schedule", "long"},
	} {
		got := atOnce(t, long, args...)
		require.Contains(t, []int{cli.ExitUsage, cli.ExitInput}, got.Code, "%v: %s", args, got.Stderr)
		require.Regexp(t, `\d bytes`, got.Stderr+got.Stdout, "%v", args)
		require.Less(t, len(got.Stderr), 1000, "%v", args)
	}
	require.NoFileExists(t, "x.trace")
	got := clitest.Run(t, "scale", dir)
	require.Equal(t, cli.ExitUsage, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "is a directory, want a scaling file")
}

// TestNamesCannotDriveATerminal: names of users and files and words of cases are shown with
// their control characters escaped, and are no HTML in Markdown.
func TestNamesCannotDriveATerminal(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("jobs.csv", []byte("id,submit,run,procs,user\n1,0,60,1,"+hostile+"\n2,1,60,1,"+hostile+"\n"), 0o600))
	require.Zero(t, clitest.Run(t, "import", "jobs.csv", "--table", "jobs", "--column", "id=id", "--column", "submit=submit:s", "--column", "runtime=run:s",
		"--column", "procs_requested=procs", "--column", "user=user", "--out", hostile[:5]+".trace", "--quiet").Code)
	require.NoError(t, os.Mkdir("cases", 0o700))
	require.NoError(t, os.WriteFile("cases/a.json", []byte(`{"schema": "u\u001b[2J<img src=x>"}`), 0o600))
	run := "r\x1b[2J"
	said := ""
	for _, args := range [][]string{
		{"replay", hostile[:5] + ".trace", "--procs", "1", "--out", run}, {"explain", run, "2"}, {"report", run}, {"lint", run},
		{"conform", "cases"}, {"conform", "cases", "-o", "markdown"},
	} {
		got := clitest.Run(t, args...)
		require.NotContains(t, got.Stdout+got.Stderr, "\x1b", "%v", args)
		if args[len(args)-1] == "markdown" {
			require.NotContains(t, got.Stdout, "<img")
		}
		said += got.Stdout
	}
	require.Contains(t, said, `u\x1b[2J`)
	for _, page := range []string{"summary.md", "report.html"} {
		text, err := os.ReadFile(filepath.Join(run, page))
		require.NoError(t, err)
		require.True(t, page != "summary.md" || !bytes.Contains(text, []byte("\x1b")), page)
		require.NotContains(t, string(text), "<img src=x", page)
	}
}
