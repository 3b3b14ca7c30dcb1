package metric

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// The cost of measuring is per job and pass: run with -benchtime 1000000x.
func BenchmarkCompute(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	jobs := &batch{}
	s, err := NewSeries(Config{Units: 100, WarmupJobs: 1000})
	require.NoError(b, err)
	for i := range b.N {
		at := model.Time(i) * 40_000_000
		rec := model.JobRecord{Job: model.JobID(i), User: int32(r.IntN(300)), Submit: at, Start: at + model.Time(r.Int64N(1e11)), Runtime: model.Duration(r.Int64N(1e10)), Procs: 1 + int32(r.IntN(64)), State: model.Completed}
		rec.End = rec.Start + model.Time(rec.Runtime)
		jobs.Append(&rec)
		s.CountSubmit(at, 1)
		s.Observe(at, State{BusyUnits: 50})
	}
	b.ReportAllocs()
	b.ResetTimer()
	_, err = Compute(jobs, s)
	require.NoError(b, err)
}
