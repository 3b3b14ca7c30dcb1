package sim

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"sync"

	"orrery/scheduler/model"
)

// naiveKeys computes the keys of the queue orders exactly: as fractions of
// integers, where logarithms and roots have naiveBits bits behind the point.
type naiveKeys struct {
	log2s  map[int32]*big.Int // log2(n) by n
	static map[*naiveJob]fraction
	size   map[*naiveJob]*big.Float // sum of the sizes of the terms of a dirlab key
	// close counts pairs of neighbours in a queue whose irrational keys differ
	// by less than the error that the core states for its keys.
	close int
}

// naiveBits is the precision of irrational numbers in a key.
const naiveBits = 256

// naiveSpan caps the requested time inside a key: the order package says so.
const naiveSpan = model.Duration(1) << 50

// fraction is num/den, den > 0.
type fraction struct{ num, den *big.Int }

func (f fraction) cmp(g fraction) int {
	if f.den.Cmp(g.den) == 0 {
		return f.num.Cmp(g.num)
	}
	return new(big.Int).Mul(f.num, g.den).Cmp(new(big.Int).Mul(g.num, f.den))
}

// queue sorts all waiting jobs by key, then by id.
func (w *naive) queue() []*naiveJob {
	type keyed struct {
		*naiveJob
		key fraction
	}
	queue := make([]keyed, len(w.waiting))
	for i, j := range w.waiting {
		queue[i] = keyed{j, w.keys.of(w.spec.Order, j, w.now)}
	}
	slices.SortFunc(queue, func(a, b keyed) int { return cmp.Or(a.key.cmp(b.key), a.id-b.id) })
	out := make([]*naiveJob, len(queue))
	for i, j := range queue {
		if out[i] = j.naiveJob; i > 0 {
			w.keys.compare(w.spec.Order, out[i-1], out[i], queue[i-1].key, j.key)
		}
	}
	return out
}

func newNaiveKeys() *naiveKeys {
	return &naiveKeys{log2s: map[int32]*big.Int{}, static: map[*naiveJob]fraction{}, size: map[*naiveJob]*big.Float{}}
}

// compare notes neighbours with keys too close for the core's fixed point,
// unless their keys are made of the same numbers.
func (k *naiveKeys) compare(order string, a, b *naiveJob, f, g fraction) {
	irrational := order == "unicef" || strings.HasPrefix(order, "dirlab")
	if !irrational || a.units == b.units && (order == "unicef" || a.walltime == b.walltime && a.submit == b.submit) {
		return
	}
	p, q := new(big.Int).Mul(f.num, g.den), new(big.Int).Mul(g.num, f.den)
	bound := new(big.Float).SetInt(p)
	if order == "unicef" {
		bound.Abs(bound)
	} else {
		bound.Add(k.size[a], k.size[b])
		bound.Mul(bound, new(big.Float).SetInt(new(big.Int).Mul(f.den, g.den)))
	}
	bound.Mul(bound, big.NewFloat(keyError))
	if new(big.Float).SetInt(p.Abs(p.Sub(p, q))).Cmp(bound) <= 0 && bound.Sign() > 0 {
		k.close++
	}
}

// keyError is the relative error of a key with logarithms or roots that the
// core states: 4e-17 of the largest term, on both sides.
const keyError = 4e-17

// of is the key of j at now, lower first. Times count in microseconds except
// inside logarithms and roots.
func (k *naiveKeys) of(order string, j *naiveJob, now model.Time) fraction {
	switch order {
	case "wfp3", "unicef", "expansion", "exp":
		return k.dynamic(order, j, now)
	}
	if f, ok := k.static[j]; ok {
		return f
	}
	f := fraction{new(big.Int), big.NewInt(1)}
	r, n := big.NewInt(int64(request(j))), big.NewInt(int64(j.units))
	switch order {
	case "sjf":
		f.num = r
	case "ljf":
		f.num.Neg(r)
	case "saf":
		f.num.Mul(r, n)
	case "sqf":
		f.num = n
	case "dirlab-f1", "dirlab-f2", "dirlab-f3", "dirlab-f4", "f1", "f2", "f3", "f4":
		f = scaled(k.dirlab(order[len(order)-1], j))
	}
	k.static[j] = f
	return f
}

