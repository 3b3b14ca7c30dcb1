package record

import "orrery/scheduler/model"

// shareRow is a row of vcluster_series.parquet.
type shareRow struct {
	Time        int64  `parquet:"time,delta,timestamp(microsecond)"`
	Width       int64  `parquet:"width,dict"`
	VCluster    string `parquet:"vcluster,dict"`
	NodeUS      int64  `parquet:"node_us,delta"`
	BorrowedUS  int64  `parquet:"borrowed_us,delta"`
	LentUS      int64  `parquet:"lent_us,delta"`
	GPUUS       int64  `parquet:"gpu_us,delta"`
	QueuedJobUS int64  `parquet:"queued_job_us,delta"`
}

// WriteShares writes vcluster_series.parquet. Bins must ascend by time, then by
// vCluster.
func (w *Writer) WriteShares(bins []VClusterBin) error {
	if w.err != nil {
		return w.err
	}
	t, err := newTable[shareRow](w.root, w.path(TableShares), TableShares, w.meta)
	if err != nil {
		w.keep(err)
		return err
	}
	for _, b := range bins {
		*t.next() = shareRow{
			Time: int64(b.Time + w.meta.Epoch), Width: int64(b.Width), VCluster: name(w.meta.VClusters, b.VCluster),
			NodeUS: b.NodeUS, BorrowedUS: b.BorrowedUS, LentUS: b.LentUS, GPUUS: b.GPUUS, QueuedJobUS: b.QueuedJobUS,
		}
		if t.full() {
			w.keep(t.spill())
		}
	}
	w.keep(t.close(w.written))
	return w.err
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
