package record

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/scheduler/model"
)

// jobRow is a row of jobs.parquet; that of a site is a siteJobRow.
type jobRow struct {
	Job      int32  `parquet:"job,delta"`
	ID       int64  `parquet:"id,delta"`
	User     string `parquet:"user,optional,dict"`
	Submit   int64  `parquet:"submit,delta,timestamp(microsecond)"`
	Eligible int64  `parquet:"eligible,delta,timestamp(microsecond)"`
	Start    *int64 `parquet:"first_start,optional,timestamp(microsecond)" encoding:"delta"`
	End      int64  `parquet:"end,delta,timestamp(microsecond)"`
	Runtime  int64  `parquet:"runtime,delta"`
	Walltime *int64 `parquet:"walltime,optional" encoding:"delta"`
	Procs    int32  `parquet:"procs,dict"`
	Nodes    int32  `parquet:"nodes,dict"`
	Wait     *int64 `parquet:"wait,optional" encoding:"delta"`
	State    string `parquet:"state,dict"`
	Attempts int32  `parquet:"attempts,dict"`
	Reason   string `parquet:"reason,optional,dict"`
}

// siteJobRow is a row of jobs.parquet of a site.
type siteJobRow struct {
	jobRow
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
	EnergyLow   int64  `parquet:"energy_low_mj,delta"`
	Energy      int64  `parquet:"energy_mj,delta"`
	EnergyHigh  int64  `parquet:"energy_high_mj,delta"`
	Source      string `parquet:"energy_source,optional,dict"`
	billRow
}

// billRow is what the energy of a job, or of a group of jobs, cost and emitted.
type billRow struct {
	CostLow    *int64 `parquet:"energy_cost_low_micro,optional" encoding:"delta"`
	Cost       *int64 `parquet:"energy_cost_micro,optional" encoding:"delta"`
	CostHigh   *int64 `parquet:"energy_cost_high_micro,optional" encoding:"delta"`
	CarbonLow  *int64 `parquet:"carbon_low_mg,optional" encoding:"delta"`
	Carbon     *int64 `parquet:"carbon_mg,optional" encoding:"delta"`
	CarbonHigh *int64 `parquet:"carbon_high_mg,optional" encoding:"delta"`
}

// of fills the row from a bill, which must not change; nil is one that is not known.
func (row *billRow) of(b *model.Bill) {
	*row = billRow{}
	if b != nil && b.Cost.Known {
		row.CostLow, row.Cost, row.CostHigh = &b.Cost.Low, &b.Cost.Value, &b.Cost.High
	}
	if b != nil && b.Carbon.Known {
		row.CarbonLow, row.Carbon, row.CarbonHigh = &b.Carbon.Low, &b.Carbon.Value, &b.Carbon.High
	}
}

// optional holds the values that a jobRow points to.
type optional struct{ start, walltime, wait int64 }

// Job implements Sink. Jobs must come in order of leaving; those that leave at
// one instant may come in any order and are stored by job.
func (w *Writer) Job(r *model.JobRecord) {
	if w.err != nil {
		return
	}
	if r.End != w.lastEnd {
		if r.End < w.lastEnd {
			w.err = fmt.Errorf("record: job %d left at %v, after a job that left at %v was recorded", r.Job, r.End, w.lastEnd)
			return
		}
		w.leave()
		w.lastEnd = r.End
	}
	if n := len(w.leaving); n > 0 && r.Job < w.leaving[n-1].Job {
		w.mixed = true
	}
	w.leaving = append(w.leaving, *r)
}

// leave stores the jobs of the instant that has passed.
func (w *Writer) leave() {
	if w.mixed {
		//detlint:total a job leaves once, so no two are equal
		slices.SortFunc(w.leaving, func(a, b model.JobRecord) int { return cmp.Compare(a.Job, b.Job) })
		w.mixed = false
	}
	for i := range w.leaving {
		w.storeJob(&w.leaving[i])
	}
	w.leaving = w.leaving[:0]
}

func (w *Writer) storeJob(r *model.JobRecord) {
	if w.meta.site() {
		w.storeSiteJob(r)
		return
	}
	i := len(w.jobs.rows)
	w.fillJob(w.jobs.next(), i, r)
	if w.jobs.full() {
		w.fillUsers()
		w.keep(w.jobs.spill())
	}
}

// fillJob fills row i of the batch, but for the name of the user.
func (w *Writer) fillJob(row *jobRow, i int, r *model.JobRecord) {
	epoch, opt := int64(w.meta.Epoch), &w.opt[i]
	w.users[i] = r.User
	row.Job = int32(r.Job)
	row.ID = r.ID
	row.Submit = int64(r.Submit) + epoch
	row.Eligible = int64(r.Eligible) + epoch
	row.Start, row.Wait = nil, nil
	if r.Start != model.AbsentTime {
		opt.start, opt.wait = int64(r.Start)+epoch, int64(r.Start-r.Submit)
		row.Start, row.Wait = &opt.start, &opt.wait
	}
	row.End = int64(r.End) + epoch
	row.Runtime = int64(r.Runtime)
	row.Walltime = nil
	if r.Walltime != model.Forever && r.Walltime != model.AbsentDuration {
		opt.walltime = int64(r.Walltime)
		row.Walltime = &opt.walltime
	}
	row.Procs = r.Procs
	row.Nodes = r.Nodes
	row.State = r.State.String()
	row.Attempts = r.Attempts
	row.Reason = r.Reason.String()
}

// fillUsers writes the names into the batch of jobs. They are looked up once
// per batch, since the trace learns them as it is read.
func (w *Writer) fillUsers() {
	var names []string
	if w.meta.Users != nil {
		names = w.meta.Users()
	}
	rows := 0
	if w.jobs != nil {
		rows = len(w.jobs.rows)
	} else {
		rows = len(w.siteJobs.rows)
	}
	for i := range rows {
		row := w.jobAt(i)
		row.User = ""
		if u := w.users[i]; int(u) < len(names) && u >= 0 {
			row.User = names[u]
		} else if u >= 0 {
			w.keep(fmt.Errorf("record: job %d has user %d, but only %d names are known", row.Job, u, len(names)))
		}
	}
}

// jobAt is row i of the batch of jobs.
func (w *Writer) jobAt(i int) *jobRow {
	if w.jobs != nil {
		return &w.jobs.rows[i]
	}
	return &w.siteJobs.rows[i].jobRow
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
	row.EnergyLow, row.Energy, row.EnergyHigh = r.Energy.Low, r.Energy.Value, r.Energy.High
	row.Source = r.Source.String()
	row.billRow.of(r.Bill)
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
