package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const settable = `
node_types: [{name: n, cpus: 4}]
groups: [{name: g, nodes: 8, type: n}]
tenants: [{name: al.ice, fair_share: 0.2}, {name: al, fair_share: 0.1}]
vclusters:
  - {name: a, home: 4, profile: {backfill: conservative, depth: 20}}
  - {name: b, home: 4, profile: service}
`

func TestWith(t *testing.T) {
	c, err := ParseCluster("site.yaml", []byte(settable))
	require.NoError(t, err)
	before := string(c.JSON())
	profile := func(c *Cluster, i int) *Profile { return c.VClusters[i].Profile.Inline }

	out, err := c.WithAll([]Assignment{{"weights.wait_time", "5"}})
	require.NoError(t, err)
	require.Equal(t, 5.0, profile(out, 0).Weights.WaitTime)
	require.Equal(t, 5.0, profile(out, 1).Weights.WaitTime)
	require.Equal(t, Default().Weights.Topology, profile(out, 0).Weights.Topology, "the other weights stay")

	out, err = c.WithAll([]Assignment{{"vclusters.a.profile.depth", "7"}})
	require.NoError(t, err)
	require.EqualValues(t, 7, profile(out, 0).Depth)

	out, err = c.WithAll([]Assignment{{"vclusters.a.profile.backfill", "easy"}})
	require.NoError(t, err)
	require.Zero(t, profile(out, 0).Depth, "it does not apply any more")

	fcfs, err := c.WithAll([]Assignment{{"vclusters.a.profile.weights.energy", "3"}, {"vclusters.a.profile.order", "fcfs"}})
	require.Nil(t, fcfs)
	require.ErrorContains(t, err, "vclusters.a.profile.weights.energy: does not apply with order: fcfs")
	out, idle, err := c.WithApplying([]Assignment{{"weights.energy", "3"}, {"order", "fcfs"}})
	require.NoError(t, err)
	require.Len(t, idle, 1, "told once, of both vClusters")
	plain, err := c.WithAll([]Assignment{{"order", "fcfs"}})
	require.NoError(t, err)
	require.Equal(t, string(plain.JSON()), string(out.JSON()), "equal schedules have equal bytes")

	for path, value := range map[string]string{"tenants.al.ice.fair_share": "0.3", "quorum.latency": "0.02s", "price": "0.7", "vclusters.b.lend": "false", "preemption.max_victims": "9"} {
		out, idle, err := c.WithApplying([]Assignment{{"preemption.enabled", "true"}, {path, value}})
		require.NoError(t, err, path)
		require.Empty(t, idle)
		s, err := out.Setting(path)
		require.NoError(t, err)
		require.Equal(t, value, s.Value)
	}
	require.Equal(t, before, string(c.JSON()), "it is a copy that changes")
}

func TestWithRefuses(t *testing.T) {
	c, err := ParseCluster("site.yaml", []byte(settable))
	require.NoError(t, err)
	for a, says := range map[Assignment]string{
		{"weights.wait", "5"}:                   "did you mean wait_time?",
		{"wieghts.wait_time", "5"}:              "did you mean weights?",
		{"weights", "5"}:                        "is a block: name one of its keys, priority",
		{"weights.wait_time.x", "5"}:            "has no keys",
		{"weights.wait_time", "much"}:           "want a number",
		{"weights.wait_time", "-1"}:             "found -1, want 0 to 1",
		{"backfill", "eazy"}:                    "easy",
		{"vclusters.c.profile.depth", "5"}:      "NAME being a or b",
		{"tenants.bob.fair_share", "0.5"}:       "NAME being al.ice or al",
		{"qos.normal.priority", "5"}:            "no entry with a name",
		{"groups.g.nodes", "5"}:                 "want a key of one value",
		{"events.x.at", "5s"}:                   "no entry with a name",
		{"vclusters.a.profile.phase", "5s"}:     "does not apply with cycle: event",
		{"vclusters.a.profile.min_score", "-3"}: "min_score",
	} {
		_, err := c.WithAll([]Assignment{{a.Path, a.Value}})
		require.ErrorContains(t, err, says, a.String())
	}
	for _, text := range []string{"", "a", "=b", "a="} {
		_, err := ParseAssignment(text)
		require.Error(t, err)
	}
	a, err := ParseAssignment("weights.energy = 3")
	require.NoError(t, err)
	require.Equal(t, "weights.energy=3", a.String())
}

func TestSettingNumbers(t *testing.T) {
	c := DefaultCluster()
	for path, texts := range map[string][]string{
		"weights.wait_time": {"0.25", "12"}, "depth": {"20"}, "reference_wait": {"1h30m", "2.5s"}, "power_cap": {"1200W"}, "min_score": {"0.5"},
	} {
		s, err := c.Setting(path)
		require.NoError(t, err)
		numeric, _ := s.Numeric()
		require.True(t, numeric)
		for _, text := range texts {
			x, err := s.Number(text)
			require.NoError(t, err)
			y, err := s.Number(s.Text(x))
			require.NoError(t, err)
			require.Equal(t, x, y)
		}
	}
	s, err := c.Setting("backfill")
	require.NoError(t, err)
	numeric, _ := s.Numeric()
	require.False(t, numeric)
	require.Contains(t, s.Words, "easy")
	_, err = s.Number("easy")
	require.Error(t, err)
	_, err = c.Setting("backfil")
	require.Error(t, err)
}

func TestProfileWith(t *testing.T) {
	p := Default()
	q, err := p.With(Assignment{"backfill", "conservative"}, Assignment{"depth", "5"})
	require.NoError(t, err)
	require.EqualValues(t, 5, q.Depth)
	_, err = p.With(Assignment{"depth", "5"})
	require.ErrorContains(t, err, "does not apply")
	_, err = p.With(Assignment{"dept", "5"})
	require.ErrorContains(t, err, "did you mean depth?")

	c := DefaultCluster()
	out, err := c.WithProfile("", *q)
	require.NoError(t, err)
	require.EqualValues(t, 5, out.VClusters[0].Profile.Inline.Depth)
	_, err = c.WithProfile("other", *q)
	require.ErrorContains(t, err, "want default")
}
