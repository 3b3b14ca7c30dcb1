package conform

import (
	"orrery/autoscale"
	"orrery/autoscale/neon"
)

// neonLedger is one resource of a node in a case.
type neonLedger struct {
	Buffer    int64 `json:"buffer"`
	Pressure  int64 `json:"capacity_pressure"`
	Accounted int64 `json:"pressure_accounted_for"`
	Reserved  int64 `json:"reserved"`
	Total     int64 `json:"total"`
	Watermark int64 `json:"watermark"`
}

func neonLedgerOf(l *neon.Ledger) neonLedger {
	return neonLedger{l.Buffer, l.Pressure, l.Accounted, l.Reserved, l.Total, l.Watermark}
}

// neonShare is what one pod has of it.
type neonShare struct {
	Buffer   int64 `json:"buffer"`
	Pressure int64 `json:"capacity_pressure"`
	Max      int64 `json:"max"`
	Min      int64 `json:"min"`
	Reserved int64 `json:"reserved"`
}

func neonShareOf(s *neon.Share) neonShare {
	return neonShare{s.Buffer, s.Pressure, s.Max, s.Min, s.Reserved}
}

func (s neonShare) share() neon.Share {
	return neon.Share{Reserved: s.Reserved, Buffer: s.Buffer, Pressure: s.Pressure, Min: s.Min, Max: s.Max}
}

type neonTransition struct {
	ID   string `json:"id"`
	Op   string `json:"op"`
	Node struct {
		Total    int64 `json:"total"`
		Reserved int64 `json:"reserved"`
		Buffer   int64 `json:"buffer"`
		Pressure int64 `json:"capacity_pressure,omitempty"`
	} `json:"node_before"`
	Pod    *neonEntering `json:"pod,omitempty"`
	Before *neonShare    `json:"pod_before,omitempty"`
	Asked  int64         `json:"requested,omitempty"`
	Last   *int64        `json:"last_permit,omitempty"`
	Factor int64         `json:"factor,omitempty"`
	Want   struct {
		Over     *bool         `json:"overbudget,omitempty"`
		Reserved *int64        `json:"node_reserved,omitempty"`
		Buffer   *int64        `json:"node_buffer,omitempty"`
		Permit   *int64        `json:"permit,omitempty"`
		Pod      *neonPressure `json:"pod,omitempty"`
		Node     *neonPressure `json:"node,omitempty"`
	} `json:"expected"`
}

type neonEntering struct {
	Reserved int64 `json:"reserved"`
	Buffer   int64 `json:"buffer"`
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
}

type neonPressure struct {
	Reserved int64 `json:"reserved"`
	Buffer   int64 `json:"buffer"`
	Pressure int64 `json:"capacity_pressure"`
}

