//go:build linux && cgo && !nonvml

package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/archive"
	"orrery/capture/scripted"
	"orrery/scheduler/model"
)

// program is the agent and the scripted library, built once.
var program = sync.OnceValues(func() ([2]string, error) {
	dir, err := os.MkdirTemp("", "orrery-agent-")
	if err != nil {
		return [2]string{}, err
	}
	programDir = dir
	library, err := scripted.Build(dir)
	if err != nil {
		return [2]string{}, err
	}
	out := filepath.Join(dir, "orrery-agent")
	if said, err := exec.Command("go", "build", "-pgo=off", "-ldflags=-extldflags=-Wl,-z,lazy", "-o", out, "orrery/cmd/orrery-agent").CombinedOutput(); err != nil {
		return [2]string{}, fmt.Errorf("%w\n%s", err, said)
	}
	return [2]string{out, library}, nil
})

var programDir string // "" when no test needed it

func TestMain(m *testing.M) {
	code := m.Run()
	if programDir != "" {
		_ = os.RemoveAll(programDir)
	}
	os.Exit(code)
}

// busy is a node of eight GPUs at work.
const busy = `gpus 8
links 18
set * util sine 60 35 20
set * mem_util const 30
set * mem_used const 42949672960
set * power sine 450000 200000 20
set * energy rate 0 450000
set * sm_clock const 1755
set * mem_clock const 2619
set * throttle square 0 4 12
set * temperature sine 65 10 30
set * mem_temperature const 70
set * ecc_corrected const 0
set * ecc_uncorrected const 0
set * retired const 0
set * sm_active sine 45 30 20
set * nvlink_rx rate 0 1000000
set * nvlink_tx rate 0 1000000
set * pcie_rx rate 0 1000000
set * pcie_tx rate 0 1000000
`

// command is the agent on a scenario, as a process.
func command(t testing.TB, scenario, out string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	built, err := program()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "scenario")
	require.NoError(t, os.WriteFile(file, []byte(scenario), 0o600))
	cmd := exec.Command(built[0], append([]string{"--library", built[1], "--out", out, "--node", "n1", "--root", t.TempDir(), "--listen", "off"}, args...)...)
	cmd.Env = append(os.Environ(), scripted.Scenario+"="+file)
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	return cmd, said
}

// A hundred kills with ORRERY_LONG, six without: whatever was finished can be read, and each sample that was due is a row or in a gap.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills, longest := 6, 600
	if testing.Short() {
		kills = 3
	}
	if os.Getenv("ORRERY_LONG") == "1" {
		kills, longest = 100, 3000
	}
	out := filepath.Join(t.TempDir(), "out")
	r := rand.New(rand.NewPCG(20, 1))
	for range kills {
		cmd, _ := command(t, busy, out, "--mode", "debug", "--interval", "20ms", "--rotate", "300ms")
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(100+r.IntN(longest)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
	}
	cmd, said := command(t, busy, out, "--mode", "debug", "--interval", "20ms", "--rotate", "300ms", "--for", "500ms")
	require.NoError(t, cmd.Run(), said)
	set, sum := read(t, out)
	require.Len(t, sum.Series, 8)
	accounted(t, sum, 20*model.Millisecond)
	hidden, err := filepath.Glob(filepath.Join(out, ".*.trace*"))
	require.NoError(t, err)
	require.Empty(t, hidden, "what kills left half written is gone")
	if modules := os.Getenv("ORRERY_NODE_MODULES"); modules != "" { // a second implementation of Parquet reads every file
		duckdb := exec.Command("node", "../../.ci/duckdb.js", "select count(*) from '"+out+"/*.trace/telemetry.parquet'")
		duckdb.Env = append(os.Environ(), "NODE_PATH="+modules)
		counted, err := duckdb.CombinedOutput()
		require.NoError(t, err, "%s", counted)
		require.Equal(t, fmt.Sprint(set.Rows()), strings.TrimSpace(string(counted)))
	}
	t.Logf("%d kills: %d bundles, %d rows and %d missing samples of GPU 0, gaps %+v", kills, set.Bundles(), sum.Series[0].Rows, sum.Series[0].Missing, sum.Series[0].Gaps)
}

// The start after a kill says how many rows were lost.
func TestKilledIsTold(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	cmd, _ := command(t, busy, out, "--mode", "debug", "--interval", "20ms")
	require.NoError(t, cmd.Start())
	journal := filepath.Join(out, ".n1.journal")
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(journal)
		return err == nil && strings.Contains(string(text), `"rows":`) && !strings.Contains(string(text), `"rows":0`)
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	again, said := command(t, busy, out, "--mode", "debug", "--interval", "20ms", "--for", "200ms")
	require.NoError(t, again.Run(), said)
	require.Regexp(t, `the run before was killed: rows of the file that it was writing are lost" rows=[1-9]`, said.String())
	_, sum := read(t, out)
	require.Contains(t, fmt.Sprintf("%+v", sum.Series[0].Gaps), "Reason:killed")
	accounted(t, sum, 20*model.Millisecond)
}

