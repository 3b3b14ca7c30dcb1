package watch

import "orrery/scheduler/model"

// sheds has a site of five nodes shed jobs above a cap of 250 W; it is 150 W where idle nodes count,
// which draw 20 W each.
func sheds(c *Config) {
	noLedger(c)
	c.Site.PowerCap, c.Site.Sheds = 250, true
}

func countsIdle(c *Config) {
	noLedger(c)
	c.Site.PowerCap, c.Site.CountIdle = 200, true
	for i := range c.Site.Nodes {
		c.Site.Nodes[i].IdlePower = 20
	}
}

// cap changes the cap on power, and shed makes a job leave for its sake.
func (l *forged) cap(at model.Time, watts int64) {
	l.Fact(at, &model.Fact{Kind: model.FactPower, Value: watts})
}

func (l *forged) shed(at model.Time, id model.JobID) {
	seq := l.propose(at, model.Proposal{Kind: model.ProposePreempt, Reason: model.ReasonPower, Job: id, Victim: model.Ref(id)})
	l.Fact(at, &model.Fact{Kind: model.FactPreempted, Job: id, Ref: model.Ref(id), Seq: seq, Reason: model.ReasonPower})
}

var forgedCaps = []forgedLog{
	{0, "a job is shed when the cap falls", sheds, func(l *forged) {
		l.submit(0, 0, class(1))
		l.submit(0, 1)
		l.start(0, 0, 0)
		l.start(0, 1, 1)
		l.cap(1*sec, 100)
		l.shed(1*sec, 0)
		l.cap(2*sec, 250)
	}},
	{35, "no job is shed when the cap falls", sheds, func(l *forged) {
		l.submit(0, 0)
		l.submit(0, 1)
		l.start(0, 0, 0)
		l.start(0, 1, 1)
		l.cap(1*sec, 100)
		l.cap(2*sec, 250)
	}},
	{0, "what may not be shed runs on", sheds, func(l *forged) {
		l.submit(0, 0, class(8), func(a *model.Allocation) { a.Checkpoint = model.CheckpointNone })
		l.submit(0, 1, sensitive)
		l.start(0, 0, 0)
		l.start(0, 1, 1)
		l.cap(1*sec, 100)
		l.cap(2*sec, 250)
	}},
	{25, "a job is shed below the cap", sheds, func(l *forged) {
		l.submit(0, 0)
		l.start(0, 0, 0)
		l.shed(1*sec, 0)
	}},
	{25, "a job is shed where none is", power, func(l *forged) {
		l.submit(0, 0)
		l.start(0, 0, 0)
		l.cap(1*sec, 50)
		l.shed(1*sec, 0)
	}},
	{0, "idle nodes leave room for one job", countsIdle, func(l *forged) { l.submit(0, 0); l.start(0, 0, 0) }},
	{24, "idle nodes leave no room for another", countsIdle, func(l *forged) {
		l.submit(0, 0)
		l.submit(0, 1)
		l.start(0, 0, 0)
		l.start(0, 1, 1)
	}},
	{0, "nodes that are down draw nothing", countsIdle, func(l *forged) {
		for n := range model.NodeID(3) {
			l.node(0, n+2, model.Down)
		}
		l.submit(0, 0)
		l.submit(0, 1)
		l.start(0, 0, 0)
		l.start(0, 1, 1)
	}},
}
