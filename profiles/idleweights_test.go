package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdleWeights: a weight acts on nothing where the site has not what its factor is made of,
// and the sum of such is told.
func TestIdleWeights(t *testing.T) {
	const (
		nodes = "node_types: [{name: n, cpus: 8}]\ngroups: [{name: g, nodes: 4, type: n}]\n"
		multi = "vclusters: [{name: v, home: all, profile: {order: multifactor, multifactor: {age: 2000, fairshare: 7000, qos: 900, partition: 50, assoc: 30, tres: {cpu: 11, memory: -4, gpu: 5}}}}]\n"
	)
	for name, c := range map[string]struct{ text, want string }{
		"nothing of all": {nodes + multi, "7989 of 10000 points act on nothing: fairshare 7000 (no accounts), assoc 30 (no priorities of accounts), " +
			"qos 900 (no priorities of qualities of service), partition 50 (no partitions of different priorities), tres.memory 4 (no memory stated), tres.gpu 5 (no GPUs)"},
		"all of it": {"node_types: [{name: n, cpus: 8, gpu: x, gpus: 1, memory: 1GiB}]\ngroups: [{name: g, nodes: 4, type: n}]\n" +
			"tenants: [{name: a, priority: 1}]\nqos: [{name: q, priority: 1}]\npartitions: [{name: p, priority: 1}, {name: r, priority: 2}]\n" + multi, ""},
		"weights of factors": {nodes + "vclusters: [{name: v, home: all, profile: {weights: {wait_time: 1, fair_share: 2, topology: 3, energy: 4}}}]\n",
			"9 of 10 of the weights act on nothing: fair_share 2 (no tenant has a fair_share), topology 3 (there is one group), energy 4 (equal for all jobs of a pass without min_score)"},
		"an order without weights": {nodes + "vclusters: [{name: v, home: all, profile: {order: fcfs}}]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c0, err := ParseCluster("x.yaml", []byte(c.text))
			require.NoError(t, err)
			site, err := c0.Resolve()
			require.NoError(t, err)
			require.Equal(t, c.want, c0.IdleWeights(0, site))
			var told []string
			for _, p := range c0.remarks(site) {
				if p.Key == "vclusters[0].profile" {
					told = append(told, p.Text)
				}
			}
			if c.want == "" {
				require.Empty(t, told)
			} else {
				require.Equal(t, []string{c.want}, told)
			}
		})
	}
}
