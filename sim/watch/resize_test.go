package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// serves has a reactive service of up to three nodes start.
func (l *forged) serves(at model.Time, id model.JobID, nodes ...int) {
	l.submit(at, id, reactive)
	l.start(at, id, nodes...)
}

func (l *forged) demand(at model.Time, id model.JobID, nodes int64) {
	l.Fact(at, &model.Fact{Kind: model.FactDemand, Job: id, Ref: model.Ref(id), Value: nodes})
}

// resize proposes and grants.
func (l *forged) resize(at model.Time, id model.JobID, nodes ...int) {
	l.resized(at, id, l.propose(at, model.Proposal{Kind: model.ProposeResize, Job: id, Placement: on(nodes...)}), on(nodes...))
}

func (l *forged) resized(at model.Time, id model.JobID, seq uint64, p model.Placement) {
	l.Fact(at, &model.Fact{Kind: model.FactResized, Job: id, Ref: model.Ref(id), Seq: seq, Placement: &p})
}

// widens has a service of a span that draws 50 W a node get a second node, beside one
// that holds 100 W until 10 s, while another before it has no room until then.
func (l *forged) widens(span model.Duration, blocked func(*model.Allocation)) {
	l.submit(0, 0, draws(100))
	l.start(0, 0, 0)
	l.submit(0, 1, blocked, func(a *model.Allocation) { a.Eligible = 1 * sec })
	l.submit(0, 2, reactive, lasts(span), draws(50))
	l.start(0, 2, 1)
	l.demand(1*sec, 2, 2)
	l.resize(1*sec, 2, 1, 4)
}

// widenTwo has two services get a second node in one pass, the first of them of a span. The job
// before them has no room until two nodes come free at 10 s, and needs all nodes then but one.
func (l *forged) widenTwo(span model.Duration) {
	l.submit(0, 0, wants(2))
	l.start(0, 0, 0, 7)
	l.submit(0, 1, wants(4), func(a *model.Allocation) { a.Eligible = 1 * sec })
	for id, span := range []model.Duration{span, model.Minute} {
		l.submit(0, model.JobID(2+id), reactive, lasts(span))
		l.start(0, model.JobID(2+id), 1+3*id)
		l.demand(0, model.JobID(2+id), 2)
	}
	l.propose(1*sec, model.Proposal{Kind: model.ProposeResize, Job: 2, Placement: on(1, 5)})
	l.propose(1*sec, model.Proposal{Kind: model.ProposeResize, Job: 3, Placement: on(4, 6)})
}

// eight is a site with three more nodes that are at home nowhere.
func eight(c *Config) {
	noLedger(c)
	for i := range 3 {
		n := c.Site.Nodes[4]
		n.Name = fmt.Sprint("n", 5+i)
		c.Site.Nodes = append(c.Site.Nodes, n)
	}
}

// reactive makes a service of up to three nodes.
func reactive(a *model.Allocation) { a.Kind, a.NodesMax = model.Reactive, 3 }

