package quota

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

const (
	hour = model.Hour
	day  = model.Day
)

// limited is a site of 100 nodes with one tenant, one quality of service and
// three partitions, all with limits.
func limited() *Ledger {
	return New(&Config{
		UserSessions: 3,
		Nodes:        100,
		GPUs:         400,
		Tenants: []model.Tenant{
			{Name: "a", Limits: model.Limits{MaxNodes: 10, MaxConcurrent: 3}},
			{Name: "b"},
		},
		QOS: []model.QOS{{
			MaxWall: 24 * hour, MaxNodes: 8, GroupNodes: 14, GroupJobs: 4, UserJobs: 2, UserNodes: 9,
		}},
		Partitions: []model.Partition{
			{Name: "small", MaxNodes: 4, MaxWall: hour, Up: true},
			{Name: "large", MinNodes: 5, Up: true},
			{Name: "down"},
		},
	})
}

// free names tenant t and nothing else that has limits.
func free(t model.TenantID, nodes int32) ResourceUsage {
	return ResourceUsage{Tenant: t, QOS: -1, Partition: -1, User: -1, Nodes: nodes, GPUs: 4 * nodes}
}

// TestCheck has a row per limit: what runs, and what another job meets.
func TestCheck(t *testing.T) {
	a := func(nodes int32) ResourceUsage { return free(0, nodes) }
	b := func(user, nodes int32) ResourceUsage {
		return ResourceUsage{Tenant: 1, QOS: 0, Partition: -1, User: user, Nodes: nodes}
	}
	in := func(p model.PartitionID, nodes int32) ResourceUsage {
		return ResourceUsage{Tenant: -1, QOS: -1, Partition: p, User: -1, Nodes: nodes}
	}
	session := func(user int32) ResourceUsage {
		return ResourceUsage{Tenant: -1, QOS: -1, Partition: -1, User: user, Session: true, Nodes: 1}
	}
	for _, c := range []struct {
		name    string
		runs    []ResourceUsage
		request ResourceUsage
		want    model.Reason
	}{
		{"the tenant's last node", []ResourceUsage{a(6)}, a(4), model.ReasonNone},
		{"a node too many", []ResourceUsage{a(6)}, a(5), model.ReasonQuotaNodes},
		{"a job too many", []ResourceUsage{a(1), a(1), a(1)}, a(1), model.ReasonQuotaConcurrent},
		{"nodes before jobs", []ResourceUsage{a(1), a(1), a(1)}, a(9), model.ReasonQuotaNodes},
		{"no limits", []ResourceUsage{free(1, 90)}, free(1, 90), model.ReasonNone},
		{"no tenant", []ResourceUsage{free(-1, 90)}, free(-1, 90), model.ReasonNone},
		{"large for the quality", nil, b(1, 9), model.ReasonQOSLimit},
		{"nodes of the quality", []ResourceUsage{b(1, 8)}, b(2, 7), model.ReasonQOSLimit},
		{"the last of them", []ResourceUsage{b(1, 8)}, b(2, 6), model.ReasonNone},
		{"jobs of the quality", []ResourceUsage{b(1, 1), b(1, 1), b(2, 1), b(2, 1)}, b(3, 1), model.ReasonQOSLimit},
		{"jobs of the user", []ResourceUsage{b(1, 1), b(1, 1)}, b(1, 1), model.ReasonQOSLimit},
		{"jobs of another user", []ResourceUsage{b(1, 1), b(1, 1)}, b(2, 1), model.ReasonNone},
		{"nodes of the user", []ResourceUsage{b(1, 5)}, b(1, 5), model.ReasonQOSLimit},
		{"no user", []ResourceUsage{b(-1, 4), b(-1, 4), b(-1, 4)}, b(-1, 2), model.ReasonNone},
		{"tenant before quality", []ResourceUsage{a(10)}, ResourceUsage{QOS: 0, Partition: -1, User: 1, Nodes: 9}, model.ReasonQuotaNodes},
		{"large for the partition", nil, in(0, 5), model.ReasonPartitionLimit},
		{"small for the partition", nil, in(1, 4), model.ReasonPartitionLimit},
		{"partition down", nil, in(2, 1), model.ReasonPartitionLimit},
		{"partition", nil, in(1, 50), model.ReasonNone},
		{"a session too many", []ResourceUsage{session(1), session(1), session(1)}, session(1), model.ReasonSessionLimit},
		{"the last session of a user", []ResourceUsage{session(1), session(1), session(2)}, session(1), model.ReasonNone},
		{"a session of no user", []ResourceUsage{session(-1), session(-1), session(-1)}, session(-1), model.ReasonNone},
		{"a job beside sessions", []ResourceUsage{session(1), session(1), session(1)}, ResourceUsage{Tenant: -1, QOS: -1, Partition: -1, User: 1, Nodes: 1}, model.ReasonNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, inFlight := range []bool{false, true} {
				ledger := limited()
				for i := range c.runs {
					if inFlight {
						ledger.Reserve(&c.runs[i])
					} else {
						ledger.Start(&c.runs[i], 0)
					}
				}
				require.Equal(t, c.want, ledger.Check(&c.request))
				for i := range c.runs {
					if inFlight {
						ledger.Unreserve(&c.runs[i])
					} else {
						ledger.Stop(&c.runs[i], 0)
					}
				}
				require.Equal(t, limited().Check(&c.request), ledger.Check(&c.request), "all is given back")
			}
		})
	}
}

