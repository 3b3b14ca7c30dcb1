// Package hwmodel says what hardware does with work: how fast a job runs where it is
// relative to its record, and what it draws. All of it is tables by class of work, each
// figure with its range. It must not know schedulers, queues, files and time: what is
// asked comes in arguments.
package hwmodel

import "orrery/scheduler/model"

// Term is one of the reasons for which work runs faster or slower than recorded.
type Term uint8

// The terms, in the order in which a loss of time is split among them.
const (
	ByType       Term = iota // other GPUs than those of the record
	ByPlacement              // other numbers of nodes, and of GPUs on a node
	ByContention             // other jobs on the links of its network groups
	ByCap                    // a limit on power below what the job draws, or a lock of the clocks
	NumTerms
)

var termNames = [NumTerms]string{"type", "placement", "contention", "cap"}

// String is the name of the term in files.
func (t Term) String() string { return termNames[t] }

// Terms is a set of terms.
type Terms uint8

// AllTerms is the set of all.
const AllTerms = Terms(1<<NumTerms - 1)

// Has says whether t is in s.
func (s Terms) Has(t Term) bool { return s>>t&1 != 0 }

// With is s and t.
func (s Terms) With(t Term) Terms { return s | 1<<t }

// Job is what the hardware knows of a job. A scheduler sees none of it.
type Job struct {
	Key      model.JobID // of its draws
	Class    int32       // of Model.Classes, from 1; 0 for none
	Cards    int32       // GPUs that it uses on each node; 0 for all that it holds
	Recorded Where       // what it ran on in the log; each part zero where that is not known
}

// Where is what an attempt holds, as far as speed and draw depend on it.
type Where struct {
	Models  uint64 // GPU models among its nodes: bit i is model i; 0 where there are none or they are not known
	Milli   int64  // thousandths of GPUs in use
	Nodes   int32
	Fullest int32 // most GPUs in use on one node
	Groups  int32 // network groups
	// Linked says that what it sends over the uplink of each of its groups is known, as far as
	// its placement goes.
	Linked bool

	// Of the GPUs in use, in all: what they draw idle, while they are held, and at work by the
	// class of the job; a part that is not known is not Known.
	Idle, Held, Active Power
	Limit              int64 // W that one of them is held to at least, 0 for none
	Clock              Locked
}

// Power is watts that may not be known.
type Power struct {
	Watts
	Known bool
}

// Limits are what the site and its other jobs leave to a job.
type Limits struct {
	Cap     model.Fixed // to which part of what the job draws each GPU is held; One is no cap
	Network model.Fixed // how many times slower its communication is than without other jobs; One is no slower
}

// Free is no limit.
func Free() Limits { return Limits{Cap: model.One, Network: model.One} }

// Speed is how fast work runs, relative to its record, by each term. A term that has no
// effect, that is switched off, or of which too little is known, is model.One.
type Speed struct {
	By      [NumTerms]model.Fixed
	Unknown Terms // that are One for want of knowledge
}

// AsRecorded is the speed of the record.
func AsRecorded() Speed {
	s := Speed{}
	for t := range s.By {
		s.By[t] = model.One
	}
	return s
}

// Rate is all terms together, each product rounded to 2^-32.
func (s *Speed) Rate() model.Fixed {
	r := model.One
	for _, f := range s.By {
		r = r.Mul(f)
	}
	return r
}

// Watts is a power with the range within which it lies.
type Watts struct{ Low, Value, High int64 }

// Plus is the sum of w and v, whose errors may be the same.
func (w Watts) Plus(v Watts) Watts { return Watts{w.Low + v.Low, w.Value + v.Value, w.High + v.High} }

// Minus takes v, which was added before, off again.
func (w Watts) Minus(v Watts) Watts { return Watts{w.Low - v.Low, w.Value - v.Value, w.High - v.High} }

// Scaled is w times num ÷ den, as model.MulDiv.
func (w Watts) Scaled(num, den int64) Watts {
	return Watts{model.MulDiv(w.Low, num, den), model.MulDiv(w.Value, num, den), model.MulDiv(w.High, num, den)}
}

// Bytes is how much the work of a job moves to and from storage.
type Bytes struct {
	Checkpoint Size // one checkpoint of the whole job
	Input      Size // read before the work begins
	// CheckpointOn and InputOn are the file systems that it is moved to and from, by their place
	// among those of the site: 0 is the first.
	CheckpointOn, InputOn int32
}

// Size is a number of bytes, which may be 0, or not known.
type Size struct {
	Size  int64
	Known bool
}

// Link is what a job sends over the uplink of one of its groups while it communicates and no
// other job does, B/s.
type Link struct {
	Group  int32
	Load   int64
	Uplink int64 // what the link carries, above 0
}

// Oversubscribed is the load of a link by what it carries, from One up to MostOversubscribed.
func Oversubscribed(load, uplink int64) model.Fixed {
	return model.Ratio(max(load, 0), uplink).Clamp(model.One, MostOversubscribed)
}

// MostOversubscribed bounds how much slower communication gets: a million times, so that
// work always goes on.
const MostOversubscribed = model.One << 20

// Recorded is hardware on which every job runs as its row says: the default.
type Recorded struct{}

// Place notes nothing.
func (Recorded) Place(*Job, *model.Placement, *Where) {}

// Links are of no network.
func (Recorded) Links(_ *Job, _ *model.Placement, dst []Link) []Link { return dst }

// Speed is that of the record.
func (Recorded) Speed(*Job, *Where, Limits) Speed { return AsRecorded() }

// Cap has no effect.
func (Recorded) Cap(*Job, *Where, model.Fixed) model.Fixed { return model.One }

// Least allows no cap.
func (Recorded) Least(*Job) model.Fixed { return model.One }

// Bytes are not known.
func (Recorded) Bytes(*Job) Bytes { return Bytes{} }
