package search

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"math/bits"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

// The numbers of directions.go are made here and nowhere else. A dimension
// takes the next primitive polynomial, by degree and then by value, and of 64
// sets of initial numbers (all of them where there are fewer, keyed draws
// otherwise) the one whose plane with each earlier dimension is most even: the
// least sum, over those planes and over m = 1 to 10, of 2^t, where t is the
// quality of the first 2^m points as a (t,m,2)-net. The earlier set wins ties.

var rewrite = flag.Bool("directions", false, "write directions.go anew")

const (
	madeDimensions = 64
	candidates     = 64
	deepest        = 10
)

func TestDirectionsAreMadeByTheCriterion(t *testing.T) {
	made := make([]direction, 1, madeDimensions)
	made[0] = direction{polynomial: 1}
	matrices := [][sobolBits]uint32{made[0].columns()}
	upTo := madeDimensions
	if testing.Short() {
		upTo = 12
	}
	for degree := 1; len(made) < upTo; degree++ {
		for p := uint32(1)<<degree | 1; p < 2<<degree && len(made) < upTo; p += 2 {
			if primitive(p) {
				d := mostEven(p, len(made), matrices)
				made, matrices = append(made, d), append(matrices, d.columns())
			}
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile("directions.go", printed(made), 0o644))
		return
	}
	require.Equal(t, directions[:upTo], made, "go test ./sim/search -run Directions -directions writes the table anew")
}

func mostEven(p uint32, dimension int, earlier [][sobolBits]uint32) direction {
	var best direction
	least := -1
	degree := bits.Len32(p) - 1
	all := 1 << (degree * (degree - 1) / 2)
	for c := range candidates {
		if c >= all {
			break
		}
		choice := uint64(c)
		if all > candidates {
			choice = draw.At(0, draw.StreamOf("search/directions"), uint64(dimension), uint64(c), 0)
		}
		d := direction{polynomial: p}
		for k := range degree { // number k is odd and below 2^(k+1): k free bits
			d.initial = append(d.initial, uint32(choice&(1<<k-1))<<1|1)
			choice >>= k
		}
		sum := 0
		matrix := d.columns()
		for _, e := range earlier {
			if least >= 0 && sum >= least {
				break
			}
			for m := 1; m <= deepest; m++ {
				sum += 1 << quality([][sobolBits]uint32{e, matrix}, m)
			}
		}
		if least < 0 || sum < least {
			best, least = d, sum
		}
	}
	return best
}

// quality is the least t for which the first 2^m points are a (t,m,2)-net:
// m less the largest r such that for all a+b = r, the first a digits of one
// coordinate and the first b of the other are linearly independent functions
// of the m digits of the index. (Niederreiter: Random Number Generation and
// Quasi-Monte Carlo Methods, 1992, theorem 4.28.)
func quality(matrices [][sobolBits]uint32, m int) int {
	rows := make([][]uint32, len(matrices))
	for j := range matrices {
		for digit := range m {
			row := uint32(0)
			for k := range m {
				row |= matrices[j][k] >> (sobolBits - 1 - digit) & 1 << k
			}
			rows[j] = append(rows[j], row)
		}
	}
	for r := 1; r <= m; r++ {
		for a := 0; a <= r; a++ {
			if !independent(rows[0][:a], rows[1][:r-a]) {
				return m - r + 1
			}
		}
	}
	return 0
}

// independent says whether the rows, as vectors over GF(2), are.
func independent(sets ...[]uint32) bool {
	var basis [32]uint32
	for _, set := range sets {
		for _, row := range set {
			for row != 0 {
				top := bits.Len32(row) - 1
				if basis[top] == 0 {
					basis[top] = row
					break
				}
				row ^= basis[top]
			}
			if row == 0 {
				return false
			}
		}
	}
	return true
}

// primitive says whether x generates all nonzero residues modulo p over GF(2):
// whether its order is 2^s - 1.
func primitive(p uint32) bool {
	s := bits.Len32(p) - 1
	group := uint64(1)<<s - 1
	if power(p, group) != 1 {
		return false
	}
	rest := group
	for q := uint64(2); rest > 1; q++ {
		if rest%q != 0 {
			continue
		}
		if group/q != 0 && group != q && power(p, group/q) == 1 {
			return false
		}
		for rest%q == 0 {
			rest /= q
		}
	}
	return p != 2 && (s > 1 || p == 3)
}

// power is x^n modulo p.
func power(p uint32, n uint64) uint64 {
	times := func(a, b uint64) uint64 {
		s := bits.Len32(p) - 1
		product := uint64(0)
		for ; b != 0; b >>= 1 {
			if b&1 == 1 {
				product ^= a
			}
			if a <<= 1; a>>s&1 == 1 {
				a ^= uint64(p)
			}
		}
		return product
	}
	result, base := uint64(1), uint64(2)
	if bits.Len32(p) == 2 {
		base = 1 // x is 1 modulo x+1
	}
	for ; n != 0; n >>= 1 {
		if n&1 == 1 {
			result = times(result, base)
		}
		base = times(base, base)
	}
	return result
}

// TestPrimitive counts primitive polynomials: φ(2^s-1)/s of degree s.
func TestPrimitive(t *testing.T) {
	for s := 1; s <= 12; s++ {
		group, units := 1<<s-1, 0
		for k := 1; k <= group; k++ {
			if gcd(k, group) == 1 {
				units++
			}
		}
		count := 0
		for p := uint32(1)<<s | 1; p < 2<<s; p += 2 {
			if primitive(p) {
				count++
			}
		}
		require.Equal(t, units/s, count, "degree %d", s)
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func printed(made []direction) []byte {
	var out bytes.Buffer
	out.WriteString(`package search

// directions are the direction numbers of the Sobol sequence. They are made by
// directions_test.go, which says by which criterion, and are checked by it.
var directions = [...]direction{
`)
	for _, d := range made {
		if d.initial == nil {
			fmt.Fprintf(&out, "{%d, nil},\n", d.polynomial)
			continue
		}
		fmt.Fprintf(&out, "{%d, []uint32{", d.polynomial)
		for k, n := range d.initial {
			if k > 0 {
				out.WriteString(", ")
			}
			fmt.Fprint(&out, n)
		}
		out.WriteString("}},\n")
	}
	out.WriteString("}\n")
	text, err := format.Source(out.Bytes())
	if err != nil {
		panic(err)
	}
	return text
}
