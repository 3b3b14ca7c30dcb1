package record

// groupRow is a row of tenants.parquet and of vclusters.parquet.
type groupRow struct {
	Name        string   `parquet:"name,dict"`
	Window      string   `parquet:"window,dict"`
	Jobs        int64    `parquet:"jobs,delta"`
	Started     int64    `parquet:"started,delta"`
	Preemptions int64    `parquet:"preemptions,delta"`
	Requeues    int64    `parquet:"requeues,delta"`
	NodeUS      int64    `parquet:"node_us,delta"`
	GPUUS       int64    `parquet:"gpu_us,delta"`
	BorrowedUS  int64    `parquet:"borrowed_us,delta"`
	KeptUS      int64    `parquet:"kept_gpu_us,delta"`
	LostUS      int64    `parquet:"lost_gpu_us,delta"`
	WaitMean    *float64 `parquet:"wait_mean,optional"`
	WaitP50     *float64 `parquet:"wait_p50,optional"`
	WaitP90     *float64 `parquet:"wait_p90,optional"`
	WaitP95     *float64 `parquet:"wait_p95,optional"`
	WaitP99     *float64 `parquet:"wait_p99,optional"`
	WaitMax     *float64 `parquet:"wait_max,optional"`
	Within      *float64 `parquet:"within_target,optional"`
	Starved     *float64 `parquet:"starved,optional"`
	Share       *float64 `parquet:"share,optional"`
	Target      *float64 `parquet:"target,optional"`
	Deviation   *float64 `parquet:"deviation,optional"`
	LentUS      *int64   `parquet:"lent_us,optional" encoding:"delta"`
	HeldUS      *int64   `parquet:"quota_hold_us,optional" encoding:"delta"`
	EnergyLow   int64    `parquet:"energy_low_mj,delta"`
	Energy      int64    `parquet:"energy_mj,delta"`
	EnergyHigh  int64    `parquet:"energy_high_mj,delta"`
	billRow
}

// WriteGroups writes tenants.parquet and vclusters.parquet from the groups by
// tenant and by vCluster, in the order given.
func (w *Writer) WriteGroups(groups []Group) error {
	for _, by := range [...]struct{ by, table string }{{"tenant", TableTenants}, {"vcluster", TableVClusters}} {
		if w.err != nil {
			return w.err
		}
		t, err := newTable[groupRow](w.root, w.path(by.table), by.table, w.meta)
		if err != nil {
			w.keep(err)
			return err
		}
		for i := range groups {
			if groups[i].By != by.by {
				continue
			}
			if *t.next() = groupRowOf(&groups[i]); t.full() {
				w.keep(t.spill())
			}
		}
		w.keep(t.close(w.written))
	}
	return w.err
}

func groupRowOf(g *Group) groupRow {
	return groupRow{
		Name: g.Name, Window: g.Window, Jobs: g.Jobs, Started: g.Started, Preemptions: g.Preemptions, Requeues: g.Requeues,
		NodeUS: g.NodeUS, GPUUS: g.GPUUS, BorrowedUS: g.BorrowedUS, KeptUS: g.KeptUS, LostUS: g.LostUS,
		EnergyLow: g.EnergyLow, Energy: g.Energy, EnergyHigh: g.EnergyHigh,
		WaitMean: g.WaitMean, WaitP50: g.WaitP50, WaitP90: g.WaitP90, WaitP95: g.WaitP95, WaitP99: g.WaitP99, WaitMax: g.WaitMax,
		Within: g.Within, Starved: g.Starved, Share: g.Share, Target: g.Target, Deviation: g.Deviation, LentUS: g.LentUS, HeldUS: g.HeldUS,
		billRow: billRow{g.CostLow, g.Cost, g.CostHigh, g.CarbonLow, g.Carbon, g.CarbonHigh},
	}
}
