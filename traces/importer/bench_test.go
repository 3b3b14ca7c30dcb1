package importer

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// benchRows is how many rows the files of the benchmarks have: enough to be sorted in several
// runs.
const benchRows = 60_000

// benchFile writes a file of rows that ascend, or whose hours stand in another order.
func benchFile(b *testing.B, header string, shuffled bool, row func(i int, submit time.Time) string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "log")
	f, err := os.Create(path)
	require.NoError(b, err)
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, header)
	for i := range benchRows {
		n := i
		if shuffled {
			n = i * 7919 % benchRows // 7919 and the number of rows have no divisor in common
		}
		fmt.Fprintln(w, row(n, time.Unix(1_700_000_000+int64(n)*7, 0).UTC()))
	}
	require.NoError(b, w.Flush())
	require.NoError(b, f.Close())
	return path
}

// BenchmarkImport says how many rows are imported in a minute of one core: run it with
// -cpu 1. The targets are 5 million rows of SWF and 2 million of sacct.
func BenchmarkImport(b *testing.B) {
	sacct := func(i int, at time.Time) string {
		const form = "2006-01-02T15:04:05"
		return fmt.Sprintf("%d|%d|c1|gpu|acc%d|user%d|%s|%s|%s|%s|01:00:00|0:0|COMPLETED|2|32|32|4000Mc|cpu=32,gres/gpu=8,mem=125G,node=2|cpu=32,gres/gpu:a100=8,gres/gpu=8,mem=125G,node=2|2-00:00:00|normal|n[1-2]|train%d",
			i, i, i%50, i%300, at.Format(form), at.Format(form), at.Add(time.Minute).Format(form), at.Add(61*time.Minute).Format(form), i%1000)
	}
	header := "JobID|JobIDRaw|Cluster|Partition|Account|User|Submit|Eligible|Start|End|Elapsed|ExitCode|State|NNodes|NCPUS|ReqCPUS|ReqMem|ReqTRES|AllocTRES|Timelimit|QOS|NodeList|JobName"
	swf := func(i int, _ time.Time) string {
		return fmt.Sprintf("%d %d %d %d %d -1 -1 %d 10000 -1 1 %d %d %d 1 1 -1 -1", i+1, i*7, i%5000, 1+i%9000, 1+i%64, 1+i%64, i%300, i%50, i%1000)
	}
	for name, path := range map[string]string{
		"swf": benchFile(b, "; UnixStartTime: 1000000000", false, swf), "sacct": benchFile(b, header, false, sacct), "sacct-unsorted": benchFile(b, header, true, sacct),
	} {
		b.Run(name, func(b *testing.B) {
			o := Options{}
			if name != "swf" {
				o.Zone = time.UTC
			}
			for range b.N {
				report, err := Import([]string{path}, filepath.Join(b.TempDir(), "x.trace"), o)
				require.NoError(b, err)
				require.EqualValues(b, benchRows, report.Kept)
			}
			b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Minutes()/1e6, "Mrows/min")
		})
	}
}
