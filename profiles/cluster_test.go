package profiles

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

const twoGroups = `
name: duo
sharing: gpus
power_cap: 20kW
node_types:
  - {name: big, gpu: H100, gpus: 4, gpu_memory: 80GiB, cpus: 64, memory: 512GiB, features: [nvlink, ib], idle_power: 500W, busy_power: 3kW,
     gpu_topology: {islands: [[0, 1], [2, 3]], numa: [0, 0, 1, 1]}}
  - {name: small, cpus: 16, memory: 64GB}
groups:
  - {name: east, nodes: "n[01-04]", type: big, fingerprint: v1}
  - {name: east, nodes: 2, type: small}
  - {name: west, nodes: ["n[05,07-08]", login], type: big, fingerprint: v2}
vclusters:
  - {name: hpc, profile: hpc-batch, home: ["n[01-02]", west], max_lent: 0.5}
  - {name: rest, profile: {order: sjf}, home: 3, lend: false}
tenants:
  - {name: physics, max_nodes: 4, fair_share: 0.5, burst: 1.5, gpu_hours: 10.5}
  - {name: biology}
qos:
  - {name: low}
  - {name: high, priority: 10, max_wall: 1d, preempts: [low]}
partitions:
  - {name: main}
  - {name: gpu, nodes: [east, "n07"], tier: 2, max_nodes: 4}
reservations:
  - {name: upkeep, nodes: west, start: 1d, end: 1d6h, maintenance: true}
quorum: {latency: 20ms}
events:
  - {time: 2h, kind: price, value: 0.25}
  - {time: 1h, kind: down, subject: "n[01-02]"}
  - {time: 3h, kind: quota, subject: physics, limit: max_nodes, value: 8}
  - {time: 4h, kind: quota, subject: physics, limit: gpu_hours, value: none}
  - {time: 5h, kind: power_cap, value: 10000W}
`

func TestResolve(t *testing.T) {
	c, err := ParseCluster("duo.yaml", []byte(twoGroups))
	require.NoError(t, err)
	s, err := c.Resolve()
	require.NoError(t, err)

	type row struct {
		name        string
		group       int32
		print       int32
		home        model.VClusterID
		gpu, gpus   int32
		cpus, shape int32
	}
	var got []row
	for _, n := range s.Nodes {
		got = append(got, row{n.Name, n.Group, n.Fingerprint, n.Home, n.GPUType, n.GPUs, n.CPUs, n.Topology})
	}
	require.Equal(t, []row{
		{"n01", 0, 0, 0, 0, 4, 64, 0},
		{"n02", 0, 0, 0, 0, 4, 64, 0},
		{"n03", 0, 0, 1, 0, 4, 64, 0},
		{"n04", 0, 0, 1, 0, 4, 64, 0},
		{"east-1", 0, -1, 1, -1, 0, 16, -1},
		{"east-2", 0, -1, -1, -1, 0, 16, -1},
		{"n05", 1, 1, 0, 0, 4, 64, 0},
		{"n07", 1, 1, 0, 0, 4, 64, 0},
		{"n08", 1, 1, 0, 0, 4, 64, 0},
		{"login", 1, 1, 0, 0, 4, 64, 0},
	}, got)
	require.Equal(t, []string{"ib", "nvlink"}, s.Nodes[0].Features)
	require.Equal(t, int64(80)<<30, s.Nodes[0].GPUMemory)
	require.Equal(t, int64(3000), s.Nodes[0].BusyPower)
	require.Equal(t, []string{"H100"}, s.GPUTypes)
	require.Equal(t, []string{"v1", "v2"}, s.Prints)
	require.Equal(t, int32(2), s.Fingerprints)
	require.Equal(t, []model.Group{{Name: "east", Adjacent: []int32{1}}, {Name: "west", Adjacent: []int32{0}}}, s.Groups)
	require.Equal(t, []model.GPUTopology{{Name: "big", NUMA: []int32{0, 0, 1, 1}, Bandwidth: [][]int64{
		{0, 450, 64, 64}, {450, 0, 64, 64}, {64, 64, 0, 450}, {64, 64, 450, 0}}}}, s.Topologies)

	require.True(t, s.Shared)
	require.Equal(t, int64(20_000), s.PowerCap)
	require.Equal(t, []model.VCluster{
		{Name: "hpc", Lend: true, Borrow: true, MaxLent: model.One / 2, Grace: model.Minute},
		{Name: "rest", Borrow: true, MaxLent: model.FixedOf(.2), Grace: model.Minute},
	}, s.VClusters)
	require.Equal(t, "hpc-batch", s.Profiles[0].Name)
	require.Equal(t, "rest", s.Profiles[1].Name)
	require.Equal(t, "sjf", s.Profiles[1].Order)
	require.Equal(t, model.Limits{MaxNodes: 4, FairShare: model.One / 2, Burst: 3 * model.One / 2, GPUBudget: 10*model.Hour + 30*model.Minute}, s.Tenants[0].Limits)
	require.Equal(t, []model.QOSID{0}, s.QOS[1].PreemptsQOS)
	require.Equal(t, model.One, s.QOS[0].UsageFactor)
	require.Equal(t, int32(10), s.Partitions[0].Nodes.Len())
	require.Equal(t, int32(7), s.Partitions[1].Nodes.Len())
	require.Equal(t, model.Time(30*model.Hour), s.Reservations[0].End)
	require.Equal(t, int32(4), s.Reservations[0].Nodes.Len())

	kinds := ""
	for _, e := range s.Changes {
		kinds += e.Kind + " "
	}
	require.Equal(t, "down price quota quota power_cap ", kinds)
	require.Equal(t, int32(2), s.Changes[0].Nodes.Len())
	require.Equal(t, model.One/4, s.Changes[1].Price)
	require.Equal(t, int32(8), s.Changes[3].Limits.MaxNodes)
	require.Equal(t, model.Duration(0), s.Changes[3].Limits.GPUBudget)
	require.Equal(t, int64(10_000), s.Changes[4].Amount)
}

