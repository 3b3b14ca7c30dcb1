// Package ordertest has the keys of the queue orders as they are defined, exact and slow: fractions
// of integers, where logarithms and roots have 256 bits behind the point. Tests hold cores
// to them. It takes orders by name, and must not know how package order computes its keys.
package ordertest

import (
	"math/big"
	"strings"

	"orrery/scheduler/model"
)

// Job is what the place of a waiting job in a queue hangs on.
type Job struct {
	Submit   model.Time
	Walltime model.Duration // requested; Forever when none was stated
	Units    int64
}

// Key is Num/Den, Den > 0. The job with the smallest key comes first.
type Key struct{ Num, Den *big.Int }

// Cmp compares two keys of one instant.
func (k Key) Cmp(o Key) int {
	if k.Den.Cmp(o.Den) == 0 {
		return k.Num.Cmp(o.Num)
	}
	return new(big.Int).Mul(k.Num, o.Den).Cmp(new(big.Int).Mul(o.Num, k.Den))
}

// bits is the precision of irrational numbers in a key.
const bits = 256

// longest caps the requested time inside a key: the definition of the orders says so.
const longest = model.Duration(1) << 50

// Keys computes keys, and keeps the logarithms that it has computed.
type Keys struct {
	ln2, ln10 *big.Float
	log2s     map[int64]*big.Int // log2(n) by n
	dirlabs   map[dirlabOf]dirlabKey
}

type dirlabOf struct {
	which byte // the last digit of its name
	job   Job
}

type dirlabKey struct {
	key  Key
	size *big.Float // sum of the sizes of the terms
}

// The logarithms of 2 and of 10 are the same in all stores, which only read them.
var (
	ln2  = atanhSeries(float(2))
	ln10 = (&Keys{ln2: ln2}).ln(float(10))
)

// New makes an empty store of logarithms.
func New() *Keys {
	return &Keys{ln2: ln2, ln10: ln10, log2s: map[int64]*big.Int{}, dirlabs: map[dirlabOf]dirlabKey{}}
}

// Of is the key of j under an order at now. Times count in microseconds except inside
// logarithms and roots. It panics on an order that has no formula here.
func (k *Keys) Of(order string, j Job, now model.Time) Key {
	wait, r, n := big.NewInt(int64(now-j.Submit)), big.NewInt(int64(request(j))), big.NewInt(j.Units)
	one := big.NewInt(1)
	switch canonical(order) {
	case "fcfs":
		return Key{big.NewInt(int64(j.Submit)), one}
	case "sjf":
		return Key{r, one}
	case "ljf":
		return Key{r.Neg(r), one}
	case "saf":
		return Key{r.Mul(r, n), one}
	case "sqf":
		return Key{n, one}
	case "wfp3": // -(w/r)^3 * n
		three := big.NewInt(3)
		num := wait.Exp(wait, three, nil)
		return Key{num.Neg(num.Mul(num, n)), r.Exp(r, three, nil)}
	case "unicef": // -w / (log2(n) * r)
		if j.Units == 1 { // with 1e-12 for the logarithm
			return Key{wait.Mul(wait, big.NewInt(-1e12)), r}
		}
		return Key{wait.Neg(wait.Lsh(wait, bits)), r.Mul(r, k.log2(j.Units))}
	case "expansion": // -(w+r)/r
		return Key{wait.Neg(wait.Add(wait, r)), r}
	case "dirlab-f1", "dirlab-f2", "dirlab-f3", "dirlab-f4":
		return k.dirlab(order[len(order)-1], j).key
	}
	panic("ordertest: no formula for the order " + order)
}

// Exact says that the keys of an order are fractions, so that the one that a core computes
// decides between any two jobs.
func Exact(order string) bool { return canonical(order) != "unicef" && !dirlab(order) }

// Ages says that the keys of an order hang on how long jobs have waited. Those of the others stay
// as they are.
func Ages(order string) bool {
	switch canonical(order) {
	case "wfp3", "unicef", "expansion":
		return true
	}
	return false
}

// Timeless says that an order is the same a day later, and when all spans are longer by
// the same factor.
func Timeless(order string) bool { return !dirlab(order) }

// Sizeless says that an order is the same when all jobs are larger by the same factor.
func Sizeless(order string) bool { return Exact(order) }

func dirlab(order string) bool { return strings.HasPrefix(canonical(order), "dirlab") }

