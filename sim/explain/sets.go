package explain

import (
	"fmt"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// reject tells the sets of nodes of a decision.
func (x *explainer) reject(e *story, s *Interval, d *record.Decision) {
	for kind := scheduler.RejectedChosen; kind <= scheduler.RejectedKept; kind++ {
		text := d.Rejected[kind]
		if text == "" {
			continue
		}
		r := RejectedSet{Kind: kind.String(), Nodes: x.names.Of(text), Count: record.CountNodes(text)}
		switch kind {
		case scheduler.RejectedChosen:
			r.Behind, r.Until = s.Behind, s.Until
			r.Why = enoughBut(s)
		case scheduler.RejectedKept:
			r.Behind = x.others[d.KeptFor]
			if d.KeptUntil != model.AbsentTime {
				r.Until = e.instant(d.KeptUntil)
				r.Reservation, r.Named = x.reservation(d.KeptUntil, text)
			}
			if r.Named && d.KeptUntil <= s.from {
				r.Until = ""
			}
			r.Why = keptFor(e, &r)
		default:
			r.Why = short(kind, r.Count, int(d.Need))
		}
		s.Rejected = append(s.Rejected, r)
	}
}

// enoughBut is why a job did not start on enough nodes that were free.
func enoughBut(s *Interval) string {
	switch {
	case s.reason == model.ReasonPower:
		return "enough, but they would draw more power than the cap leaves"
	case s.reason == model.ReasonBandwidth:
		return "enough, but it would demand more storage bandwidth than the cap leaves"
	case s.Behind != nil:
		return fmt.Sprintf("enough, but it would delay job %d", s.Behind.ID)
	}
	return "enough, but jobs before it come first"
}

func keptFor(e *story, r *RejectedSet) string {
	switch {
	case r.Behind != nil:
		return fmt.Sprintf("kept for job %d", r.Behind.ID)
	case r.Named && r.Until == "":
		return "of the reservation " + r.Reservation + ", which ends before its requested time would be over"
	case r.Named:
		return "of the reservation " + r.Reservation + ", which begins at " + e.Moment(r.Until)
	case r.Reservation != "":
		return "set aside by the reservation " + r.Reservation + " until " + e.Moment(r.Until)
	}
	return "set aside by a reservation until " + e.Moment(r.Until)
}

// short is why n nodes of a kind do not do for a job that needs so many.
func short(kind scheduler.Rejection, n, need int) string {
	in := map[scheduler.Rejection]string{
		scheduler.RejectedAlike: ", the most in one conformance group", scheduler.RejectedNear: ", the most in one dragonfly group",
	}[kind]
	if n >= need {
		return fmt.Sprintf("enough%s, but not in one conformance group", in)
	}
	return fmt.Sprintf("only %d of the %d that it needs%s", n, need, in)
}