// TestNever has a row per limit that no waiting mends.
func TestNever(t *testing.T) {
	qos := ResourceUsage{Tenant: 1, QOS: 0, Partition: -1, User: 1, Nodes: 8}
	for _, c := range []struct {
		name    string
		request ResourceUsage
		wall    model.Duration
		want    model.Reason
	}{
		{"the tenant's nodes", free(0, 10), model.Forever, model.ReasonNone},
		{"one more", free(0, 11), hour, model.ReasonQuotaNodes},
		{"the quality's walltime", qos, 24 * hour, model.ReasonNone},
		{"a microsecond more", qos, 24*hour + 1, model.ReasonQOSLimit},
		{"no walltime stated", qos, model.Forever, model.ReasonQOSLimit},
		{"one node more", ResourceUsage{Tenant: 1, User: 1, Partition: -1, Nodes: 9}, hour, model.ReasonQOSLimit},
		{"the partition's walltime", ResourceUsage{Tenant: 1, QOS: -1, Nodes: 4}, hour, model.ReasonNone},
		{"more", ResourceUsage{Tenant: 1, QOS: -1, Nodes: 4}, 2 * hour, model.ReasonPartitionLimit},
		{"more nodes", ResourceUsage{Tenant: 1, QOS: -1, Nodes: 5}, hour, model.ReasonPartitionLimit},
		{"fewer nodes", ResourceUsage{Tenant: 1, QOS: -1, Partition: 1, Nodes: 4}, hour, model.ReasonPartitionLimit},
		{"partition down for now", ResourceUsage{Tenant: 1, QOS: -1, Partition: 2, Nodes: 4}, hour, model.ReasonNone},
		{"no tenant", free(-1, 1000), model.Forever, model.ReasonNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := limited()
			full := free(0, 10)
			ledger.Start(&full, 0)
			require.Equal(t, c.want, ledger.Unsatisfiable(&c.request, c.wall), "whatever is in use")
		})
	}
}

// TestResize: a job of a range grows within the limits and is charged for what
// it holds, when it holds it.
func TestResize(t *testing.T) {
	ledger := limited()
	c := free(0, 4)
	ledger.Start(&c, 0)
	other := free(0, 2)
	ledger.Start(&other, 0)
	require.Equal(t, model.ReasonNone, ledger.CheckResize(&c, 8))
	require.Equal(t, model.ReasonQuotaNodes, ledger.CheckResize(&c, 9))
	require.Equal(t, model.ReasonNone, ledger.CheckResize(&c, 1))
	ledger.Resize(&c, 8, 32, 0, nil, model.Time(hour))
	nodes, jobs := ledger.InUse(0)
	require.Equal(t, [2]int32{10, 2}, [2]int32{nodes, jobs})
	ledger.Stop(&c, model.Time(2*hour))
	node, gpu := ledger.Consumed(0, model.Time(3*hour))
	require.Equal(t, 4*hour+8*hour+3*2*hour, node)
	require.Equal(t, 4*node, gpu)
}

// TestSetLimits: lowering touches nothing that runs, raising holds at once, and
// what bends scores waits for the tick.
func TestSetLimits(t *testing.T) {
	ledger := limited()
	c := free(0, 6)
	ledger.Start(&c, 0)
	low := model.Limits{MaxNodes: 4, FairShare: model.One / 4, NodeBudget: 12 * hour}
	ledger.SetLimits(0, &low)
	require.Equal(t, low, ledger.Limits(0))
	one := free(0, 1)
	require.Equal(t, model.ReasonQuotaNodes, ledger.Check(&one))
	nodes, jobs := ledger.InUse(0)
	require.Equal(t, [2]int32{6, 1}, [2]int32{nodes, jobs}, "still runs")
	require.Equal(t, model.ReasonNone, ledger.CheckResize(&c, 5), "and may shrink")

	require.Zero(t, ledger.Standing(0).Budget)
	ledger.Freeze(model.Time(hour))
	require.Equal(t, model.One/2, ledger.Standing(0).Budget)
	share := ledger.Standing(0).Share
	require.Equal(t, model.One/4, share)

	low.MaxNodes = 7
	ledger.SetLimits(0, &low)
	require.Equal(t, model.ReasonNone, ledger.Check(&one))
}

// TestUnknown: work without a tenant is never better off than a tenant at its
// share, unless the operator says so.
func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		unknown Unknown
		name    string
		f3      model.Fixed
		check   model.Reason
	}{
		{UnknownNone, "none", 0, model.ReasonNone},
		{UnknownNeutral, "neutral", model.One / 2, model.ReasonNone},
		{UnknownReject, "reject", 0, model.ReasonQuotaNodes},
	} {
		ledger := New(&Config{Nodes: 10, Tenants: make([]model.Tenant, 1), Unknown: c.unknown})
		require.Equal(t, c.name, c.unknown.String())
		require.Equal(t, c.f3, ledger.Neutral(-1))
		require.Equal(t, c.f3, ledger.Neutral(7))
		require.Equal(t, model.One/2, ledger.Neutral(0), "a tenant without a share")
		usage := free(-1, 1)
		require.Equal(t, c.check, ledger.Check(&usage))
		require.Equal(t, c.check, ledger.Unsatisfiable(&usage, hour))
	}
}

func TestGiveBackTooMuch(t *testing.T) {
	ledger := limited()
	c := free(0, 1)
	require.Panics(t, func() { ledger.Stop(&c, 0) })
}
