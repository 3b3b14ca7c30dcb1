package lcm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is declared counts, else hardware of which all is known, in whole GiB.
func TestEffective(t *testing.T) {
	const gib = 1 << 30
	declared := size(3)
	all := Hardware{CPUs: 8, Memory: 5*gib - 1, Disk: 9 * gib}
	c, ok := Effective(&declared, all)
	require.Equal(t, []any{size(3), true}, []any{c, ok})
	c, ok = Effective(nil, all)
	require.Equal(t, []any{Capacity{8, 4, 9}, true}, []any{c, ok})
	for _, h := range []Hardware{{}, {Memory: gib, Disk: gib}, {CPUs: 1, Disk: gib}, {CPUs: 1, Memory: gib}} {
		c, ok = Effective(nil, h)
		require.Equal(t, []any{Capacity{}, false}, []any{c, ok})
	}
}

// Versions at the ends of a range pass; an end that is not stated is none.
func TestImages(t *testing.T) {
	for _, c := range []struct {
		image Image
		want  bool
	}{{Image{MinVersion: "2.8.0"}, true}, {Image{MaxVersion: "2.8.0"}, true}, {Image{MinVersion: "2.8.1"}, false}, {Image{MaxVersion: "2.7.9"}, false}, {Image{}, true}} {
		require.Equal(t, c.want, (&Engine{}).image(&c.image, &Worker{Version: "2.8.0"}), "%+v", c)
	}
	w := Worker{Declared: size(10), Sessions: 5, Cached: &Cached{Declared: size(10)}}
	require.Zero(t, w.Score(), "no sessions, says the cache")
}