func TestClusterRoundTrips(t *testing.T) {
	c, err := ParseCluster("duo.yaml", []byte(twoGroups))
	require.NoError(t, err)
	clusterRoundTrip(t, c)
	require.Contains(t, string(c.JSON()), `{"time":"5h","kind":"power_cap","value":"10kW"}`)
	require.NoError(t, c.Inline("."))
	clusterRoundTrip(t, c)
}

func clusterRoundTrip(t *testing.T, c *Cluster) {
	t.Helper()
	for _, text := range [][]byte{c.JSON(), c.YAML(), c.FullJSON()} {
		again, err := ParseCluster("again.yaml", text)
		require.NoError(t, err, string(text))
		require.Equal(t, string(c.JSON()), string(again.JSON()))
	}
}

func TestOneVClusterWithoutAny(t *testing.T) {
	c, err := ParseCluster("c.yaml", []byte("groups: [{name: g, nodes: 3}]"))
	require.NoError(t, err)
	s, err := c.Resolve()
	require.NoError(t, err)
	require.Equal(t, "default", s.VClusters[0].Name)
	require.Equal(t, "default", s.Profiles[0].Name)
	for _, n := range s.Nodes {
		require.Equal(t, model.VClusterID(0), n.Home)
	}
}

func TestWithNodes(t *testing.T) {
	c, err := ParseCluster("c.yaml", []byte("node_types: [{name: a, gpu: X, gpus: 2, cpus: 8}]\nvclusters: [{name: v}, {name: w}]"))
	require.NoError(t, err)
	with := c.WithNodes("trace", []NodeRow{
		{Name: "p", Group: "g", Type: "a", Fingerprint: "f", VCluster: "w", Up: true},
		{Name: "q", Group: "h", Type: "b", GPUModel: "Y", GPUs: 4, CPUs: 2},
		{Up: true},
	})
	s, err := with.Resolve()
	require.NoError(t, err)
	require.Equal(t, []string{"X", "Y"}, s.GPUTypes)
	require.Equal(t, model.Node{Name: "p", Home: 1, GPUs: 2, CPUs: 8, Topology: -1}, s.Nodes[0])
	require.Equal(t, model.Node{Name: "q", Group: 1, Fingerprint: -1, Home: -1, GPUType: 1, GPUs: 4, CPUs: 2, Topology: -1, State: model.Down}, s.Nodes[1])
	require.Equal(t, "node-3", s.Nodes[2].Name)
	_, err = c.WithNodes("trace", []NodeRow{{Name: "p", VCluster: "x"}}).Resolve()
	require.ErrorContains(t, err, `puts node p at home on "x", which is not among them`)
	_, err = c.Resolve()
	require.ErrorContains(t, err, "there are no nodes")
}