// lastPermit is -1 for none.
func lastPermit(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

func checkNeonTransition(c *neonTransition, t *tally) {
	t.whole()
	l := neon.Ledger{Total: c.Node.Total, Reserved: c.Node.Reserved, Buffer: c.Node.Buffer, Pressure: c.Node.Pressure}
	w := &c.Want
	switch {
	case c.Op == "reserve" && c.Pod != nil && w.Over != nil && w.Reserved != nil && w.Buffer != nil:
		over := l.Enter(&neon.Share{Reserved: c.Pod.Reserved, Buffer: c.Pod.Buffer, Min: c.Pod.Min, Max: c.Pod.Max})
		expect(t, "expected.overbudget", over, *w.Over)
		expect(t, "expected.node_reserved", l.Reserved, *w.Reserved)
		expect(t, "expected.node_buffer", l.Buffer, *w.Buffer)
	case c.Op == "request" && c.Before != nil && c.Factor > 0 && w.Permit != nil && w.Pod != nil && w.Node != nil:
		s := c.Before.share()
		expect(t, "expected.permit", l.Request(&s, c.Asked, lastPermit(c.Last), c.Factor, false), *w.Permit)
		expect(t, "expected.pod", neonPressure{s.Reserved, s.Buffer, s.Pressure}, *w.Pod)
		expect(t, "expected.node", neonPressure{l.Reserved, l.Buffer, l.Pressure}, *w.Node)
	default:
		t.fault("op", c.Op, "reserve or request, with what belongs to it")
	}
}

type neonSequence struct {
	ID        string `json:"id"`
	Total     int64  `json:"total"`
	Watermark int64  `json:"watermark"`
	Factor    int64  `json:"factor"`
	Steps     []struct {
		Op        string     `json:"op"`
		Pod       int        `json:"pod"`
		Using     int64      `json:"using,omitempty"`
		Found     bool       `json:"include_buffer,omitempty"`
		Over      *bool      `json:"overbudget,omitempty"`
		Asked     int64      `json:"requested,omitempty"`
		Last      *int64     `json:"last_permit,omitempty"`
		Factor    int64      `json:"factor,omitempty"`
		Leaving   bool       `json:"starting_migration,omitempty"`
		Permit    *int64     `json:"permit,omitempty"`
		Min       int64      `json:"new_min,omitempty"`
		Max       int64      `json:"new_max,omitempty"`
		Migrating bool       `json:"migrating,omitempty"`
		Before    *neonShare `json:"pod_before,omitempty"`
		After     *neonShare `json:"pod_after,omitempty"`
		Node      neonLedger `json:"node_after"`
	} `json:"steps"`
}

// checkNeonSequence replays changes of one resource of a node. The pod is given what is
// recorded, the node what came of the steps before.
func checkNeonSequence(c *neonSequence, t *tally) {
	l := neon.Ledger{Total: c.Total, Watermark: c.Watermark}
	var pods []neon.Share
	for i := range c.Steps {
		s := &c.Steps[i]
		t.check(i)
		if s.Pod < 0 || s.Pod > len(c.Steps) {
			t.fault("pod", "out of range", "a number of a step at most")
			return
		}
		for len(pods) <= s.Pod {
			pods = append(pods, neon.Share{})
		}
		p := &pods[s.Pod]
		if s.Op != "reserve" && s.Before != nil {
			*p = s.Before.share()
		}
		switch {
		case s.Op == "reserve" && s.Before != nil && s.Over != nil:
			*p = neon.NewShare(s.Using, s.Before.Min, s.Before.Max, s.Found)
			expect(t, "pod_before", neonShareOf(p), *s.Before)
			expect(t, "overbudget", l.Enter(p), *s.Over)
		case s.Op == "request" && s.Factor > 0 && s.Permit != nil:
			expect(t, "permit", l.Request(p, s.Asked, lastPermit(s.Last), s.Factor, s.Leaving), *s.Permit)
		case s.Op == "start_migration":
			l.Leave(p, false)
		case s.Op == "update_limits":
			l.Limits(p, s.Min, s.Max)
		case s.Op == "delete":
			l.Delete(p, s.Migrating)
		default:
			t.fault("op", s.Op, "a known change with what belongs to it")
			return
		}
		expect(t, "node_after", neonLedgerOf(&l), s.Node)
		if s.After != nil {
			expect(t, "pod_after", neonShareOf(p), *s.After)
		}
	}
}

type neonUsed struct {
	Buffer    int64 `json:"buffer"`
	Pressure  int64 `json:"capacity_pressure"`
	Accounted int64 `json:"pressure_accounted_for"`
	Reserved  int64 `json:"reserved"`
	Watermark int64 `json:"watermark"`
}

func (u *neonUsed) ledger() *neon.Ledger {
	return &neon.Ledger{Watermark: u.Watermark, Reserved: u.Reserved, Buffer: u.Buffer, Pressure: u.Pressure, Accounted: u.Accounted}
}

func checkNeonPressure(c *struct {
	ID     string   `json:"id"`
	CPU    neonUsed `json:"cpu"`
	Memory neonUsed `json:"mem"`
	Want   bool     `json:"expected"`
}, t *tally) {
	t.whole()
	expect(t, "expected", neon.TooFull(c.CPU.ledger(), c.Memory.ledger(), false), c.Want)
}

type neonQueue struct {
	ID    string `json:"id"`
	Steps []struct {
		Op       string           `json:"op"`
		VM       autoscale.Entity `json:"vm"`
		Load     *float64         `json:"load1,omitempty"`
		Next     autoscale.Entity `json:"next"` // of several equal ones any may be next
		NextLoad *float64         `json:"next_load1"`
	} `json:"steps"`
}

func checkNeonQueue(c *neonQueue, t *tally) {
	var q neon.Queue
	loads := map[autoscale.Entity]*float64{} // of those that wait
	for i := range c.Steps {
		s := &c.Steps[i]
		t.check(i)
		switch s.Op {
		case "add", "update":
			loads[s.VM] = s.Load
			if s.Load != nil {
				q.Put(s.VM, *s.Load, true)
			} else {
				q.Put(s.VM, 0, false)
			}
		case "remove":
			q.Remove(s.VM)
			delete(loads, s.VM)
		default:
			t.fault("op", s.Op, "add, update or remove")
		}
		var next *float64
		vm, load, has, ok := q.Next()
		if has {
			next = &load
		}
		switch same, waits := loads[s.Next]; {
		case !ok:
			expect(t, "next", -1, s.Next)
		case !waits || has != (same != nil) || has && *same != load: // of several equal ones any may be next
			t.fault("next", vm, s.Next)
		}
		expectMaybe(t, "next_load1", next, s.NextLoad)
	}
}

func checkNeonWatermark(c *struct {
	ID       string  `json:"id"`
	Total    int64   `json:"total"`
	Fraction float32 `json:"fraction"`
	Want     int64   `json:"expected"`
}, t *tally) {
	t.whole()
	expect(t, "expected", neon.Watermark(c.Total, c.Fraction), c.Want)
}

func checkNeonScore(c *struct {
	ID       string  `json:"id"`
	Total    int64   `json:"total"`
	Largest  int64   `json:"max_total_in_cluster"`
	Reserved int64   `json:"reserved"`
	Whole    int64   `json:"expected_int"`
	Want     float64 `json:"expected_float"`
}, t *tally) {
	t.whole()
	v := neon.PluginDefaults().Scoring.Score(c.Reserved, c.Total, c.Largest)
	if !(v >= c.Want-1e-9 && v <= c.Want+1e-9) {
		expect(t, "expected_float", v, c.Want)
	}
	expect(t, "expected_int", neon.Percent(v), c.Whole)
}
