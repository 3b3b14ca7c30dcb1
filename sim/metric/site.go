package metric

import (
	"math/big"

	"orrery/scheduler/model"
)

// Edge cases that metrics of a site share.
const (
	edgeJobs    = "never null; over the jobs submitted in the window, whenever it happened"
	edgeTargets = "null when nothing was held in the window, or no such tenant submitted a job"
)

const srcTheirs = "Lattice, design documents of the scheduler: no exact definition there, fixed here"

var siteDefinitions = append([]definition{
	{Definition{"jobs_failed", "jobs", Lower, "count of jobs that ended as FAILED", "", "never null", nil}, false, countOf(model.Failed)},
	{Definition{"jobs_suspended", "jobs", Lower, "count of unfinished jobs that had left their nodes, or were about to", "", "never null", nil}, false, (*reduction).suspended},
	{Definition{"preemptions", "1", Lower, "how often jobs were asked to leave their nodes", "", edgeJobs, nil}, false, sumOf(func(g *groupSum) int64 { return g.preemptions })},
	{Definition{"requeues", "1", Lower, "how often jobs went back to the queue after a failure", "", edgeJobs, nil}, false, sumOf(func(g *groupSum) int64 { return g.requeues })},
	{Definition{"gpu_hours_allocated", "h", Neither, "sum(g_i)", "", edgeJobs, nil}, false, hoursOf(func(h *held) int64 { return h.gpus })},
	{Definition{"gpu_hours_useful", "h", Higher, "sum(u_i)", "", edgeJobs, nil}, false, hoursOf(func(h *held) int64 { return h.kept })},
	{Definition{"gpu_hours_lost", "h", Lower, "sum(l_i)", "", edgeJobs, nil}, false, hoursOf(func(h *held) int64 { return h.lost })},
	{Definition{"useful_fraction", "1", Higher, "sum(u_i) / sum(g_i)", srcOurs, "null when no GPU was held; the rest was lost, or went to starting, checkpoints and reading them", nil}, false, (*reduction).useful},
	{Definition{"goodput", "1", Higher, "sum(u_i) / (G*(b - a))", srcOurs, edgeWindow + ", or the site no GPUs; utilisation counts what is allocated, this what counted; window all only", nil}, true, (*reduction).goodput},
	{Definition{"node_hours_allocated", "h", Neither, "sum of the nodes held by each attempt, times its length", "", edgeJobs + "; a node held in part counts whole", nil}, false, hoursOf(func(h *held) int64 { return h.nodes })},
	{Definition{"node_hours_borrowed", "h", Neither, "of these, on nodes at home in another vCluster", "", edgeJobs, nil}, false, hoursOf(func(h *held) int64 { return h.borrowed })},
	{Definition{"jain_share", "1", Higher, "(sum x)^2 / (m*sum(x^2)), x = s_k/f_k of each of the m tenants in T", srcJain, edgeTargets + ", or they held nothing", nil}, false, (*reduction).jainShare},
	{Definition{"share_deviation_max", "1", Lower, "max over T of abs(s_k - f_k)", srcTheirs, edgeTargets, nil}, false, (*reduction).deviationMax},
	{Definition{"share_deviation_squared", "1", Lower, "sum over T of (s_k - f_k)^2", srcTheirs, edgeTargets, nil}, false, (*reduction).deviationSquared},
	{Definition{"within_target_wait", "1", Higher | MeanOverJobs, "count(w <= target of the class) / N", srcOurs, "over jobs of classes with a target that started or still wait; null without one", nil}, false, (*reduction).withinTarget},
	{Definition{"starved_fraction", "1", Lower | MeanOverJobs, "count(w > limit) / N", srcOurs, "over jobs that were not refused; one that never started has waited until it left; the limit is a day unless set; null without a job", nil}, false, (*reduction).starvation},
	{Definition{"quota_hold", "h", Lower, "time that jobs waited for a limit of their tenant or quality of service, summed over jobs", srcOurs, "null when reasons were not recorded; window all only", nil}, true, (*reduction).quotaHold},
}, powerDefinitions...)

func (r *reduction) suspended() value { return countValue(r.site.suspended) }

func sumOf(of func(*groupSum) int64) func(*reduction) value {
	return func(r *reduction) value {
		return value{x: float64(of(&r.site.all)), ok: true, count: r.submitted}
	}
}

func hoursOf(of func(*held) int64) func(*reduction) value {
	return func(r *reduction) value { return ratio(big.NewInt(of(&r.site.all.own)), bigHour, r.submitted, "", "") }
}

func (r *reduction) useful() value {
	own := &r.site.all.own
	return ratio(big.NewInt(own.kept), big.NewInt(own.gpus), r.submitted, "", "no GPU was held")
}

func (r *reduction) goodput() value {
	if r.site.cfg.GPUs == 0 {
		return undefined("the site has no GPUs")
	}
	return r.overWindow(big.NewInt(r.site.all.own.kept), big.NewInt(r.site.cfg.GPUs))
}

// contenders are the tenants that have a target and submitted a job.
func (r *reduction) contenders() (list []int, jobs int64) {
	s := r.site
	if !s.shared || s.held == 0 {
		return nil, 0
	}
	for i := range s.tenants {
		if s.target(i) > 0 && s.tenants[i].jobs > 0 {
			list = append(list, i)
			jobs += s.tenants[i].jobs
		}
	}
	return list, jobs
}

const noContender = "nothing was held, or no tenant with a target submitted a job"

// jainShare takes usage over target rounded down to 2^-20, so that the sums
// are integers.
func (r *reduction) jainShare() value {
	list, jobs := r.contenders()
	if len(list) == 0 {
		return undefined(noContender)
	}
	total, squares := new(big.Int), new(big.Int)
	for _, i := range list {
		x := product(big.NewInt(r.site.used(&r.site.tenants[i])), big.NewInt(int64(model.One)), bigOne)
		x.Quo(x, big.NewInt(int64(r.site.target(i))))
		total.Add(total, x)
		squares.Add(squares, x.Mul(x, x))
	}
	return ratio(product(total, total), product(big.NewInt(int64(len(list))), squares), jobs, "", "tenants with a target held nothing")
}

func (r *reduction) deviationMax() value {
	list, jobs := r.contenders()
	if len(list) == 0 {
		return undefined(noContender)
	}
	most, den := new(big.Int), new(big.Int)
	for _, i := range list {
		var num *big.Int
		num, den = r.site.deviation(i)
		if num.Abs(num).Cmp(most) > 0 {
			most = num
		}
	}
	return ratio(most, den, jobs, "", noContender)
}

func (r *reduction) deviationSquared() value {
	list, jobs := r.contenders()
	if len(list) == 0 {
		return undefined(noContender)
	}
	total, den := new(big.Int), new(big.Int)
	for _, i := range list {
		var num *big.Int
		num, den = r.site.deviation(i)
		total.Add(total, num.Mul(num, num))
	}
	return ratio(total, product(den, den), jobs, "", noContender)
}

func (r *reduction) withinTarget() value {
	g := &r.site.all
	return ratio(big.NewInt(g.within), big.NewInt(g.targeted), g.targeted, "", "no job has a target for its wait")
}

func (r *reduction) starvation() value {
	g := &r.site.all
	return ratio(big.NewInt(g.starved), big.NewInt(g.eligible), g.eligible, left(g.jobs-g.eligible, "the site refused"), "every job was refused")
}

func (r *reduction) quotaHold() value {
	if r.site.quota == nil {
		return undefined("why jobs wait was not recorded")
	}
	return ratio(big.NewInt(*r.site.quota), bigHour, r.submitted, "", "")
}
