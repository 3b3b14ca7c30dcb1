package swf

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// line builds a data line from the standard's example with some fields
// replaced; keys count from 1 as the standard does.
func line(replace map[int]string) string {
	f := strings.Fields("15 599850 192180 3477 4 -1 -1 4 53940 -1 1 12 12 -1 -1 -1 -1 -1")
	for k, v := range replace {
		f[k-1] = v
	}
	return strings.Join(f, " ")
}

func TestParseTokens(t *testing.T) {
	for _, c := range []struct {
		field int // from 1
		token string
		want  int64
		text  string
		bad   bool
	}{
		{field: 1, token: "7", want: 7},
		{field: 1, token: "9223372036854775807", want: 9223372036854775807},
		{field: 1, token: "9223372036854775808", bad: true},
		{field: 1, token: "+7", want: 7},
		{field: 1, token: "007", want: 7},
		{field: 1, token: "7.0", want: 7},
		{field: 1, token: "7.", want: 7},
		{field: 1, token: "7.5", bad: true},
		{field: 1, token: "7a", bad: true},
		{field: 1, token: "0x10", bad: true},
		{field: 1, token: "1_000", bad: true},
		{field: 1, token: "-", bad: true},
		{field: 1, token: ".", bad: true},
		{field: 1, token: "--1", bad: true},
		{field: 1, token: "1;2", bad: true},
		{field: 2, token: "NaN", bad: true},
		{field: 2, token: "nan", bad: true},
		{field: 2, token: "inf", bad: true},
		{field: 2, token: "None", bad: true},
		{field: 2, token: "1e5", want: 100_000_000_000},
		{field: 2, token: "1.5E+2", want: 150_000_000},
		{field: 2, token: "125e-2", want: 1_250_000},
		{field: 2, token: "1e", bad: true},
		{field: 2, token: "1e400", bad: true},
		{field: 2, token: "1e30", bad: true},
		{field: 2, token: "1099511627776", want: 1099511627776000000},
		{field: 2, token: "1099511627777", bad: true},
		{field: 2, token: "1099511627776.5", bad: true},
		{field: 2, token: "99999999999999999999", bad: true},
		{field: 2, token: ".5", want: 500_000},
		{field: 2, token: "-1.0", want: -1_000_000},
		{field: 2, token: "-0.25", want: -250_000},
		{field: 3, token: "12.000001", want: 12_000_001},
		{field: 3, token: "12.0000005", want: 12_000_001},
		{field: 5, token: "2147483647", want: 2147483647},
		{field: 5, token: "2147483648", bad: true},
		{field: 5, token: "2147483648.0", bad: true},
		{field: 6, token: "31405.50", want: 31405, text: "31405.5"},
		{field: 6, token: "-0.5", want: -2},
		{field: 6, token: "-7.5", want: -8},
		{field: 10, token: "68719476736", want: 68719476736},
	} {
		t.Run(fmt.Sprintf("%d=%s", c.field, c.token), func(t *testing.T) {
			var r record
			n, bad := r.parse([]byte(line(map[int]string{c.field: c.token})))
			require.Equal(t, 18, n)
			if c.bad {
				require.NotNil(t, bad)
				require.Equal(t, c.field-1, bad.field)
				require.Equal(t, c.token, string(bad.token))
				return
			}
			require.Nil(t, bad)
			require.Equal(t, c.want, r.v[c.field-1])
			require.Equal(t, c.text != "", r.fractions != 0)
			if c.text != "" {
				require.Equal(t, c.text, string(r.appendDecimal(nil, c.field-1)))
			}
		})
	}
}

func TestParseCountsFields(t *testing.T) {
	var r record
	for text, want := range map[string]int{
		"":                                   0,
		" \t\r":                              0,
		"1 2 3":                              3,
		line(nil):                            18,
		line(nil) + "  ":                     18,
		line(nil) + " 0.317\r":               19,
		line(nil) + "\t{1,2}\tq_1d\t1:ppn=2": 21,
		line(nil) + " a b c d e":             23,
		strings.ReplaceAll(line(nil), " ", "\t \t"): 18,
	} {
		n, bad := r.parse([]byte(text))
		require.Equal(t, want, n, "%q", text)
		require.Nil(t, bad)
	}
	_, _ = r.parse([]byte(line(nil) + " {1,2} q_1d x"))
	require.Equal(t, "q_1d", string(r.more[1]))
}

// TestParseEqualsNaive compares the hand-written parser with strings.Fields
// and strconv on random lines of integers.
func TestParseEqualsNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	blanks := []string{" ", "  ", "\t", " \t "}
	for range 2000 {
		var b strings.Builder
		for range standardFields {
			b.WriteString(strconv.FormatInt(rng.Int64N(1<<(1+rng.IntN(38)))-1, 10))
			b.WriteString(blanks[rng.IntN(len(blanks))])
		}
		var r record
		n, bad := r.parse([]byte(b.String()))
		require.Equal(t, 18, n)
		for i, token := range strings.Fields(b.String()) {
			want, err := strconv.ParseInt(token, 10, 64)
			require.NoError(t, err)
			if want > limit[i] {
				require.NotNil(t, bad)
				break
			}
			if bad == nil || bad.field > i {
				require.Equal(t, want*scale[i], r.v[i])
			}
		}
	}
}

// BenchmarkParse reports rows by second of CPU time, which other processes on
// the machine disturb less than wall time.
func BenchmarkParse(b *testing.B) {
	l := []byte("272393 31656837  33492  86395  256     -1    -1  256  86400    -1  1  87  95  -1 -1  4 -1 -1")
	var r record
	b.SetBytes(int64(len(l)))
	b.ReportAllocs()
	start := cpuSeconds(b)
	for b.Loop() {
		r.parse(l)
	}
	b.ReportMetric(float64(b.N)/(cpuSeconds(b)-start), "rows/cpu-s")
}

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// TestParseAllocatesNothing holds for lines of whole numbers.
func TestParseAllocatesNothing(t *testing.T) {
	l := []byte(line(nil) + " 0.5")
	var r record
	require.Zero(t, testing.AllocsPerRun(100, func() { r.parse(l) }))
}
