package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// TestManyTenants replays a site with as many tenants as a cluster file may have: in less
// than 1 GB, and its report in less than 20 s of CPU.
func TestManyTenants(t *testing.T) {
	if testing.Short() || underRace || runtime.GOOS != "linux" {
		t.Skip("replays 131,072 jobs, and reads the memory as Linux says it")
	}
	const tenants = 65_536
	dir := t.TempDir()
	var site strings.Builder
	site.WriteString("groups: [{name: a, nodes: 64}]\nvclusters: [{name: one, home: all, profile: interactive}]\ntenants:\n")
	for i := range tenants {
		fmt.Fprintf(&site, "- {name: t%d}\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "site.yaml"), []byte(site.String()), 0o600))
	w, err := traces.NewWriter(filepath.Join(dir, "x.trace"), traces.Meta{})
	require.NoError(t, err)
	for i := range int64(2 * tenants) {
		require.NoError(t, w.WriteJob(&traces.Job{ID: i, Submit: model.Time(i) * model.Time(model.Second), Tenant: fmt.Sprintf("t%d", i%tenants),
			Runtime: traces.Some(50 * model.Second), Walltime: traces.Some(100 * model.Second), NodesMin: traces.Some(int32(1))}))
	}
	_, err = w.Close()
	require.NoError(t, err)
	run := func(args ...string) *os.ProcessState {
		cmd := exec.Command("orrery", args...)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, said)
		return cmd.ProcessState
	}
	usage, ok := run("replay", "x.trace", "--cluster", "site.yaml", "--out", "run", "--quiet").SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	require.Less(t, usage.Maxrss, int64(1_000_000), "kB")
	report := run("report", "run", "--quiet")
	require.Less(t, report.UserTime()+report.SystemTime(), 20*time.Second)
}
