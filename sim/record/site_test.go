package record

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

func siteMeta() Meta {
	m := testMeta()
	m.VClusters, m.Tenants, m.Decisions, m.Power = []string{"batch", "services"}, []string{"ice", "fire", "idle"}, true, true
	return m
}

// writeSite writes a run of a site and returns its jobs.
func writeSite(t *testing.T, dir string, n int) ([]model.JobRecord, []Decision, []Group, []VClusterBin) {
	t.Helper()
	w, err := Create(dir, siteMeta())
	require.NoError(t, err)
	defer w.Abort()
	jobs, attempts := testRows(n)
	for i := range jobs {
		j := &jobs[i]
		j.VCluster, j.Tenant, j.Class, j.Kind = model.VClusterID(1-i%2), model.TenantID(i%3-1), int32(i%11), model.Kind(i%4)
		j.GPUs, j.Requeues, j.Preemptions = int32(i%5), int32(i%3), int32(i%2)
		j.Allocated = model.Holding{Nodes: int64(i) << 40, GPUs: int64(i) << 42, Borrowed: int64(i)}
		j.KeptGPU, j.LostGPU = int64(i)*7, int64(i)*3
		if i%9 == 0 {
			j.State, j.Reason = model.Failed, model.ReasonNodeFailure
		}
		w.Job(j)
	}
	for i := range attempts {
		attempts[i].Kept, attempts[i].Reason, attempts[i].Borrowed = 5, model.ReasonPreempted, 2
		attempts[i].Lost, attempts[i].Nodes, attempts[i].GPUs = model.Duration(i), 3, 12
		w.Attempt(&attempts[i])
	}
	decisions := []Decision{
		{Time: 5, Job: 3, ID: 30, Kind: "wait", Reason: model.ReasonPriority, Behind: 2, Until: 77, Nodes: 4,
			Need: 3, Usable: 9, Conform: 2, Grouped: 1, Aside: 5,
			Rejected: [RejectedSets]string{"", "0-3", "1", "", "7,+9"}, KeptFor: 8, KeptUntil: model.AbsentTime},
		{Time: 5, Job: 4, ID: 31, Kind: "wait", Reason: model.ReasonReserved, Behind: -1, Until: 9,
			Rejected: [RejectedSets]string{4: "2"}, KeptFor: -1, KeptUntil: 9},
		{Time: 6, Job: 3, ID: 30, Kind: "start", Behind: -1, Until: model.AbsentTime, KeptFor: -1, KeptUntil: model.AbsentTime, Nodes: 8, Scored: true,
			Score: 3 * model.One, Penalty: model.One / 2, Values: [factorCount]model.Fixed{model.One, 0, 5}, Terms: [factorCount]model.Fixed{model.One / 4, 0, 7}},
	}
	for i := range decisions {
		w.Decision(&decisions[i])
	}
	for _, row := range powerRows(n) {
		w.Power(&row)
	}
	_, err = w.Seal()
	require.NoError(t, err)
	half, held := 0.5, int64(9)
	groups := []Group{
		{By: "vcluster", Name: "batch", Window: "all", Jobs: 3, LentUS: &held},
		{By: "tenant", Name: "ice", Window: "all", Jobs: 2, Share: &half, WaitP50: &half, HeldUS: &held},
		{By: "class", Name: "3", Window: "all"},
	}
	require.NoError(t, w.WriteGroups(groups))
	bins := []VClusterBin{{Time: 1, Width: 10, VCluster: 0, NodeUS: 5, BorrowedUS: 2, LentUS: 1, GPUUS: 20, QueuedJobUS: 3}, {Time: 1, Width: 10, VCluster: 1}}
	require.NoError(t, w.WriteShares(bins))
	require.NoError(t, w.WriteSeries(testBins))
	require.NoError(t, w.WriteJSON(FileRun, map[string]any{"b": 1}))
	require.NoError(t, w.Close())
	return jobs, decisions, groups, bins
}

