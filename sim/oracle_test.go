package sim

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/tools/refdata"
)

// oracleLogs are the normalised logs with published schedules, and the
// machine sizes those were made for.
var oracleLogs = []struct {
	name  string
	procs int32
}{{"kth-sp2", 100}, {"nasa-ipsc", 128}, {"lublin256", 256}}

// TestPublishedSchedules replays every log for which another simulator
// published its schedule and asks for the same start of every job.
func TestPublishedSchedules(t *testing.T) {
	t.Parallel()
	for _, log := range oracleLogs {
		m := normalised(t, refdata.Path(t, "oracle/swf-norm/"+log.name+".swf.gz"), log.procs)
		for _, c := range []struct{ file, order, backfill, events string }{
			{"pyss-%-easy", "fcfs", "easy", "sequential"},
			{"pyss-%-cons", "fcfs", "conservative", "sequential"},
			{"batch-%-fcfs", "fcfs", "none", "batch"},
			{"batch-%-easy", "fcfs", "easy", "batch"},
		} {
			t.Run(log.name+"/"+c.file, func(t *testing.T) {
				requireSchedule(t, m, c.file, log.name, plan.Spec{Semantics: plan.Semantics, Order: c.order, Backfill: c.backfill, EventOrder: c.events})
			})
		}
		if log.name != "kth-sp2" {
			continue
		}
		for _, order := range []string{"sjf", "saf", "wfp3", "unicef", "exp", "f1", "f2", "f3", "f4"} {
			t.Run(log.name+"/"+order, func(t *testing.T) {
				requireSchedule(t, m, "batch-%-easy-"+order, log.name, plan.Spec{Semantics: plan.Semantics, Order: order})
			})
		}
	}
}

func requireSchedule(t *testing.T, m *memory, pattern, log string, spec plan.Spec) {
	want := published(t, refdata.Path(t, "oracle/swf/"+replacePercent(pattern, log)+".csv.gz"))
	sink := record.NewMemory()
	res, err := Run(context.Background(), spec, m.open, Options{Sink: sink})
	require.NoError(t, err)
	require.Zero(t, res.Unfinished)
	require.Equal(t, len(want), sink.Jobs.Len())
	differing := 0
	for i, id := range sink.Jobs.ID {
		if got := sink.Jobs.Start[i] / 1e6; got != want[id] {
			if differing++; differing <= 5 {
				t.Errorf("job %d starts at %d, published %d", id, got, want[id])
			}
		}
	}
	require.Zero(t, differing, "differing starts of %d", len(want))
}

func replacePercent(s, with string) string {
	for i := range s {
		if s[i] == '%' {
			return s[:i] + with + s[i+1:]
		}
	}
	return s
}

// published reads a schedule: job id to start in seconds.
func published(t testing.TB, path string) map[int64]int64 {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	rows, err := csv.NewReader(z).ReadAll()
	require.NoError(t, err)
	out := make(map[int64]int64, len(rows))
	for _, r := range rows[1:] {
		id, err := strconv.ParseInt(r[0], 10, 64)
		require.NoError(t, err)
		if out[id], err = strconv.ParseInt(r[2], 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