func TestClusterErrors(t *testing.T) {
	const g = "groups: [{name: g, nodes: 4}]\n"
	for _, row := range []struct{ text, want string }{
		{"groups: [{name: g, nodes: 5000000}]", "c.yaml:1:27: groups[0].nodes: found 5000000 nodes, want 1 to 4194304"},
		{"groups: [{name: g, nodes: 99999999999999999999}]", "want 1 to 4194304"},
		{`groups: [{name: g, nodes: "n[1-99999999]"}]`, "c.yaml:1:27: groups[0].nodes: found \"n[1-99999999]\": that are more than 4194304 nodes"},
		{`groups: [{name: g, nodes: "n[1-4000]m[1-4000]"}]`, "more than 4194304 nodes"},
		{`groups: [{name: g, nodes: "n[4-1]"}]`, `the range "4-1" runs backwards`},
		{`groups: [{name: g, nodes: "n[1-"}]`, "the [ has no ]"},
		{`groups: [{name: g, nodes: "n[a]"}]`, `the range "a" is not like 001-256`},
		{`groups: [{name: g, nodes: "a b"}]`, "want names like n[001-256]"},
		{`groups: [{name: g, nodes: [x, x]}]`, "c.yaml:1:31: groups[0].nodes[1]: names the node x a second time"},
		{"groups: [{name: g}]", "c.yaml:1:10: groups[0]: has no key nodes"},
		{"groups: [{nodes: 1}]", "groups[0].name: is missing: give it a name"},
		{g + "node_types: [{name: gh200}]\nvclusters: [{name: a, home: x}]", `c.yaml:3:29: vclusters[0].home: found "x": there is no group and no node x`},
		{"node_types: [{name: gh200}, {name: b}]\ngroups: [{name: g, nodes: 1, type: gh20}]", `c.yaml:2:36: groups[0].type: found "gh20", which is no node type (did you mean gh200?): want gh200 or b`},
		{"node_types: [{name: a}, {name: b}]\n" + g, "groups[0]: has no key type: want a or b"},
		{g + "vclusters: [{name: a, home: g}, {name: b, home: [g-2]}]", "c.yaml:2:49: vclusters[1].home: names the node g-2, which is home of a: each node has one home"},
		{g + "vclusters: [{name: a, home: 3}, {name: b, home: 2}]", "c.yaml:2:49: vclusters[1].home: found 2, but only 1 nodes are left without a home"},
		{g + "vclusters: [{name: a}, {name: a}]", `c.yaml:2:31: vclusters[1].name: found "a", which vclusters[0] is called already`},
		{g + "vclusters: [{name: a, profile: hpc}]", `c.yaml:2:32: vclusters[0].profile: there is no profile "hpc" (did you mean hpc-batch?)`},
		{g + "vclusters:\n  - name: a\n    profile:\n      order: sjf\n      min_score: 1", "c.yaml:6:18: vclusters[0].profile.min_score: does not apply with order: sjf"},
		{g + "vclusters:\n  - name: a\n    max_lent: 20", "c.yaml:4:15: vclusters[0].max_lent: found 20, want 0 to 1"},
		{g + "tenants: [{name: a, burst: 0.5}]", "tenants[0].burst: found 0.5, want 1 to 1000"},
		{g + "tenants: [{name: a, max_nodes: 4294967297}]", "tenants[0].max_nodes: found 4294967297, which is out of range"},
		{g + "qos: [{name: a, preempts: [b]}]", `c.yaml:2:28: qos[0].preempts[0]: found "b", which is no quality of service: want a`},
		{g + "partitions: [{name: a, nodes: 2}]", `partitions[0].nodes: found "2", want groups, names like n[001-256], or all`},
		{g + "partitions: [{name: a, min_nodes: 3, max_nodes: 2}]", "partitions[0].min_nodes: found 3, want at most max_nodes, 2"},
		{g + "reservations: [{name: a, start: 1h}]", "reservations[0].end: found 0s, want an instant after start, 1h"},
		{g + "events: [{time: 1h, kind: quota, subject: a, limit: max_nodes, value: 1}]", `events[0].subject: found "a", which is no tenant: there is none in this file`},
		{g + "tenants: [{name: a}]\nevents: [{kind: quota, subject: a, limit: nodes, value: 1}]", `events[0].limit: found "nodes", which is no limit of a tenant`},
		{g + "events: [{kind: down}]", "events[0]: is of kind down and has no key subject"},
		{g + "events: [{kind: price, value: 2}]", "events[0].value: found 2, want 0 to 1"},
		{g + "events: [{kind: price, subject: g, value: 1}]", "events[0].subject: does not apply with kind: price"},
		{g + "events: [{kind: power_cap, value: 10}]", `events[0].value: found "10", want a number and its unit, for example 700W or 1.2kW`},
		{"groups: [{name: g, nodes: 4, adjacent: [h]}]", "c.yaml:1:40: groups[0].adjacent: does not apply with topology: dragonfly"},
		{"topology: listed\ngroups: [{name: g, nodes: 4, adjacent: [h]}]", `groups[0].adjacent[0]: found "h", which is no group: want g`},
		{g + "node_types: [{name: a, gpus: 2}]", "node_types[0]: has 2 gpus and no key gpu"},
		{g + "node_types: [{name: a, gpu: x, gpus: 2, gpu_topology: {islands: [[0, 2]]}}]", "islands[0][1]: found GPU 2, but the node has 2: they count from 0"},
		{g + "node_types: [{name: a, gpu: x, gpus: 2, gpu_topology: {bandwidth: [[0, 1], [2, 0]]}}]", "bandwidth[0][1]: found 1, want 0 to 1000000, and the same both ways"},
		{g + "node_types: [{name: a, memory: 1.5B}]", `found "1.5B", want a whole multiple of B below 2^63`},
		{g + "node_types: [{name: a, memory: 64}]", `found "64", want a number and its unit, for example 80GiB or 512GB`},
		{g + "node_types: [{name: a, busy_power: 1W, idle_power: 2W}]", "busy_power: found 1W, want at least idle_power, 2W"},
		{"groups: [{name: g, nodes: [g]}]", `groups: "g" is a group and node 0: give one of them another name`},
		{"sharing: gpus\n" + g + "vclusters: [{name: a, profile: {backfill: conservative}}]", "c.yaml:3:43: vclusters[0].profile.backfill: found conservative, which reserves whole nodes"},
		{g + "vclusters: [{name: a}, {name: b, profile: {accounting_tick: 1m}}]", "c.yaml:2:61: vclusters[1].profile.accounting_tick: found 1m, and that of a is 5m: a site keeps one account, give them the same"},
		{g + "vclusters: [{name: a}, {name: b, profile: {usage: {rule: rolling}}}]", "c.yaml:2:58: vclusters[1].profile.usage.rule: found rolling, and that of a is instantaneous: a site keeps one account"},
		{g + "agents: {checkpoints: young}", "c.yaml:2:23: agents.checkpoints: found young, whose interval comes of failures.mtbf, which is never"},
		{g + "failures: {mttr: 1h}", "failures.mttr: does not apply with failures.mtbf: never"},
	} {
		c, err := ParseCluster("c.yaml", []byte(row.text))
		if err == nil {
			_, err = c.Resolve()
		}
		require.ErrorContains(t, err, row.want, row.text)
	}
}

