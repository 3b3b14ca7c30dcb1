// Package order holds the rules by which a queue is ordered and backfilled, by
// name, the keys that say which of two waiting jobs comes first, and the heap in
// which a pass keeps its candidates. Keys are exact: they are integers, or
// fractions compared by cross-multiplication, so that no order hangs on the last
// bit of a floating-point unit. It knows jobs by their key alone.
package order

import (
	"fmt"
	"math"
	"strings"

	"orrery/scheduler/model"
)

// Order is a rule that says which waiting job comes first. Ties end in the
// job's id. Requested time r and waiting time w count in microseconds, n is
// the number of units asked for, s the submission in seconds since the
// trace's epoch (at least 1, so that its logarithm exists). A missing request
// counts as maxKeySpan in a key.
type Order uint8

// The orders, as the table below defines them.
const (
	FCFS Order = iota
	SJF
	LJF
	SAF
	SQF
	WFP3
	Unicef
	Expansion
	DirlabF1
	DirlabF2
	DirlabF3
	DirlabF4
)

// table has the canonical name of each order, the quantity that it takes smallest first, and where it
// is from.
var table = [...]struct{ name, formula, source string }{
	FCFS:      {"fcfs", "s", "submission"},
	SJF:       {"sjf", "r", "shortest job first"},
	LJF:       {"ljf", "-r", "longest job first"},
	SAF:       {"saf", "r*n", "smallest area first"},
	SQF:       {"sqf", "n", "smallest request first"},
	WFP3:      {"wfp3", "-(w/r)^3 * n", srcTang},
	Unicef:    {"unicef", "-w / (log2(n) * r), with 1e-12 for log2(1)", srcTang},
	Expansion: {"expansion", "-(w+r)/r", "expansion factor"},
	DirlabF1:  {"dirlab-f1", "log10(r)*n + 870*log10(s)", srcDirlab},
	DirlabF2:  {"dirlab-f2", "sqrt(r)*n + 25600*log10(s)", srcDirlab},
	DirlabF3:  {"dirlab-f3", "r*n + 6860000*log10(s)", srcDirlab},
	DirlabF4:  {"dirlab-f4", "r*sqrt(n) + 530000*log10(s)", srcDirlab},
}

const (
	srcTang   = "Tang and others: Fault-aware utility-based job scheduling on Blue Gene/P, Cluster 2009"
	srcDirlab = "Carastan-Santos, de Camargo: Obtaining dynamic scheduling policies with simulation and machine learning, SC'17, with the constants of the authors' code; r and s in seconds"
)

// String is the canonical name.
func (o Order) String() string { return table[o].name }

// Formula is the quantity that o takes smallest first, in the symbols of Order.
func (o Order) Formula() string { return table[o].formula }

// Source says where the formula is from.
func (o Order) Source() string { return table[o].source }

// Names lists the canonical names of the orders.
func Names() []string {
	out := make([]string, len(table))
	for o := range table {
		out[o] = table[o].name
	}
	return out
}

// Parse accepts the canonical names and the aliases exp and f1 to f4.
func Parse(s string) (Order, error) {
	name := strings.ToLower(s)
	switch name {
	case "exp":
		return Expansion, nil
	case "f1", "f2", "f3", "f4":
		name = "dirlab-" + name
	}
	for o := range table {
		if table[o].name == name {
			return Order(o), nil
		}
	}
	return 0, fmt.Errorf("unknown order %q: want one of %s", s, strings.Join(Names(), ", "))
}

// Valid says that o is one of the orders.
func (o Order) Valid() bool { return int(o) < len(table) }

// Static says that the key of a waiting job never changes.
func (o Order) Static() bool { return o != WFP3 && o != Unicef && o != Expansion }

// Asked is what the place of a waiting job in a queue hangs on.
type Asked struct {
	ID       model.JobID
	Request  model.Request
	Submit   model.Time
	Walltime model.Duration // requested; Forever when none was stated
}