// canonical is the name of an order that may have another one.
func canonical(order string) string {
	switch order {
	case "":
		return "fcfs"
	case "exp":
		return "expansion"
	case "f1", "f2", "f3", "f4":
		return "dirlab-" + order
	}
	return order
}

// Undecided says that the keys of two jobs differ by less than the error that package order
// states for its keys, so that it may have either first. Those made of the same numbers are equal there too.
func (k *Keys) Undecided(order string, a, b Job, now model.Time) bool {
	if Exact(order) || a.Units == b.Units && (!dirlab(order) || a.Walltime == b.Walltime && a.Submit == b.Submit) {
		return false
	}
	f, g := k.Of(order, a, now), k.Of(order, b, now)
	p, q := new(big.Int).Mul(f.Num, g.Den), new(big.Int).Mul(g.Num, f.Den)
	bound := new(big.Float).SetInt(p)
	bound.Abs(bound)
	if dirlab(order) {
		which := order[len(order)-1]
		bound.Add(k.dirlab(which, a).size, k.dirlab(which, b).size)
		bound.Mul(bound, new(big.Float).SetInt(new(big.Int).Mul(f.Den, g.Den)))
	}
	bound.Mul(bound, big.NewFloat(keyError))
	return new(big.Float).SetInt(p.Abs(p.Sub(p, q))).Cmp(bound) <= 0 && bound.Sign() > 0
}

// keyError is the relative error of a key with logarithms or roots that package order
// states: 4e-17 of the largest term, on both sides.
const keyError = 4e-17

// request is the requested time inside a key, from 1 µs to longest.
func request(j Job) model.Duration { return max(1, min(j.Walltime, longest)) }

// log2 is log2(n) with as many bits behind the point as a key has.
func (k *Keys) log2(n int64) *big.Int {
	if v, ok := k.log2s[n]; ok {
		return v
	}
	v := scaled(new(big.Float).Quo(k.ln(float(n)), k.ln2)).Num
	k.log2s[n] = v
	return v
}

// dirlab is size + c*log10(s), with another size and c for each of the four orders.
func (k *Keys) dirlab(which byte, j Job) dirlabKey {
	if v, ok := k.dirlabs[dirlabOf{which, j}]; ok {
		return v
	}
	million := float(1e6)
	r := new(big.Float).Quo(float(int64(request(j))), million)
	s := new(big.Float).Quo(float(int64(max(j.Submit, model.Time(model.Second)))), million)
	n := float(j.Units)
	log10 := func(x *big.Float) *big.Float { return new(big.Float).Quo(k.ln(x), k.ln10) }
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
	sizes := new(big.Float).Add(new(big.Float).Abs(size), new(big.Float).Abs(age))
	v := dirlabKey{scaled(size.Add(size, age)), sizes}
	k.dirlabs[dirlabOf{which, j}] = v
	return v
}

// float has 64 bits more than a key keeps.
func float(v int64) *big.Float { return new(big.Float).SetPrec(bits + 128).SetInt64(v) }

// scaled is x as a fraction over 2^bits, the rest cut off.
func scaled(x *big.Float) Key {
	den := new(big.Int).Lsh(big.NewInt(1), bits)
	num, _ := new(big.Float).SetPrec(x.Prec()+bits).Mul(x, new(big.Float).SetInt(den)).Int(nil)
	return Key{num, den}
}

// ln is the natural logarithm: x = m * 2^e with m in [1/2, 1), and
// ln(y) = 2*atanh((y-1)/(y+1)) by its power series for m and for 2.
func (k *Keys) ln(x *big.Float) *big.Float {
	m := new(big.Float).SetPrec(x.Prec())
	e := x.MantExp(m)
	out := atanhSeries(m)
	if e != 0 {
		out.Add(out, new(big.Float).Mul(float(int64(e)), k.ln2))
	}
	return out
}

func atanhSeries(y *big.Float) *big.Float {
	one := float(1)
	z := new(big.Float).Quo(new(big.Float).Sub(y, one), new(big.Float).Add(y, one))
	square, power, sum := new(big.Float).Mul(z, z), new(big.Float).Copy(z), new(big.Float).Copy(z)
	for i := int64(3); power.Sign() != 0 && power.MantExp(nil) > -bits-128; i += 2 {
		power.Mul(power, square)
		sum.Add(sum, new(big.Float).Quo(power, float(i)))
	}
	return sum.Mul(sum, float(2))
}
