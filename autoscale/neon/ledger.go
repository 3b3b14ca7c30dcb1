package neon

// Ledger is one resource of a node. CPU is counted in thousandths and memory in bytes, by
// the same rules and independently of each other.
type Ledger struct {
	Total     int64
	Watermark int64 // above it machines are to leave
	Reserved  int64 // by all pods, buffers included
	Buffer    int64 // of Reserved, what is kept in case an agent still has an older permit
	Pressure  int64 // capacity pressure: asked for by pods that stay, and not there
	Accounted int64 // of the pressure, what pods that are leaving will relieve
}

// Share is what one pod has of a ledger.
type Share struct {
	Reserved, Buffer, Pressure, Min, Max int64
}

// Watermark is a fraction of a total, in the single precision of the original.
func Watermark(total int64, fraction float32) int64 {
	return int64(float32(float32(total) * fraction))
}

// Enter adds a pod and says whether that is more than there is.
func (l *Ledger) Enter(s *Share) (over bool) {
	l.Reserved += s.Reserved
	l.Buffer += s.Buffer
	return l.Reserved > l.Total
}

// NewShare is that of a pod that uses an amount. One that was there before the plugin
// started may have been permitted up to its maximum, and the difference is its buffer.
func NewShare(using, least, most int64, found bool) Share {
	s := Share{Reserved: using, Min: least, Max: most}
	if found {
		s.Reserved = max(using, most)
		s.Buffer = s.Reserved - using
	}
	return s
}

// Request gives a pod what it asks for as far as there is any, in multiples of a factor,
// or as much as it was permitted last (0 for none) if that is more. What is missing
// becomes pressure. A pod that is about to leave gets no more. The buffer goes with the
// first contact.
func (l *Ledger) Request(s *Share, asked, last, factor int64, leaving bool) (permit int64) {
	increase := asked - s.Reserved
	granted := min(increase, max(above(l.Total, l.Reserved)/factor*factor, above(last, s.Reserved)))
	if leaving {
		granted = min(increase, 0)
	}
	l.add(s, granted)
	l.Pressure += increase - granted - s.Pressure
	s.Pressure = increase - granted
	l.Buffer -= s.Buffer
	s.Buffer = 0
	return s.Reserved
}

func (l *Ledger) add(s *Share, n int64) {
	s.Reserved += n
	l.Reserved += n
}

// Leave begins the migration of a pod away from the node. Its pressure is settled; what
// is accounted for is what it has reserved, and with pressure as well, as the document
// says, what it had asked for besides.
func (l *Ledger) Leave(s *Share, pressure bool) {
	if pressure {
		l.Accounted += s.Pressure
	}
	l.release(s)
	if !pressure {
		l.Pressure -= s.Pressure
		s.Pressure = 0
	}
	l.Accounted += s.Reserved
}

// release takes the buffer of a pod.
func (l *Ledger) release(s *Share) {
	l.add(s, -s.Buffer)
	l.Buffer -= s.Buffer
	s.Buffer = 0
}

// Delete takes a pod off the node.
func (l *Ledger) Delete(s *Share, leaving bool) {
	l.Reserved -= s.Reserved
	l.Buffer -= s.Buffer
	l.Pressure -= s.Pressure
	if leaving {
		l.Accounted -= s.Reserved + s.Pressure
	}
}

// Limits changes the bounds of a pod. With another maximum it is as if it had just been
// found: what it uses stays, up to the new maximum is its buffer.
func (l *Ledger) Limits(s *Share, least, most int64) {
	if most != s.Max {
		fresh := NewShare(s.Reserved-s.Buffer, least, most, true)
		l.Reserved += fresh.Reserved - s.Reserved
		l.Buffer += fresh.Buffer - s.Buffer
		s.Reserved, s.Buffer = fresh.Reserved, fresh.Buffer
	}
	s.Min, s.Max = least, most
}

// Logical is the logical pressure: what is reserved above the watermark.
func (l *Ledger) Logical() int64 { return above(l.Reserved, l.Watermark) }

// pressed says whether pods that are leaving do not yet relieve the pressure. Room below
// the watermark and buffers that may turn out to be free count as relief.
func (l *Ledger) pressed() bool {
	return l.Logical()+l.Pressure > l.Accounted+l.Buffer+above(l.Watermark, l.Reserved)
}

// TooFull says whether a machine is to leave a node. As coded, a node whose memory is
// exactly at its watermark is looked at more closely, and one whose CPU is is not; even
// does so for neither.
func TooFull(cpu, memory *Ledger, even bool) bool {
	below := memory.Reserved < memory.Watermark || even && memory.Reserved == memory.Watermark
	if cpu.Reserved <= cpu.Watermark && below {
		return false
	}
	return cpu.pressed() || memory.pressed()
}

// Scoring is how nodes are ranked by how much of them is reserved.
type Scoring struct {
	Empty float64 // score of an empty node; default 0.5
	Full  float64 // of a full one; default 0
	Peak  float64 // share reserved at which the score is 1; default 0.8
}

// Score is that of one resource, from 0 to 1, and less for nodes smaller than the largest.
func (c Scoring) Score(reserved, total, largest int64) float64 {
	if reserved > total || total <= 0 {
		return 0
	}
	x, scale := float64(reserved)/float64(total), float64(total)/float64(largest)
	v := 1.0
	switch {
	case x < c.Peak:
		v = c.Empty + float64((1-c.Empty)/c.Peak*x)
	case x > c.Peak:
		v = c.Full + float64((1-c.Full)/(1-c.Peak)*(1-x))
	}
	return float64(v * scale)
}