// forgedServices are logs of services that change their size.
var forgedServices = []forgedLog{
	{0, "a service follows its demand", records, func(l *forged) {
		l.serves(0, 0, 0)
		l.demand(1*sec, 0, 9)
		l.resize(1*sec, 0, 0, 1, 4)
		l.demand(3*sec, 0, 2)
		l.resize(3*sec, 0, 0, 4)
		l.demand(4*sec, 0, 1)
		l.resize(5*sec, 0, 4)
		l.Attempt(&model.AttemptRecord{Attempt: 1, Nodes: 1, End: 6 * sec})
		l.fact(6*sec, model.FactEnded, 0)
		l.Job(&model.JobRecord{State: model.Completed, Attempts: 1, End: 6 * sec, Allocated: model.Holding{Nodes: int64(12 * sec)}})
		l.Finish(End{Rows: 1, Dropped: 0, Unfinished: 0})
	}},
	{0, "a service that ran before keeps what it had", nil, func(l *forged) {
		l.serves(0, 0, 0, 1, 4)
		l.demand(1*sec, 0, 2)
		l.resize(1*sec, 0, 0, 1)
	}},
	{6, "other nodes than it was to get", nil, func(l *forged) {
		l.serves(0, 0, 0)
		l.demand(0, 0, 2)
		l.resized(0, 0, l.propose(0, model.Proposal{Kind: model.ProposeResize, Placement: on(0, 1)}), on(0, 4))
	}},
	{31, "a demand of no job", nil, func(l *forged) { l.demand(0, 3, 2) }},
	{31, "a demand of a service that has left", nil, func(l *forged) {
		l.serves(0, 0, 0)
		l.fact(1*sec, model.FactEnded, 0)
		l.demand(1*sec, 0, 2)
	}},
	{31, "a bounded job that grows", nil, func(l *forged) {
		l.submit(0, 0, func(a *model.Allocation) { a.NodesMax = 3 })
		l.start(0, 0, 0)
		l.demand(1*sec, 0, 2)
		l.resize(1*sec, 0, 0, 1)
	}},
	{31, "a service that waits", nil, func(l *forged) {
		l.submit(0, 0, reactive)
		l.demand(0, 0, 2)
		l.propose(0, model.Proposal{Kind: model.ProposeResize, Placement: on(0, 1)})
	}},
	{31, "growth without demand", nil, func(l *forged) { l.serves(0, 0, 0); l.resize(1*sec, 0, 0, 1) }},
	{31, "more than is demanded", nil, func(l *forged) {
		l.serves(0, 0, 0)
		l.demand(1*sec, 0, 2)
		l.resize(1*sec, 0, 0, 1, 4)
	}},
	{31, "fewer than are demanded", nil, func(l *forged) {
		l.serves(0, 0, 0, 1, 4)
		l.demand(1*sec, 0, 2)
		l.resize(1*sec, 0, 1)
	}},
	{31, "a size that does not change", nil, func(l *forged) { l.serves(0, 0, 0); l.resize(1*sec, 0, 0) }},
	{31, "other nodes instead of its own", nil, func(l *forged) {
		l.serves(0, 0, 0)
		l.demand(1*sec, 0, 2)
		l.resize(1*sec, 0, 1, 4)
	}},
	{31, "nodes of another vCluster", nil, func(l *forged) {
		l.serves(0, 0, 0)
		l.demand(1*sec, 0, 2)
		l.propose(1*sec, model.Proposal{Kind: model.ProposeResize, Borrowed: true, Placement: on(0, 2)})
	}},
	{31, "two at once", nil, func(l *forged) {
		l.serves(0, 0, 0)
		l.demand(1*sec, 0, 3)
		l.propose(1*sec, model.Proposal{Kind: model.ProposeResize, Placement: on(0, 1)})
		l.propose(1*sec, model.Proposal{Kind: model.ProposeResize, Placement: on(0, 1, 4)})
	}},
	{27, "a service grows into a reservation", nil, func(l *forged) {
		l.serves(995*sec, 0, 0)
		l.demand(996*sec, 0, 2)
		l.resize(996*sec, 0, 0, 4)
	}},
	{0, "it grows elsewhere", nil, func(l *forged) {
		l.serves(995*sec, 0, 0)
		l.demand(996*sec, 0, 2)
		l.resize(996*sec, 0, 0, 1)
	}},
	{28, "a service grows on what the first blocked job counts on", noLedger, func(l *forged) { l.widens(model.Minute, wants(2)) }},
	{0, "until its end before that", noLedger, func(l *forged) { l.widens(9*model.Second, wants(2)) }},
	{28, "two that grow on it in a pass", eight, func(l *forged) { l.widenTwo(model.Minute) }},
	{0, "two that grow, of which one leaves before that", eight, func(l *forged) { l.widenTwo(9 * model.Second) }},
	{28, "power of a service that grows", caps, func(l *forged) { l.widens(model.Minute, draws(160)) }},
	{0, "power that is left beside it", caps, func(l *forged) { l.widens(model.Minute, draws(140)) }},
}
