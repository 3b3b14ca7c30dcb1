package watch

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
)

// promise tells that a job of vCluster a is promised node 4, which is for both, from an
// instant on; no instant ends it.
func (l *forged) promise(now model.Time, id model.JobID, at model.Time) {
	x := scheduler.Promise{Job: id, Ref: model.Ref(id), At: at, After: l.seq}
	if at > 0 {
		x.Nodes = on(4)
	}
	l.Passed(now, &scheduler.Plan{Promises: []scheduler.Promise{x}})
}

// promised has job 0 of a wait for node 4, promised at 5 s, while a job of b that takes so
// long starts there.
func (l *forged) promised(before bool, span model.Duration) {
	l.submit(0, 0, wants(2))
	l.submit(0, 1, inB, lasts(span))
	if before {
		l.start(0, 1, 4)
	}
	l.promise(0, 0, 5*sec)
	if !before {
		l.start(0, 1, 4)
	}
}

func punctual(c *Config) {
	easy(fcfs)(c)
	c.Policies[0].Punctual = true
}

// forgedPromises are those that break what vClusters promise to their jobs.
var forgedPromises = []forgedLog{
	{0, "a job that has left when the node is promised", nil, func(l *forged) { l.promised(false, 5*model.Second) }},
	{32, "a job that stays beyond", nil, func(l *forged) { l.promised(false, 6*model.Second) }},
	{0, "a job that started before", nil, func(l *forged) { l.promised(true, model.Minute) }},
	{0, "the promise has ended", nil, func(l *forged) {
		l.submit(0, 0, wants(2))
		l.submit(0, 1, inB, lasts(model.Minute))
		l.promise(0, 0, 5*sec)
		l.promise(1*sec, 0, 0)
		l.start(2*sec, 1, 4)
	}},
	{0, "a proposal of before", nil, func(l *forged) {
		l.submit(0, 0, wants(2))
		l.submit(0, 1, inB, lasts(model.Minute))
		l.seq++
		l.promise(0, 0, 5*sec)
		l.seq--
		l.start(0, 1, 4)
	}},
	{33, "a promise is put off", punctual, func(l *forged) {
		l.submit(0, 0, wants(2))
		l.promise(0, 0, 5*sec)
		l.promise(1*sec, 0, 6*sec)
		l.submit(1*sec, 1)
	}},
	{0, "a promise is put off since a node has failed", punctual, func(l *forged) {
		l.submit(0, 0, wants(2))
		l.promise(0, 0, 5*sec)
		l.node(1*sec, 4, model.Down)
		l.promise(1*sec, 0, 6*sec)
		l.submit(1*sec, 1)
	}},
}
