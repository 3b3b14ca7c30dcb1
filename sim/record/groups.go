package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"orrery/scheduler/model"
)

// groupSchema is the layout of tenants.parquet and vclusters.parquet, written
// as groupRow.
type groupSchema struct {
	Name        string  `parquet:"name,dict"`
	Window      string  `parquet:"window,dict"`
	Jobs        int64   `parquet:"jobs,delta"`
	Started     int64   `parquet:"started,delta"`
	Preemptions int64   `parquet:"preemptions,delta"`
	Requeues    int64   `parquet:"requeues,delta"`
	NodeUS      int64   `parquet:"node_us,delta"`
	GPUUS       int64   `parquet:"gpu_us,delta"`
	BorrowedUS  int64   `parquet:"borrowed_us,delta"`
	KeptUS      int64   `parquet:"kept_gpu_us,delta"`
	LostUS      int64   `parquet:"lost_gpu_us,delta"`
	WaitMean    float64 `parquet:"wait_mean,optional"`
	WaitP50     float64 `parquet:"wait_p50,optional"`
	WaitP90     float64 `parquet:"wait_p90,optional"`
	WaitP95     float64 `parquet:"wait_p95,optional"`
	WaitP99     float64 `parquet:"wait_p99,optional"`
	WaitMax     float64 `parquet:"wait_max,optional"`
	Within      float64 `parquet:"within_target,optional"`
	Starved     float64 `parquet:"starved,optional"`
	Share       float64 `parquet:"share,optional"`
	Target      float64 `parquet:"target,optional"`
	Deviation   float64 `parquet:"deviation,optional"`
	LentUS      int64   `parquet:"lent_us,optional,delta"`
	HeldUS      int64   `parquet:"quota_hold_us,optional,delta"`
}

type groupRow struct {
	Name        string   `parquet:"name"`
	Window      string   `parquet:"window"`
	Jobs        int64    `parquet:"jobs"`
	Started     int64    `parquet:"started"`
	Preemptions int64    `parquet:"preemptions"`
	Requeues    int64    `parquet:"requeues"`
	NodeUS      int64    `parquet:"node_us"`
	GPUUS       int64    `parquet:"gpu_us"`
	BorrowedUS  int64    `parquet:"borrowed_us"`
	KeptUS      int64    `parquet:"kept_gpu_us"`
	LostUS      int64    `parquet:"lost_gpu_us"`
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
	LentUS      *int64   `parquet:"lent_us,optional"`
	HeldUS      *int64   `parquet:"quota_hold_us,optional"`
}

// shareSchema is the layout of vcluster_series.parquet, written as shareRow.
type shareSchema struct {
	Time        int64  `parquet:"time,delta,timestamp(microsecond)"`
	Width       int64  `parquet:"width,dict"`
	VCluster    string `parquet:"vcluster,dict"`
	NodeUS      int64  `parquet:"node_us,delta"`
	BorrowedUS  int64  `parquet:"borrowed_us,delta"`
	LentUS      int64  `parquet:"lent_us,delta"`
	GPUUS       int64  `parquet:"gpu_us,delta"`
	QueuedJobUS int64  `parquet:"queued_job_us,delta"`
}

// WriteGroups writes tenants.parquet and vclusters.parquet from the groups by
// tenant and by vCluster, in the order given.
func (w *Writer) WriteGroups(groups []Group) error {
	for _, by := range [...]struct{ by, table string }{{"tenant", TableTenants}, {"vcluster", TableVClusters}} {
		if w.err != nil {
			return w.err
		}
		t, err := newTable[groupRow](w.path(by.table), by.table, w.meta)
		if err != nil {
			w.keep(err)
			return err
		}
		w.written[by.table+".parquet"] = true
		for i := range groups {
			if groups[i].By != by.by {
				continue
			}
			if *t.next() = groupRowOf(&groups[i]); t.full() {
				w.keep(t.spill())
			}
		}
		w.keep(t.close())
	}
	return w.err
}