// Key is what an order has worked out of what a job asked for, by Prepare and Refresh.
type Key struct {
	fixed  wide    // of a static order
	float  float64 // of an order that changes with time, as of the last Refresh
	logNum uint64  // log2(units) as a fraction, for unicef
	logDen uint64
	slope  float64 // of an order that changes with time: the key grows with slope*wait
}

// Prepare works out what never changes under o of the key of a job that asked for a.
func (o Order) Prepare(a *Asked, k *Key) {
	if o.Static() {
		k.fixed = o.staticKey(a)
		return
	}
	k.logNum, k.logDen = log2Units(a.Request.Units)
	k.slope = o.slope(a, k)
}

// Refresh works out what of k changes with time, as of now. Before compares keys of
// one instant only.
func (o Order) Refresh(a *Asked, k *Key, now model.Time) {
	if !o.Static() {
		k.float = o.floatKey(a, k, now)
	}
}

// rankBits is how many of the last bits of a float64 a rank leaves out: so many that
// floatSlack is less than a unit of what is left, which is 2^-46 of the value at least.
const rankBits = 7

// RankNear is how far the ranks of two keys may be apart that do not tell which is first.
const RankNear = 1

// Rank is the key of a job as of the last Refresh under an order that changes with time,
// as a number that is larger for jobs that come first, unless two are within RankNear. It
// is 0 under all others.
func (k *Key) Rank() int64 { return int64(math.Float64bits(k.float) >> rankBits) }

// maxKeySpan bounds a requested time inside a key, so that every key fits 128
// bits: 2^50 µs, 35.7 years. Longer and missing requests tie there.
const maxKeySpan = 1 << 50

// keySpan is the requested time as it enters a key, at least one microsecond.
func keySpan(d model.Duration) uint64 {
	return uint64(min(max(d, 1), maxKeySpan))
}

// staticKey is the key of a job under a static order. Fixed-point keys are
// scaled by a power of two and a power of ten that is the same for all jobs;
// their error is below 4e-17 relative to the largest term, a fifth of float64's.
func (o Order) staticKey(a *Asked) wide {
	r, n := keySpan(a.Walltime), uint64(a.Request.Units)
	switch o {
	case FCFS:
		return wideOf(int64(a.Submit))
	case SJF:
		return wideOf(int64(r))
	case LJF:
		return wideOf(-int64(r))
	case SAF:
		return wideMul(r, n)
	case SQF:
		return wideOf(int64(n))
	case DirlabF1: // 2^57 * key; r is in µs, hence the 6
		six := wideMul(6<<log2Bits, n)
		return wideMul(log10Fixed(r), n).sub(six).add(logSubmit(a.Submit, 870))
	case DirlabF2: // 2^57 * 10^3 * key
		root := sqrtFixed(r, 0) // 2^32 * sqrt(µs)
		return wideMul(root, n).shl(log2Bits - 32).add(logSubmit(a.Submit, 25_600*1000))
	case DirlabF3: // 2^40 * 10^6 * key
		return wideMul(r, n).shl(40).add(logSubmit(a.Submit, 6_860_000*1_000_000).shr(log2Bits - 40))
	case DirlabF4: // 2^48 * 10^6 * key
		root := sqrtFixed(n<<32, 0) // 2^48 * sqrt(n)
		return wideMul(root, r).add(logSubmit(a.Submit, 530_000*1_000_000).shr(log2Bits - 48))
	}
	panic("order: no static key under " + o.String())
}

// logSubmit is c * log10(s) with log2Bits fraction bits. At s = 1 it may lie
// below zero by its error.
func logSubmit(t model.Time, c uint64) wide {
	s := uint64(max(t, model.Time(model.Second)))
	return wideMul(log10Fixed(s), c).sub(wideMul(6<<log2Bits, c))
}

// log2Units prepares log2(n) for unicef as a fraction num/den: the logarithm
// with log2Bits fraction bits, and exactly 1e-12 for n = 1.
func log2Units(n int32) (num, den uint64) {
	if n == 1 {
		return 1, 1_000_000_000_000
	}
	return log2Fixed(uint64(n)), 1 << log2Bits
}

