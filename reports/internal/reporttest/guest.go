package reporttest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// GuestSite is a site of 12 nodes for two days: two vClusters of 8 and 4 nodes
// in use by turns, the second borrowing at night.
func GuestSite(t testing.TB, dir string) string {
	t.Helper()
	meta := record.Meta{SpecID: "spec", VClusters: []string{"batch", "services"}, Tenants: []string{"ice", "fire", "earth"}, Power: true}
	w, err := record.Create(dir, meta)
	require.NoError(t, err)
	defer w.Abort()
	s, err := metric.NewSeries(metric.Config{Power: &metric.PowerConfig{PUE: hwmodel.FixedPUE(1_000_000)}, Units: 12, Site: &metric.SiteConfig{
		VClusters: meta.VClusters, Tenants: meta.Tenants, GPUs: 48, Reasons: true,
		Targets: []model.Fixed{model.One / 2, model.One / 4, 0}, TargetWait: []model.Duration{3: model.Hour},
	}})
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 96
	half := model.Time(30 * model.Minute)
	s.SetTariff(0, hwmodel.Tariff{Price: hwmodel.Amount{V: 200_000, OK: true}})
	for i := range n {
		now := model.Time(i) * half
		own, night := int64(4+rng.IntN(4)), i%48 > 24
		guest, borrowed := int64(1+rng.IntN(3)), int64(0)
		if night {
			own, borrowed = 5, int64(2+rng.IntN(2))
		}
		s.CountSubmit(now, 1)
		s.CountStart(now, 1)
		s.Waits(now, model.Ref(i), 0, model.TenantID(i%3), []model.Reason{model.ReasonResources, model.ReasonQuotaNodes, model.ReasonPriority}[i%3])
		if i > 4 {
			s.WaitsNoMore(now, model.Ref(i-1-i%3))
		}
		for holder, h := range []metric.Holding{
			{Nodes: own, GPUs: 4 * own, Lent: borrowed}, {Nodes: guest + borrowed, GPUs: 4 * (guest + borrowed), Borrowed: borrowed}, // vClusters
			{Nodes: own - 2}, {Nodes: 2}, {Nodes: guest + borrowed}, // tenants
		} {
			s.Hold(now, holder, h)
		}
		s.Observe(now, metric.State{BusyUnits: own + guest + borrowed, RunningJobs: 2, Power: metric.Power{Low: 40, Value: 50, High: 60}})
		guestPower(w, i, now)
		wait := model.Duration(rng.IntN(7)) * model.Hour / 2
		r := model.JobRecord{
			Job: model.JobID(i), ID: int64(i + 1), User: -1, Submit: now - model.Time(wait), Start: now, End: now + half, Runtime: 30 * model.Minute,
			Walltime: model.Forever, Procs: 1, Nodes: 1, Attempts: 1, State: model.Completed,
			VCluster: model.VClusterID(i % 2), Tenant: model.TenantID(i % 3), Class: int32(3 + 2*(i%2)), Preemptions: int32(i % 2),
			Allocated: model.Holding{Nodes: int64(half), GPUs: 4 * int64(half)}, KeptGPU: 3 * int64(half), LostGPU: int64(half),
			Energy: model.Energy{Low: 50_000_000, Value: 60_000_000, High: 80_000_000}, Source: model.PowerOfNodes,
			Bill: &model.Bill{Cost: model.Charge{Low: 2778, Value: 3333, High: 4444, Known: true}},
		}
		if i == 7 {
			r.State = model.Failed
		}
		w.Attempt(&model.AttemptRecord{Job: r.Job, ID: r.ID, Attempt: 1, Start: r.Start, End: r.End, Outcome: r.State, Procs: 1, Nodes: 1, GPUs: 4,
			Placement: model.Placement{Words: []model.NodeWord{{Mask: 1 << (i % 12)}}}})
		w.Job(&r)
	}
	s.CountEnd(n*half, 1)
	jobs, err := w.Seal()
	require.NoError(t, err)
	table, err := metric.Compute(jobs, s)
	require.NoError(t, err)
	require.NoError(t, w.WriteSeries(s.Bins()))
	require.NoError(t, w.WriteGroups(table.Groups))
	require.NoError(t, w.WriteShares(s.VClusterBins()))
	require.NoError(t, w.WriteJSON(record.FileMetrics, table))
	require.NoError(t, w.WriteJSON(record.FileRun, map[string]any{
		"power": map[string]any{"currency": "EUR"}, "hardware": guestHardware(n*int64(half), int64(half)),
		"schema": 1, "verdict": table.Verdict, "trace": map[string]any{"name": "guests", "rows": n},
		"cluster": map[string]any{"nodes": 12, "units": 12, "whole_nodes": true},
		"spec":    map[string]any{"site": guestCluster()},
	}))
	require.NoError(t, w.Close())
	return dir
}

// guestHardware is that of a run of so much GPU time at work, of which some was lost to other
// GPUs in the part where that is known.
func guestHardware(gpuUS, lost int64) map[string]any {
	of := func(term string, us int64) any { return map[string]any{"term": term, "gpu_us": us} }
	return map[string]any{
		"gpu_us": gpuUS, "lost_us": []any{of("type", lost), of("cap", 0)}, "unknown_us": []any{of("type", gpuUS/4), of("cap", gpuUS)},
	}
}

// guestPower records what the nodes draw from the job i on. The cap is gone on the second day.
func guestPower(w *record.Writer, i int, now model.Time) {
	if i%48 == 0 {
		w.Power(&record.PowerRow{Time: now, Low: 40, Value: 50, High: 60, Cap: []int64{55, record.Absent}[i/48], Price: 200_000, Carbon: record.Absent, Supply: record.Absent})
	}
}

// guestCluster is the cluster file.
func guestCluster() map[string]any {
	return map[string]any{
		"vclusters": []any{map[string]any{"name": "batch", "profile": "hpc-batch"}, map[string]any{"name": "services", "profile": "service", "lend": false}},
		"tenants":   []any{map[string]any{"name": "ice", "max_nodes": 6, "fair_share": 0.5}, map[string]any{"name": "fire", "max_concurrent": 9}},
	}
}
