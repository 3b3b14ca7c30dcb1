package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// idleOf is what node n counts with against the cap on power as a node that no job holds.
func (w *Watcher) idleOf(n model.NodeID) int64 {
	if !w.site.CountIdle || w.nodes[n].state == model.Down || w.nodes[n].jobs > 0 {
		return 0
	}
	return w.site.Nodes[n].IdlePower
}

// idleBeside is what nodes count with that no job holds and j, which is not booked yet, does not get.
func (w *Watcher) idleBeside(j *job) int64 {
	watts := w.idle
	for n := range each(&j.held) {
		watts -= w.idleOf(n)
	}
	return watts
}

// shed checks invariant 25 for a job that leaves for the sake of the cap.
func (w *Watcher) shed(j *job) {
	if !w.site.Sheds || !j.Preemptible() || w.power.cap == 0 || w.power.used+w.idle <= w.power.cap {
		w.fail(25, j, fmt.Sprintf("it leaves for the cap on power, with %d W of %d", w.power.used+w.idle, w.power.cap), "preemptible work, above the cap of a site that sheds")
	}
}

// keepsCap checks invariant 35 when an instant is over. Not where the quorum refused something, for what
// was tried without success is tried again later.
func (w *Watcher) keepsCap() {
	refused := w.refusals
	w.refusals = false
	if !w.site.Sheds || w.power.cap == 0 || refused || w.restoring || w.power.used+w.idle <= w.power.cap && !w.site.CountIdle {
		return
	}
	leaving := map[*job]bool{}
	for _, x := range w.flights { //detlint:ordered a set is made of it
		if x.kind == model.ProposePreempt {
			leaving[x.victim] = true
		}
	}
	sum, held := int64(0), model.NewNodeSet(len(w.nodes))
	var stays *job // that could be made to leave
	for _, j := range w.pass.running {
		if j.preempted || leaving[j] {
			continue
		}
		sum += j.power
		idle := int64(0)
		for n := range each(&j.held) {
			held.Add(n)
			if w.site.CountIdle && w.nodes[n].state != model.Down {
				idle += w.site.Nodes[n].IdlePower
			}
		}
		// The rule goes by the requested time, to which reading a checkpoint adds what it takes.
		spared, left := w.cfg.Policies[j.VCluster].NearCompletion, min(j.left, j.Walltime)
		if j.Preemptible() && j.power > idle && (j.left == model.Forever || left-w.now.Sub(j.start) > spared) {
			stays = j
		}
	}
	for n := range w.nodes {
		if w.site.CountIdle && w.nodes[n].state != model.Down && !held.Has(model.NodeID(n)) {
			sum += w.site.Nodes[n].IdlePower
		}
	}
	if sum > w.power.cap && stays != nil {
		w.fail(35, stays, fmt.Sprintf("%d W are reckoned while it runs on", sum), fmt.Sprintf("at most %d, as it may be made to leave", w.power.cap))
	}
}
