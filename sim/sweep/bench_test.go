package sweep

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkOverhead is what a task costs beside its computation: 4,096 tasks
// that do nothing, by one worker and by two. Results are on disk (fsync).
//
//	go test ./sim/sweep -run '^$' -bench Overhead -benchtime 3x
func BenchmarkOverhead(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			const tasks = 4096
			for range b.N {
				b.StopTimer()
				s := study(b, 0, toys(tasks, toy{})...)
				b.StartTimer()
				require.NoError(b, Complete(context.Background(), Local{Workers: workers, NewWorker: toyWorker}, s))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*tasks), "µs/task")
		})
	}
}

// BenchmarkScaling computes 64 tasks of pure arithmetic, 50 ms or so each, by
// one worker and by two. The ratio of the two is what a second core is worth.
//
//	go test ./sim/sweep -run '^$' -bench Scaling -benchtime 3x
func BenchmarkScaling(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				s := study(b, 0, toys(64, toy{Rounds: 300_000})...)
				b.StartTimer()
				require.NoError(b, Complete(context.Background(), Local{Workers: workers, NewWorker: toyWorker}, s))
			}
		})
	}
}

// BenchmarkListing looks at a complete study of 20,000 tasks, as resuming and
// asking for its state do.
//
//	go test ./sim/sweep -run '^$' -bench Listing -benchtime 3x
func BenchmarkListing(b *testing.B) {
	s := study(b, 0, toys(20_000, toy{})...)
	began := time.Now()
	require.NoError(b, Complete(context.Background(), Local{Workers: 4, NewWorker: toyWorker}, s))
	b.Logf("20,000 tasks in %v", time.Since(began))
	for name, look := range map[string]func() error{
		"open":    func() error { _, err := Open(s.Dir(), toyBinary); return err },
		"mend":    s.Mend,
		"verdict": s.Verdict,
		"claims":  func() error { _, err := s.listClaims(); return err },
		"status":  func() error { _, err := s.Status(); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				require.NoError(b, look())
			}
		})
	}
}
