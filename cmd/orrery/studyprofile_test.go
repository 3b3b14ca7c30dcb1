package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/reports"
	"orrery/sim/experiment"
	"orrery/sim/plan"
	"orrery/sim/stat"
)

func TestSettingsName(t *testing.T) {
	parameters := []reports.StudyParameter{{Name: "order", Kind: reports.KindChoice}, {Name: "weights.wait_time", Kind: reports.KindReal}, {Name: "depth", Kind: reports.KindInteger}}
	require.Equal(t, "saf, depth 50", settingsName(parameters, []string{"saf", "", "50"}))
	require.Equal(t, "score, wait_time 3, depth 1", settingsName(parameters, []string{"score", "3", "1"}))
}

// A verdict needs an interval beyond 0, on the side that the column asks for.
func TestBehind(t *testing.T) {
	row := func(low, high float64) *experiment.Row {
		return &experiment.Row{Behind: stat.Interval{Estimate: (low + high) / 2, Low: low, High: high}}
	}
	less, more := &experiment.Column{}, &experiment.Column{Maximise: true}
	require.Equal(t, "worse", behind(row(1, 2), less))
	require.Equal(t, "better", behind(row(1, 2), more))
	require.Equal(t, notTold, behind(row(-1, 2), less))
	require.Empty(t, behind(row(math.NaN(), 2), less))
}

// A plain cluster has a profile of its order and its backfilling; that of another order
// than multifactor has no lines of slurm.conf.
func TestProfileOfAPlainMachine(t *testing.T) {
	spec := &plan.Spec{Order: "saf", Backfill: "conservative", Depth: 20}
	p, err := profileIn(spec, "")
	require.NoError(t, err)
	require.Equal(t, "saf", p.Order)
	require.Equal(t, "conservative", p.Backfill)
	require.EqualValues(t, 20, p.Depth)
	require.Equal(t, []pointProfile{{}}, pointProfiles(spec))
	p, err = profileIn(&plan.Spec{}, "")
	require.NoError(t, err)
	require.Equal(t, []string{"fcfs", "easy"}, []string{p.Order, p.Backfill})
}

// Of a site with several vClusters each has a command of its own: without a name the
// command would be refused.
func TestTheCommandsOfAPoint(t *testing.T) {
	require.Equal(t, []string{"orrery study materialize . 2", "orrery study profile . 2 --out profile.yaml"}, pointCommands(".", "2", pointProfiles(&plan.Spec{Order: "saf"})))
	c, err := profiles.LoadCluster("month")
	require.NoError(t, err)
	spec := &plan.Spec{Site: c.YAML()}
	_, err = profileIn(spec, "")
	require.ErrorContains(t, err, "name one with --vcluster")
	commands := pointCommands("study", "abc", pointProfiles(spec))
	require.Contains(t, commands, "orrery study profile study abc --vcluster hpc --out profile-hpc.yaml")
	require.NotContains(t, strings.Join(commands, "; "), "abc --out")
	for _, p := range pointProfiles(spec) {
		_, err := profileIn(spec, p.vcluster)
		require.NoError(t, err, p.vcluster)
	}
}
