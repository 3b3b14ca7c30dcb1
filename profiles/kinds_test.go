package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKindOfEvents: what has events may be a cluster file or a scenario. Keys of one alone tell, then
// events that a cluster file cannot have; what is left is taken for a cluster file, and said.
func TestKindOfEvents(t *testing.T) {
	const down = "events: [{time: 1h, kind: down, subject: a}]\n"
	for _, c := range []struct {
		text string
		want Kind
		may  bool
	}{
		{down, KindCluster, true},
		{"description: x\n" + down, KindCluster, true},
		{"groups: [{name: a, nodes: 2}]\n" + down, KindCluster, false},
		{"nodes: 4\n" + down, KindCluster, false},
		{down + "without: {users: [a]}\n", KindScenario, false},
		{down + "prefer: 4\n", KindScenario, false},
		{"without: {users: [a]}\n", KindScenario, false},
		{"events: [{time: 1h, kind: down, subject: a}, {time: 2h, kind: outage, value: 1h}]\n", KindScenario, false},
		{"events:\n  - time: 1h\n    kind: profile\n    profile: x.yaml\n", KindScenario, false},
		{"events: [{time: 1h, kind: dwon, type: a}]\n", KindScenario, false},
		{"events: [{time: 1h, kind: oder, value: sjf}]\n", KindCluster, true},
		{"groups: [{name: a, nodes: 2}]\nevents: [{kind: outage}]\n", KindCluster, false},
		{"events: [{subject: a}, 3, null, [kind]]\n", KindCluster, true},
		{"events: down\n", KindCluster, true},
		{"name: x\n", KindProfile, false},
		{"traces: [a]\nscenarios: [none]\n", KindExperiment, false},
	} {
		require.Equal(t, c.want, KindOf([]byte(c.text)), c.text)
		require.Equal(t, c.may, MayBeScenario([]byte(c.text)), c.text)
	}
	_, err := ParseCluster("x.yaml", []byte("events: [{kind: outage, value: 1h}]"))
	require.EqualError(t, err, "x.yaml: is a scenario file, want a cluster file")
	_, err = ParseScenario("x.yaml", []byte("groups: [{name: a, nodes: 2}]"))
	require.EqualError(t, err, "x.yaml: is a cluster file, want a scenario file")
	_, err = ParseScenario("x.yaml", []byte("events: [{kind: drian}]"))
	require.ErrorContains(t, err, "did you mean drain?")
}
