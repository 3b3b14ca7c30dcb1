package agent

import (
	"fmt"
	"time"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Alert is what an operator should look at.
type Alert struct {
	Kind  string // temperature, ecc, hang, lost, failed, answers, xid, restart
	GPU   int32
	Text  string
	Value float64
}

// watcher raises alerts, each once until its cause has gone.
type watcher struct {
	hungAfter model.Duration
	gpus      []watched // by series
}

type watched struct {
	hotAt    float64
	hot      bool
	ecc      int64
	eccKnown bool
	energy   int64
	back     traces.Opt[int64] // the energy counter went back from here; the next sample says whether it stays so
	silent   model.Time        // the first sample without an answer; 0 when the last one had one
	reported bool
}

// cooledBy is how far below its threshold a GPU is when the alert ends.
const cooledBy = 5

// coolest is the alert of a GPU that does not say where it slows down, °C.
const coolest = 87

func newWatcher(o *Options, gpus []int32, v *capture.Inventory) *watcher {
	w := &watcher{hungAfter: model.Duration(o.HungAfter / time.Microsecond), gpus: make([]watched, len(gpus))}
	slowdown := map[int32]float64{} // an exporter may name any number of GPUs
	for i := range v.GPUs {
		if g := &v.GPUs[i]; g.Slowdown > 0 {
			slowdown[g.Index] = g.Slowdown
		}
	}
	for i, index := range gpus {
		w.gpus[i].hotAt = o.HotAt
		if at, known := slowdown[index]; known && o.HotAt == 0 {
			w.gpus[i].hotAt = at - 3
		}
		if w.gpus[i].hotAt == 0 {
			w.gpus[i].hotAt = coolest
		}
	}
	return w
}

// reading looks at a sample.
func (w *watcher) reading(series int, r *capture.Reading) (raised []Alert) {
	g := &w.gpus[series]
	gpu := indexOf(r)
	if g.reported {
		raised = append(raised, Alert{"answers", gpu, "answers again", 0})
	}
	g.silent, g.reported = 0, false
	if r.Temperature.OK {
		switch t := r.Temperature.V; {
		case t >= g.hotAt && !g.hot:
			g.hot = true
			raised = append(raised, Alert{"temperature", gpu, fmt.Sprintf("%.0f °C, alert from %.0f on", t, g.hotAt), t})
		case t < g.hotAt-cooledBy:
			g.hot = false
		}
	}
	if n := r.ECCUncorrected; n.OK {
		if g.eccKnown && n.V > g.ecc {
			raised = append(raised, Alert{"ecc", gpu, fmt.Sprintf("%d uncorrected memory errors more, %d in all", n.V-g.ecc, n.V), float64(n.V)})
		}
		g.ecc, g.eccKnown = n.V, true
	}
	if r.Energy.OK {
		if was := g.back; was.OK && r.Energy.V < was.V { // one that reads 0 once goes on where it was
			raised = append(raised, Alert{capture.RecordRestart, gpu, fmt.Sprintf("the energy counter began anew after %d mJ", was.V), float64(was.V)})
		}
		if g.back = (traces.Opt[int64]{}); r.Energy.V < g.energy {
			g.back = traces.Some(g.energy)
		}
		g.energy = r.Energy.V
	}
	return append(raised, alertsOf(gpu, r.XIDs)...)
}

// alertsOf are those of errors that the driver has reported.
func alertsOf(gpu int32, codes []uint64) (raised []Alert) {
	for _, xid := range codes {
		raised = append(raised, Alert{"xid", gpu, fmt.Sprintf("the driver reports XID %d", xid), float64(xid)})
	}
	return raised
}

// silence looks at a sample that was due and is not there.
func (w *watcher) silence(series int, gpu int32, at model.Time, reason string) (raised []Alert) {
	g := &w.gpus[series]
	if g.silent == 0 {
		g.silent = at
	}
	switch {
	case g.reported:
	case reason == capture.GapLost:
		g.reported = true
		raised = append(raised, Alert{"lost", gpu, "the GPU has fallen off the bus", 0})
	case (reason == capture.GapHung || reason == capture.GapLate) && at.Sub(g.silent) >= w.hungAfter:
		g.reported = true
		raised = append(raised, Alert{"hang", gpu, fmt.Sprintf("no answer for %s; the other GPUs go on", time.Duration(at.Sub(g.silent))*time.Microsecond), 0})
	case reason == capture.GapFailed && at.Sub(g.silent) >= w.hungAfter:
		g.reported = true
		raised = append(raised, Alert{"failed", gpu, fmt.Sprintf("no sample for %s: the source answers with an error, or without this GPU", time.Duration(at.Sub(g.silent))*time.Microsecond), 0})
	}
	return raised
}
