package search

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// TestNets counts points in boxes: the first 2^m points, and the 2^m that
// follow, are a (t,m,s)-net with t the sum of the polynomials' degrees less 1,
// scrambled or not: each box of volume 2^(t-m) whose sides are dyadic holds
// just 2^t of them. (Sobol', 1967, theorem 3.4.)
func TestNets(t *testing.T) {
	for _, c := range []struct{ dim, t int }{{1, 0}, {2, 0}, {3, 1}, {4, 3}} {
		for _, plain := range []bool{true, false} {
			for m := c.t + 1; m <= 9; m++ {
				s, err := newSobol(c.dim, 5)
				require.NoError(t, err)
				s.plain = plain
				for block := range uint32(2) {
					requireNet(t, s, block<<m, m, c.t)
				}
			}
		}
	}
}

func requireNet(t *testing.T, s *sobol, from uint32, m, quality int) {
	dim := len(s.columns)
	points := make([][]float64, 1<<m)
	for i := range points {
		points[i] = make([]float64, dim)
		s.Point(from+uint32(i), points[i])
	}
	sides := make([]int, dim) // how often each side is halved
	var each func(j, left int)
	each = func(j, left int) {
		if j < dim-1 {
			for sides[j] = 0; sides[j] <= left; sides[j]++ {
				each(j+1, left-sides[j])
			}
			return
		}
		sides[j] = left
		count := make(map[string]int)
		for _, p := range points {
			box := make([]int, dim)
			for k := range p {
				box[k] = int(p[k] * float64(int(1)<<sides[k]))
			}
			count[fmt.Sprint(box)]++
		}
		require.Len(t, count, 1<<(m-quality))
		for box, n := range count {
			require.Equal(t, 1<<quality, n, "box %s of sides %v, m %d, dimension %d", box, sides, m, dim)
		}
	}
	each(0, m-quality)
}

// TestPlanesAreEven: in each plane of the first twelve dimensions the first
// 256 points are a net of quality 4 at worst, which the theorem does not
// promise: it is what the direction numbers were chosen for.
func TestPlanesAreEven(t *testing.T) {
	worst := 0
	for i := range 12 {
		for j := range i {
			worst = max(worst, quality([][sobolBits]uint32{directions[i].columns(), directions[j].columns()}, 8))
		}
	}
	require.LessOrEqual(t, worst, 4)
}

// TestScrambling: seeds differ, each gives uniform coordinates strictly inside
// the cube, and means over the points are far closer to the truth than random
// ones are.
func TestScrambling(t *testing.T) {
	const n = 512
	var first []float64
	for seed := range uint64(40) {
		const dim = 10
		s, err := newSobol(dim, seed)
		require.NoError(t, err)
		u := make([]float64, dim)
		columns := make([][]float64, dim)
		for i := range uint32(n) {
			s.Point(i, u)
			for j, x := range u {
				require.True(t, x > 0 && x < 1)
				columns[j] = append(columns[j], x)
			}
		}
		for j := range columns {
			require.InDelta(t, 0.5, stat.Mean(columns[j], nil), 1e-3, "dimension %d; random points would be off by 0.013", j)
		}
		require.NotContains(t, first, columns[0][0])
		first = append(first, columns[0][0])
	}
	require.InDelta(t, 0.5, stat.Mean(first, nil), 0.15)
	_, err := newSobol(0, 0)
	require.ErrorContains(t, err, "dimension 0")
	_, err = newSobol(maxSobol+1, 0)
	require.Error(t, err)
}

// TestDesigns: of each design the first points are the same whatever follows,
// but for the Latin hypercube, which has one point in each of n slices.
func TestDesigns(t *testing.T) {
	space := Space{{Name: "x", Kind: Real, High: 1}, {Name: "y", Kind: Real, High: 1}}
	for _, design := range []string{"random", "sobol", "halton", "latin"} {
		short, err := Sample(space, design, 20, 9)
		require.NoError(t, err)
		long, err := Sample(space, design, 40, 9)
		require.NoError(t, err)
		other, err := Sample(space, design, 20, 10)
		require.NoError(t, err)
		require.NotEqual(t, short, other)
		require.Equal(t, design != "latin", slices.EqualFunc(short, long[:20], slices.Equal[[]float64]), design)
		if design == "latin" {
			for j := range space {
				var slots []int
				for _, v := range long {
					slots = append(slots, int(v[j]*40))
				}
				slices.Sort(slots)
				for i, s := range slots {
					require.Equal(t, i, s)
				}
			}
		}
	}
	_, err := Sample(space, "odd", 1, 0)
	require.ErrorContains(t, err, "unknown design")
	_, err = Sample(Space{}, "random", 1, 0)
	require.Error(t, err)
	none, err := Sample(space, "sobol", 0, 0)
	require.NoError(t, err)
	require.Empty(t, none)
}