// TestLoadCluster finds a profile beside the cluster file.
func TestLoadCluster(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "own.yaml"), []byte("order: ljf"), 0o600))
	path := filepath.Join(dir, "site.yaml")
	require.NoError(t, os.WriteFile(path, []byte("groups: [{name: g, nodes: 1}]\nvclusters: [{name: a, profile: ./own.yaml}, {name: b, profile: service}]"), 0o600))
	c, err := LoadCluster(path)
	require.NoError(t, err)
	require.Equal(t, "site", c.Name)
	require.Equal(t, "ljf", c.VClusters[0].Profile.Inline.Order)
	require.True(t, strings.Contains(string(c.JSON()), `"profile":{"name":"own","order":"ljf"}`), string(c.JSON()))
}

func TestExpand(t *testing.T) {
	for _, row := range []struct {
		term string
		want []string
	}{
		{"n1", []string{"n1"}},
		{"n[08-10]", []string{"n08", "n09", "n10"}},
		{"n[1-2,5]", []string{"n1", "n2", "n5"}},
		{"r[1-2]n[1-2]x", []string{"r1n1x", "r1n2x", "r2n1x", "r2n2x"}},
	} {
		got, err := expand(row.term, MaxNodes)
		require.NoError(t, err)
		require.Equal(t, row.want, got)
	}
}

