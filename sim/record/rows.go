package record

import "orrery/scheduler/model"

// Fact stores entry index of the committed log at the instant now; p is the
// placement granted by a FactAssigned, nil for the other kinds. It does
// nothing unless Meta.Facts is set.
func (w *Writer) Fact(index int64, now model.Time, f *model.Fact, p *model.Placement) {
	if w.err != nil || w.facts == nil {
		return
	}
	i := len(w.facts.rows)
	row := w.facts.next()
	row.Index = index
	row.Time = int64(now + w.meta.Epoch)
	row.Kind = f.Kind.String()
	row.Job = int32(f.Job)
	row.Ref = int32(f.Ref)
	row.Seq = int64(f.Seq)
	row.Reason = f.Reason.String()
	row.Procs = f.Request.Units
	row.Walltime = nil
	if f.Kind == model.FactSubmitted && f.Walltime != model.Forever {
		w.factWall[i] = int64(f.Walltime)
		row.Walltime = &w.factWall[i]
	}
	if p == nil {
		p = &model.Placement{}
	}
	w.fText.add(p)
	if w.facts.full() {
		w.fillFactTexts()
		w.keep(w.facts.spill())
	}
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
	t.buf = AppendShares(t.buf, p)
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

func (w *Writer) fillFactTexts() {
	w.fText.take(func(i int, nodes, _ string) { w.facts.rows[i].Nodes = nodes })
}
