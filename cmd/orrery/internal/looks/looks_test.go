package looks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/tune"
)

// TestLooks: each tune of other settings on jobs of the same time counts, a repetition
// does not, and other traces do not.
func TestLooks(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	report := func(trace string) *tune.Report {
		return &tune.Report{
			Traces:  []tune.TraceInfo{{Name: "log", Hash: trace}},
			Tested:  1,
			Windows: []tune.Window{{Begin: 0, End: 10}, {Begin: 10, End: 20}, {Begin: 20, End: 30}},
		}
	}
	look := func(trace string, seed uint64) []string {
		said, err := Enter(report(trace), fmt.Append(nil, seed))
		require.NoError(t, err)
		return said
	}
	require.Empty(t, look("a", 1))
	require.Empty(t, look("a", 1), "the same tune again")
	require.Empty(t, look("b", 2), "another trace")
	require.Contains(t, look("a", 2)[0], "another tune has looked")
	require.Contains(t, look("a", 3)[0], "2 other tunes")
	require.NotContains(t, look("a", 4)[0], "worn")
	require.Contains(t, look("a", 5)[0], "4 other tunes have looked at these jobs; that one of so many claims a gain that is not there has a chance of up to 23 %. The log is worn")
	text, err := os.ReadFile(filepath.Join(state, "orrery", "looks.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(string(text), "\n"))

	r := report("a")
	r.Tested = 0
	said, err := Enter(r, nil)
	require.NoError(t, err)
	require.Empty(t, said, "no candidate was held against the current policy")
	t.Setenv("XDG_STATE_HOME", filepath.Join(state, "orrery", "looks.jsonl"))
	_, err = Enter(report("a"), nil)
	require.ErrorContains(t, err, "XDG_STATE_HOME")
}
