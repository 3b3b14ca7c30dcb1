package explain

import (
	"fmt"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// mostParts is how many causes of waiting the answer names one by one.
const mostParts = 4

// what is a wait interval in words that follow its length.
func (e *story) what(s *Interval) string {
	switch s.reason {
	case model.ReasonNone:
		if s.Proposed {
			return "for its start to be committed"
		}
		return "for the next pass of the scheduler"
	case model.ReasonPriority:
		if s.Behind != nil {
			return fmt.Sprintf("behind the reservation of job %d", s.Behind.ID)
		}
		return "because jobs before it in the queue came first"
	case model.ReasonDependency:
		return e.depended(s)
	case model.ReasonResources:
		return "for " + e.nodes(s.Room.Need)
	case model.ReasonConformance:
		return "for " + e.nodes(s.Room.Need) + " of one conformance group"
	case model.ReasonReserved:
		return e.setAside(s)
	}
	return e.waitsFor(s.reason)
}

func (e *story) depended(s *Interval) string {
	switch {
	case s.Behind == nil:
		return "for the jobs that it depends on"
	case s.to.Sub(s.Behind.end) <= e.cycle && s.Behind.end <= s.to:
		return fmt.Sprintf("until job %d, on which it depends, had ended", s.Behind.ID)
	}
	return fmt.Sprintf("until job %d and whatever else it depends on had ended", s.Behind.ID)
}

func (e *story) setAside(s *Interval) string {
	switch {
	case s.Named && s.Until == "":
		return "because it would run past the end of the reservation " + s.Reservation + ", which it names"
	case s.Named:
		return "for the reservation " + s.Reservation + ", which it names, to begin"
	case s.Reservation != "":
		return "for nodes that the reservation " + s.Reservation + " set aside"
	case s.Behind != nil:
		return fmt.Sprintf("for nodes kept for job %d", s.Behind.ID)
	}
	return "for nodes that a reservation set aside"
}

// nodes are so many free nodes, by the type of GPU when all that the job ever held
// were of one.
func (e *story) nodes(n int32) string {
	kind := ""
	if len(e.Attempts) > 0 && len(e.Attempts[0].GPUTypes) == 1 {
		kind = e.Attempts[0].GPUTypes[0] + " "
		for i := range e.Attempts {
			if !slices.Equal(e.Attempts[i].GPUTypes, e.Attempts[0].GPUTypes) {
				kind = ""
			}
		}
	}
	if n == 1 {
		return "a free " + kind + "node"
	}
	return fmt.Sprintf("%d free %snodes", n, kind)
}

// answer is the whole story in one sentence.
func (e *story) answer() string {
	name := fmt.Sprintf("Job %d", e.ID)
	if e.start == model.AbsentTime {
		return name + e.neverRan()
	}
	wait := e.start.Sub(e.submit)
	tail := ""
	if n := len(e.Attempts); n > 1 {
		tail = fmt.Sprintf("; it started %d times", n)
		if again := e.waitsAgain(); again > 0 {
			tail += " and waited " + Words(again) + " more in between"
		}
	}
	tail += e.ended()
	switch {
	case wait == 0:
		return name + " started at once" + tail + "."
	case e.Around != nil:
		return name + " waited " + Words(wait) + e.around() + tail + "."
	}
	return name + " waited " + Words(wait) + e.parts(e.start) + tail + "."
}

// ended says why a job that ran has left, where a reason does, or where it stood when the replay
// stopped.
func (e *story) ended() string {
	switch words := reasonWords[e.why].Ended; {
	case e.why == model.ReasonEndOfRun && e.State == model.Running.String():
		return "; it still ran when the replay stopped"
	case e.why == model.ReasonEndOfRun:
		return "; it waited again when the replay stopped" + e.atLast()
	case words != "":
		return "; it ended because " + words
	}
	return ""
}

// atLast says what a job waits for that still does at the end, where it has waited for several
// things.
func (e *story) atLast() string {
	n := len(e.Intervals)
	if n == 0 || e.start == model.AbsentTime && len(together(e.causes(e.end))) < 2 {
		return ""
	}
	return ", at last " + e.Intervals[n-1].What
}

// waitsAgain is the time between the attempts.
func (e *story) waitsAgain() (sum model.Duration) {
	for i := 1; i < len(e.Attempts); i++ {
		sum += e.Attempts[i].start.Sub(e.Attempts[i-1].end)
	}
	return sum
}

func (e *story) neverRan() string {
	waited := e.end.Sub(e.submit)
	story := " never ran: it waited " + Words(waited) + e.parts(e.end)
	switch {
	case e.why == model.ReasonEndOfRun:
		return " still waited when the replay stopped, after " + Words(waited) + e.parts(e.end) + e.atLast() + "."
	case waited == 0 && e.why == model.ReasonTooLarge && e.VCluster == "":
		return " never ran: it was refused at submission, since it asks for more than the cluster ever has."
	case waited == 0:
		if words := reasonWords[e.why].Rejected; words != "" {
			return " never ran: it was refused at submission, since " + words + "."
		}
		return " never ran: it left when it was submitted (" + strings.Trim(e.State+" "+e.Reason, " ") + ")."
	case reasonWords[e.why].Ended != "":
		return story + "; then it was withdrawn: " + reasonWords[e.why].Ended + "."
	}
	return story + "; then it left as " + e.State + "."
}

// part is a cause of waiting and its share of a wait.
type part struct {
	what   string
	took   model.Duration
	behind *Other // whose reservation it was
}

// parts lists what a job waited for up to an instant, equal causes together, in
// the order in which they came up. What is below a hundredth of the wait is no
// cause of it.
func (e *story) parts(until model.Time) string {
	parts := together(e.causes(until))
	all, rest := until.Sub(e.submit), model.Duration(0)
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.took < all/100 })
	for len(parts) > mostParts {
		least := 0
		for i := range parts {
			if parts[i].took < parts[least].took {
				least = i
			}
		}
		rest += parts[least].took
		parts = slices.Delete(parts, least, least+1)
	}
	if rest > 0 {
		parts = append(parts, part{what: "for other reasons", took: rest})
	}
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return " " + parts[0].what
	}
	var words []string
	for _, p := range parts {
		words = append(words, Words(p.took)+" "+p.what)
	}
	last := len(words) - 1
	return ": " + strings.Join(words[:last], ", ") + " and " + words[last]
}