func groupRowOf(g *Group) groupRow {
	return groupRow{
		Name: g.Name, Window: g.Window, Jobs: g.Jobs, Started: g.Started, Preemptions: g.Preemptions, Requeues: g.Requeues,
		NodeUS: g.NodeUS, GPUUS: g.GPUUS, BorrowedUS: g.BorrowedUS, KeptUS: g.KeptUS, LostUS: g.LostUS,
		WaitMean: g.WaitMean, WaitP50: g.WaitP50, WaitP90: g.WaitP90, WaitP95: g.WaitP95, WaitP99: g.WaitP99, WaitMax: g.WaitMax,
		Within: g.Within, Starved: g.Starved, Share: g.Share, Target: g.Target, Deviation: g.Deviation, LentUS: g.LentUS, HeldUS: g.HeldUS,
	}
}

// WriteShares writes vcluster_series.parquet. Bins must ascend by time, then by
// vCluster.
func (w *Writer) WriteShares(bins []VClusterBin) error {
	if w.err != nil {
		return w.err
	}
	t, err := newTable[shareSchema](w.path(TableShares), TableShares, w.meta)
	if err != nil {
		w.keep(err)
		return err
	}
	w.written[TableShares+".parquet"] = true
	for _, b := range bins {
		*t.next() = shareSchema{
			Time: int64(b.Time + w.meta.Epoch), Width: int64(b.Width), VCluster: name(w.meta.VClusters, b.VCluster),
			NodeUS: b.NodeUS, BorrowedUS: b.BorrowedUS, LentUS: b.LentUS, GPUUS: b.GPUUS, QueuedJobUS: b.QueuedJobUS,
		}
		if t.full() {
			w.keep(t.spill())
		}
	}
	w.keep(t.close())
	return w.err
}

// scanTable hands out all rows of a table that a run need not have.
func (r *Run) scanTable(table string, fn func(t *tableFile, v []vector, n int) error) error {
	t, err := openTable(filepath.Join(r.dir, table+".parquet"), table)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer t.Close()
	return t.scan(nil, func(v []vector, n int) error { return fn(t, v, n) })
}

// Shares reads the time bins of the vClusters; a run of no site has none.
// VClusterBin.VCluster indexes the names returned.
func (r *Run) Shares() (bins []VClusterBin, names []string, err error) {
	err = r.scanTable(TableShares, func(t *tableFile, v []vector, n int) error {
		for i := range n {
			bins = append(bins, VClusterBin{
				Time: model.Time(v[0].i64[i]) - t.epoch, Width: model.Duration(v[1].i64[i]), VCluster: v[2].i32[i],
				NodeUS: v[3].i64[i], BorrowedUS: v[4].i64[i], LentUS: v[5].i64[i], GPUUS: v[6].i64[i], QueuedJobUS: v[7].i64[i],
			})
		}
		names = t.words[2].list
		return nil
	})
	return bins, names, err
}

// Decisions hands out the table decisions in the order of the file; fn must
// not keep d. Names of kinds are those of the file.
func (r *Run) Decisions(fn func(d *Decision) error) error {
	return r.scanTable(TableDecisions, func(t *tableFile, v []vector, n int) error {
		var reasons []uint8
		if err := t.codes(&reasons, 4, &v[4], reasonCodes); err != nil {
			return err
		}
		for i := range n {
			d := decisionOf(t, v, reasons, i)
			if err := fn(&d); err != nil {
				return fmt.Errorf("reading decisions: %w", err)
			}
		}
		return nil
	})
}

// VClusters and Tenants list the names that Columns.VCluster and
// Columns.Tenant index, as far as Scan has met them.
func (r *Run) VClusters() []string { return r.jobs.wordsAt(colVCluster) }

// Tenants are the names of tenants; see VClusters.
func (r *Run) Tenants() []string { return r.jobs.wordsAt(colTenant) }

// OfSite says whether the run is of a site.
func (r *Run) OfSite() bool { return len(r.jobs.fields) > colVCluster }

func (t *tableFile) wordsAt(i int) []string {
	if i >= len(t.fields) {
		return nil
	}
	return t.words[i].list
}
