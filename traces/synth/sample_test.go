package synth

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

var writeSample = flag.Bool("write-sample", false, "write sample.parquet anew")

// sampleWorkload is the recipe of the embedded sample. The load is that at
// which a machine of this size queues without drowning.
func sampleWorkload(t *testing.T) *Workload {
	p := DefaultLublin(128)
	p.Load = 0.8
	p.StartHour = 8
	p.Users = 24
	return mustLublin(t, p, 2000, 10)
}

func TestSampleIsCurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.parquet")
	_, err := sampleWorkload(t).Write(path, nil)
	require.NoError(t, err)
	made, err := os.ReadFile(path)
	require.NoError(t, err)
	if *writeSample {
		require.NoError(t, os.WriteFile("sample.parquet", made, 0o644))
		return
	}
	require.Equal(t, made, Sample(), "run go generate ./traces/synth")
	require.Less(t, len(made), 200_000)
}

// The sample must show what a scheduler is for: jobs that wait, and a queue
// that empties.
func TestSampleQueues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.parquet")
	require.NoError(t, os.WriteFile(path, Sample(), 0o600))
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	src, err := b.Jobs()
	require.NoError(t, err)
	require.Equal(t, int64(2000), src.Info().Rows)
	require.Equal(t, "sample", src.Info().Name)
	require.Equal(t, int32(128), src.Info().MaxProcs)
	waits := firstComeFirstServed(drain(t, src), 128)

	slices.Sort(waits)
	t.Logf("waits without backfilling: median %v, 90th percentile %v, longest %v", waits[1000], waits[1800], waits[1999])
	require.Greater(t, waits[1000], 10*model.Minute, "half of the jobs wait")
	require.Less(t, waits[1999], 14*model.Day, "the queue does empty")
}

// firstComeFirstServed is how long each job waits when jobs start in order on
// a machine of p processors.
func firstComeFirstServed(b *traces.Batch, p int32) []model.Duration {
	type running struct {
		end   model.Time
		procs int32
	}
	var jobs []running // ascending by end
	var waits []model.Duration
	now := model.Time(0)
	for i := range b.Len() {
		now = max(now, b.Submit[i])
		for {
			for len(jobs) > 0 && jobs[0].end <= now {
				p += jobs[0].procs
				jobs = jobs[1:]
			}
			if p >= b.ProcsRequested[i] {
				break
			}
			now = jobs[0].end
		}
		p -= b.ProcsRequested[i]
		waits = append(waits, now.Sub(b.Submit[i]))
		j := running{now.Add(b.Runtime[i]), b.ProcsRequested[i]}
		at, _ := slices.BinarySearchFunc(jobs, j.end, func(r running, end model.Time) int { return int(min(max(r.end-end, -1), 1)) })
		jobs = slices.Insert(jobs, at, j)
	}
	return waits
}
