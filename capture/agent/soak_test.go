//go:build linux && cgo && !nonvml

package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// Ten samples a second of eight GPUs: nothing is lost without a word, and memory and goroutines do not grow.
// 6 s without, an hour with ORRERY_LONG.
func TestSoak(t *testing.T) {
	t.Parallel()
	span := 6 * time.Second
	if os.Getenv("ORRERY_LONG") == "1" {
		span = time.Hour
	}
	out := filepath.Join(t.TempDir(), "out")
	cmd, said := command(t, busy+"fault 3 hang 2 3\n", out, "--mode", "debug", "--interval", "100ms", "--rotate", (span / 8).String(), "--max-disk", "400000000", "--for", span.String())
	require.NoError(t, cmd.Start())
	var peaks [2]int64 // in the second and the last quarter
	began := time.Now()
	for time.Since(began) < span-time.Second {
		time.Sleep(span / 100)
		switch at := time.Since(began); {
		case at > span/4 && at < span/2:
			peaks[0] = max(peaks[0], rss(t, cmd.Process.Pid))
		case at > span/4*3:
			peaks[1] = max(peaks[1], rss(t, cmd.Process.Pid))
		}
	}
	require.NoError(t, cmd.Wait(), said)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	_, sum := read(t, out)
	accounted(t, sum, 100*model.Millisecond)
	for _, s := range sum.Series {
		require.InEpsilon(t, span.Seconds()*10, s.Rows+s.Missing, 0.2, "GPU %d: %+v", s.GPU, s.Gaps)
	}
	require.Less(t, peaks[1], peaks[0]*3/2+(8<<20), "memory in the last quarter and in the second one, B")
	t.Logf("%s at 10 Hz: CPU %.2f %% of a core, peak %d MB, GPU 3 %+v", span, 100*cpu.Seconds()/span.Seconds(), max(peaks[0], peaks[1])>>20, sum.Series[3].Gaps)
}

// rss is the memory of a process, B.
func rss(t *testing.T, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	var size, held int64
	_, err = fmt.Sscan(string(text), &size, &held)
	require.NoError(t, err)
	return held * int64(os.Getpagesize())
}
