package replay_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
	"orrery/scheduler/model"
	"orrery/traces"
)

// TestManyTenants replays a site with as many tenants as a cluster file may have: in less
// than 1 GB, and its report in less than 20 s of CPU.
func TestManyTenants(t *testing.T) {
	if testing.Short() || clitest.UnderRace || runtime.GOOS != "linux" {
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
	run := func(args ...string) (ended *os.ProcessState, most int64) {
		var said bytes.Buffer
		cmd := exec.Command("orrery", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
		require.NoError(t, cmd.Start())
		stop, watched := make(chan struct{}), make(chan int64)
		go watchMemory(cmd.Process.Pid, stop, watched)
		err := cmd.Wait()
		close(stop)
		require.NoError(t, err, "%v: %s", args, said.String())
		return cmd.ProcessState, <-watched
	}
	_, most := run("replay", "x.trace", "--cluster", "site.yaml", "--out", "run", "--quiet")
	require.Positive(t, most)
	require.Less(t, most, int64(1_000_000), "kB")
	report, _ := run("report", "run", "--quiet")
	require.Less(t, report.UserTime()+report.SystemTime(), 20*time.Second)
}

// watchMemory sends, when it is stopped, the most resident memory in kB that the process had
// when last looked at. Rusage would not do: its maximum begins with that of the process that
// started this one, which is that of all tests.
func watchMemory(pid int, stop <-chan struct{}, most chan<- int64) {
	kB := int64(0)
	for tick := time.Tick(10 * time.Millisecond); ; {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // gone once it has ended
		if _, peak, found := strings.Cut(string(status), "VmHWM:"); found {
			_, _ = fmt.Sscanf(peak, "%d", &kB)
		}
		select {
		case <-stop:
			most <- kB
			return
		case <-tick:
		}
	}
}
