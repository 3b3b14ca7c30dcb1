package record

import (
	"orrery/scheduler/model"
)

// siteJobSchema is the layout of jobs.parquet of a site, written as siteJobRow.
type siteJobSchema struct {
	jobSchema
	VCluster    string `parquet:"vcluster,dict"`
	Tenant      string `parquet:"tenant,optional,dict"`
	Class       int32  `parquet:"class,dict"`
	Kind        string `parquet:"kind,dict"`
	GPUs        int32  `parquet:"gpus,dict"`
	Requeues    int32  `parquet:"requeues,dict"`
	Preemptions int32  `parquet:"preemptions,dict"`
	NodeUS      int64  `parquet:"node_us,delta"`
	GPUUS       int64  `parquet:"gpu_us,delta"`
	BorrowedUS  int64  `parquet:"borrowed_us,delta"`
	KeptUS      int64  `parquet:"kept_gpu_us,delta"`
	LostUS      int64  `parquet:"lost_gpu_us,delta"`
}

type siteJobRow struct {
	jobRow
	VCluster    string `parquet:"vcluster"`
	Tenant      string `parquet:"tenant,optional"`
	Class       int32  `parquet:"class"`
	Kind        string `parquet:"kind"`
	GPUs        int32  `parquet:"gpus"`
	Requeues    int32  `parquet:"requeues"`
	Preemptions int32  `parquet:"preemptions"`
	NodeUS      int64  `parquet:"node_us"`
	GPUUS       int64  `parquet:"gpu_us"`
	BorrowedUS  int64  `parquet:"borrowed_us"`
	KeptUS      int64  `parquet:"kept_gpu_us"`
	LostUS      int64  `parquet:"lost_gpu_us"`
}

// siteAttemptSchema is the layout of attempts.parquet of a site, written as
// siteAttemptRow.
type siteAttemptSchema struct {
	attemptRow
	Kept      int64  `parquet:"kept,delta"`
	Lost      int64  `parquet:"lost,delta"`
	Reason    string `parquet:"reason,optional,dict"`
	NodeCount int32  `parquet:"node_count,dict"`
	GPUs      int32  `parquet:"gpus,dict"`
	Borrowed  int32  `parquet:"borrowed,dict"`
}

type siteAttemptRow siteAttemptSchema

// openSite starts the tables of the finished jobs of a site.
func (w *Writer) openSite() (err error) {
	if w.siteJobs, err = newTable[siteJobRow](w.path(TableJobs), TableJobs, w.meta); err != nil {
		return err
	}
	if w.siteAttempts, err = newTable[siteAttemptRow](w.path(TableAttempts), TableAttempts, w.meta); err != nil {
		return err
	}
	if !w.meta.Decisions {
		return nil
	}
	w.numbers = make([][decisionNumbers]float64, batchRows)
	w.decisions, err = newTable[decisionRow](w.path(TableDecisions), TableDecisions, w.meta)
	return err
}

// closeSite ends them.
func (w *Writer) closeSite() {
	w.keep(w.siteJobs.close())
	w.keep(w.siteAttempts.close())
	if w.decisions != nil {
		w.keep(w.decisions.close())
		w.written[TableDecisions+".parquet"] = true
	}
}

func (w *Writer) storeSiteJob(r *model.JobRecord) {
	i := len(w.siteJobs.rows)
	row := w.siteJobs.next()
	w.fillJob(&row.jobRow, i, r)
	row.VCluster, row.Tenant = name(w.meta.VClusters, int32(r.VCluster)), name(w.meta.Tenants, int32(r.Tenant))
	row.Class = r.Class
	row.Kind = r.Kind.String()
	row.GPUs = r.GPUs
	row.Requeues, row.Preemptions = r.Requeues, r.Preemptions
	row.NodeUS, row.GPUUS, row.BorrowedUS = r.Allocated.Nodes, r.Allocated.GPUs, r.Allocated.Borrowed
	row.KeptUS, row.LostUS = r.KeptGPU, r.LostGPU
	if w.siteJobs.full() {
		w.fillUsers()
		w.keep(w.siteJobs.spill())
	}
}

// name of an id, "" for none.
func name(names []string, id int32) string {
	if id < 0 || int(id) >= len(names) {
		return ""
	}
	return names[id]
}

func (w *Writer) siteAttempt(r *model.AttemptRecord) {
	row := w.siteAttempts.next()
	w.fillAttempt(&row.attemptRow, r)
	row.Kept, row.Lost = int64(r.Kept), int64(r.Lost)
	row.Reason = r.Reason.String()
	row.NodeCount, row.GPUs, row.Borrowed = r.Nodes, r.GPUs, r.Borrowed
	if w.siteAttempts.full() {
		w.fillAttemptTexts()
		w.keep(w.siteAttempts.spill())
	}
}
