package record

// seriesRow is a row of series.parquet.
type seriesRow struct {
	Time           int64 `parquet:"time,delta,timestamp(microsecond)"`
	Width          int64 `parquet:"width,dict"`
	BusyUnitUS     int64 `parquet:"busy_unit_us,delta"`
	QueuedJobUS    int64 `parquet:"queued_job_us,delta"`
	QueuedUnitUS   int64 `parquet:"queued_unit_us,delta"`
	RunningJobUS   int64 `parquet:"running_job_us,delta"`
	QueuedJobsMax  int32 `parquet:"queued_jobs_max,delta"`
	BusyUnitsMax   int32 `parquet:"busy_units_max,delta"`
	QueuedUnitsMax int64 `parquet:"queued_units_max,delta"`
	Starts         int32 `parquet:"starts,delta"`
	Ends           int32 `parquet:"ends,delta"`
	Submits        int32 `parquet:"submits,delta"`
}

// WriteSeries writes series.parquet. Bins must ascend.
func (w *Writer) WriteSeries(bins []Bin) error {
	if w.err != nil {
		return w.err
	}
	t, err := newTable[seriesRow](w.root, w.path(TableSeries), TableSeries, w.meta)
	if err != nil {
		w.keep(err)
		return err
	}
	for _, b := range bins {
		*t.next() = seriesRow{
			Time: int64(b.Time + w.meta.Epoch), Width: int64(b.Width),
			BusyUnitUS: b.BusyUnitUS, QueuedJobUS: b.QueuedJobUS,
			QueuedUnitUS: b.QueuedUnitUS, RunningJobUS: b.RunningJobUS,
			QueuedJobsMax: b.QueuedJobsMax, BusyUnitsMax: b.BusyUnitsMax, QueuedUnitsMax: b.QueuedUnitsMax,
			Starts: b.Starts, Ends: b.Ends, Submits: b.Submits,
		}
		if t.full() {
			w.keep(t.spill())
		}
	}
	w.keep(t.close(w.written))
	return w.err
}
