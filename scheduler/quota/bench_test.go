package quota

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// busy is a ledger of n tenants, each with a history that fills the window.
func busy(n int, usage Usage) *Ledger {
	ledger := New(&Config{Nodes: 10000, GPUs: 40000, Tenants: make([]model.Tenant, n), QOS: make([]model.QOS, 1), Usage: usage})
	for i := range n {
		c := ResourceUsage{Tenant: model.TenantID(i), Partition: -1, User: int32(i), Nodes: 1, GPUs: 4}
		ledger.Start(&c, 0)
	}
	ledger.Freeze(at(100))
	return ledger
}

// TestNoAllocations in steady state.
func TestNoAllocations(t *testing.T) {
	ledger := busy(10, Decay)
	now := at(100)
	c := ResourceUsage{Tenant: 3, Partition: -1, User: 4, Nodes: 2, GPUs: 8}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ledger.Reserve(&c)
		ledger.Unreserve(&c)
		ledger.Start(&c, now)
		now = ledger.NextTick(now)
		ledger.Freeze(now)
		ledger.Check(&c)
		ledger.Stop(&c, now)
	}))
}

func BenchmarkCheck(b *testing.B) {
	ledger := busy(100, Instantaneous)
	c := ResourceUsage{Tenant: 3, Partition: -1, User: 4, Nodes: 2, GPUs: 8}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		ledger.Check(&c)
	}
}

func BenchmarkStartStop(b *testing.B) {
	ledger := busy(100, Instantaneous)
	c := ResourceUsage{Tenant: 3, Partition: -1, User: 4, Nodes: 2, GPUs: 8}
	now := at(100)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		now = now.Add(10 * model.Second)
		ledger.Start(&c, now)
		ledger.Stop(&c, now)
	}
}

// BenchmarkFreeze is one accounting tick.
func BenchmarkFreeze(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, u := range []Usage{Instantaneous, Rolling, Decay} {
			b.Run(fmt.Sprintf("%s/tenants=%d", u, n), func(b *testing.B) {
				ledger := busy(n, u)
				now := at(100)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					now = ledger.NextTick(now)
					ledger.Freeze(now)
				}
			})
		}
	}
}
