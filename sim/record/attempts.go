package record

import "orrery/scheduler/model"

// attemptRow is a row of attempts.parquet; that of a site is a siteAttemptRow.
type attemptRow struct {
	Job     int32  `parquet:"job,delta"`
	ID      int64  `parquet:"id,delta"`
	Attempt int32  `parquet:"attempt,dict"`
	Start   int64  `parquet:"start,delta,timestamp(microsecond)"`
	End     int64  `parquet:"end,delta,timestamp(microsecond)"`
	Outcome string `parquet:"outcome,dict"`
	Procs   int32  `parquet:"procs,dict"`
	Nodes   string `parquet:"nodes"`
	Shares  string `parquet:"shares,optional"`
}

// siteAttemptRow is a row of attempts.parquet of a site.
type siteAttemptRow struct {
	attemptRow
	Kept      int64  `parquet:"kept,delta"`
	Lost      int64  `parquet:"lost,delta"`
	Reason    string `parquet:"reason,optional,dict"`
	NodeCount int32  `parquet:"node_count,dict"`
	GPUs      int32  `parquet:"gpus,dict"`
	Borrowed  int32  `parquet:"borrowed,dict"`
}

// sharedAttemptRow is a row of attempts.parquet of a site whose jobs may share nodes.
type sharedAttemptRow struct {
	siteAttemptRow
	ShareGPUs   string `parquet:"share_gpus,optional"`
	ShareCPUs   string `parquet:"share_cpus,optional,dict"`
	ShareMemory string `parquet:"share_memory,optional,dict"`
	ShareMilli  string `parquet:"share_gpu_milli,optional,dict"`
}

// Attempt implements Sink.
func (w *Writer) Attempt(r *model.AttemptRecord) {
	switch {
	case w.err != nil:
	case w.sharedAttempts != nil:
		w.sharedAttempt(r)
	case w.meta.site():
		w.siteAttempt(r)
	default:
		w.fillAttempt(w.attempts.next(), r)
		if w.attempts.full() {
			w.fillAttemptTexts()
			w.keep(w.attempts.spill())
		}
	}
}

// fillAttempt fills a row, but for the node texts, which it gathers.
func (w *Writer) fillAttempt(row *attemptRow, r *model.AttemptRecord) {
	epoch := int64(w.meta.Epoch)
	row.Job = int32(r.Job)
	row.ID = r.ID
	row.Attempt = r.Attempt
	row.Start = int64(r.Start) + epoch
	row.End = int64(r.End) + epoch
	row.Outcome = r.Outcome.String()
	row.Procs = r.Procs
	w.aText.add(&r.Placement)
}

func (w *Writer) siteAttempt(r *model.AttemptRecord) {
	w.fillSite(w.siteAttempts.next(), r)
	if w.siteAttempts.full() {
		w.fillAttemptTexts()
		w.keep(w.siteAttempts.spill())
	}
}

// fillSite fills a row of a site, but for its shares.
func (w *Writer) fillSite(row *siteAttemptRow, r *model.AttemptRecord) {
	w.fillAttempt(&row.attemptRow, r)
	row.Kept, row.Lost = int64(r.Kept), int64(r.Lost)
	row.Reason = r.Reason.String()
	row.NodeCount, row.GPUs, row.Borrowed = r.Nodes, r.GPUs, r.Borrowed
}

func (w *Writer) sharedAttempt(r *model.AttemptRecord) {
	row, p := w.sharedAttempts.next(), &r.Placement
	w.fillSite(&row.siteAttemptRow, r)
	row.ShareGPUs, row.ShareCPUs = string(appendMasks(nil, p)), string(appendCPUs(nil, p))
	row.ShareMemory, row.ShareMilli = string(appendMemory(nil, p)), string(appendMilli(nil, p))
	if w.sharedAttempts.full() {
		w.fillAttemptTexts()
		w.keep(w.sharedAttempts.spill())
	}
}

func (w *Writer) fillAttemptTexts() {
	w.aText.take(func(i int, nodes, shares string) {
		row := (*attemptRow)(nil)
		switch {
		case w.attempts != nil:
			row = &w.attempts.rows[i]
		case w.sharedAttempts != nil:
			row = &w.sharedAttempts.rows[i].attemptRow
		default:
			row = &w.siteAttempts.rows[i].attemptRow
		}
		row.Nodes, row.Shares = nodes, shares
	})
}

// texts gathers the node texts of a batch in one buffer, which becomes one
// string when the batch is written: one allocation per batch, not per row.
type texts struct {
	buf  []byte
	ends []int // of the nodes and the shares of each row, alternating
}

func (t *texts) add(p *model.Placement) {
	t.buf = AppendNodes(t.buf, p)
	t.ends = append(t.ends, len(t.buf))
	t.buf = appendShares(t.buf, p)
	t.ends = append(t.ends, len(t.buf))
}

// take hands each row its texts and empties t.
func (t *texts) take(give func(row int, nodes, shares string)) {
	all, at := string(t.buf), 0
	for i := 0; i < len(t.ends); i += 2 {
		n, s := t.ends[i], t.ends[i+1]
		give(i/2, all[at:n], all[n:s])
		at = s
	}
	t.buf, t.ends = t.buf[:0], t.ends[:0]
}
