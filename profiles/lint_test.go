package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func lintText(t *testing.T, text string) (kind string, remarks []string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	of, found, err := Lint(path)
	for _, p := range found {
		remarks = append(remarks, p.Key+": "+p.Text)
	}
	return string(of), remarks, err
}

func TestRemarks(t *testing.T) {
	const equal = "the factor is equal for all jobs of a pass: without min_score it changes no order, unless a tenant is over its budget"
	for _, row := range []struct {
		text, kind string
		want       []string
	}{
		{"order: fcfs", "profile", nil},
		{"weights: {priority: 1}", "profile", nil},
		{"weights: {priority: 0.5, energy: 0.5}", "profile", []string{"weights.energy: " + equal}},
		{"weights: {priority: 0.5, energy: 0.5}\nenergy: expected", "profile", nil},
		{"weights: {priority: 0.5, backlog: 0.5}\nmin_score: 0.2", "profile", nil},
		{"weights: {priority: 0.5, backlog: 0.7}", "profile", []string{"weights: their sum is 1.2: they are divided by it", "weights.backlog: " + equal}},
		{"mode: as-coded\nweights: {priority: 3}", "profile", nil},
		{"weights: {priority: 1}\nmin_score: 1000", "profile", []string{"min_score: 1000 is above what scores reach (1 with all factors at 1): no job will ever start"}},
		{"weights: {priority: 1, topology: 3}\nmin_score: 1.01", "profile", []string{
			"weights: their sum is 4: they are divided by it", "min_score: 1.01 is above what scores reach (1 with all factors at 1): no job will ever start"}},
		{"weights: {priority: 0.5, wait_time: 0.5}\nmin_score: 1", "profile", nil},
		{"weights: {priority: 0.5, wait_time: 0.5}\nmin_score: 2.5", "profile", []string{
			"min_score: even with all other factors at 1 a job reaches 2.5 only when it has waited 2d5h35m"}},
		{"weights: {priority: 0.5, wait_time: 0.5}\nmin_score: 30", "profile", []string{
			"min_score: 30 is above what scores reach (0.5 with all factors at 1): no job will ever start"}},
		{"weights: {energy: 1}\nenergy: expected", "profile", nil},
		{"weights: {energy: 1}\nmin_score: 0.5", "profile", []string{
			"weights: the factors that have one are equal for all jobs of a pass: the queue is in the order of arrival, unless a tenant is over its budget"}},
		{"cycle: 10m", "profile", []string{"cycle: it is longer than accounting_tick (5m): a job waits up to 10m for a pass, and sees no tick in between"}},
		{"order: fcfs\ncycle: 10m", "profile", nil},
		{"cycle: 5m\nbackfill: conservative\ndepth: 50\nbf_interval: 1m\nbf_max_job_test: 20", "profile", []string{
			"depth: a pass looks at 20 jobs only (bf_max_job_test), so there are never 50 reservations",
			"bf_interval: passes are made every 5m, so 1m between two is no bound: give more than the cycle, or leave it out"}},
		{"backfill: conservative\ndepth: 20\nbf_interval: 1m\nbf_max_job_test: 20", "profile", nil},
		{"usage: {rule: decay, half_life: 2m}", "profile", []string{"usage.half_life: it is shorter than accounting_tick (5m): each tick forgets more than half of the usage"}},
		{"usage: {rule: rolling, window: 1h}\naccounting_tick: 2h", "profile", []string{"usage.window: it is shorter than accounting_tick (2h): what lies between is never counted"}},
		{"order: multifactor\nmultifactor: {age: 1, half_life: 1m}", "profile", []string{
			"multifactor.half_life: it is shorter than accounting_tick (5m): each tick forgets more than half of the usage"}},
		{"order: multifactor", "profile", []string{"multifactor: all its weights are 0: what jobs state of themselves alone orders them"}},
		{"order: fcfs\nbackfill: conservative\ndepth: 5000", "profile", []string{"depth: 5000 blocked jobs hold reservations: every pass plans them all, and tuning guides advise 10 to 50"}},
		{"groups: [{name: g, nodes: 2}]\ntenants: [{name: a, fair_share: 0.7}, {name: b, fair_share: 0.4}]", "cluster",
			[]string{"tenants: their fair shares sum to 1.10 of the site: not all can reach theirs"}},
		{"node_types: [{name: a}, {name: b}]\ngroups: [{name: g, nodes: 2, type: a}]", "cluster", []string{"node_types[1]: no group has nodes of the type b"}},
		{"groups: [{name: g, nodes: 2}]\nvclusters: [{name: a, home: 2, max_lent: 0.5, profile: {order: fcfs}}, {name: b, lend: false, profile: {order: fcfs}}]", "cluster",
			[]string{"vclusters[0].lend: it lends, but its profile does not preempt: what it lends comes back only when the borrower ends"}},
	} {
		kind, got, err := lintText(t, row.text)
		require.NoError(t, err, row.text)
		require.Equal(t, row.kind, kind, row.text)
		require.Equal(t, row.want, got, row.text)
	}
	_, _, err := lintText(t, "node_typs: []\ngroups: []")
	require.ErrorContains(t, err, "did you mean node_types?")
	_, _, err = Lint("nothing-here.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// What vClusters say of lending and borrowing, and what comes of it.
func TestRemarksOfLending(t *testing.T) {
	const fcfs = "profile: {order: fcfs}"
	for _, row := range []struct{ vclusters, sharing, want string }{
		{"{name: a, home: 5, lend: true, FCFS}, {name: b, borrow: false, home: 5, lend: false, FCFS}", "",
			"vclusters[0].lend: it lends, but no other vCluster borrows: others have borrow: false, or profiles that cannot (conservative, as-coded)"},
		{"{name: a, home: 5, FCFS}, {name: b, borrow: false, home: 5, lend: false, FCFS}", "", ""},
		{"{name: a, home: 5, max_lent: 0.3, FCFS}, {name: b, lend: false, profile: {order: fcfs, backfill: conservative, depth: 9}}", "",
			"vclusters[0].max_lent: it lends, but no other vCluster borrows: others have borrow: false, or profiles that cannot (conservative, as-coded)"},
		{"{name: a, lend: true, FCFS}, {name: b, lend: false, FCFS}", "", "vclusters[0].lend: it has no home, so it has no nodes to lend"},
		{"{name: a, home: 4, lend: true, FCFS}, {name: b, lend: false, FCFS}", "", "vclusters[0].lend: max_lent of its home rounds down to no node: it lends nothing"},
		{"{name: a, home: 4, lend: false, max_lent: 0.5, FCFS}, {name: b, lend: false, FCFS}", "", "vclusters[0].max_lent: it does not lend: leave it out, or lend: false"},
		{"{name: a, home: 4, lend: true, FCFS}, {name: b, lend: false, borrow: true, FCFS}", "sharing: gpus",
			"vclusters[0].lend: nodes that are shared by GPU are never lent\nvclusters[1].borrow: nodes that are shared by GPU are never lent"},
		{"{name: a, home: 5, borrow: true, max_lent: 0, FCFS}, {name: b, lend: false, FCFS}", "", "vclusters[0].borrow: no other vCluster lends"},
		{"{name: a, home: 5, lend: true, borrow: true, profile: {order: fcfs, preemption: {enabled: true}}}, {name: b, lend: false, FCFS}", "", "vclusters[0].borrow: no other vCluster lends"},
		{"{name: a, home: 5, profile: {order: fcfs, preemption: {enabled: true}}}, {name: b, lend: false, borrow: true, profile: {mode: as-coded}}", "",
			"vclusters[1].borrow: with conservative backfilling, and in as-coded mode, no vCluster borrows"},
	} {
		text := row.sharing + "\ngroups: [{name: g, nodes: 10}]\nvclusters: [" + strings.ReplaceAll(row.vclusters, "FCFS", fcfs) + "]"
		_, got, err := lintText(t, text)
		require.NoError(t, err, row.vclusters)
		require.Equal(t, row.want, strings.Join(got, "\n"), row.vclusters)
	}
}

func TestRemarksOfSites(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"tenants: [{name: a, burst: 1.5}]", "tenants[0].burst: it raises a fair_share, and the tenant has none"},
		{"tenants: [{name: a, max_nodes: 11}, {name: b, max_nodes: 10}]", "tenants[0].max_nodes: the site has 10 nodes: 11 bounds nothing"},
		{"tenants: [{name: a, fair_share: 0.5}, {name: b, fair_share: 0.5}]", ""},
		{"tenants: [{name: a, priority: 5}, {name: b, priority: 6}]", "tenants[0].priority: no vCluster has the order multifactor with a weight for it: give multifactor.assoc"},
		{"qos: [{name: a, priority: 5}]\nvclusters: [{name: v, profile: {order: multifactor, multifactor: {age: 1}}}]",
			"qos[0].priority: no vCluster has the order multifactor with a weight for it: give multifactor.qos"},
		{"qos: [{name: a, priority: 5}]\nvclusters: [{name: v, profile: {order: multifactor, multifactor: {qos: 1}}}]", ""},
		{"qos: [{name: a, user_jobs: 5}, {name: b, user_pending: 5}]", "qos[1].user_pending: it is read, but not enforced yet: no job is kept out by it"},
		{"partitions: [{name: a, priority: 5}]", "partitions[0].priority: no vCluster has the order multifactor with a weight for it: give multifactor.partition"},
		{"vclusters: [{name: v, profile: {selection: least-fragmentation, order: fcfs}}]",
			"vclusters[0].profile.selection: nodes are given whole, so no GPU is fragmented: the nodes are those of selection: documented"},
		{"sharing: gpus\nvclusters: [{name: v, profile: {selection: least-fragmentation, order: fcfs}}]", ""},
		{"power_cap: 2kW\nnode_types: [{name: a, busy_power: 3kW}]", "power_cap: every node draws more (3000W at least): nothing will ever start"},
		{"power_cap: 3kW\nnode_types: [{name: a, busy_power: 3kW}]", ""},
	} {
		_, got, err := lintText(t, "groups: [{name: g, nodes: 10}]\n"+row.text)
		require.NoError(t, err, row.text)
		require.Equal(t, row.want, strings.Join(got, "\n"), row.text)
	}
}