// request is the requested time inside a key, from 1 µs to naiveSpan.
func request(j *naiveJob) model.Duration { return max(1, min(j.walltime, naiveSpan)) }

func (k *naiveKeys) dynamic(order string, j *naiveJob, now model.Time) fraction {
	wait, r, n := big.NewInt(int64(now-j.submit)), big.NewInt(int64(request(j))), big.NewInt(int64(j.units))
	f := fraction{new(big.Int), new(big.Int)}
	switch order {
	case "wfp3": // -(w/r)^3 * n
		three := big.NewInt(3)
		f.num.Mul(f.num.Exp(wait, three, nil), n)
		f.den.Exp(r, three, nil)
	case "unicef": // -w / (log2(n) * r)
		if j.units == 1 { // with 1e-12 for the logarithm
			f.num.Mul(wait, big.NewInt(1e12))
			f.den.Set(r)
			break
		}
		f.num.Lsh(wait, naiveBits)
		f.den.Mul(k.log2(j.units), r)
	default: // -(w+r)/r
		f.num.Add(wait, r)
		f.den.Set(r)
	}
	f.num.Neg(f.num)
	return f
}

// log2 is log2(n) with naiveBits bits behind the point.
func (k *naiveKeys) log2(n int32) *big.Int {
	if v, ok := k.log2s[n]; ok {
		return v
	}
	x := new(big.Float).Quo(ln(float(int64(n))), ln2())
	v := scaled(x).num
	k.log2s[n] = v
	return v
}

func (k *naiveKeys) dirlab(which byte, j *naiveJob) *big.Float {
	million := float(1e6)
	r := new(big.Float).Quo(float(int64(request(j))), million)
	s := new(big.Float).Quo(float(int64(max(j.submit, model.Time(model.Second)))), million)
	n := float(int64(j.units))
	log10 := func(x *big.Float) *big.Float { return new(big.Float).Quo(ln(x), ln10()) }
	mul := func(x, y *big.Float) *big.Float { return new(big.Float).Mul(x, y) }
	var size *big.Float
	c := int64(0)
	switch which {
	case '1':
		size, c = mul(log10(r), n), 870
	case '2':
		size, c = mul(new(big.Float).Sqrt(r), n), 25600
	case '3':
		size, c = mul(r, n), 6860000
	case '4':
		size, c = mul(r, new(big.Float).Sqrt(n)), 530000
	}
	age := mul(float(c), log10(s))
	k.size[j] = new(big.Float).Add(new(big.Float).Abs(size), new(big.Float).Abs(age))
	return size.Add(size, age)
}

// float has 64 bits more than a key keeps.
func float(v int64) *big.Float { return new(big.Float).SetPrec(naiveBits + 128).SetInt64(v) }

// scaled is x as a fraction over 2^naiveBits, the rest cut off.
func scaled(x *big.Float) fraction {
	den := new(big.Int).Lsh(big.NewInt(1), naiveBits)
	num, _ := new(big.Float).SetPrec(x.Prec()+naiveBits).Mul(x, new(big.Float).SetInt(den)).Int(nil)
	return fraction{num, den}
}

// ln is the natural logarithm: x = m * 2^e with m in [1/2, 1), and
// ln(y) = 2*atanh((y-1)/(y+1)) by its power series for m and for 2.
func ln(x *big.Float) *big.Float {
	m := new(big.Float).SetPrec(x.Prec())
	e := x.MantExp(m)
	out := atanhSeries(m)
	if e != 0 {
		out.Add(out, new(big.Float).Mul(float(int64(e)), ln2()))
	}
	return out
}

var (
	ln2  = sync.OnceValue(func() *big.Float { return atanhSeries(float(2)) })
	ln10 = sync.OnceValue(func() *big.Float { return ln(float(10)) })
)

func atanhSeries(y *big.Float) *big.Float {
	one := float(1)
	z := new(big.Float).Quo(new(big.Float).Sub(y, one), new(big.Float).Add(y, one))
	square, power, sum := new(big.Float).Mul(z, z), new(big.Float).Copy(z), new(big.Float).Copy(z)
	for i := int64(3); power.Sign() != 0 && power.MantExp(nil) > -naiveBits-128; i += 2 {
		power.Mul(power, square)
		sum.Add(sum, new(big.Float).Quo(power, float(i)))
	}
	return sum.Mul(sum, float(2))
}
