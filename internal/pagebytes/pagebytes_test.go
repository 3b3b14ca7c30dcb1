package pagebytes_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/stretchr/testify/require"

	_ "orrery/internal/pagebytes"
)

// row has every encoding that tables use.
type row struct {
	Text    string  `parquet:"text,optional,dict"`
	Long    int64   `parquet:"long,dict"`
	Int     int32   `parquet:"int,optional,dict"`
	Delta   int64   `parquet:"delta,delta"`
	Small   int32   `parquet:"small,optional,delta"`
	Plain   string  `parquet:"plain,optional"`
	Real    float64 `parquet:"real"`
	Chosen  bool    `parquet:"chosen"`
	Instant int64   `parquet:"instant,delta,timestamp(microsecond)"`
}

// written is the SHA-256 of a table of drawn rows.
func written(t *testing.T) string {
	t.Helper()
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file, parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault, Concurrency: 1}))
	draw := rand.New(rand.NewPCG(9, 1))
	for n := range 40_000 {
		group := int64(n / (1 + draw.IntN(9))) // runs of every length, and halves of eight
		r := row{Long: group % 7, Int: int32(group % 3), Delta: int64(n), Small: int32(draw.IntN(1 << (1 + n%30))),
			Real: math.Ldexp(draw.Float64(), draw.IntN(2000)-1000), Chosen: group%5 == 0, Instant: int64(draw.Uint64())}
		if group%4 > 0 {
			r.Text, r.Plain = fmt.Sprint(group%90), fmt.Sprint("text", n)
		}
		if n%1000 == 0 {
			r.Delta = []int64{math.MinInt64, math.MaxInt64}[draw.IntN(2)]
		}
		_, err := w.Write([]row{r})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return fmt.Sprintf("%x", sha256.Sum256(file.Bytes()))
}

// TestSameBytes writes one table as CPUs of before AVX2, and of before all that the library
// looks for, would: the library asks once, at its start, so each is a process.
func TestSameBytes(t *testing.T) {
	here := written(t)
	if out := os.Getenv("ORRERY_TEST_WRITTEN"); out != "" {
		require.NoError(t, os.WriteFile(out, []byte(here), 0o600))
		return
	}
	for _, off := range []string{"cpu.avx2=off", "cpu.avx512f=off", "cpu.bmi2=off", "cpu.all=off"} {
		out := t.TempDir() + "/sum"
		cmd := exec.Command(os.Args[0], "-test.run", "^TestSameBytes$")
		cmd.Env = append(os.Environ(), "GODEBUG="+off, "ORRERY_TEST_WRITTEN="+out)
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, string(said))
		sum, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Equal(t, here, string(sum), off)
	}
}
