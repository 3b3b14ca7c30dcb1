package neon

import "fmt"

// Check says which of the sums of a node does not hold, nil for none: of each resource what
// the node counts is the sum over its pods, what is accounted for is what those have that
// are leaving, and what is reserved without the buffers is no more than there is. The last
// holds with agents that keep the protocol.
func (p *Plugin) Check(n int) error {
	var cpu, memory Ledger
	for i := range p.pods {
		if x := &p.pods[i]; x.node == int32(n) {
			cpu.sum(&x.cpu, x.leaving)
			memory.sum(&x.memory, x.leaving)
		}
	}
	h := &p.hosts[n]
	if err := h.cpu.holds(&cpu); err != nil {
		return fmt.Errorf("CPU of node %d: %w", n, err)
	}
	if err := h.memory.holds(&memory); err != nil {
		return fmt.Errorf("memory of node %d: %w", n, err)
	}
	return nil
}

// sum adds a pod to what the pods of a node have together.
func (l *Ledger) sum(s *Share, leaving bool) {
	l.Reserved += s.Reserved
	l.Buffer += s.Buffer
	l.Pressure += s.Pressure
	if leaving {
		l.Accounted += s.Reserved + s.Pressure
	}
}

// holds compares a ledger with what its pods have together.
func (l *Ledger) holds(sum *Ledger) error {
	for _, x := range [...]struct {
		name       string
		here, pods int64
	}{
		{"reserved", l.Reserved, sum.Reserved}, {"buffer", l.Buffer, sum.Buffer},
		{"capacity pressure", l.Pressure, sum.Pressure}, {"accounted for", l.Accounted, sum.Accounted},
	} {
		if x.here != x.pods {
			return fmt.Errorf("%s is %d, and of its pods together %d", x.name, x.here, x.pods)
		}
	}
	if used := l.Reserved - l.Buffer; used > l.Total {
		return fmt.Errorf("%d are reserved, and without the buffers %d, more than the %d that there are", l.Reserved, used, l.Total)
	}
	return nil
}
