package app_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// cpuRuns are the verbs that write results, as they are called in the directory of clitest.ExampleFolder, with the exit code.
var cpuRuns = []struct {
	line string
	code int
}{
	{"import log.swf.gz --quiet --out imported.trace", 0},
	{"check log.swf.gz month.trace scaling.yaml -o json", 0},
	{"replay log.swf.gz --procs 64 --profile default --decisions --facts --report --quiet --out replayed", 0},
	{"fork before --at 10m --order wfp3 --facts --quiet -o json --out forked", 0},
	{"report before --quiet --force", 0},
	{"explain run 20 -o json", 0},
	{"export run --table jobs -o arrow --out jobs.arrow", 0},
	{"export run --table series -o csv --out series.csv", 0},
	{"compare before after --noise log.swf.gz --replicas 3 -o json --out compared", 0},
	{"compare before after --windows 10 -o json", 0},
	{"fidelity month.trace --procs 8 --draws 4 --quiet --report -o json", 0},
	{"sweep experiment.yaml --report --quiet --out swept", 0},
	{"tune --out tuned --budget 8000 --replicas 2 --loads none --quiet -o json", cli.ExitEvidence},
	{"scale scaling.yaml --quiet --out scaled -o json", 0},
	{"gate builtin --quiet -o json --junit gate.xml --markdown gate.md", 0},
	{"synth --out made.trace --jobs 100 --quiet", 0},
	{"synth lublin --out lublin.trace --jobs 300 --quiet", 0},
	{"synth gpu --out gpu.trace --jobs 300 --quiet", 0},
	{"synth site --out site.trace --days 1 --nodes 64 --quiet", 0},
	{"trace stats lublin.trace -o json", 0},
	{`trace transform month.trace --out stretched.trace --quiet --step "stretch by=2" --step "jitter by=10s seed=3"`, 0},
	{"capture convert gpus.csv --from smi-csv --node gpu7 --time-zone UTC --out gpu7.trace", 0},
	{"capture inspect telemetry -o json --page pages", 0},
	{"capture join telemetry --jobs month.trace --out measured.trace -o json", 0},
	{"capture merge telemetry --out all.trace", 0},
}

// madeAt is when a page or a study was made.
var madeAt = regexp.MustCompile(`(Made by orrery[ a-z]* on |"date": ")20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)

// TestEveryVerbWritesTheSameOnEveryCPU calls each verb that writes results as CPUs without fused multiply-add, and
// without all that libraries look for, would: what it prints and every file that it leaves are the same.
func TestEveryVerbWritesTheSameOnEveryCPU(t *testing.T) {
	if clitest.UnderRace {
		t.Skip("one goroutine at a time: the tests without the race detector run it")
	}
	clitest.ExampleFolder(t)
	given, err := os.Getwd()
	require.NoError(t, err)
	var first map[string]string
	for _, off := range []string{"cpu.aes=on", "cpu.fma=off", "cpu.all=off"} {
		dir := filepath.Join(t.TempDir(), "w")
		require.NoError(t, os.CopyFS(dir, os.DirFS(given)))
		files := map[string]string{}
		for _, run := range cpuRuns {
			cmd := exec.Command("orrery", clitest.WordsOf(run.line)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GODEBUG="+off, "XDG_CACHE_HOME="+t.TempDir())
			var out, said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &said
			err := cmd.Run()
			var failed *exec.ExitError
			if run.code != 0 && errors.As(err, &failed) && failed.ExitCode() == run.code {
				err = nil
			}
			require.NoError(t, err, "%s %s: %s", off, run.line, said.String())
			files[run.line] = strings.ReplaceAll(out.String(), dir, "")
		}
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			below, _ := filepath.Rel(dir, path)
			if err != nil || d.IsDir() || d.Name() == "host.json" || strings.Contains(below, "/claims/") || strings.Contains(below, "/journal/") {
				return err // who worked on what, and when
			}
			text, err := os.ReadFile(path)
			files[below] = madeAt.ReplaceAllString(string(text), "$1")
			return err
		}))
		if first == nil {
			first = files
		}
		require.Len(t, files, len(first))
		for name := range first {
			if files[name] != first[name] {
				t.Errorf("%s: %s is different%s", off, name, parting(first[name], files[name]))
			}
		}
	}
}

// parting is where two texts part.
func parting(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(i-60, 0)
	return ":\n" + strings.ToValidUTF8(a[from:min(i+60, len(a))], "?") + "\n" + strings.ToValidUTF8(b[from:min(i+60, len(b))], "?")
}