// causes adds up the wait intervals before an instant by what they were for.
func (e *story) causes(until model.Time) (parts []part) {
	for i := range e.Intervals {
		s := &e.Intervals[i]
		took := s.to.Sub(s.from)
		if s.from >= until || took == 0 {
			continue
		}
		at := slices.IndexFunc(parts, func(p part) bool { return p.what == s.What })
		if at < 0 {
			at = len(parts)
			parts = append(parts, part{what: s.What})
			if s.reason == model.ReasonPriority {
				parts[at].behind = s.Behind
			}
		}
		parts[at].took += took
	}
	return parts
}

// together makes one part of those for the reservations of more than two jobs.
func together(parts []part) []part {
	n, first, sum := 0, -1, model.Duration(0)
	for i := range parts {
		if parts[i].behind == nil {
			continue
		}
		if n, sum = n+1, sum+parts[i].took; first < 0 {
			first = i
		}
	}
	if n <= 2 {
		return parts
	}
	parts[first] = part{what: fmt.Sprintf("behind the reservations of %d jobs, the first job %d", n, parts[first].behind.ID), took: sum}
	return slices.DeleteFunc(parts, func(p part) bool { return p.behind != nil })
}

// around tells what the tables of a plain cluster know about a wait.
func (e *story) around() string {
	a := e.Around
	busy := several(a.Busy, e.sizeOf)
	out := fmt.Sprintf(": when it was submitted, %s were busy and no job waited before it", busy)
	if a.Ahead > 0 {
		out = fmt.Sprintf(": when it was submitted, %s were busy and %s waited before it for %s", busy, several(a.Ahead, "job"), several(a.AheadUnit, e.sizeOf))
	}
	if a.Started > 0 {
		out += fmt.Sprintf("; %s started in the meantime, %d of them submitted later", several(a.Started, "job"), a.Overtook)
	}
	if a.Freed != nil {
		out += fmt.Sprintf("; it started when job %d ended", a.Freed.ID)
	}
	return out
}

// sizeOf is what the sizes of jobs count in a run.
func (x *explainer) sizeOf() string {
	switch d := &x.doc; {
	case d.Site == nil && x.table:
		return "unit" // a GPU with its part of the processors, or a processor
	case d.Site == nil:
		return "processor"
	case d.Cluster.Whole:
		return "node"
	}
	return "GPU"
}

// Size is how much the job asked for, in words.
func (e *Explanation) Size() string { return several(int64(e.Units), e.sizeOf) }

func several(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Words is a span as people say it, to its two largest units: 3 h 12 min.
func Words(d model.Duration) string {
	units := [...]struct {
		of   model.Duration
		name string
	}{{model.Day, "d"}, {model.Hour, "h"}, {model.Minute, "min"}, {model.Second, "s"}}
	if d < model.Minute {
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	d = (d + model.Second/2) / model.Second * model.Second
	for i := range units {
		if d < units[i].of {
			continue
		}
		out := fmt.Sprintf("%d %s", d/units[i].of, units[i].name)
		if i+1 < len(units) {
			if rest := d % units[i].of / units[i+1].of; rest > 0 {
				out += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return out
	}
	return "0 s"
}
