package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"orrery/capture"
	"orrery/scheduler/model"
)

// sampler asks the units at each instant that is due, and hands what they say to the keeper. It waits
// for no unit and for no disk.
type sampler struct {
	*Agent
	interval model.Duration
	due      model.Time // the next instant
	cur      *tick      // of the instant before; nil when all have answered, or none was free
	waiting  int        // units that are at work since cur began, or longer
	told     []xids     // of answers that are no rows, until a tick takes them; what is left at the end is for the keeper
	behind   bulk       // instants for which no tick was free
	mode     Mode
	revert   model.Time // debug ends here; 0 when it does not
	next     Mode       // for the next tick
	again    time.Time  // the inventory is taken
	asking   bool       // it is being taken, or has not been looked at
	fresh    *capture.Inventory
	ended    bool // a recording is over
}

// stepped is how far the wall clock may be from the time of samples before that is taken from it anew.
const stepped = 500_000 // µs

func (s *sampler) run(ctx context.Context) {
	timer := time.NewTimer(s.until())
	defer timer.Stop()
	var stop <-chan time.Time
	if s.o.For > 0 {
		end := time.NewTimer(s.o.For)
		defer end.Stop()
		stop = end.C
	}
	s.again = time.Now().Add(s.o.Again)
	for !s.ended {
		select {
		case <-timer.C:
			s.instant()
			timer.Reset(s.until())
		case a := <-s.answers:
			s.answered(a)
		case v := <-s.nodes:
			s.asking = false
			if v.err != nil {
				s.log.Error("the inventory cannot be taken", "error", v.err)
			} else {
				s.fresh = v.node
			}
		case m := <-s.modes:
			s.next = m
		case <-ctx.Done():
			s.last()
			return
		case <-stop:
			s.last()
			return
		}
	}
	s.last()
}

func (s *sampler) until() time.Duration {
	at, _ := s.clock.now()
	return max(time.Duration(s.due.Add(s.o.delay(s.due)).Sub(at))*time.Microsecond, 0)
}

// instant ends the tick of the instant before and begins that of this one.
func (s *sampler) instant() {
	s.close()
	at, t := s.clock.now()
	var skipped bulk
	if late := int64(at.Sub(s.due) / s.interval); late > 0 { // the agent was not given the processor
		skipped = bulk{s.due, late, capture.GapSkipped}
		s.due = s.due.Add(s.interval * model.Duration(late))
	}
	anew := false
	if t.step > stepped || t.step < -stepped {
		s.log.Warn("the wall clock was set", "by_us", t.step)
		s.clock.anchor.Add(t.step)
		s.due, anew = model.Time(t.wall).Add(1-s.interval).Grid(s.interval, 0), true // the last instant on the new clock
	}
	select {
	case s.cur = <-s.free:
		s.cur.at, s.cur.anew = s.due, anew
		if s.behind.n > 0 {
			s.cur.bulks, s.behind = append(s.cur.bulks, s.behind), bulk{}
		}
		if skipped.n > 0 {
			s.cur.bulks = append(s.cur.bulks, skipped)
		}
		s.switches()
		s.request()
	default:
		if s.behind.n == 0 {
			s.behind = bulk{from: s.due, reason: capture.GapBehind}
			if skipped.n > 0 {
				s.behind.from = skipped.from
			}
		}
		s.behind.n += 1 + skipped.n
	}
	s.due = s.due.Add(s.interval)
	if s.waiting == 0 {
		s.close()
	}
}

// request sends a request to each unit that is not at work. The answer of one that is may still be the row of this instant.
func (s *sampler) request() {
	for _, u := range s.units {
		s.waiting++
		if !u.busy {
			u.busy, u.asked = true, s.cur.at
			u.requests <- s.cur.at
		}
	}
}

