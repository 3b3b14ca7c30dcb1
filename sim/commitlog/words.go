package commitlog

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"orrery/scheduler/model"
)

// counted is a number of things.
func counted[N int32 | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// named is the name of an id, or a number sign with it.
func named(names []string, id int32) string {
	if id >= 0 && int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprintf("#%d", id)
}

// spelled is x in words, or its number where it is none that there is: what a file holds
// may be anything.
func spelled[T interface {
	~uint8
	String() string
}](x T) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("#%d", uint8(x))
		}
	}()
	return x.String()
}

// decimal is the shortest number that people would write for x; the number of its parts
// of 2^32 where that has more than ten decimals.
func decimal(x model.Fixed) string {
	scale := uint64(1)
	for digits := 0; digits <= 10 && x >= 0 && x < math.MaxInt64; digits++ {
		hi, lo := bits.Mul64(uint64(x), scale)
		lo, carry := bits.Add64(lo, 1<<(model.FractionBits-1), 0)
		n := (hi+carry)<<(64-model.FractionBits) | lo>>model.FractionBits
		if hi < 1<<(model.FractionBits-1) && model.Ratio(int64(n), int64(scale)) == x {
			if digits == 0 {
				return strconv.FormatUint(n, 10)
			}
			return fmt.Sprintf("%d.%0*d", n/scale, digits, n%scale)
		}
		scale *= 10
	}
	return fmt.Sprintf("%d/2^%d", int64(x), model.FractionBits)
}
