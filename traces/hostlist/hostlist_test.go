package hostlist

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

func TestExpand(t *testing.T) {
	for _, row := range []struct {
		term string
		want []string
	}{
		{"n1", []string{"n1"}},
		{"n[1-3,7]", []string{"n1", "n2", "n3", "n7"}},
		{"n[08-10]", []string{"n08", "n09", "n10"}},
		{"n[5]x", []string{"n5x"}},
		{"r[1-2]n[1-2]x", []string{"r1n1x", "r1n2x", "r2n1x", "r2n2x"}},
	} {
		got, err := Expand(row.term, 1000)
		require.NoError(t, err)
		require.Equal(t, row.want, got)
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, row := range []struct{ term, want string }{
		{"n[1-3", "the [ has no ]"},
		{"n1-3]", "a ] stands before its ["},
		{"n[]", `the range "" is not like 001-256`},
		{"n[a-c]", `the range "a-c" is not like 001-256`},
		{"n[3-1]", `the range "3-1" runs backwards`},
		{"n[1-2-3]", `the range "1-2-3" is not like 001-256`},
		{"n[1-1000000000]", "is not like"},
		{"n[1-11]", ErrMany.Error()},
		{"n[1-4]m[1-4]", ErrMany.Error()},
	} {
		_, err := Expand(row.term, 10)
		require.ErrorContains(t, err, row.want, row.term)
	}
}

func TestTerms(t *testing.T) {
	require.Equal(t, []string{"n[1-3,7]", "m1", "k[1]"}, Terms(",n[1-3,7], m1,,k[1] ", ", "))
	require.Equal(t, []string{"a b", "c"}, Terms("a b,c", ","))
	require.Equal(t, []string{"gpu:a100:4(S:0,1)", "nvme:1"}, Terms("gpu:a100:4(S:0,1),nvme:1", ","))
	require.Empty(t, Terms("", ","))
}

// TestCompress checks that terms stand for the names that they were made of.
func TestCompress(t *testing.T) {
	require.Equal(t, []string{"n[08-10]", "n12", "login", "a[1-2]x"}, Compress([]string{"n08", "n09", "n10", "n12", "login", "a1x", "a2x"}))
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 20).Draw(t, "numbers")
		var names, again []string
		for _, n := range numbers {
			names = append(names, "n"+strconv.Itoa(n)+rapid.SampledFrom([]string{"", "x"}).Draw(t, "tail"))
		}
		for _, term := range Compress(names) {
			one, err := Expand(term, 100)
			require.NoError(t, err)
			again = append(again, one...)
		}
		require.Equal(t, names, again)
	})
}

func FuzzExpand(f *testing.F) {
	for _, term := range []string{"n[1-3,7]", "r[1-2]n[1-2]", "n[", "]n[1]", "n[09-11]"} {
		f.Add(term)
	}
	f.Fuzz(func(t *testing.T, term string) {
		names, err := Expand(term, 1000)
		if err == nil && term != "" {
			require.NotEmpty(t, names)
			require.LessOrEqual(t, len(names), 1000)
		}
	})
}
