package swf

import (
	"bytes"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

func rowsOf(jobs []traces.Job) func() iter.Seq2[*traces.Job, error] {
	return func() iter.Seq2[*traces.Job, error] {
		return func(yield func(*traces.Job, error) bool) {
			for i := range jobs {
				if !yield(&jobs[i], nil) {
					return
				}
			}
		}
	}
}

func export(t *testing.T, info traces.Info, jobs []traces.Job) (string, traces.Report) {
	t.Helper()
	var b bytes.Buffer
	r, err := Export(&b, info, rowsOf(jobs))
	require.NoError(t, err)
	require.True(t, r.Balanced())
	return b.String(), r
}

func TestExportGivesBackTheLines(t *testing.T) {
	text := strings.Join([]string{
		"15 0 192180 3477 4 31405.5 1024 5 53940 2048.25 1 12 13 14 3 2 9 60",
		"16 1 -1 0 -1 -1 -1 5 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
		"17 1.5 100 -1 4 0 -1 5 -1 -1 5 1 1 1 0 1 -1 -1",
		"18 2 100 -1 4 -1 -1 5 -1 -1 2 1 1 1 1 1 -1 -1",
	}, "\n") + "\n"
	_, jobs := read(t, text)
	out, report := export(t, traces.Info{Name: "x", MaxProcs: 100, MaxNodes: 50, TimeZone: "Europe/Paris",
		Epoch: model.Time(7 * s), EpochKnown: true}, jobs)
	require.Empty(t, report.Repaired)
	header, lines := "", ""
	for l := range strings.Lines(out) {
		if l[0] == ';' {
			header += l
		} else {
			lines += l
		}
	}
	require.Equal(t, text, lines)
	require.Equal(t, "; Version: 2.2\n; Conversion: orrery, from the trace x\n; MaxJobs: 4\n; MaxRecords: 4\n"+
		"; UnixStartTime: 7\n; TimeZoneString: Europe/Paris\n; MaxNodes: 50\n; MaxProcs: 100\n", header)
	_, again := read(t, out)
	require.Equal(t, jobs, again)
}

func TestExportOfWhatSWFHasNoFieldFor(t *testing.T) {
	jobs := []traces.Job{
		{ID: 1, User: "bob\n", Tenant: "vision", NodesMin: traces.Some[int32](2), CPUsPerNode: traces.Some[int32](96),
			GPUsPerNode: traces.Some[int32](8), Runtime: traces.Some(s), Extra: `{"carbon_weight":1,"avg_cpu_s":"x"}`, ExitState: "TIMEOUT"},
		{ID: 2, User: "3", ProcsRequested: traces.Some[int32](1)},
		{ID: 3, User: "bob\n", Extra: "[", NodesMin: traces.Some[int32](2)},
	}
	out, r := export(t, traces.Info{Epoch: 1_500_000, EpochKnown: true}, jobs)
	require.Contains(t, out, "; UnixStartTime: 1\n; User: 1 bob?\n; User: 2 3\n")
	require.Contains(t, out, "\n1 0.5 -1 1 -1 -1 -1 16 -1 -1 -1 1 ")
	require.Contains(t, out, "\n2 0.5 -1 -1 -1 -1 -1 1 -1 -1 -1 2 ")
	require.Contains(t, out, "\n3 0.5 -1 -1 -1 -1 -1 2 -1 -1 -1 1 ")
	require.Equal(t, "processors-from-nodes=2 left-out=2", rules(r.Repaired))
	require.Equal(t, "job 1: tenant, nodes, gpus_per_node, extra.avg_cpu_s, extra.carbon_weight, exit_state TIMEOUT", r.Repaired[1].Example)

	_, err := Export(&bytes.Buffer{}, traces.Info{}, rowsOf([]traces.Job{{ID: 1, Submit: -1}}))
	require.ErrorContains(t, err, "numbers below zero mean missing")
}
