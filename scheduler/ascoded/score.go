package ascoded

import (
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
)

// inputs are what the scores of one pass have in common.
type inputs struct {
	backlog model.Fixed // f6
	largest int32       // free nodes of the largest conformance group
	// By tenant, of no tenant first.
	fairShare, penalty []model.Fixed
}

// holding is what the running jobs of a tenant hold and have used.
type holding struct{ nodes, nodeTime, gpuTime int64 }

// NewPlanner returns the planner of one vCluster.
func NewPlanner(cfg Config, core Core) *Planner {
	n := len(cfg.Site.Tenants)
	p := &Planner{cfg: cfg, core: core, curve: score.CurveOf(cfg.Reference), window: cfg.Window, held: make([]holding, n)}
	if p.window <= 0 {
		p.window = quota.DefaultWindow
	}
	p.inputs.fairShare, p.inputs.penalty = make([]model.Fixed, n+1), make([]model.Fixed, n+1)
	return p
}

// freeze works out the inputs of a pass over the jobs in p.waiting and p.running.
// Cost: the running jobs with their nodes, the waiting ones and the tenants.
func (p *Planner) freeze(now model.Time) {
	busy, running, queued := int64(0), int64(0), int64(0)
	clear(p.held)
	for i := range p.running {
		j := &p.running[i]
		busy += int64(j.Nodes.Nodes())
		running += backlogHours(j.Kind, j.NodesMin, j.Walltime)
		if j.Tenant >= 0 {
			p.uses(&p.held[j.Tenant], j, now)
		}
	}
	for i := range p.waiting {
		j := &p.waiting[i]
		queued += backlogHours(j.Kind, j.NodesMin, j.Walltime)
	}
	in := &p.inputs
	in.largest = p.cfg.Free.LargestOrUnknown(p.cfg.All)
	in.backlog = backlogOf(queued, running)
	in.fairShare[0], in.penalty[0] = half, model.One
	ready := max(1, int64(p.cfg.Ready.Len()))
	utilisation := model.Ratio(busy, ready)
	for t := range p.held {
		h, limits := &p.held[t], p.cfg.Ledger.Limits(model.TenantID(t))
		in.fairShare[t+1] = score.FairShareOf(limits.FairShare, limits.Burst, model.Ratio(h.nodes, ready), utilisation)
		spent := model.Fixed(0)
		if limits.NodeBudget > 0 {
			spent = model.Ratio(h.nodeTime, int64(limits.NodeBudget))
		}
		if limits.GPUBudget > 0 {
			spent = max(spent, model.Ratio(h.gpuTime, int64(limits.GPUBudget)))
		}
		in.penalty[t+1] = score.Penalty(spent)
	}
}

// uses adds what a running job holds and has used: what has ended is forgotten, and so
// is work that began before the window.
func (p *Planner) uses(h *holding, j *Running, now model.Time) {
	n, ran := int64(j.Nodes.Nodes()), int64(now.Sub(j.Started))
	h.nodes += n
	if ran <= int64(p.window) {
		h.nodeTime += n * ran
		h.gpuTime += p.gpus(j.Nodes) * ran
	}
}

// gpus is the GPUs of nodes as the ledger of the sources has them: a node that is not
// in service counts as one.
func (p *Planner) gpus(nodes *model.Placement) int64 {
	sum := int64(0)
	nodes.EachNode(func(n model.NodeID) {
		if p.cfg.Ready.Has(n) {
			sum += int64(p.cfg.Site.Nodes[n].GPUs)
		} else {
			sum++
		}
	})
	return sum
}

// score is the score with raw weights, no caps and no history.
func (p *Planner) score(j *model.Allocation, now model.Time) model.Fixed {
	v := p.values(j, now)
	return score.Score(p.cfg.Weights, &v, p.inputs.penalty[j.Tenant+1])
}

// Explain is the score of a job at now, of the inputs of the last pass.
func (p *Planner) Explain(j *model.Allocation, now model.Time) score.Explanation {
	v := p.values(j, now)
	return score.Explain(p.cfg.Weights, &v, p.inputs.penalty[j.Tenant+1])
}

// values are the factors of j in this pass.
func (p *Planner) values(j *model.Allocation, now model.Time) score.Values {
	return score.Values{
		score.Priority:    score.PriorityOf(j.Class),
		score.Wait:        waitOf(now.Sub(j.Submit), p.curve),
		score.FairShare:   p.inputs.fairShare[j.Tenant+1],
		score.Topology:    TopologyOf(j.NodesMin, int32(max(1, len(p.cfg.Site.Groups))), -1, false),
		score.Data:        half,
		score.Backlog:     p.inputs.backlog,
		score.Energy:      score.EnergyOf(half),
		score.Checkpoint:  checkpointOf(j.Checkpoint),
		score.Conformance: conformanceOf(p.inputs.largest, j.NodesMin),
	}
}
