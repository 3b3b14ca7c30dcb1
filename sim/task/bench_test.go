package task

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/traces"
	"orrery/traces/synth"
	"orrery/traces/transform"
)

// month is a month of 100,000 jobs on 1,024 nodes.
func month(t testing.TB) *transform.Set {
	p := synth.DefaultLublin(1024)
	p.Load = 0.85
	w, err := synth.Lublin(p, 100_000, 1)
	require.NoError(t, err)
	var rows traces.Tables
	for j, err := range w.Rows() {
		require.NoError(t, err)
		row := *j
		row.Tenant, row.NodesMin = fmt.Sprint("t", row.ID%8), row.ProcsRequested
		rows.Jobs = append(rows.Jobs, row)
	}
	s, err := transform.FromTables("month", traces.Meta{MaxProcs: 1024, EpochKnown: true}, rows)
	require.NoError(t, err)
	return s
}

// BenchmarkProfiles replays the month under one profile after another, as one
// worker of a sweep does. What is beside the simulation is the difference to
// BenchmarkReplay.
func BenchmarkProfiles(b *testing.B) {
	r := NewRunner(nil)
	m, err := r.Add(month(b))
	require.NoError(b, err)
	var tasks [][]byte
	for i := range 8 {
		tasks = append(tasks, Task{Spec: monthSpec(b, m, i)}.JSON())
	}
	w := r.Worker()
	b.ResetTimer()
	for i := range b.N {
		_, err := w(context.Background(), tasks[i%len(tasks)])
		require.NoError(b, err)
	}
}

// BenchmarkReplay is the simulation alone.
func BenchmarkReplay(b *testing.B) {
	m, err := month(b).Collect()
	require.NoError(b, err)
	specs := make([]plan.Spec, 8)
	for i := range specs {
		specs[i] = monthSpec(b, m, i)
	}
	b.ResetTimer()
	for i := range b.N {
		_, err := sim.Run(context.Background(), specs[i%len(specs)], m.Open, sim.Options{})
		require.NoError(b, err)
	}
}

func monthSpec(t testing.TB, m *traces.Memory, i int) plan.Spec {
	text := "agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}\ngroups:\n"
	for g := range 16 {
		text += fmt.Sprintf("  - {name: g%d, nodes: 64, fingerprint: f%d}\n", g, g%3)
	}
	text += "tenants:\n"
	for n := range 8 {
		text += fmt.Sprintf("  - {name: t%d, fair_share: 0.125}\n", n)
	}
	text += fmt.Sprintf("vclusters: [{name: all, home: all, profile: {cycle: 30s, weights: {wait_time: %d, fair_share: %d, topology: 1, conformance: %d}}}]\n", 1+i%3, 1+i%5, 1+i%2)
	c, err := profiles.ParseCluster("month", []byte(text))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	return bound(t, m, spec)
}
