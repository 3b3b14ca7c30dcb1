package profiles

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// broken are cluster files with one thing wrong each, and what is said of it.
// Beside each lies tick.yaml, a profile.
var broken = []struct{ name, text, want string }{
	{"no YAML", "groups: [{name: g, nodes: 4}\n", "c.yaml:1:9: not valid YAML: sequence end token ']' not found"},
	{"tab", "groups:\n\t- {name: g, nodes: 4}\n", "c.yaml:2:1: found a tab at the beginning of the line, want spaces: YAML is indented by spaces alone"},
	{"tab behind spaces", "quorum:\n  \tlatency: 20s\n", "c.yaml:2:1: found a tab at the beginning of the line, want spaces"},
	{"two documents", "name: a\n---\nname: b\n", "c.yaml:3:1: a second YAML document begins here, want one: split the file at ---"},
	{"not text", "name: a\n# \xff\n", "c.yaml:2:1: found a byte that is not UTF-8 text: save the file as UTF-8"},
	{"empty", "", "c.yaml:1:1: groups: there are no nodes: list groups, or replay a trace with a table of nodes"},
	{"unknown key", "groups:\n  - name: g\n    node: 4\n", "c.yaml:3:5: groups[0].node: there is no such key (did you mean nodes?): the keys in groups[0] are name, nodes, type, fingerprint, adjacent or uplink"},
	{"twice", "price: 0.5\nname: a\nprice: 0.4\n", `c.yaml:3:1: not valid YAML: mapping key "price" already defined at [1:1]: leave one of them out`},
	{"kind", "groups: 4\n", "c.yaml:1:9: groups: found \"4\", want a list"},
	{"range", "price: 1.5\n", "c.yaml:1:8: price: found 1.5, want 0 to 1"},
	{"unit", "quorum:\n  latency: 20\n", `c.yaml:2:12: quorum.latency: duration "20" has no unit: write 20s for seconds or 20m for minutes`},
	{"power", "power_cap: 100\n", `c.yaml:1:12: power_cap: found "100", want a number and its unit, for example 700W or 1.2kW`},
	{"does not apply", "failures:\n  mttr: 1h\n", "c.yaml:2:9: failures.mttr: does not apply with failures.mtbf: never: leave it out"},
	{"node type", "node_types:\n  - {name: gh200}\ngroups:\n  - {name: g, nodes: 4, type: gh20}\n", `c.yaml:4:31: groups[0].type: found "gh20", which is no node type (did you mean gh200?): want gh200`},
	{"range of names", "groups:\n  - name: g\n    nodes:\n      - n[1-4]\n      - n[9-7]\n", `c.yaml:5:9: groups[0].nodes[1]: found "n[9-7]": the range "9-7" runs backwards`},
	{"node twice", "groups:\n  - {name: g, nodes: \"n[1-4]\"}\n  - {name: h, nodes: [m1, n3]}\n", "c.yaml:3:27: groups[1].nodes[1]: names the node n3 a second time (it is node 2 already): give each node one place"},
	{"group is a node", "groups:\n  - {name: g, nodes: [g]}\n", `c.yaml:2:3: groups: "g" is a group and node 0: give one of them another name`},
	{"home", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - name: a\n    home: [g-1, gg]\n", `c.yaml:4:17: vclusters[0].home[1]: found "gg": there is no group and no node gg`},
	{"home twice", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, home: g}\n  - {name: b, home: [g-2]}\n", "c.yaml:4:21: vclusters[1].home: names the node g-2, which is home of a: each node has one home"},
	{"too many", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, home: 3}\n  - {name: b, home: 2}\n", "c.yaml:4:21: vclusters[1].home: found 2, but only 1 nodes are left without a home: ask for fewer, or add nodes to groups"},
	{"no profile", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, profile: hpc-bach}\n", `c.yaml:3:24: vclusters[0].profile: there is no profile "hpc-bach" (did you mean hpc-batch?)`},
	{"no file", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, profile: ./none.yaml}\n", "c.yaml:3:24: vclusters[0].profile: there is no file none.yaml: want default"},
	{"profile within", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - name: a\n    profile:\n      weights:\n        priorty: 1\n", "c.yaml:6:9: vclusters[0].profile.weights.priorty: there is no such key (did you mean priority?)"},
	{"profile file", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, profile: ./wrong.yaml}\n", "wrong.yaml:2:8: phase: found 10s, want less than the cycle of 10s"},
	{"ticks, within", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, profile: ./tick.yaml}\n  - name: b\n    profile:\n      accounting_tick: 2m\n", "c.yaml:6:24: vclusters[1].profile.accounting_tick: found 2m, and that of a is 1m: a site keeps one account, give them the same"},
	{"ticks, in a file", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, profile: hpc-batch}\n  - {name: b, profile: ./tick.yaml}\n", "tick.yaml:2:18: accounting_tick: found 1m, and that of a is 5m: a site keeps one account, give them the same"},
	{"ticks, by default", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, profile: ./tick.yaml}\n  - {name: b, profile: hpc-batch}\n", "c.yaml:4:24: vclusters[1].profile.accounting_tick: found 5m, and that of a is 1m: a site keeps one account, give them the same"},
	{"usage", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a}\n  - {name: b, profile: {usage: {rule: decay}}}\n", "c.yaml:4:39: vclusters[1].profile.usage.rule: found decay, and that of a is instantaneous: a site keeps one account, give them the same"},
	{"victims", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, profile: {preemption: {enabled: true}}}\n  - {name: b, profile: {preemption: {enabled: true, timeout: 1m}}}\n", "c.yaml:4:62: vclusters[1].profile.preemption.timeout: found 1m, and that of a is 10m: all victims of a site have the same time to leave, give them the same"},
	{"half-lives", "groups: [{name: g, nodes: 4}]\nvclusters:\n  - {name: a, profile: {order: multifactor, multifactor: {age: 1}}}\n  - {name: b, profile: {order: multifactor, multifactor: {age: 1, half_life: none}}}\n", "c.yaml:4:78: vclusters[1].profile.multifactor.half_life: found none, and that of a is 7d: a site keeps one tree of accounts, give them the same"},
	{"reserves shares", "sharing: gpus\ngroups: [{name: g, nodes: 4}]\nvclusters:\n  - name: a\n    profile: {backfill: conservative}\n", "c.yaml:5:25: vclusters[0].profile.backfill: found conservative, which reserves whole nodes and cannot divide them: use backfill: easy, or sharing: whole"},
	{"partition", "groups: [{name: g, nodes: 4}]\npartitions:\n  - {name: p, nodes: [g-1, g-9]}\n", `c.yaml:3:28: partitions[0].nodes[1]: found "g-9": there is no group and no node g-9`},
	{"partition of a number", "groups: [{name: g, nodes: 4}]\npartitions:\n  - {name: p, nodes: 2}\n", `c.yaml:3:22: partitions[0].nodes: found "2", want groups, names like n[001-256], or all`},
	{"reservation", "groups: [{name: g, nodes: 4}]\nreservations:\n  - {name: r, nodes: h, end: 1h}\n", `c.yaml:3:22: reservations[0].nodes: found "h": there is no group and no node h`},
	{"event", "groups: [{name: g, nodes: 4}]\nevents:\n  - {time: 1h, kind: down, subject: g-7}\n", `c.yaml:3:37: events[0].subject: found "g-7": there is no group and no node g-7`},
	{"event of a tenant", "groups: [{name: g, nodes: 4}]\ntenants: [{name: physics}]\nevents:\n  - {time: 1h, kind: quota, subject: physic, limit: max_nodes, value: 4}\n", `c.yaml:4:38: events[0].subject: found "physic", which is no tenant (did you mean physics?): want physics`},
	{"unknown GPU of a class", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, power: [{gpu: h100-sxn, value: 500W}]}\n", `c.yaml:3:29: workloads[0].power[0].gpu: found "h100-sxn", which is no GPU of the catalogue or of a node type (did you mean h100-sxm?)`},
	{"class without the GPU of the record", "groups: [{name: g, nodes: 4}]\nrecorded_gpu: [l4]\nworkloads:\n  - {name: w, throughput: [{gpu: t4, value: 2}]}\n", "c.yaml:4:27: workloads[0].throughput: has no row for l4, on which jobs were recorded (recorded_gpu): add it, or nothing can be relative to it"},
	{"PUE", "facility: {pue: 0.9}\n", "c.yaml:1:17: facility.pue: found 0.9, want 1 to 10"},
	{"PUE of a load", "facility:\n  it_capacity: 4MW\n  pue: [{load: 0.3, pue: 1.5}, {load: 1, pue: 0.9}]\n", "c.yaml:3:47: facility.pue_by_load[1].pue: found 0.9, want 1 to 10"},
	{"loads of the PUE", "facility:\n  it_capacity: 4MW\n  pue: [{load: 0.3, pue: 1.5}, {load: 0.3, pue: 1.2}]\n", "c.yaml:3:39: facility.pue_by_load[1].load: found 0.3 after 0.3: want them ascending"},
	{"PUE without a capacity", "facility:\n  pue: [{load: 0.3, pue: 1.5}, {load: 1, pue: 1.2}]\n", "c.yaml:2:8: facility.pue_by_load: is there without facility.it_capacity: give what the nodes draw at load 1"},
	{"capacity without loads", "facility: {pue: 1.2, it_capacity: 4MW}\n", "c.yaml:1:35: facility.it_capacity: is there without a list of loads"},
	{"two PUEs", "facility:\n  it_capacity: 4MW\n  pue: 1.3\n  pue_by_load: [{load: 1, pue: 1.2}]\n", "c.yaml:3:8: facility.pue: found 1.3 beside pue_by_load: leave one out"},
	{"two lists of the PUE", "facility:\n  it_capacity: 4MW\n  pue_by_load: [{load: 1, pue: 1.2}]\n  pue: [{load: 1, pue: 1.2}]\n", "c.yaml:4:8: facility.pue: is a list beside pue_by_load: leave one out"},
	{"negative watts", "node_types:\n  - {name: n, idle_power: -5W}\n", "c.yaml:2:27: node_types[0].idle_power: found \"-5W\", want"},
	{"class of the catalogue", "workloads:\n  - {name: w, from: train-bert}\n", `c.yaml:2:21: workloads[0].from: found "train-bert", which is no class of the catalogue (did you mean train-bert-large?)`},
	{"node of the catalogue", "node_types:\n  - {name: n, from: dgx-h10}\n", `c.yaml:2:21: node_types[0].from: found "dgx-h10", which is no node of the catalogue (did you mean dgx-h100?)`},
	{"column of a class", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, columns: [nam=bert]}\n", `c.yaml:3:25: workloads[0].columns[0]: found "nam=bert", want COLUMN=PATTERN with one of name, user`},
	{"caps out of order", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, caps: [{draw: 0.8, throughput: 0.9}, {draw: 0.6, throughput: 0.7}]}\n", "c.yaml:3:59: workloads[0].caps[1].draw: found 0.6 after 0.8: want them ascending"},
	{"clocks out of order", "node_types: [{name: n, gpu: g, gpus: 1, gpu_model: m}]\ngroups: [{name: g, nodes: 4, type: n}]\nworkloads:\n  - {name: w, clocks: [{gpu: g, clock: 0.8}, {gpu: m, clock: 0.6}]}\n", "c.yaml:4:62: workloads[0].clocks[1].clock: found 0.6 after 0.8 of the same GPU: want them ascending"},
	{"a clock at which work is slower than below", "node_types: [{name: n, gpu: g, gpus: 1}]\ngroups: [{name: g, nodes: 4, type: n}]\nworkloads:\n  - {name: w, clocks: [{gpu: g, clock: 0.6, throughput: 0.9}, {gpu: g, clock: 0.8, throughput: 0.7}]}\n", "c.yaml:4:96: workloads[0].clocks[1].throughput: found 0.7 after 0.9: want no less at a higher clock"},
	{"a clock that is no lock", "node_types: [{name: n, gpu: g, gpus: 1}]\ngroups: [{name: g, nodes: 4, type: n}]\nworkloads:\n  - {name: w, clocks: [{gpu: g, clock: 1}]}\n", "c.yaml:4:40: workloads[0].clocks[0].clock: found 1, want less than 1: at 1 there is no lock"},
	{"clocks of no GPU", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, clocks: [{clock: 0.7}]}\n", "c.yaml:3:24: workloads[0].clocks[0].gpu: want the GPU that answers so"},
	{"one GPU under two locks", "node_types: [{name: a, gpu: g, gpus: 1, gpu_clock: 0.7}, {name: b, gpu: g, gpus: 1}]\ngroups: [{name: g, nodes: 4, type: a}, {name: h, nodes: 4, type: b}]\n", "c.yaml:1:58: node_types[1]: has GPUs called g, as node_types[0] has, with another gpu_model, gpu_idle_power, gpu_held_power, gpu_power_limit or gpu_clock: give both the same, or GPUs of its own names"},
	{"a cap of 1", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, caps: [{draw: 1, throughput: 0.9}]}\n", "c.yaml:3:29: workloads[0].caps[0].draw: found 1, want less than 1: at 1 a cap has no effect"},
	{"terms of recorded run times", "groups: [{name: g, nodes: 4}]\nruntime_terms: {cap: false}\n", "c.yaml:2:16: runtime_terms: does not apply with runtime: recorded: leave it out"},
	{"slow without costs", "groups: [{name: g, nodes: 4}]\npower_cap: 1kW\nover_power_cap: slow\n", "c.yaml:3:17: over_power_cap: found slow, and nothing says what holding a GPU back costs"},
	{"shed without a cap", "groups: [{name: g, nodes: 4}]\nover_power_cap: shed\n", "c.yaml:2:17: over_power_cap: found shed, and there is no power_cap to keep: give one"},
	{"idle nodes without a cap", "node_types: [{name: a, idle_power: 100W, busy_power: 1kW}]\ngroups: [{name: g, nodes: 4, type: a}]\npower_cap_scope: site\n", "c.yaml:3:18: power_cap_scope: found site, and there is no power_cap that idle nodes could count against: give one"},
	{"idle nodes that state no power", "power_cap: 1kW\npower_cap_scope: site\nnode_types:\n  - {name: a, idle_power: 100W, busy_power: 1kW}\n  - {name: b, busy_power: 1kW}\ngroups: [{name: g, nodes: 4, type: a}]\n", "c.yaml:5:12: node_types[1].name: the type b states no idle_power, and power_cap_scope: site counts idle nodes: give it, or power_cap_scope: jobs"},
	{"an unknown scope", "power_cap: 1kW\npower_cap_scope: nodes\n", "c.yaml:2:18: power_cap_scope: found \"nodes\", want jobs or site"},
	{"GPUs of one name", "node_types:\n  - {name: a, gpu: H100, gpus: 1, gpu_model: h100-sxm}\n  - {name: b, gpu: H100, gpus: 1, gpu_model: h100-pcie}\ngroups: [{name: g, nodes: 4, type: a}]\n", "c.yaml:3:5: node_types[1]: has GPUs called H100, as node_types[0] has, with another gpu_model"},
	{"held without idle", "node_types:\n  - {name: a, gpu: l4, gpus: 1, gpu_held_power: 50W}\ngroups: [{name: g, nodes: 4}]\n", "c.yaml:2:49: node_types[0].gpu_held_power: is there without gpu_idle_power"},
	{"GPUs draw more idle than their node", "node_types:\n  - {name: a, gpu: l4, gpus: 4, gpu_idle_power: 70W, idle_power: 100W, busy_power: 1kW}\ngroups: [{name: g, nodes: 4}]\n", "c.yaml:2:49: node_types[0].gpu_idle_power: found 70W for each of 4 GPUs, want at most 25W: idle_power, 100W, has them in it"},
	{"a class knows the draw, and not the idle part", "node_types:\n  - {name: a, gpu: l4, gpus: 1}\ngroups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, power: [{gpu: l4, value: 60W}]}\n", "c.yaml:2:5: node_types[0]: has no gpu_idle_power"},
	{"storage without bandwidth", "storage:\n  bandwidth: 0GB/s\n", "c.yaml:2:14: storage.bandwidth: found 0GB/s, want none, or more than 0: a 0 is not taken for none"},
	{"negative storage", "storage:\n  stage_bandwidth: -1GB/s\n", "c.yaml:2:20: storage.stage_bandwidth: found \"-1GB/s\", want"},
	{"negative size of a class", "workloads:\n  - {name: w, checkpoint_bytes: -1GB}\n", "c.yaml:2:33: workloads[0].checkpoint_bytes: found \"-1GB\", want"},
	{"size of a class without a unit", "workloads:\n  - {name: w, input_bytes: 5}\n", "c.yaml:2:28: workloads[0].input_bytes: found \"5\", want"},
	{"an uplink of nothing", "groups: [{name: g, nodes: 4, uplink: 0GB/s}]\n", "c.yaml:1:38: groups[0].uplink: found 0GB/s, want group_uplink, or more than 0: a 0 is not taken for group_uplink"},
	{"a negative uplink", "group_uplink: -1GB/s\ngroups: [{name: g, nodes: 4}]\n", "c.yaml:1:15: group_uplink: found \"-1GB/s\", want"},
	{"two uplinks of a group", "groups:\n  - {name: g, nodes: 4, uplink: 1GB/s}\n  - {name: h, nodes: 4, uplink: 3GB/s}\n  - {name: g, nodes: 4, uplink: 2GB/s}\n", "c.yaml:4:33: groups[2].uplink: found 2GB/s, and groups[0], which is of g too, has 1GB/s: a group has one link to the rest of the network, of all its nodes: give it once"},
	{"a share above 1", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, communication: {share: 1.2, bandwidth: 1GB/s}}\n", "c.yaml:3:38: workloads[0].communication.share: found 1.2, want 0 to 1"},
	{"a share below 0", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, communication: {share: -0.1, bandwidth: 1GB/s}}\n", "c.yaml:3:38: workloads[0].communication.share: found -0.1, want 0 to 1"},
	{"a share without bandwidth", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, communication: {share: 0.2}}\n", "c.yaml:3:30: workloads[0].communication: has a share and no bandwidth: say what one GPU sends out of its group while it communicates, for example bandwidth: 25GB/s"},
	{"bandwidth without a share", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, communication: {bandwidth: 1GB/s}}\n", "c.yaml:3:30: workloads[0].communication: has no share: say which part of a step waits for communication, for example share: 0.3; 0 is none"},
	{"a range without a share", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, communication: {low: 0}}\n", "c.yaml:3:30: workloads[0].communication: has no share"},
	{"a range above its share", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, communication: {share: 0.2, low: 0.3, bandwidth: 1GB/s}}\n", "c.yaml:3:48: workloads[0].communication.low: found 0.3, want at most the share, 0.2"},
	{"a range below its share", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, communication: {share: 0.2, high: 0, bandwidth: 1GB/s}}\n", "c.yaml:3:49: workloads[0].communication.high: found 0, want at least the share, 0.2"},
	{"negative bandwidth", "groups: [{name: g, nodes: 4}]\nworkloads:\n  - {name: w, communication: {share: 0.2, bandwidth: -1GB/s}}\n", "c.yaml:3:54: workloads[0].communication.bandwidth: found \"-1GB/s\", want"},
	{"more than a sum of loads holds", "node_types: [{name: n, gpu: l4, gpus: 64}]\ngroups: [{name: g, nodes: 200000, uplink: 1GB/s}]\nworkloads:\n  - {name: w, communication: {share: 0.2, bandwidth: 1TB/s}}\n", "c.yaml:4:54: workloads[0].communication.bandwidth: found 1TB/s, at which the 12800000 GPUs of the largest group send more than 9.2 EB/s: give a lower bandwidth"},
	{"slow copies", "groups: [{name: g, nodes: 4}]\nagents:\n  checkpoint_stop: 1GB/s\n", "c.yaml:3:20: agents.checkpoint_stop: found 1GB/s, want at least checkpoint_bandwidth, 10GiB/s"},
	{"checkpoints", "groups: [{name: g, nodes: 4}]\nagents:\n  checkpoints: daly\n", "c.yaml:3:16: agents.checkpoints: found daly, whose interval comes of failures.mtbf, which is never: give it, or use value"},
}

// TestBroken reads broken files, as they are and by way of their canonical form,
// which knows nothing of their lines.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tick.yaml"), []byte("name: tick\naccounting_tick: 1m\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "wrong.yaml"), []byte("cycle: 10s\nphase: 10s\n"), 0o600))
	for _, row := range broken {
		require.NoError(t, os.WriteFile(path, []byte(row.text), 0o600))
		c, err := LoadCluster(path)
		if err == nil {
			_, err = c.Resolve()
			again, wrong := ParseCluster("site", c.JSON())
			require.NoError(t, wrong, row.name)
			_, wrong = again.Resolve()
			require.Error(t, wrong, row.name)
			require.NotContains(t, wrong.Error(), path, row.name)
			require.EqualError(t, c.Locate(wrong), err.Error(), row.name)
		}
		var found *Error
		require.ErrorAs(t, err, &found, row.name)
		require.Len(t, found.Problems, 1, row.name)
		said := strings.ReplaceAll(found.Problems[0].String(), dir+string(filepath.Separator), "")
		require.True(t, strings.HasPrefix(said, row.want), "%s: %s", row.name, said)
		require.Contains(t, found.Problems[0].Excerpt, "^", row.name)
		if row.text != "" { // which is a profile too
			_, _, lint := Lint(path)
			require.EqualError(t, lint, err.Error(), row.name)
		}
	}
}

// TestElsewhere tells of tables and flags what the file knows no line of.
func TestElsewhere(t *testing.T) {
	c, err := ParseCluster("c.yaml", []byte("vclusters:\n  - {name: a, profile: {accounting_tick: 1m}}\n  - {name: b, profile: {accounting_tick: 1m}}\n"))
	require.NoError(t, err)
	_, err = c.WithNodes("month, table nodes", []NodeRow{{Name: "n", Up: true}, {Name: "n", Up: true}}).Resolve()
	require.EqualError(t, err, "month, table nodes: groups: names the node n a second time (it is node 0 already): give each node one place")
	rows := c.WithNodes("month, table nodes", []NodeRow{{Name: "n", Up: true}})
	_, err = rows.WithTenants("month, table tenants", []Tenant{{Name: "x", FairShare: 2}}).Resolve()
	require.EqualError(t, err, "month, table tenants: tenants[0].fair_share: found 2, want 0 to 1")
	require.EqualError(t, c.Locate(err), err.Error())

	require.Error(t, c.UseProfile(1, "hpc-bach"))
	require.NoError(t, c.UseProfile(1, "hpc-batch"))
	_, err = c.WithNodes("month, table nodes", []NodeRow{{Name: "n", Up: true}}).Resolve()
	require.ErrorContains(t, err, "c.yaml:3:5: vclusters[1].profile.accounting_tick: found 5m, and that of a is 1m")

	other := errors.New("of another kind")
	require.Equal(t, other, c.Locate(other))
}
