package format

import (
	"orrery/scheduler/model"
	"orrery/traces"
)

// The tables that a log may fill.
var (
	jobStream = stream[traces.Job]{
		table: "jobs", first: model.AbsentTime,
		at: func(j *traces.Job) model.Time { return j.Submit },
		shift: func(j *traces.Job, epoch model.Time) {
			j.Submit -= epoch
			for _, t := range []*traces.Opt[model.Time]{&j.Start, &j.End, &j.Eligible, &j.CancelledAt, &j.Released, &j.Deadline} {
				if t.OK {
					t.V -= epoch
				}
			}
		},
		rule: (*traces.Rules).Job,
		write: func(s *Sink, j *traces.Job) error {
			if s.edges.kept != nil {
				_, twice := s.edges.kept[j.ID]
				s.edges.kept[j.ID] = twice
			}
			return s.w.WriteJob(j)
		},
	}
	loadStream = stream[traces.Load]{
		table: "load", first: model.AbsentTime,
		at:    func(l *traces.Load) model.Time { return l.Time },
		shift: func(l *traces.Load, epoch model.Time) { l.Time -= epoch },
		rule:  (*traces.Rules).Load, series: func(l *traces.Load) string { return l.Service },
		write: func(s *Sink, l *traces.Load) error { return s.w.WriteLoad(l) },
	}
	eventStream = stream[traces.Event]{
		table: "events", first: model.AbsentTime,
		at:    func(e *traces.Event) model.Time { return e.Time },
		shift: func(e *traces.Event, epoch model.Time) { e.Time -= epoch },
		rule:  (*traces.Rules).Event,
		write: func(s *Sink, e *traces.Event) error { return s.w.WriteEvent(*e) },
	}
	priceStream = stream[traces.Price]{
		table: "prices", first: model.AbsentTime,
		at:    func(p *traces.Price) model.Time { return p.Time },
		shift: func(p *traces.Price, epoch model.Time) { p.Time -= epoch },
		rule:  (*traces.Rules).Price, series: func(*traces.Price) string { return "" },
		write: func(s *Sink, p *traces.Price) error { return s.w.WritePrice(*p) },
	}
	nodeStream = stream[traces.Node]{
		table: "nodes",
		rule:  (*traces.Rules).Node,
		write: func(s *Sink, n *traces.Node) error {
			s.log.size.nodes++
			s.log.size.cpus += int64(n.CPUs)
			return s.w.WriteNode(*n)
		},
	}
	depStream = stream[traces.Dep]{
		table: "deps",
		write: func(s *Sink, d *traces.Dep) error { return s.w.WriteDep(*d) },
	}
)