// SIGTERM writes what there is.
func TestTerminated(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	cmd, said := command(t, busy, out, "--interval", "100ms", "--window", "10s")
	require.NoError(t, cmd.Start())
	time.Sleep(1500 * time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), said)
	set, sum := read(t, out)
	require.Equal(t, 1, set.Bundles())
	require.Equal(t, int64(5), sum.Series[0].Rows%5+5, "one window or two, of five rows each")
	require.Positive(t, sum.Series[0].Covered)
}

// Ctrl-C is 130, also when SIGTERM comes while the end waits for a GPU that hangs.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	cmd, said := command(t, busy+"fault 0 hang 0 60\n", out, "--interval", "100ms")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		shown, err := archive.Live(out)
		return err == nil && len(shown) == 1
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit, said)
	require.Equal(t, 130, exit.ExitCode(), said)
}

// On a node without a driver the agent says so, and ends with 1.
func TestNoDriver(t *testing.T) {
	cmd, said := command(t, busy, t.TempDir(), "--library", filepath.Join(t.TempDir(), "libnvidia-ml.so.1"))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, said.String(), "no NVIDIA driver on this node")
}

// byHand was computed with sha256sum over these six lines, written by hand:
//
//	bios.version=2.1.3
//	bmc.firmware=6.10
//	driver.version=550.54.15
//	kernel.parameters=iommu=pt
//	kernel.release=5.14.0-427.el9.x86_64
//	nic.mlx5_0.firmware=28.39.1002
const byHand = "5b25667d5d08b605acb38f7593189575c7044395bd7ba088c743a02c3cf8808b"

// The fingerprint of the scripted node is the one that was computed by hand, and another firmware or driver is another fingerprint.
func TestInventoryOfTheProgram(t *testing.T) {
	root := t.TempDir()
	put := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text+"\n"), 0o600))
	}
	put("sys/class/dmi/id/bios_version", "2.1.3")
	put("sys/devices/platform/ipmi_bmc.0/firmware_revision", "6.10")
	put("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002")
	put("proc/sys/kernel/osrelease", "5.14.0-427.el9.x86_64")
	put("proc/cmdline", "root=UUID=1 iommu=pt")
	fingerprint := func(scenario string) string {
		t.Helper()
		cmd, said := command(t, scenario, "", "--inventory", "--root", root)
		require.NoError(t, cmd.Run(), said)
		var got struct {
			Fingerprint string
			Facts       []capture.Fact
			Missing     []capture.Missing
		}
		require.NoError(t, json.Unmarshal(said.Bytes(), &got), said)
		require.Contains(t, got.Missing, capture.Missing{Name: "board.name", Why: "no such file"})
		require.Contains(t, got.Facts, capture.Fact{Name: "gpu.7.nvlink.0.peer", Value: "0000:10:00.0"})
		return got.Fingerprint
	}
	require.Equal(t, byHand, fingerprint(busy))
	driver := fingerprint(busy + "driver 550.54.16\n")
	require.NotEqual(t, byHand, driver)
	put("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1003")
	require.NotContains(t, []string{byHand, driver}, fingerprint(busy))
}

// What is sampled can be seen within seconds while the agent runs, also after a kill, and is gone when the agent has ended.
func TestShownWhileItRuns(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	seen := func() *capture.Live {
		shown, _ := archive.Live(out) // the folder may not be there yet
		if len(shown) == 0 {
			return nil
		}
		return shown[0]
	}
	cmd, said := command(t, busy+"fault 3 hang 0 60\n", out, "--interval", "100ms", "--window", "30s")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		l := seen()
		return l != nil && l.GPUs[0].Power != nil && l.GPUs[3].Silent == capture.GapHung
	}, 30*time.Second, 20*time.Millisecond, said)
	l := seen()
	require.NotNil(t, l)
	require.Len(t, l.GPUs, 8)
	require.Equal(t, []any{"n1", "prod", int32(1755)}, []any{l.Node, l.Mode, *l.GPUs[0].SMClock})
	require.InDelta(t, 450, *l.GPUs[0].Power, 201)
	require.Nil(t, l.GPUs[3].Power)
	require.Less(t, time.Since(time.UnixMicro(int64(l.At))), 10*time.Second)
	found, err := archive.Find(out)
	require.NoError(t, err)
	require.Empty(t, found, "no bundle is finished yet")
	at := l.At
	require.Eventually(t, func() bool { l := seen(); return l != nil && l.At > at }, 10*time.Second, 20*time.Millisecond, "a later one")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	require.NotNil(t, seen(), "a kill leaves the last one")
	again, said := command(t, busy, out, "--interval", "100ms", "--for", "500ms")
	require.NoError(t, again.Run(), said)
	require.Nil(t, seen())
}
