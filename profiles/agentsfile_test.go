package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// TestWithAgents: what a file of agents gives replaces what the cluster has, and nothing else moves.
func TestWithAgents(t *testing.T) {
	c, err := ParseCluster("site.yaml", []byte("agents: {kill_grace: 7s, start_delay: 1s}\ngroups: [{name: a, nodes: 2, fingerprint: f}]\n"))
	require.NoError(t, err)
	with, err := c.WithAgents("agents.yaml", []byte("agents: {completion_delay: 2s, start_delay: 3s}\n"))
	require.NoError(t, err)
	require.Equal(t, 2*model.Second, with.Agents.CompletionDelay)
	require.Equal(t, 3*model.Second, with.Agents.StartDelay)
	require.Equal(t, 7*model.Second, with.Agents.KillGrace)
	require.Equal(t, 5*model.Minute, with.Agents.BootDelay, "the default")
	require.Equal(t, model.Second, c.Agents.StartDelay, "the cluster itself is as it was")
	_, err = c.WithAgents("agents.yaml", []byte("agents: {start_delai: 3s}\n"))
	require.ErrorContains(t, err, "agents.yaml:1")
	require.ErrorContains(t, err, "start_delay")
}
