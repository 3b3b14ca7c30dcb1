package capture_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/traces"
)

// delaySlurm starts a Slurm whose epilogue takes 0 to 9 s and whose nodes take 3 to 6 s to boot. The two files say how long each took.
func delaySlurm(t *testing.T) (epilogues, boots string) {
	t.Helper()
	scripts := t.TempDir()
	for _, folder := range []string{filepath.Dir(scripts), scripts} { // slurmd runs them
		require.NoError(t, os.Chmod(folder, 0o755))
	}
	script := func(name, text string) string {
		path := filepath.Join(scripts, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/bash\n"+text), 0o755))
		return path
	}
	epilogues, boots = filepath.Join(scripts, "epilogues"), filepath.Join(scripts, "boots")
	epilogue := script("epilogue", "d=$((RANDOM % 10))\necho $SLURM_JOB_ID $d >>"+epilogues+"\nexec sleep $d\n")
	ofNodes := func(each string) string {
		return "export SLURM_CONF=$(cat " + scripts + "/conf)\nfor n in $(scontrol show hostnames \"$1\"); do\n" + each + "\ndone\n"
	}
	resume := script("resume", ofNodes("( d=$((3 + RANDOM % 4)); sleep $d; echo $n $d >>"+boots+"; exec slurmd -b -N $n -f $SLURM_CONF ) >/dev/null 2>&1 &"))
	// slurmctld blocks other signals in what it starts.
	suspend := script("suspend", ofNodes("kill -KILL $(cat $(dirname $SLURM_CONF)/slurmd-$n.pid)"))
	dir := accountedSlurm(t, preemptingSite+"Epilog="+epilogue+"\nResumeProgram="+resume+"\nSuspendProgram="+suspend+"\nSuspendTime=600\nSuspendTimeout=3\nResumeTimeout=120\n", 4)
	require.NoError(t, os.WriteFile(filepath.Join(scripts, "conf"), []byte(filepath.Join(dir, "slurm.conf")), 0o600))
	t.Cleanup(func() { _ = exec.Command("bash", suspend, "n[1-4]").Run() })
	return epilogues, boots
}

// TestRealSlurmDelays captures a Slurm and finds for each job how long its nodes were held at most beyond its end, and for each node how
// long it booted at most, which is no less than what its epilogue, or its boot, took.
func TestRealSlurmDelays(t *testing.T) {
	epilogues, boots := delaySlurm(t)
	captured := filepath.Join(t.TempDir(), "captured")
	cmd := exec.Command(clitest.Built(t), "capture", "slurm", "--out", captured, "--interval", "1s", "--bundle-every", "0")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(500 * time.Millisecond) {
			require.True(t, time.Now().Before(deadline), what)
		}
	}
	eventually("the first poll", func() bool { _, err := os.Stat(filepath.Join(captured, "state.json")); return err == nil })
	const jobs = 40
	for range jobs {
		submitted(t, "--ntasks=1", "--wrap=sleep 2")
	}
	eventually("all jobs are over", func() bool { return ofSlurm(t, "squeue", "-h") == "" })
	phases := func(word string) int {
		return strings.Count(ofSlurm(t, "scontrol", "show", "nodes", "-o"), word)
	}
	ofSlurm(t, "scontrol", "update", "nodename=n[1-4]", "state=power_down_force")
	eventually("all nodes are off", func() bool { return phases("POWERED_DOWN") == 4 })
	ofSlurm(t, "scontrol", "update", "nodename=n[1-4]", "state=power_up")
	eventually("all nodes are back", func() bool { return phases("POWER") == 0 && phases("State=IDLE ") == 4 })
	time.Sleep(3 * time.Second) // for a poll that sees it
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // 130
	got := clitest.Run(t, "capture", "slurm", "--out", captured, "--once")
	require.Zero(t, got.Code, got.Stderr)

	b, err := traces.Open(filepath.Join(captured, "slurm.trace"))
	require.NoError(t, err)
	defer b.Close()
	checkCompletions(t, b, pairs(t, epilogues), jobs)
	checkBoots(t, b, pairs(t, boots))
	site := filepath.Join(t.TempDir(), "site.yaml")
	require.NoError(t, os.WriteFile(site, []byte("node_types: [{name: n, cpus: 8, gpu: small, gpus: 2}]\ngroups: [{name: g, nodes: \"n[1-4]\", type: n}]\n"), 0o600))
	got = clitest.Run(t, "calibrate", captured, "--cluster", site, "--out", filepath.Join(t.TempDir(), "fitted.yaml"))
	t.Logf("%s", got.Stdout)
	require.Regexp(t, `completion delay, 90 % +\d`, got.Stdout)
	require.Regexp(t, `agents.boot_delay .*found 4 delays, want at least 6`, got.Stdout)
}

func checkCompletions(t *testing.T, b *traces.Bundle, planted map[string]int64, jobs int) {
	t.Helper()
	require.Len(t, planted, jobs)
	found := 0
	for j, err := range b.Rows() {
		require.NoError(t, err)
		var extra map[string]any
		require.NoError(t, json.Unmarshal([]byte(j.Extra), &extra), j.Extra)
		require.Contains(t, extra, capture.CompletingMost)
		least, most := int64(extra[capture.CompletingLeast].(float64)), int64(extra[capture.CompletingMost].(float64))
		require.LessOrEqual(t, least, most)
		require.GreaterOrEqual(t, most, planted[strconv.FormatInt(j.ID, 10)]*1_000_000, "job %d", j.ID)
		found++
	}
	require.Equal(t, jobs, found)
}

func checkBoots(t *testing.T, b *traces.Bundle, planted map[string]int64) {
	t.Helper()
	require.Len(t, planted, 4)
	said := map[string]bool{}
	for _, e := range b.Events() {
		if e.Kind != capture.EventKind {
			continue
		}
		r, err := capture.ReadRecord(&e)
		require.NoError(t, err)
		require.Equal(t, []string{capture.RecordBoot, capture.BootPowered}, []string{r.Record, r.Reason})
		require.GreaterOrEqual(t, int64(r.Most), planted[e.Subject]*1_000_000, e.Subject)
		require.LessOrEqual(t, r.Least, r.Most)
		said[e.Subject] = true
	}
	require.Len(t, said, 4, "a boot of each node")
}

// pairs are the lines of a file with a name and a number.
func pairs(t *testing.T, file string) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	out := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		var name string
		var n int64
		_, err := fmt.Sscan(line, &name, &n)
		require.NoError(t, err, line)
		out[name] = n
	}
	return out
}
