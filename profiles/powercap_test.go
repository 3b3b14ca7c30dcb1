package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRemarksOnPower: what lint says of a cap on power.
func TestRemarksOnPower(t *testing.T) {
	const nodes = "groups: [{name: g, nodes: 10, type: a}]\nnode_types: [{name: a, idle_power: 200W, busy_power: 1kW}]\n"
	for _, c := range []struct{ name, text, want string }{
		{"of jobs", nodes + "power_cap: 5kW\n", "power_cap: counts the nodes of running jobs: idle ones draw up to 2kW beside it; with power_cap_scope: site they count"},
		{"of jobs that are shed", nodes + "power_cap: 5kW\nover_power_cap: shed\n", "with power_cap_scope: site they count"},
		{"of the site", nodes + "power_cap: 5kW\npower_cap_scope: site\n", ""},
		{"of the site, no more than idle nodes", nodes + "power_cap: 2kW\npower_cap_scope: site\n", "power_cap: is no more than idle nodes draw (2kW), which count: no job starts"},
		{"of the site, room for one node", nodes + "power_cap: 2800W\npower_cap_scope: site\n", ""},
		{"of the site, no room for one node", nodes + "power_cap: 2500W\npower_cap_scope: site\n", "power_cap: leaves 500W beside what idle nodes draw (2kW), which count, and a node at work draws 800W more at least: no job starts that does not state less"},
		{"of the site, room for part of a node", nodes + "power_cap: 2500W\npower_cap_scope: site\nsharing: gpus\n", ""},
		{"of the site, later", nodes + "power_cap: 5kW\npower_cap_scope: site\nevents: [{time: 1h, kind: power_cap, value: 1500W}]\n", "events[0]: from then on the power_cap is no more than idle nodes draw (2kW)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.yaml")
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			_, remarks, err := Lint(path)
			require.NoError(t, err)
			var about []string
			for _, n := range remarks {
				if text := n.String(); strings.Contains(text, "idle nodes draw") || strings.Contains(text, "idle ones draw") {
					about = append(about, text)
				}
			}
			if c.want == "" {
				require.Empty(t, about)
				return
			}
			require.Len(t, about, 1)
			require.Contains(t, about[0], c.want)
		})
	}
}

// TestSlowCountsTheSite: slow needs no scope, which is refused beside whatever else is wrong.
func TestSlowCountsTheSite(t *testing.T) {
	_, err := ParseCluster("c.yaml", []byte("power_cap: 1kW\npower_cap_scope: site\nover_power_cap: slow\ngroups: [{name: g, nodes: 4}]\n"))
	require.ErrorContains(t, err, "c.yaml:2:18: power_cap_scope: found site with over_power_cap: slow, which goes by all that the site draws: leave it out")
}

// TestIdleNodesOfNoType: nodes that nothing states the idle power of cannot count.
func TestIdleNodesOfNoType(t *testing.T) {
	const site = "power_cap: 3kW\npower_cap_scope: site\n"
	const typed = "node_types: [{name: a, cpus: 1, idle_power: 200W, busy_power: 1kW}, {name: b, cpus: 1, idle_power: 100W, busy_power: 1kW}]\n"
	row := func(of string) NodeRow { return NodeRow{Name: "n" + of, Type: of, Up: true} }
	for _, c := range []struct {
		name, text string
		rows       []NodeRow
		want       string
	}{
		{"no types", site + "groups: [{name: g, nodes: 1}]\n", nil,
			"c.yaml:3:10: groups[0]: node g-1 of the group g has no type, so nothing states its idle_power, and power_cap_scope: site counts idle nodes: give it a type with idle_power, or power_cap_scope: jobs"},
		{"one type, which a group without any has too", site + "node_types: [{name: a, idle_power: 200W, busy_power: 1kW}]\ngroups: [{name: g, nodes: 1, type: a}, {name: h, nodes: 9}]\n", nil, ""},
		{"jobs alone count", "power_cap: 3kW\ngroups: [{name: g, nodes: 1}]\n", nil, ""},
		{"a table", site + typed, []NodeRow{row("a"), row("b")}, ""},
		{"a table of another type", site + typed, []NodeRow{row("a"), row("x")}, "groups: node nx of the table of nodes is of the type x, which is not under node_types"},
		{"a table without types", site, []NodeRow{row("")}, "groups: node n of the table of nodes has no type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, err := ParseCluster("c.yaml", []byte(c.text))
			require.NoError(t, err)
			if len(c.rows) > 0 {
				cluster = cluster.WithNodes("the table", c.rows)
			}
			_, err = cluster.Resolve()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