// The cluster of the program is a good example: one remark, for its order counts no
// points.
func TestRemarksOfTheProgram(t *testing.T) {
	c, err := LoadCluster("month")
	require.NoError(t, err)
	var texts []string
	for _, p := range c.remarks(nil) { // its nodes come with a trace
		if !strings.HasPrefix(p.Text, "the factor is equal for all jobs of a pass") {
			texts = append(texts, p.Key+": "+p.Text)
		}
	}
	require.Equal(t, []string{"qos[1].priority: no vCluster has the order multifactor with a weight for it: give multifactor.qos"}, texts)
}

func TestDiff(t *testing.T) {
	read := func(text string) *Profile {
		p, err := Parse("p", []byte(text))
		require.NoError(t, err)
		return &p
	}
	a := read("description: one\nweights: {priority: 1, wait_time: 1}")
	require.Empty(t, Diff(a, read("name: other\nweights: {priority: 10, wait_time: 10}")), "the scale of weights is no difference")
	signs := ""
	for _, d := range Diff(a, read("weights: {priority: 1, wait_time: 3}\nbackfill: conservative\ncycle: 5s")) {
		signs += d.Sign() + d.Key + " " + d.Before + ">" + d.After + "\n"
	}
	require.Equal(t, `~weights.priority 0.500000>0.250000
~weights.wait_time 0.500000>0.750000
~backfill easy>conservative
+depth >all
+bf_window >none
+bf_resolution >exact
+bf_interval >every-pass
+bf_max_job_test >none
+bf_max_job_user >none
~cycle event>5s
+phase >spread
`, signs)
	for _, d := range Diff(a, read("order: fcfs")) {
		if d.Key != "order" {
			require.Equal(t, "-", d.Sign(), d.Key)
		}
	}
}

// TestLintWithoutRemarks: remarks on a profile of the program are no remarks on the cluster file
// that uses it.
func TestLintWithoutRemarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(path, []byte("groups: [{name: g, nodes: 4}]\nvclusters: [{name: a, home: all, profile: default}]\n"), 0o600))
	_, remarks, err := Lint(path)
	require.NoError(t, err)
	require.Empty(t, remarks)
	_, remarks, err = Lint("default")
	require.NoError(t, err)
	require.NotEmpty(t, remarks)
}
