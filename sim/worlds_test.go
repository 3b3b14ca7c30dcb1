package sim

import (
	"fmt"
	"os"
	"testing"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/sim/plan"
	"orrery/traces"
)

// bytesOf hands out small numbers from a string of bytes, zeros at its end, so
// that every string is a world and most changes of a byte change one thing.
type bytesOf struct {
	data []byte
	pos  int
}

// below is a number in [0, n).
func (b *bytesOf) below(n int) int {
	if b.pos >= len(b.data) {
		return 0
	}
	b.pos++
	return int(b.data[b.pos-1]) % n
}

func (b *bytesOf) one(in int) bool { return b.below(in) == in-1 }

// world decodes a small world and a policy: up to 12 nodes and 40 jobs, with
// numbers so small that ties abound.
func decodeWorld(data []byte) (*memory, plan.Spec) {
	b := &bytesOf{data: data}
	spec := plan.Spec{Semantics: plan.Semantics, AllowUnheeded: true} // some worlds are too small for all their jobs
	spec.Order = order.Names()[b.below(len(order.Names()))]
	spec.Backfill = order.BackfillNames()[b.below(len(order.BackfillNames()))]
	m := &memory{info: traces.Info{Name: "fuzz", Sorted: true}, size: 1 + b.below(4)}
	b.cluster(m, &spec)
	b.policies(&spec)
	unit := []model.Duration{model.Second, model.Second, 300 * model.Millisecond, 10 * model.Second}[b.below(4)]
	at := int64(0)
	for range 1 + b.below(40) {
		at += int64([]int{0, 0, 0, 1, 1, 2, 5, 9}[b.below(8)])
		b.job(m, at)
	}
	stretch(m, unit)
	return m, spec
}

func (b *bytesOf) cluster(m *memory, spec *plan.Spec) {
	n := int32(1 + b.below(12))
	c := &spec.Cluster
	switch b.below(5) {
	case 0:
		c.Procs = n
	case 1:
		c.Nodes, c.CoresPerNode = n, int32(2+b.below(4))
	case 2:
		c.Nodes, c.CoresPerNode, c.Exclusive = n, int32(2+b.below(4)), true
	case 3:
		c.Table, c.Exclusive = true, true
		cpus := int32(1 + b.below(4))
		for range n {
			m.nodes = append(m.nodes, traces.Node{CPUs: cpus, Up: true})
		}
	default:
		c.Table = true
		for range n {
			m.nodes = append(m.nodes, traces.Node{CPUs: int32(1 + b.below(4)), Up: true})
		}
		if spec.Backfill == "conservative" {
			spec.Backfill = "easy"
		}
	}
}

func (b *bytesOf) policies(spec *plan.Spec) {
	if b.one(3) {
		spec.Overrun = "extend"
	}
	switch b.below(6) {
	case 4:
		spec.MissingRequest = "recorded"
	case 5:
		spec.MissingRequest, spec.DefaultRequest = "default", 4*model.Second
	}
	timing := b.below(8)
	if timing == 7 {
		spec.EventOrder = "sequential"
		return
	}
	if timing > 3 {
		spec.Cycle = []model.Duration{1, 5, 30}[timing-4] * model.Second
		spec.Phase = model.Duration(b.below(3)) * spec.Cycle / 3
	}
	if b.one(4) {
		spec.QuorumLatency = model.Duration([]int{1, 300, 1000, 4000}[b.below(4)]) * model.Millisecond
	}
	if spec.Backfill == "conservative" && b.one(3) {
		spec.Depth = 1 + b.below(4)
	}
}

func (b *bytesOf) job(m *memory, at int64) {
	r := row{submit: at, runtime: int64(b.below(12)), procs: 1 + int32(b.below(8))}
	switch b.below(8) {
	case 0:
		r.walltime = r.runtime
	case 1:
		r.walltime = -1
	case 2:
		r.walltime = int64(b.below(12)) // may be less than the runtime
	default:
		r.walltime = r.runtime + int64(b.below(6))
	}
	if b.one(10) {
		r.runtime, r.cancel = -1, max(1, at+int64(b.below(12)))
	}
	if b.below(3) > 0 {
		r.nodes, r.cpus = 1+int32(b.below(4)), int32(b.below(4))
	}
	m.add(r)
}

// stretch makes a second of the trace as long as unit.
func stretch(m *memory, unit model.Duration) {
	for i := range m.all.Len() {
		scale := func(d model.Duration) model.Duration {
			if d < 0 {
				return d
			}
			return d / model.Second * unit
		}
		m.all.Submit[i] = model.Time(scale(model.Duration(m.all.Submit[i])))
		m.all.CancelledAt[i] = model.Time(scale(model.Duration(m.all.CancelledAt[i])))
		m.all.Runtime[i], m.all.Walltime[i] = scale(m.all.Runtime[i]), scale(m.all.Walltime[i])
	}
}

// worldsOf is how many worlds a test draws: with -short, usually, and in long runs.
func worldsOf(short, usual, long int) int {
	switch {
	case testing.Short():
		return short
	case os.Getenv(envLong) == "1":
		return long
	}
	return usual
}

// checkWorld holds the core and the naive implementation together, with and without the skipping of
// empty cycles. It returns false where keys are too close to decide.
func checkWorld(t testing.TB, data []byte) bool {
	m, spec := decodeWorld(data)
	var kept log
	res := requireNaive(t, m, spec, Options{Log: kept.recorder()})
	if res != nil {
		kept.same(t, spec, m.open, res.Fingerprint)
	}
	if res == nil || spec.Cycle == 0 {
		return res != nil
	}
	_, all, err := runCore(m, spec, Options{EveryCycle: true})
	if err != nil || all.Fingerprint != res.Fingerprint {
		t.Fatalf("differs with and without the skipping of cycles: %v %s\n%s", err, spec.JSON(), m)
	}
	return true
}

// FuzzAgainstNaive holds the core against the naive implementation on worlds made of the input.
func FuzzAgainstNaive(f *testing.F) {
	for i := range 60 {
		f.Add(randomBytes(uint64(i)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 400 {
			checkWorld(t, data)
		}
	})
}

// TestAgainstNaiveOnSmallWorlds does the same on thousands of random worlds.
func TestAgainstNaiveOnSmallWorlds(t *testing.T) {
	t.Parallel()
	worlds := worldsOf(300, 1500, 4000)
	undecided := 0
	for i := range worlds {
		data := randomBytes(uint64(i))
		ok := t.Run(fmt.Sprint(i), func(t *testing.T) {
			if !checkWorld(t, data) {
				undecided++
			}
		})
		if !ok {
			return
		}
	}
	t.Logf("%d worlds, %d of them hang on keys closer than the stated error", worlds, undecided)
	if undecided*100 > worlds {
		t.Error("more than one world in a hundred is undecided")
	}
}

// randomBytes are up to 300 bytes of a generator that is easily rebuilt.
func randomBytes(seed uint64) []byte {
	out := make([]byte, 30+seed%350)
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x >> 32)
	}
	return out
}