func FuzzCluster(f *testing.F) {
	f.Add([]byte(twoGroups))
	f.Add([]byte("topology: listed\ngroups: [{name: a, nodes: 2, adjacent: [b]}, {name: b, nodes: 'x[1-2]'}]"))
	f.Add([]byte(typedSite + "failures: {mtbf: 266d, law: weibull, repair: log-normal, repair_sigma: 1.4, shared: [{mtbf: 9d, nodes: g}, {of: nodes, mtbf: 8d}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseCluster("f.yaml", text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		clusterRoundTrip(t, c)
		for _, v := range c.VClusters {
			if strings.ContainsAny(v.Profile.Name, `./\`) {
				return // reads no files here
			}
		}
		n := 0
		for _, g := range c.Groups {
			for _, term := range g.Nodes {
				names, err := expand(term, 2000)
				if k, ok := count(term); ok {
					n += k
				} else if err != nil {
					return
				}
				if n += len(names); n > 2000 {
					return
				}
			}
		}
		if _, err := c.Resolve(); err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}

// Large numbers are written as they are read.
func TestLargeNumbersAreWrittenOut(t *testing.T) {
	c, err := ParseCluster("c", []byte("groups: [{name: a, nodes: 1}]\ntenants: [{name: t, gpu_hours: 3139200}]\n"))
	require.NoError(t, err)
	again, err := ParseCluster("c", c.JSON())
	require.NoError(t, err)
	require.Equal(t, c.Tenants[0].GPUHours, again.Tenants[0].GPUHours)
}

func TestWhatClassesArePromised(t *testing.T) {
	c, err := ParseCluster("c.yaml", []byte("groups: [{name: g, nodes: 3}]\nclasses: [{class: 10, target_wait: 1m}, {class: 0, target_wait: 2h}]\n"))
	require.NoError(t, err)
	clusterRoundTrip(t, c)
	s, err := c.Resolve()
	require.NoError(t, err)
	require.Equal(t, [...]model.Duration{0: 2 * model.Hour, 10: model.Minute}, s.TargetWait)
	for text, says := range map[string]string{
		"classes: [{target_wait: 1m}]":                                        "c.yaml:1:11: classes[0]: has no key class",
		"classes: [{class: 3}]":                                               "has no key target_wait, for example 15m",
		"classes: [{class: 11, target_wait: 1m}]":                             "found 11, want -1 to 10",
		"classes: [{class: 3, target_wait: 1m}, {class: 3, target_wait: 2m}]": "which classes[0] is about already",
	} {
		_, err := ParseCluster("c.yaml", []byte(text))
		require.ErrorContains(t, err, says, text)
	}
}

// A document that holds a spec indents it, which is no part of its size.
func TestSiteOfASpecMayBeIndented(t *testing.T) {
	c, err := ParseCluster("site.yaml", []byte("groups: [{name: a, nodes: 4}]\n"))
	require.NoError(t, err)
	wide := bytes.ReplaceAll(c.JSON(), []byte(`"groups":`), append([]byte(`"groups":`), bytes.Repeat([]byte{' '}, MaxText)...))
	again, err := ParseSite("site", wide)
	require.NoError(t, err)
	require.Equal(t, string(c.JSON()), string(again.JSON()))
	_, err = ParseCluster("site", wide)
	require.ErrorContains(t, err, "want at most")
}
