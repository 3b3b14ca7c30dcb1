package world

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/quorum"
	"orrery/sim/des"
	"orrery/sim/world/internal/bill"
	"orrery/sim/world/internal/network"
	"orrery/sim/world/internal/power"
	"orrery/sim/world/internal/storage"
	"orrery/sim/world/translate"
	"orrery/sim/world/work"
)

// Site is the simulated world of a site whose nodes differ and fail, whose jobs lose their nodes and come back, and
// whose limits change. It implements drive.Quorum and drive.NodeAgents, makes no scheduling decision and allocates
// nothing once its tables have grown.
//
// It is put together of parts, each of which knows of those before it alone. What happens comes in here, is handed to
// the part that it is about, and what follows from it for others is handed on.
type Site struct {
	base
	ledger      ledger         // who holds what
	feed        power.Feed     // what is drawn, and the cap on that
	nodes       nodeStates     // which take work
	agenda      agenda         // when what lies ahead of attempts is due
	hardware    effects        // what hardware does with attempts
	transfers   transfers      // what attempts move to and from storage
	checkpoints checkpoints    // that they write of their own accord
	endings     endings        // how attempts end, and jobs leave
	exits       exits          // how jobs give their nodes up that were asked to
	breakdowns  breakdowns     // what breaks, and jobs that lose their nodes by that
	silences    silences       // of agents
	drifts      drifts         // of fingerprints
	prologues   prologues      // that fail
	services    services       // which are told what they are to have
	warmStart                  // what ran before
	arrivals                   // of jobs
	sent        uint32         // proposals so far: answers of one instant come in the order of the proposals
	freed       []model.NodeID // space
}

// NewSite returns a world with an idle site that reports to sink. cfg must be valid.
func NewSite(cfg SiteConfig, sink Sink) *Site {
	if cfg.Hardware == nil {
		cfg.Hardware = hwmodel.Recorded{}
	}
	s := &Site{base: base{lifecycle: lifecycle{sink: sink}, cfg: cfg, quorum: quorum.NewSite(cfg.Site)}}
	s.assemble()
	s.Meter.shared(len(cfg.Site.VClusters), len(cfg.Site.Tenants))
	if m, ok := cfg.Hardware.(*hwmodel.Model); ok {
		s.Meter.Consequences.Terms = m.Terms
	}
	if s.transfers.storage != nil {
		s.Meter.Transfers = s.transfers.storage.Counts
	}
	for i := range s.nodes.list {
		s.nodes.enter(model.NodeID(i))
	}
	s.breakdowns.plan()
	s.drifts.plan()
	s.silences.plan()
	for i := range cfg.Changes {
		c := &cfg.Changes[i]
		s.push(des.NewEvent(c.At, rankOf(c), model.JobID(i), byChange))
	}
	return s
}

// assemble puts the parts together.
func (s *Site) assemble() {
	b, n := &s.base, len(s.cfg.Site.Nodes)
	prices, rows := bill.New(s.cfg.Power.Tariffs, s.cfg.Power.PUE), translate.NewSite(s.cfg.Site, &s.cfg.Rows)
	s.ledger = ledger{base: b, classes: s.quorum.NodeClasses(), whole: model.NewNodeSet(n), sharers: make([]int32, n)}
	s.feed = power.New(&s.cfg.Power, s.cfg.Hardware, &s.Meter.Draw)
	s.nodes = nodeStates{base: b, ledger: &s.ledger, feed: &s.feed, list: make([]node, n), draining: model.NewNodeSet(n), lost: model.NewNodeSet(n)}
	s.agenda = agenda{b}
	s.hardware = effects{agenda: &s.agenda, nodes: &s.nodes, feed: &s.feed, prices: prices}
	if m, ok := s.cfg.Hardware.(*hwmodel.Model); ok && m.Terms.Has(hwmodel.ByContention) {
		s.hardware.network = &network.Network{}
	}
	s.transfers = transfers{b, storage.New(s.cfg.Storage)}
	s.checkpoints = newCheckpoints(&s.agenda, &s.transfers, &s.hardware, &s.ledger.load)
	s.services = services{b, map[int64]model.Ref{}, map[int64]int32{}}
	s.endings = endings{base: b, ledger: &s.ledger, nodes: &s.nodes, transfers: &s.transfers, hardware: &s.hardware, prices: prices, services: &s.services}
	s.exits = exits{&s.agenda, &s.nodes, &s.transfers, &s.hardware, &s.endings}
	s.breakdowns = breakdowns{base: b, nodes: &s.nodes, hardware: &s.hardware, endings: &s.endings}
	s.silences = silences{base: b, nodes: &s.nodes, breakdowns: &s.breakdowns}
	s.drifts = drifts{base: b, nodes: &s.nodes}
	s.prologues = prologues{base: b, nodes: &s.nodes, endings: &s.endings}
	s.warmStart = warmStart{base: b, rows: rows, nodes: &s.nodes}
	s.arrivals = arrivals{
		base: b, rows: rows, warm: &s.warmStart, ledger: &s.ledger, transfers: &s.transfers, hardware: &s.hardware, services: &s.services, endings: &s.endings,
	}
}

