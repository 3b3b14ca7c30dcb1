package app_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
)

// TestSameBytesOnEveryCPU imports a log and replays it as CPUs without AVX2, and without all
// that libraries look for, would: every file but host.json is the same. The log that
// is replayed has another name each time, which host.json alone says.
func TestSameBytesOnEveryCPU(t *testing.T) {
	if clitest.UnderRace {
		t.Skip("one goroutine at a time: the tests without the race detector run it")
	}
	text, err := os.ReadFile(clitest.Small(t))
	require.NoError(t, err)
	program := func(off string, args ...string) {
		t.Helper()
		cmd := exec.Command("orrery", args...)
		cmd.Env = append(os.Environ(), "GODEBUG="+off, "XDG_CACHE_HOME="+t.TempDir())
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", off, args, said)
	}
	var first map[string]string
	for name, off := range map[string]string{"a": "cpu.aes=on", "b": "cpu.avx2=off", "c": "cpu.all=off"} {
		dir := t.TempDir()
		log := filepath.Join(dir, name+".swf")
		require.NoError(t, os.WriteFile(log, text, 0o600))
		out := filepath.Join(dir, "out")
		require.NoError(t, os.Mkdir(out, 0o700))
		same := filepath.Join(dir, "log.swf") // the metadata of a trace say what it was imported from
		require.NoError(t, os.WriteFile(same, text, 0o600))
		program(off, "import", same, "--out", filepath.Join(out, "x.trace"), "-q")
		program(off, "replay", log, "--facts", "--out", filepath.Join(out, "run"), "-q")
		program(off, "synth", "site", "--days", "2", "--nodes", "64", "--out", filepath.Join(out, "site.trace"), "-q")
		program(off, "replay", filepath.Join(out, "site.trace"), "--cluster", "month", "--decisions", "--facts", "--out", filepath.Join(out, "site"), "-q")
		files := map[string]string{}
		require.NoError(t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "host.json" {
				return err
			}
			text, err := os.ReadFile(path)
			below, _ := filepath.Rel(out, path)
			files[below] = string(text)
			return err
		}))
		require.Greater(t, len(files), 15)
		if first == nil {
			first = files
		}
		for path := range files {
			require.True(t, files[path] == first[path], "%s: %s", off, path)
		}
		host, err := os.ReadFile(filepath.Join(out, "run", "host.json"))
		require.NoError(t, err)
		require.Contains(t, string(host), `"trace": "`+name+`"`)
	}
}
