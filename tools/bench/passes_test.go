package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePasses(t *testing.T) {
	got, err := parsePasses(`goos: linux
BenchmarkSitePass/feasible/queue=100-2     	     300	     22071 ns/op	     11034 cpu-ns/op	       3 B/op	       1 allocs/op
BenchmarkSitePass/feasible/queue=100-2     	     300	     22071 ns/op	     12000 cpu-ns/op	       0 B/op	       0 allocs/op
BenchmarkSitePass/nothing-fits/queue=100000	     300	      3071 ns/op	      2034.5 cpu-ns/op	       0 B/op	       0 allocs/op
PASS
`)
	require.NoError(t, err)
	require.Equal(t, []passCost{{"feasible", 100, 11034, 0}, {"nothing fits", 100_000, 2034.5, 0}}, got)
	_, err = parsePasses("PASS\n")
	require.ErrorContains(t, err, "no pass")
}