// Next is the instant of the next event, model.Never when nothing is under way. When that is ahead the present one is
// over, and jobs take the speed that their links leave them.
func (s *Site) Next() model.Time {
	s.dropStale()
	s.hardware.settle()
	return s.events.Next()
}

// Take appends the facts of the instant t to dst in order of the ranks of package des. What they point at is valid
// until the site is asked to do anything.
func (s *Site) Take(t model.Time, dst []model.Fact) []model.Fact {
	s.hardware.advance(t)
	s.batch = s.events.Take(t, des.RankChange, s.batch[:0])
	s.facts = dst
	for _, e := range s.batch {
		switch e.Rank() {
		case des.RankNodeUp, des.RankNodeDown, des.RankChange:
			s.ahead--
			s.nodeEvent(e)
		case des.RankQuorum:
			s.ahead--
			s.answer(e.Ref())
		case des.RankExpiry:
			if e.Job() == byStorage {
				s.transferred(int32(e.Ref()))
				continue
			}
			s.jobEvent(e)
		default:
			s.jobEvent(e)
		}
	}
	s.hardware.holdCap()
	return s.facts
}

// nodeEvent handles an event that is not of a job.
func (s *Site) nodeEvent(e des.Event) {
	i := int(e.Job())
	switch e.Ref() {
	case byChange:
		s.change(int32(i))
	case byRelease:
		s.nodes.left(model.NodeID(i), s.nodes.list[i].dirty)
	case byRepair:
		s.nodes.comeBack(model.NodeID(i))
	case byRemedy:
		s.nodes.remedy(model.NodeID(i))
	case byDrift:
		s.drifts.find(model.NodeID(i))
	case byMute:
		s.silences.begin(model.NodeID(i))
	case byLateAgent:
		s.silences.miss(model.NodeID(i))
	case byGoneAgent:
		s.silences.lose(model.NodeID(i))
	case byAnswer:
		s.silences.end(model.NodeID(i))
	case byOverdue:
		s.breakdowns.degradeSilent(i)
	case bySilence:
		s.breakdowns.losePart(i)
	case byFault:
		if e.Rank() == des.RankNodeDown {
			s.breakdowns.breakPart(i)
		} else {
			s.breakdowns.repairPart(i)
		}
	}
}

// rankOf is the place of a change within its instant.
func rankOf(c *translate.Change) des.Rank {
	switch c.Kind {
	case translate.NodeRepaired, translate.NodeUndrained:
		return des.RankNodeUp
	case translate.NodeFails, translate.NodeDrains, translate.NodeDegrades:
		return des.RankNodeDown
	}
	return des.RankChange
}

var changeFacts = map[translate.ChangeKind]model.FactKind{
	translate.PriceChange: model.FactPrice, translate.PowerChange: model.FactPower, translate.BandwidthChange: model.FactBandwidth, translate.PoolChange: model.FactSensitivePool,
}

// change lets the row i of the changes happen.
func (s *Site) change(i int32) {
	c := &s.cfg.Changes[i]
	happens := true
	switch c.Kind {
	case translate.NodeFails:
		happens = s.breakdowns.down(c.Node)
	case translate.NodeRepaired:
		happens = s.nodes.repair(c.Node)
	case translate.NodeDrains:
		happens = s.nodes.drain(c.Node)
	case translate.NodeUndrained:
		happens = s.nodes.undrain(c.Node)
	case translate.NodeDegrades:
		if happens = s.nodes.list[c.Node].state == model.Ready; happens {
			s.nodes.setState(c.Node, model.Degraded)
		}
	case translate.LimitsChange:
		s.emit(&model.Fact{Kind: model.FactLimits, Tenant: c.Tenant, Limits: &c.Limits})
	case translate.DemandChange:
		happens = s.services.demand(i)
	default:
		if c.Kind == translate.PowerChange {
			s.feed.SetCap(c.Value)
			if s.cfg.Power.Slow { // the core knows of no cap
				return
			}
		}
		s.emit(&model.Fact{Kind: changeFacts[c.Kind], Value: c.Value})
	}
	if !happens {
		s.Meter.Moot++
	}
}

// jobEvent handles an event of a job that may be out of date: the job was preempted or failed, or left and its ref
// was used again.
func (s *Site) jobEvent(e des.Event) {
	ref := e.Ref()
	l := s.jobs.At(ref)
	if !l.present || l.rec.Job != e.Job() {
		return
	}
	switch e.Rank() {
	case des.RankEnd, des.RankExpiry:
		if l.attempt != nil && l.ends == e.At && l.endRank == e.Rank() {
			s.endings.end(ref)
		}
	case des.RankCheckpoint:
		if l.attempt == nil {
			return
		}
		if l.noPrologue && l.opens == e.At {
			s.prologues.fail(ref)
			return
		}
		switch e.At {
		case l.ckpt.at:
			s.checkpoints.step(ref)
		case l.exit.at:
			s.exits.step(ref)
		}
		if l.attempt != nil && l.begins == e.At {
			l.begins = model.AbsentTime
			if !l.exit.writes && !l.ckpt.writes {
				s.hardware.setWorks(l, true)
			}
		}
		if l.attempt != nil && l.moves.Waits && l.opens == e.At {
			s.transfers.open(ref)
		}
	case des.RankCancel:
		switch {
		case l.rec.State == model.Pending && l.truth.Cancel == e.At:
			s.endings.withdraw(ref, model.ReasonCancelled)
		case l.alloc.Hold && l.release == e.At:
			l.alloc.Hold = false
			s.emit(&model.Fact{Kind: model.FactReleased, Job: l.rec.Job, Ref: ref})
		}
	}
}

