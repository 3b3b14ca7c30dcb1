package profiles

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func lintText(t *testing.T, text string) (kind string, remarks []string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	kind, found, err := Lint(path)
	for _, p := range found {
		remarks = append(remarks, p.Key+": "+p.Text)
	}
	return kind, remarks, err
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
		{"weights: {priority: 1}\nmin_score: 1000", "profile", []string{"min_score: 1000 is above what scores reach: no job will ever start"}},
		{"order: multifactor", "profile", []string{"multifactor: all its weights are 0: what jobs state of themselves alone orders them"}},
		{"order: fcfs\nbackfill: conservative\ndepth: 5000", "profile", []string{"depth: 5000 blocked jobs hold reservations: every pass plans them all, and tuning guides advise 10 to 50"}},
		{"groups: [{name: g, nodes: 2}]\ntenants: [{name: a, fair_share: 0.7}, {name: b, fair_share: 0.4}]", "cluster",
			[]string{"tenants: their fair shares sum to 1.10 of the site: not all can reach theirs"}},
		{"node_types: [{name: a}, {name: b}]\ngroups: [{name: g, nodes: 2, type: a}]", "cluster", []string{"node_types[1]: no group has nodes of the type b"}},
		{"groups: [{name: g, nodes: 2}]\nvclusters: [{name: a, home: 1, profile: {order: fcfs}}, {name: b, lend: false, profile: {order: fcfs}}]", "cluster",
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
+phase >0s
`, signs)
	for _, d := range Diff(a, read("order: fcfs")) {
		if d.Key != "order" {
			require.Equal(t, "-", d.Sign(), d.Key)
		}
	}
}
