package record

import (
	"math/rand/v2"
	"testing"

	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/stretchr/testify/require"
)

// Pages of all sizes, one after another, are compressed to the bytes to which Parquet's own codec
// compresses them, and are read back by it.
func TestPagesAreThoseOfParquet(t *testing.T) {
	own := &parquetzstd.Codec{Level: parquetzstd.SpeedFastest}
	rng := rand.New(rand.NewPCG(4, 4))
	page := make([]byte, 6<<20)
	for i := range page {
		page[i] = byte(rng.IntN(1 + i>>12&15))
		if i > 1<<12 && rng.IntN(100) > 0 { // repeats what was some time before
			page[i] = page[i-1<<(i>>16%12)]
		}
	}
	for _, n := range []int{0, 1, 100, 1 << 10, 1<<10 + 1, 1 << 17, 1<<17 + 1, 300_000, windows[0] - 1, windows[0], windows[0] + 1, windows[1] - 1, windows[1], windows[1] + 1, 4 << 20, 4<<20 + 1, len(page), 5, 200_000, 900_000} {
		from := rng.IntN(len(page) - n + 1)
		want, err := own.Encode(nil, page[from:from+n])
		require.NoError(t, err)
		got, err := codec.Encode(nil, page[from:from+n])
		require.NoError(t, err)
		require.True(t, string(want) == string(got), n)
		back, err := codec.Decode(nil, got)
		require.NoError(t, err)
		require.True(t, string(page[from:from+n]) == string(back), n)
	}
}