// transferred goes on with the attempts whose transfers to or from a file system are done now. An event that was
// overtaken finds none.
func (s *Site) transferred(on int32) {
	done := s.transfers.storage.Take(s.now, on)
	if len(done) == 0 {
		return
	}
	for _, ref := range done {
		s.goOn(ref)
	}
	s.transfers.plan(on)
}

// goOn goes on with the attempt under ref, whose transfer is done.
func (s *Site) goOn(ref model.Ref) {
	l := s.jobs.At(ref)
	switch s.transfers.end(ref) {
	case storage.Stage, storage.Read: // it has what it needs for its work, which begins
		l.work.Pause(s.now, s.now)
		l.ckpt.since, l.ckpt.tried = s.now, s.now
		s.hardware.setWorks(l, true)
		s.agenda.retime(ref)
	case storage.Write:
		if l.exit.writes { // it leaves with that
			s.exits.written(ref)
			return
		}
		l.work.Pause(s.now, s.now)
		s.checkpoints.endWrite(ref)
		s.agenda.retime(ref)
	case storage.Drain:
		s.checkpoints.drained(ref)
		switch {
		case l.exit.writes: // the checkpoint with which it leaves has waited for this one
			s.exits.write(ref)
			s.agenda.planExitStep(ref)
		case l.rec.State == model.Running:
			s.agenda.planCheckpoint(ref)
		}
	case storage.Leave:
		s.exits.written(ref)
	}
}

// Start implements drive.NodeAgents: the job under ref begins on the nodes that the quorum granted, or goes on there
// once its checkpoint is read.
func (s *Site) Start(now model.Time, ref model.Ref) {
	s.hardware.advance(now)
	l := s.jobs.At(ref)
	l.rec.Attempts++
	if l.rec.Start == model.AbsentTime {
		l.rec.Start = now
	}
	l.holds = s.ledger.measure(ref)
	l.rec.Nodes = l.holds.nodes
	l.began, l.opens = now, now.Add(s.cfg.StartDelay)
	if l.resumes {
		l.opens, l.resumes = now, false
	}
	l.moves = s.transfers.first(l)
	l.work = work.Of(l.toDo(), s.transfers.begins(l))
	s.ledger.setWaiting(l, -1)
	s.ledger.account(ref, 1)
	s.State.Started++
	s.checkpoints.begin(ref)
	s.agenda.scheduleEnd(ref)
	s.hardware.begin(ref)
	s.transfers.open(ref)
	s.prologues.begin(ref)
	s.hardware.holdCap()
}

// SetSpeed says at what speed the job under ref works from now on, until it leaves its nodes: here is that of the
// hardware and the placement that it has, and recorded that of those on which its runtime was recorded, both in one
// unit; 0 where that is not known. An attempt begins at the speed of the record. The job must be on nodes.
//
// The rate of its work is here ÷ recorded, rounded to 2^-32. Where recorded is not known it stays 1, and the job is
// counted. What was done so far is settled, and the end moves; the walltime does not. A job whose row ended at its
// walltime has done what it could by then and not what it had to do: once its rate is not 1, it runs until its
// walltime, if that is still ahead.
//
// A job that stands still, because a node of its own is broken, stays so.
//
// The work of a job that writes the checkpoint with which it leaves is over; there is nothing to set.
func (s *Site) SetSpeed(now model.Time, ref model.Ref, here, recorded model.Fixed) {
	s.hardware.advance(now)
	s.hardware.set(ref, here, recorded)
}

// Abandon hands the jobs that are still in the system to the recorder, as they are, because nothing can happen any
// more. It returns their number.
func (s *Site) Abandon(now model.Time) int64 {
	s.hardware.advance(now)
	n := int64(0)
	for ref := range model.Ref(s.jobs.Len()) {
		l := s.jobs.At(ref)
		if !l.present {
			continue
		}
		n++
		ran := l.rec.Runtime
		if l.onNodes() {
			l.charge(now)
			s.transfers.cut(ref)
			s.hardware.bill(l)
			s.hardware.splitLoss(l, l.worked(now))
			ran = l.kept + l.gained(l.worked(now))
		}
		s.abandon(s.endings.complete(l), now, ran, s.cfg.Expected && l.alloc.Kind == model.Bounded, s.cfg.Rows.Policy.Overrun)
	}
	s.Close()
	return n
}