// answered takes what a unit says. An answer that came after its instant was over is the row of the one in which it came: a source that
// takes longer than the interval gives no others. One that took longer than an alert of a hang waits is none, for it may be as old.
func (s *sampler) answered(a answer) {
	u := s.units[a.unit]
	u.busy = u.leaving && !a.left
	if errors.Is(a.err, capture.ErrEnd) {
		s.ended = true
	}
	if a.err == nil {
		u.said = ""
	} else if why := a.err.Error(); why == u.said || s.ended {
		s.log.Debug("a sample failed again", "gpus", u.gpus, "error", a.err)
	} else {
		u.said = why // once, and not with each sample
		s.log.Warn("a sample failed", "gpus", u.gpus, "error", a.err)
	}
	old := s.cur == nil || s.cur.at.Sub(a.at) > max(model.Duration(s.o.HungAfter/time.Microsecond), s.interval)
	if old || a.err != nil { // an error of the GPU often makes it slow to answer, or not answer at all
		for i := range a.readings {
			if r := &a.readings[i]; len(r.XIDs) > 0 {
				s.told = append(s.told, xids{indexOf(r), r.XIDs})
			}
		}
	}
	if s.cur == nil {
		return
	}
	s.waiting--
	reason := capture.GapFailed
	switch {
	case errors.Is(a.err, capture.ErrLost):
		reason = capture.GapLost
	case a.err == nil && old:
		reason = capture.GapLate
	}
	place := placesOf(a.readings)
	for i, gpu := range u.gpus {
		at := place(gpu)
		if a.err != nil || old || at < 0 {
			s.cur.missed = append(s.cur.missed, missed{u.series[i], reason})
			continue
		}
		s.cur.readings = append(s.cur.readings, a.readings[at])
		s.cur.series = append(s.cur.series, u.series[i])
	}
	if s.waiting == 0 && !s.ended {
		s.close()
	}
}

// placesOf says where the first reading of a GPU is, -1 for nowhere. Nodes have few GPUs, but an
// exporter may name any number.
func placesOf(readings []capture.Reading) func(gpu int32) int {
	if len(readings) <= 32 {
		return func(gpu int32) int {
			for i := range readings {
				if indexOf(&readings[i]) == gpu {
					return i
				}
			}
			return -1
		}
	}
	places := make(map[int32]int, len(readings))
	for i := range slices.Backward(readings) {
		places[indexOf(&readings[i])] = i
	}
	return func(gpu int32) int {
		if i, ok := places[gpu]; ok {
			return i
		}
		return -1
	}
}

func indexOf(r *capture.Reading) int32 {
	if !r.GPU.OK {
		return capture.NodeSeries
	}
	return r.GPU.V
}

// close hands the tick to the keeper. Units that have not answered are late, or hang since an instant before.
func (s *sampler) close() {
	if s.cur == nil {
		return
	}
	for _, u := range s.units {
		if !u.busy {
			continue
		}
		reason := capture.GapHung
		if u.asked == s.cur.at {
			reason = capture.GapLate
		}
		for _, series := range u.series {
			s.cur.missed = append(s.cur.missed, missed{series, reason})
		}
	}
	s.cur.xids, s.told = append(s.cur.xids, s.told...), s.told[:0]
	s.queue <- s.cur // never full: there are as many places as ticks
	s.cur, s.waiting = nil, 0
}

// switches sets what the tick says of modes and of the node.
func (s *sampler) switches() {
	if s.revert > 0 && s.cur.at >= s.revert && s.next == "" {
		s.next = s.o.Mode
	}
	if s.next != "" {
		s.cur.mode, s.mode, s.next = s.next, s.next, ""
		s.revert = 0
		if s.mode == Debug && s.o.Mode != Debug {
			s.revert = s.cur.at.Add(model.Duration(s.o.DebugFor / time.Microsecond))
		}
		s.log.Info("mode", "mode", s.mode)
	}
	s.cur.node, s.fresh = s.fresh, nil
	now := time.Now()
	if now.Before(s.again) {
		return
	}
	s.again = now.Add(s.o.Again)
	if s.asking {
		s.log.Error("the inventory that was asked for before has not come back, a change of the fingerprint would not be seen")
		return
	}
	s.asking = true
	go s.takeInventory()
}

// lastWait is how long the end waits for answers: what the driver has told one that is under way, it tells no other.
const lastWait = 200 * time.Millisecond

// last ends the tick that is open, and asks for errors that came after it. The tick of a recording that is over holds nothing.
func (s *sampler) last() {
	s.settle()
	if s.ended && s.cur != nil && len(s.cur.readings) == 0 {
		s.cur = nil
	}
	if s.behind.n > 0 && s.cur != nil {
		s.cur.bulks, s.behind = append(s.cur.bulks, s.behind), bulk{}
	}
	s.close()
	for _, u := range s.units {
		close(u.requests)
		u.busy, u.leaving = true, true
	}
	s.settle()
}

// settle waits for the units that are at work.
func (s *sampler) settle() {
	deadline := time.NewTimer(lastWait)
	defer deadline.Stop()
	for slices.ContainsFunc(s.units, func(u *unit) bool { return u.busy }) {
		select {
		case a := <-s.answers:
			s.answered(a)
		case <-deadline.C:
			return
		}
	}
}