// powerRows are n rows, of which some have amounts that are 0 and others none.
func powerRows(n int) []PowerRow {
	out := make([]PowerRow, n)
	for i := range out {
		out[i] = PowerRow{Time: model.Time(i), Low: int64(i), Value: 2 * int64(i), High: 1 << 40, Cap: Absent, Price: Absent, Carbon: Absent}
		if i%3 == 0 {
			out[i].Cap, out[i].Price, out[i].Carbon = 5, -int64(i), 0
		}
	}
	return out
}

func TestSiteRoundTrip(t *testing.T) {
	for _, n := range []int{1, batchRows + 1} {
		dir := filepath.Join(t.TempDir(), "run")
		jobs, decisions, _, bins := writeSite(t, dir, n)
		run, err := Open(dir)
		require.NoError(t, err)
		defer run.Close()
		require.True(t, run.OfSite())
		want, row := NewSiteMemory(), 0
		for i := range jobs {
			want.Job(&jobs[i])
		}
		require.NoError(t, run.Scan(func(c *Columns) error {
			require.True(t, c.OfSite)
			for i := range c.Len() {
				require.Equal(t, siteMeta().VClusters[jobs[row].VCluster], run.VClusters()[c.VCluster[i]])
				c.VCluster[i] = int32(jobs[row].VCluster)
				if c.Tenant[i] >= 0 {
					require.Equal(t, siteMeta().Tenants[jobs[row].Tenant], run.Tenants()[c.Tenant[i]])
					c.Tenant[i] = int32(jobs[row].Tenant)
				}
				row++
			}
			require.Equal(t, want.Jobs.Site, c.Site)
			require.Equal(t, want.Jobs.State, c.State)
			require.Equal(t, want.Jobs.Reason, c.Reason)
			return nil
		}))
		require.Equal(t, n, row)
		require.NoError(t, run.ScanAttempts(func(c *AttemptColumns) error {
			require.True(t, c.OfSite)
			for i := range c.Len() {
				require.EqualValues(t, []int64{5, int64(i), 2}, []int64{c.Site.Kept[i], c.Site.Lost[i], int64(c.Site.Borrowed[i])})
				require.Equal(t, uint8(model.ReasonPreempted), c.Site.Reason[i])
				require.Equal(t, []int32{3, 12}, []int32{c.Site.NodeCount[i], c.Site.GPUs[i]})
			}
			part := c.Slice(0, 1)
			require.Equal(t, c.Site.Kept[:1], part.Site.Kept)
			return nil
		}))
		var got []Decision
		require.NoError(t, run.Decisions(func(d *Decision) error { got = append(got, *d); return nil }))
		require.Equal(t, decisions, got)
		var drawn []PowerRow
		require.NoError(t, run.Power(func(p PowerRow) error { drawn = append(drawn, p); return nil }))
		require.Equal(t, powerRows(n), drawn)
		have, names, err := run.Shares()
		require.NoError(t, err)
		require.Equal(t, bins, have)
		require.Equal(t, []string{"batch", "services"}, names)
	}
}

func TestSiteTablesAreExported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeSite(t, dir, 2)
	var b bytes.Buffer
	require.NoError(t, ExportCSV(dir, TableTenants, nil, &b))
	require.Contains(t, b.String(), "\nice,all,2,0,0,0,0,0,0,0,0,,0.5,,,,,,,0.5,,,,9,0,0,0,,,,,,\n")
	for _, table := range Tables() {
		b.Reset()
		require.NoError(t, ExportCSV(dir, table, nil, &b), table)
		require.NoError(t, ExportArrow(dir, table, &b), table)
	}
}

// A run of no site has neither the columns nor the tables.
func TestOtherRunsKnowNoSite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 3)
	run, err := Open(dir)
	require.NoError(t, err)
	defer run.Close()
	require.False(t, run.OfSite())
	require.Empty(t, run.VClusters())
	require.NoError(t, run.Scan(func(c *Columns) error { require.Empty(t, c.VCluster); return nil }))
	require.NoError(t, run.ScanAttempts(func(c *AttemptColumns) error { require.False(t, c.OfSite); return nil }))
	bins, _, err := run.Shares()
	require.NoError(t, err)
	require.Empty(t, bins)
	var b bytes.Buffer
	require.NoError(t, ExportCSV(dir, TableJobs, nil, &b))
	require.NotContains(t, b.String(), "vcluster")
}