// floatKey is the key of a dynamic order in float64, largest first, within
// floatSlack of the exact value.
func (o Order) floatKey(a *Asked, k *Key, now model.Time) float64 {
	w, r := float64(waited(a, now)), float64(keySpan(a.Walltime))
	switch o {
	case WFP3:
		x := w / r
		return float64(x * x * x * float64(a.Request.Units))
	case Unicef:
		return w * float64(k.logDen) / (float64(k.logNum) * r)
	}
	return w / r // expansion: (w+r)/r = 1 + w/r
}

// slope is the factor of the waiting time in a monotone function of the key of
// a dynamic order: cbrt(n)/r for wfp3, 1/(log2(n)*r), and 1/r. It is used for
// bounds only.
func (o Order) slope(a *Asked, k *Key) float64 {
	r := float64(keySpan(a.Walltime))
	switch o {
	case WFP3:
		//detlint:inexact it enters bounds with a margin, and no decision
		return math.Cbrt(float64(a.Request.Units)) / r
	case Unicef:
		return float64(k.logDen) / (float64(k.logNum) * r)
	}
	return 1 / r
}

// floatSlack bounds the relative error of floatKey generously: eight roundings
// of 2^-53 each stay below 1e-15.
const floatSlack = 1e-14

func waited(a *Asked, now model.Time) uint64 { return uint64(max(now-a.Submit, 0)) }

// Before says whether the job of a and ka comes before that of b and kb at the instant
// now, exactly: where the float64 keys are too close to tell, the fractions are compared
// by cross-multiplication in integers.
func (o Order) Before(a *Asked, ka *Key, b *Asked, kb *Key, now model.Time) bool {
	if o.Static() {
		if c := ka.fixed.cmp(kb.fixed); c != 0 {
			return c < 0
		}
		return a.ID < b.ID
	}
	x, y := ka.float, kb.float
	if math.Abs(x-y) > floatSlack*max(x, y) {
		return x > y
	}
	if c := o.cross(a, ka, b, kb, now); c != 0 {
		return c > 0
	}
	return a.ID < b.ID
}

// cross compares the exact keys of a dynamic order.
func (o Order) cross(a *Asked, ka *Key, b *Asked, kb *Key, now model.Time) int {
	wa, wb := waited(a, now), waited(b, now)
	ra, rb := keySpan(a.Walltime), keySpan(b.Walltime)
	var p, q product
	switch o {
	case WFP3:
		p = productOf(wa, wa, wa, uint64(a.Request.Units), rb, rb, rb)
		q = productOf(wb, wb, wb, uint64(b.Request.Units), ra, ra, ra)
	case Unicef:
		p = productOf(wa, ka.logDen, kb.logNum, rb)
		q = productOf(wb, kb.logDen, ka.logNum, ra)
	default:
		p = productOf(wa, rb)
		q = productOf(wb, ra)
	}
	return p.cmp(&q)
}

// Overtakes is a lower bound on the instant at which the job of b and kb comes before that
// of a and ka, which is before it now, under an order that changes with time; model.Never when it is not to
// be expected. Under every such order the key is a monotone function of slope*wait, so
// that two keys meet after the time (slope1*wait1 - slope2*wait2) / (slope2 - slope1);
// both differences are taken with a margin for the errors of float64.
func Overtakes(a *Asked, ka *Key, b *Asked, kb *Key, now model.Time) model.Time {
	const (
		margin   = 1e-9
		farthest = 1 << 60
	)
	closing := float64(kb.slope*(1+margin)) - ka.slope
	if closing <= 0 {
		return model.Never
	}
	lead := float64(ka.slope * float64(waited(a, now)) * (1 - margin))
	after := (lead - float64(kb.slope*float64(waited(b, now))*(1+margin))) / closing
	if after >= farthest {
		return model.Never
	}
	return now.Add(model.Duration(max(after, 0)))
}
