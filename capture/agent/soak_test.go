//go:build linux && cgo && !nonvml

package agent_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/review"
	"orrery/scheduler/model"
)

// Ten samples a second of eight GPUs: nothing is lost without a word, memory and goroutines do not grow, the folder keeps its bound, and
// a call that hangs stops the series of its GPU alone. 6 s without, an hour with ORRERY_LONG, else as long as ORRERY_SOAK says.
func TestSoak(t *testing.T) {
	t.Parallel()
	span := 6 * time.Second
	if os.Getenv("ORRERY_LONG") == "1" {
		span = time.Hour
	}
	if text := os.Getenv("ORRERY_SOAK"); text != "" {
		var err error
		span, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	const disk = 60_000_000
	out := filepath.Join(t.TempDir(), "out")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	cmd, said := command(t, busy+"fault 3 hang 2 3\n", out, "--mode", "debug", "--interval", "100ms", "--rotate", (span / 8).String(), "--max-disk", strconv.Itoa(disk),
		"--for", span.String(), "--hung-after", "1s", "--listen", address)
	require.NoError(t, cmd.Start())
	var peaks, goroutines [2]int64 // in the second and the last quarter
	largest := int64(0)
	began := time.Now()
	for time.Since(began) < span-time.Second {
		time.Sleep(span / 100)
		quarter := int(4 * time.Since(began) / span)
		if quarter != 1 && quarter != 3 {
			continue
		}
		peaks[quarter/2] = max(peaks[quarter/2], rss(t, cmd.Process.Pid))
		goroutines[quarter/2] = max(goroutines[quarter/2], metric(address, "go_goroutines"))
		largest = max(largest, folder(out))
	}
	require.NoError(t, cmd.Wait(), said)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	set, sum := read(t, out)
	accounted(t, sum, 100*model.Millisecond)
	hung := map[string]int64{} // samples, by GPU, in gaps of half a second and longer: a bundle ends the gaps that are in it
	for i := range set.Events {
		r, err := capture.ReadRecord(&set.Events[i])
		require.NoError(t, err)
		if r.Record == capture.RecordGap && r.Reason == capture.GapHung && r.Samples >= 5 {
			hung[set.Events[i].Subject] += r.Samples
		}
	}
	for gpu := range 8 {
		require.Equal(t, gpu == 3, hung[fmt.Sprint("n1/", gpu)] >= 20, "3 s without an answer, of GPU 3 alone: %v", hung)
	}
	for _, s := range sum.Series {
		require.InEpsilon(t, span.Seconds()*10, s.Rows+s.Missing, 0.2, "GPU %d: %+v", s.GPU, s.Gaps)
	}
	require.True(t, slices.ContainsFunc(sum.Alerts, func(a review.Alert) bool { return a.Kind == "hang" && a.Subject == "n1/3" }), "%+v", sum.Alerts)
	require.Less(t, peaks[1], peaks[0]*3/2+(8<<20), "memory in the last quarter and in the second one, B")
	require.Positive(t, goroutines[0])
	require.LessOrEqual(t, goroutines[1], goroutines[0]+2, "goroutines in the last quarter and in the second one")
	require.LessOrEqual(t, max(largest, folder(out)), int64(disk))
	t.Logf("%s at 10 Hz: CPU %.2f %% of a core, peak %d MB, %d and %d goroutines, folder %d kB, GPU 3 %+v", span, 100*cpu.Seconds()/span.Seconds(), max(peaks[0], peaks[1])>>20,
		goroutines[0], goroutines[1], max(largest, folder(out))>>10, sum.Series[3].Gaps)
}

// metric is a number that the agent gives Prometheus, 0 when there is none.
func metric(address, name string) (v int64) {
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if digits, found := strings.CutPrefix(lines.Text(), name+" "); found {
			v, _ = strconv.ParseInt(digits, 10, 64) // 0 for none
		}
	}
	return v
}

// folder is what the files in it hold, B.
func folder(dir string) (total int64) {
	_ = filepath.Walk(dir, func(_ string, st os.FileInfo, err error) error {
		if err == nil && !st.IsDir() { // files come and go
			total += st.Size()
		}
		return nil
	})
	return total
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
