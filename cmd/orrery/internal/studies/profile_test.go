package studies

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/studypage"
	"orrery/profiles"
	"orrery/sim/plan"
)

// A plain cluster has a profile of its order and its backfilling; that of another order
// than multifactor has no lines of slurm.conf.
func TestProfileOfAPlainMachine(t *testing.T) {
	spec := &plan.Spec{Order: "saf", Backfill: "conservative", Depth: 20}
	p, err := profileIn(spec, "")
	require.NoError(t, err)
	require.Equal(t, "saf", p.Order)
	require.Equal(t, "conservative", p.Backfill)
	require.EqualValues(t, 20, p.Depth)
	require.Equal(t, []studypage.Profile{{}}, studypage.Profiles(spec))
	p, err = profileIn(&plan.Spec{}, "")
	require.NoError(t, err)
	require.Equal(t, []string{"fcfs", "easy"}, []string{p.Order, p.Backfill})
}

// Of a site with several vClusters each has a command of its own: without a name the
// command would be refused.
func TestTheCommandsOfAPoint(t *testing.T) {
	require.Equal(t, []string{"orrery study materialize . 2", "orrery study profile . 2 --out profile.yaml"}, studypage.Commands(".", "2", studypage.FilesOf(&plan.Spec{Order: "saf"})))
	c, err := profiles.LoadCluster("month")
	require.NoError(t, err)
	spec := &plan.Spec{Site: c.YAML()}
	_, err = profileIn(spec, "")
	require.ErrorContains(t, err, "name one with --vcluster")
	commands := studypage.Commands("study", "abc", studypage.FilesOf(spec))
	require.Equal(t, "orrery study cluster study abc --out cluster.yaml", commands[1])
	require.Contains(t, commands, "orrery study profile study abc --vcluster hpc --out profile-hpc.yaml")
	require.NotContains(t, strings.Join(commands, "; "), "profile study abc --out")
	for _, p := range studypage.Profiles(spec) {
		_, err := profileIn(spec, p.VCluster)
		require.NoError(t, err, p.VCluster)
	}
}
