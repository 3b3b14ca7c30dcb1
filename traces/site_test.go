package traces_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// siteSample is the sample with all tables that describe a site.
func siteSample() *content {
	c := sample()
	c.tenants = []traces.Tenant{
		{Name: "physics", MaxNodes: traces.Some(int32(100)), FairShare: traces.Some(0.5), Burst: traces.Some(1.5), NodeHours: traces.Some(1e4)},
		{Name: "biology", MaxConcurrent: traces.Some(int32(10)), GPUHours: traces.Some(2.5)},
	}
	c.events = []traces.Event{
		{Time: 0, Kind: "power_cap", Value: "250000"},
		{Time: 5, Kind: "down", Subject: "n1"},
		{Time: 5, Kind: "quota", Subject: "physics", Value: `{"max_nodes":50}`},
		{Time: 9, Kind: "up", Subject: "n1"},
	}
	c.prices = []traces.Price{
		{Time: 0, Price: 0.21, Carbon: traces.Some(350.0)},
		{Time: model.Time(model.Hour), Price: -0.01},
	}
	return c
}

func TestSiteTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	c := siteSample()
	hash := write(t, path, c)
	requireSame(t, c, read(t, path))
	r, err := traces.Validate(path)
	require.NoError(t, err)
	require.EqualValues(t, 14, r.Read)
	require.EqualValues(t, 14, r.Kept)

	for name, change := range map[string]func(*content){
		"a tenant's limit": func(c *content) { c.tenants[0].MaxNodes = traces.Opt[int32]{} },
		"no tenants":       func(c *content) { c.tenants = nil },
		"an event":         func(c *content) { c.events[0].Value = "1" },
		"an instant":       func(c *content) { c.events[3].Time++ },
		"a price":          func(c *content) { c.prices[1].Price = 0 },
		"carbon":           func(c *content) { c.prices[0].Carbon.OK = false },
	} {
		c := siteSample()
		change(c)
		require.NotEqual(t, hash, write(t, path, c), name)
	}
}

// Each rule of the tables beside jobs, broken once.
func TestValidateSiteRules(t *testing.T) {
	for _, c := range []struct {
		rule, example string
		change        func(*content)
	}{
		{"tenant without a name", "tenants row 2, ", func(c *content) { c.tenants[1].Name = "" }},
		{"tenant name used twice", "tenants row 2, physics", func(c *content) { c.tenants[1].Name = "physics" }},
		{"negative limit of a tenant", "tenants row 1, physics", func(c *content) { c.tenants[0].MaxNodes.V = -1 }},
		{"negative limit of a tenant", "tenants row 2, biology", func(c *content) { c.tenants[1].GPUHours.V = math.NaN() }},
		{"fair_share outside 0 to 1", "tenants row 1, physics", func(c *content) { c.tenants[0].FairShare.V = 1.01 }},
		{"burst below 1", "tenants row 1, physics", func(c *content) { c.tenants[0].Burst.V = 0.5 }},
		{"event earlier than the one before it", "events row 4, up", func(c *content) { c.events[3].Time = 4 }},
		{"unknown kind of an event", "events row 2, explode", func(c *content) { c.events[1].Kind = "explode" }},
		{"event without a subject", "events row 2, down", func(c *content) { c.events[1].Subject = "" }},
		{"event of a node that is not in the nodes table", "events row 2, down", func(c *content) { c.events[1].Subject = "n9" }},
		{"event of a tenant that is not in the tenants table", "events row 3, quota", func(c *content) { c.events[2].Subject = "art" }},
		{"value that does not fit the kind of the event", "events row 1, power_cap", func(c *content) { c.events[0].Value = "-5" }},
		{"event of a job that is named by no number", "events row 1, demand", func(c *content) {
			c.events[0].Kind, c.events[0].Subject, c.events[0].Value = "demand", "web", "3"
		}},
		{"value that does not fit the kind of the event", "events row 1, demand", func(c *content) {
			c.events[0].Kind, c.events[0].Subject, c.events[0].Value = "demand", "1", "0"
		}},
		{"value that does not fit the kind of the event", "events row 2, drain", func(c *content) { c.events[1].Kind, c.events[1].Value = "drain", "1" }},
		{"value that does not fit the kind of the event", "events row 3, quota", func(c *content) { c.events[2].Value = "50" }},
		{"value that does not fit the kind of the event", "events row 1, price", func(c *content) { c.events[0].Kind, c.events[0].Value = "price", "cheap" }},
		{"value that does not fit the kind of the event", "events row 1, reservation", func(c *content) {
			c.events[0] = traces.Event{Kind: "reservation", Subject: "exam", Value: `{"nodes":["n0"],"start":5,"end":5}`}
		}},
		{"price not later than the one before it", "prices row 2", func(c *content) { c.prices[1].Time = 0 }},
		{"price that is no number", "prices row 2", func(c *content) { c.prices[1].Price = math.Inf(1) }},
		{"carbon below 0", "prices row 1", func(c *content) { c.prices[0].Carbon.V = -1 }},
	} {
		s := siteSample()
		c.change(s)
		path := filepath.Join(t.TempDir(), "x.trace")
		write(t, path, s)
		r, err := traces.Validate(path)
		require.Equal(t, []traces.Rule{{Rule: c.rule, Count: 1, Example: c.example}}, r.Dropped)
		require.Error(t, err)
	}
}

