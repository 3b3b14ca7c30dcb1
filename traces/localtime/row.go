package localtime

import "orrery/scheduler/model"

// Link is one of the instants of a row that came one after the other, such as submission, start and end.
type Link struct {
	Reading
	// Elapsed is the time since the link before, as the row says it, if Timed. A time that a job was suspended
	// may be missing from it.
	Elapsed model.Duration
	Timed   bool
}

// tolerance is how much an elapsed time may differ from that between two instants, since all are cut to seconds.
const tolerance = model.Second

// bounds is what one link may be after the one before it, in µs.
type bounds struct{ least, most model.Duration }

const forever = model.Duration(1) << 62

// levels are what is asked of a row, the strictest first. Where no instants of the row satisfy one, the next counts.
var levels = [...]func(l *Link) bounds{
	func(l *Link) bounds { // in order, and as long as elapsed
		if l.Timed {
			return bounds{l.Elapsed - tolerance, l.Elapsed + tolerance}
		}
		return bounds{0, forever}
	},
	func(l *Link) bounds { // in order, and at least as long as elapsed: it was suspended
		if l.Timed {
			return bounds{l.Elapsed - tolerance, forever}
		}
		return bounds{0, forever}
	},
	func(l *Link) bounds { // as long as elapsed: other times of the row are impossible
		if l.Timed {
			return bounds{l.Elapsed - tolerance, l.Elapsed + tolerance}
		}
		return bounds{-forever, forever}
	},
}

// Narrow leaves of each link the instants that the others allow: none before the link before it, and as much later
// as the row says. Where the row is impossible in every reading it leaves all. It takes time in proportion to the
// links.
func Narrow(chain []Link) {
	if !open(chain) {
		return
	}
	for _, level := range levels {
		if narrow(chain, level) {
			break
		}
	}
	for i := range chain {
		if l := &chain[i]; l.N == 1 && l.How == Ambiguous {
			l.How = ByRow
		}
	}
}

// Settle decides what is still open: of the instants that go with each other, the first.
func Settle(chain []Link) {
	for i := range chain {
		if l := &chain[i]; l.N > 1 {
			at := l.Instant()
			l.At[0], l.N = at, 1
			how := make([]How, len(chain))
			for k := range chain {
				how[k] = chain[k].How
			}
			Narrow(chain)
			for k := range chain { // what follows from a guess is a guess
				chain[k].How = how[k]
			}
		}
	}
}

// open says whether a link has several readings.
func open(chain []Link) bool {
	for i := range chain {
		if chain[i].N > 1 {
			return true
		}
	}
	return false
}

// narrow holds each link to the one before and the one behind it, and says whether any instants satisfy all. Links of
// a chain depend on their neighbours alone, so once forth and once back leaves exactly the instants that are
// part of a solution.
func narrow(chain []Link, level func(*Link) bounds) bool {
	was := make([]Reading, len(chain))
	for i := range chain {
		was[i] = chain[i].Reading
	}
	solved := true
	for i := 1; i < len(chain) && solved; i++ {
		solved = hold(&chain[i].Reading, &chain[i-1].Reading, level(&chain[i]), 1)
	}
	for i := len(chain) - 2; i >= 0 && solved; i-- {
		solved = hold(&chain[i].Reading, &chain[i+1].Reading, level(&chain[i+1]), -1)
	}
	if !solved {
		for i := range chain {
			chain[i].Reading = was[i]
		}
	}
	return solved
}

// hold keeps of r what goes with any reading of its neighbour, and says whether there is something.
func hold(r, neighbour *Reading, b bounds, sign model.Duration) bool {
	goes := func(at model.Time) bool {
		for _, other := range neighbour.At[:neighbour.N] {
			if d := sign * at.Sub(other); d >= b.least && d <= b.most {
				return true
			}
		}
		return false
	}
	if r.keep(goes) {
		return true
	}
	return goes(r.At[0])
}
