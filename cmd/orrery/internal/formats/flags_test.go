package formats

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/settings"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/traces"
)

// TestFlagsOfASpec: the flags of the command are those that make the spec.
func TestFlagsOfASpec(t *testing.T) {
	for _, flags := range []string{
		"", "--procs 8", "--nodes 2 --cores-per-node 4 --exclusive", "--order wfp3 --backfill none", "--backfill conservative:7",
		"--event-order sequential", "--cycle 30s --phase 10s", "--overrun extend --missing-request default:12h --infeasible error",
		"--missing-request recorded --feedback", "--quorum-latency 20ms --quorum-jitter 10ms --seed 7", "--warmup 0", "--warmup 6h --cooldown 90m", "--warmup 12",
	} {
		want := specOf(t, strings.Fields(flags))
		require.Equal(t, want, specOf(t, flagsOf(&want)), flags)
	}
	windowed := RecordedRun{Spec: plan.Spec{Measure: &plan.Measure{To: model.Time(1)}}}
	require.Contains(t, ReplayAnew("run", &windowed), "orrery study materialize STUDY TASK --out run --force")
}

// specOf is the spec that flags of replay make of a trace of 100 rows, in its canonical
// form.
func specOf(t *testing.T, flags []string) plan.Spec {
	t.Helper()
	v := &settings.Flags{}
	v.Register(&cobra.Command{})
	require.NoError(t, v.Set.Parse(flags))
	v.Warmup.Enter(&v.Spec, traces.Info{Rows: 100})
	var out plan.Spec
	require.NoError(t, json.Unmarshal(v.Spec.JSON(), &out))
	return out
}
