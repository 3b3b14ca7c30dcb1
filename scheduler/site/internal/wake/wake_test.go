package wake

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// Each row is what happens between two looks of vCluster 0, whose pass depended on its queue and on nodes that come free,
// would check about what happens elsewhere, and met the limits of tenant 1 and of quality of service 0.
func TestChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		happen func(b *Board)
		want   Answer
	}{
		{"nothing", func(*Board) {}, Rest},
		{"a job left the queue", func(b *Board) { b.Raise(0, Queue) }, Go},
		{"nodes came free", func(b *Board) { b.Raise(0, CapacityFreed) }, Go},
		{"nodes came free for another vCluster", func(b *Board) { b.Raise(1, CapacityFreed) }, Rest},
		{"nodes were taken, which the pass did not depend on", func(b *Board) { b.Raise(0, CapacityTaken) }, Rest},
		{"something happened elsewhere", func(b *Board) { b.Raise(0, OtherVCluster) }, Check},
		{"something happened elsewhere, and nodes came free", func(b *Board) { b.Raise(0, OtherVCluster); b.Raise(0, CapacityFreed) }, Go},
		{"all are told, as the pass depended on", func(b *Board) { b.RaiseAll(Queue) }, Go},
		{"all are told, as the pass did not depend on", func(b *Board) { b.RaiseAll(Promised) }, Rest},
		{"the tenant gives something back", func(b *Board) { b.Given(1, -1) }, Go},
		{"the quality of service gives something back", func(b *Board) { b.Given(-1, 0) }, Go},
		{"others give something back", func(b *Board) { b.Given(0, 1) }, Rest},
		{"jobs without a tenant give something back", func(b *Board) { b.Given(-1, -1) }, Rest},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBoard(2, 2, 2)
			b.Given(1, 0) // before the pass
			var l Look
			l.Begin(&b, 0)
			l.Met.AddTenant(1)
			l.Met.AddQOS(0)
			l.Depend(&b, Of(Queue, CapacityFreed), Of(OtherVCluster))
			c.happen(&b)
			require.Equal(t, c.want, l.Changed(&b, 0))
			l.Settle(&b, 0)
			require.Equal(t, Rest, l.Changed(&b, 0), "it is not asked twice")
		})
	}
}

// What a pass itself changes behind its own back makes the vCluster look again: a hold that it drops frees nodes that
// it had not counted on.
func TestChangesWithinAPass(t *testing.T) {
	b := NewBoard(1, 0, 0)
	var l Look
	l.Begin(&b, 0)
	b.Raise(0, CapacityFreed)
	l.Depend(&b, Of(CapacityFreed), 0)
	require.Equal(t, Go, l.Changed(&b, 0))
	l.Begin(&b, 0)
	l.Depend(&b, Of(CapacityFreed), 0)
	require.Equal(t, Rest, l.Changed(&b, 0))
}

// Limits of users or partitions, and those of more tenants than are listed, are not told apart.
func TestLimitsOfOthers(t *testing.T) {
	for _, c := range []struct {
		name string
		meet func(*Limits)
		want Answer // after tenant 99 gave something back
	}{
		{"no limit", func(*Limits) {}, Rest},
		{"that of a user", (*Limits).AddOthers, Go},
		{"those of a few tenants", func(l *Limits) {
			for range 2 {
				for id := range model.TenantID(16) {
					l.AddTenant(id)
				}
			}
		}, Rest},
		{"those of many tenants", func(l *Limits) {
			for id := range model.TenantID(17) {
				l.AddTenant(id)
			}
		}, Go},
		{"those of many qualities of service", func(l *Limits) {
			for id := range model.QOSID(17) {
				l.AddQOS(id)
			}
		}, Go},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBoard(1, 100, 100)
			var l Look
			l.Begin(&b, 0)
			c.meet(&l.Met)
			l.Depend(&b, 0, 0)
			b.Given(99, 99)
			require.Equal(t, c.want, l.Changed(&b, 0))
			l.Begin(&b, 0)
			l.Depend(&b, 0, 0)
			b.Given(99, 99)
			require.Equal(t, Rest, l.Changed(&b, 0), "the next pass met none")
		})
	}
}

// Before its first pass a vCluster has looked at nothing: a core that follows another makes its first pass when it takes over.
func TestBeforeTheFirstPass(t *testing.T) {
	b, l := NewBoard(1, 0, 0), NewLook()
	require.Equal(t, Rest, l.Changed(&b, 0))
	b.RaiseAll(Site)
	require.Equal(t, Go, l.Changed(&b, 0))
}

func TestUntil(t *testing.T) {
	b := NewBoard(1, 0, 0)
	l := NewLook()
	l.Begin(&b, 0)
	require.Equal(t, model.Never, l.Until)
	l.Bring(7)
	l.Bring(9)
	require.Equal(t, model.Time(7), l.Until)
}