func TestSiteTablesBelongTogether(t *testing.T) {
	for _, name := range []string{"tenants", "events", "prices"} {
		path := filepath.Join(t.TempDir(), "x.trace")
		write(t, path, siteSample())
		require.NoError(t, os.Remove(filepath.Join(path, name+".parquet")))
		require.ErrorContains(t, openError(t, path), "found no "+name+".parquet, expected the bundle's tables jobs deps nodes tenants events prices")

		other := filepath.Join(t.TempDir(), "y.trace")
		c := siteSample()
		c.jobs[0].ID = 77
		write(t, other, c)
		require.NoError(t, os.Rename(filepath.Join(other, name+".parquet"), filepath.Join(path, name+".parquet")))
		require.ErrorContains(t, openError(t, path), name+".parquet: found a table of another bundle")
	}
	w, err := traces.NewWriter(filepath.Join(t.TempDir(), "x.parquet"), traces.Meta{})
	require.NoError(t, err)
	defer w.Abort()
	require.ErrorContains(t, w.WritePrice(traces.Price{}), "one file holds jobs only")
}

// The epoch is part of every instant that is written.
func TestSetMetaAfterAnEvent(t *testing.T) {
	w, err := traces.NewWriter(filepath.Join(t.TempDir(), "x.trace"), traces.Meta{})
	require.NoError(t, err)
	defer w.Abort()
	require.NoError(t, w.WriteEvent(traces.Event{Kind: "power_cap", Value: "1"}))
	require.ErrorContains(t, w.SetMeta(traces.Meta{Epoch: 1}), "epoch")
}

// Damaged copies of each table beside jobs: none may panic or hang, every
// complaint is a DataError, and what Validate lets pass is the original.
func TestDamagedSiteTables(t *testing.T) {
	whole := siteSample()
	path := filepath.Join(t.TempDir(), "x.trace")
	write(t, path, whole)
	whole = read(t, path)
	for _, name := range []string{"deps", "nodes", "tenants", "events", "prices"} {
		file := filepath.Join(path, name+".parquet")
		sound, err := os.ReadFile(file)
		require.NoError(t, err)
		refused := 0
		for seed := range uint64(200) {
			require.NoError(t, os.WriteFile(file, damage(rand.New(rand.NewPCG(seed, 2)), sound), 0o644))
			if _, err := guarded(t, path, seed); err != nil {
				var data *traces.DataError
				require.ErrorAs(t, err, &data, "%s, seed %d", name, seed)
				refused++
				continue
			}
			requireSame(t, whole, read(t, path))
		}
		require.Greater(t, refused, 100, name)
		require.NoError(t, os.WriteFile(file, sound, 0o644))
	}
}
