package transform

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/tools/refdata"
	"orrery/traces"
	"orrery/traces/importer"
)

// BenchmarkJitter makes a jittered trace in memory out of a held log of 28,000 jobs,
// as a noise floor does for each seed.
func BenchmarkJitter(b *testing.B) {
	out := filepath.Join(b.TempDir(), "log.trace")
	_, err := importer.Import([]string{refdata.Path(b, "traces", "swf", "KTH-SP2-1996-2.1-cln.swf.gz")}, out, importer.Options{})
	require.NoError(b, err)
	bundle, err := traces.Open(out)
	require.NoError(b, err)
	defer bundle.Close()
	s, err := Open(bundle)
	require.NoError(b, err)
	held, err := s.Hold()
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		jittered, err := held.Jitter(model.Minute, uint64(i))
		require.NoError(b, err)
		m, err := jittered.Collect()
		require.NoError(b, err)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.Info().Rows), "ns/job")
	}
}
