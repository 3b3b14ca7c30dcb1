package verify

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/sim/watch"
)

// TestVerifyTellsOfBrokenInvariants: a table of what was found, and exit code 4.
func TestVerifyTellsOfBrokenInvariants(t *testing.T) {
	w := watched{"aa", &watch.Report{Count: 102, Breaches: []watch.Breach{
		{Invariant: 5, At: 7_000_000, Job: 3, ID: 41, Found: "node n0, which job 40 hold", Expected: "nodes and GPUs that no job holds"},
		{Invariant: 1, At: 8_000_000, Job: -1, Found: "an entry at 00:00:06", Expected: "none before 00:00:08"},
	}}}
	for form, want := range map[string]string{
		"table": "nodes and GPUs that no job holds\n", "markdown": "| an entry at 00:00:06", "json": `"invariant": 5`,
	} {
		var out bytes.Buffer
		m := &cli.App{Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }}
		v := verifyVerb{app: m, print: &cli.Printer{App: m, Format: form}}
		err := v.tell(w)
		var coded *cli.CodedError
		require.ErrorAs(t, err, &coded)
		require.Equal(t, cli.ExitMismatch, coded.Code)
		require.ErrorContains(t, err, "broken 102 times, first invariant 5 at 00:00:07: job 41 (row 3): found node n0")
		require.Contains(t, out.String(), want)
		if form == "table" {
			require.Contains(t, out.String(), "and 100 more")
		}
	}
}
