package ordertest_test

import (
	"cmp"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/order/ordertest"
)

// TestOrdersAreAsDefined compares what package order says of two jobs with their exact
// keys. An order without a formula here fails it.
func TestOrdersAreAsDefined(t *testing.T) {
	for o, name := range order.Names() {
		t.Run(name, func(t *testing.T) {
			keys, decided := ordertest.New(), 0
			rapid.Check(t, func(t *rapid.T) {
				// Small numbers tie, and large ones reach the ends of the keys.
				unit := rapid.SampledFrom([]model.Duration{1, model.Second, model.Day}).Draw(t, "unit")
				now := model.Time(0).Add(100 * unit)
				draw := func(id model.JobID) (order.Asked, ordertest.Job) {
					submit := model.Time(0).Add(model.Duration(rapid.IntRange(0, 100).Draw(t, "submit")) * unit)
					walltime := model.Duration(rapid.IntRange(0, 20).Draw(t, "request")) * unit
					if rapid.IntRange(0, 9).Draw(t, "none stated") == 0 {
						walltime = model.Forever
					}
					units := int32(rapid.IntRange(1, 20).Draw(t, "units"))
					return order.Asked{ID: id, Request: model.Request{Units: units}, Submit: submit, Walltime: walltime},
						ordertest.Job{Submit: submit, Walltime: walltime, Units: int64(units)}
				}
				a, exactA := draw(1)
				b, exactB := draw(2)
				if keys.Undecided(name, exactA, exactB, now) {
					return
				}
				decided++
				var ka, kb order.Key
				by := order.Order(o)
				by.Prepare(&a, &ka)
				by.Prepare(&b, &kb)
				by.Refresh(&a, &ka, now)
				by.Refresh(&b, &kb, now)
				c := keys.Of(name, exactA, now).Cmp(keys.Of(name, exactB, now))
				require.Equal(t, cmp.Or(c, -1) < 0, by.Before(&a, &ka, &b, &kb, now), "%+v %+v", a, b)
				require.Equal(t, cmp.Or(-c, 1) < 0, by.Before(&b, &kb, &a, &ka, now), "%+v %+v", b, a)
			})
			require.Positive(t, decided)
		})
	}
}

// Values by hand: of a job of 8 units that asked for 100 s and has waited for 50 s.
func TestKeysByHand(t *testing.T) {
	keys, second := ordertest.New(), model.Time(model.Second)
	job := ordertest.Job{Submit: 100 * second, Walltime: 100 * model.Second, Units: 8}
	for name, want := range map[string]float64{
		"saf": 800e6, "wfp3": -1, "unicef": -1. / 6, "exp": -1.5,
		"f1": 2*8 + 870*2, "f2": 10*8 + 25600*2, "f3": 100*8 + 6860000*2, "f4": 100*2.8284271247461903 + 530000*2,
	} {
		k := keys.Of(name, job, 150*second)
		got, _ := new(big.Rat).SetFrac(k.Num, k.Den).Float64()
		require.InEpsilon(t, want, got, 1e-14, name)
	}
	require.Panics(t, func() { keys.Of("none", job, 0) })
	for _, alias := range [][2]string{{"", "fcfs"}, {"exp", "expansion"}, {"f3", "dirlab-f3"}} {
		require.Zero(t, keys.Of(alias[0], job, 150*second).Cmp(keys.Of(alias[1], job, 150*second)), alias)
	}
}

// TestAges: a key changes while a job waits in the orders that say so, and in no other.
func TestAges(t *testing.T) {
	keys, second := ordertest.New(), model.Time(model.Second)
	job := ordertest.Job{Submit: 100 * second, Walltime: 100 * model.Second, Units: 8}
	for _, name := range append(order.Names(), "", "exp", "f1") {
		changes := keys.Of(name, job, 150*second).Cmp(keys.Of(name, job, 151*second)) != 0
		require.Equal(t, changes, ordertest.Ages(name), name)
	}
}

// TestUndecided: log10(4)*1 is log10(2)*2, and no precision tells them apart.
func TestUndecided(t *testing.T) {
	keys, second := ordertest.New(), model.Time(model.Second)
	a, b := ordertest.Job{Submit: second, Walltime: 4 * model.Second, Units: 1}, ordertest.Job{Submit: second, Walltime: 2 * model.Second, Units: 2}
	require.True(t, keys.Undecided("f1", a, b, 2*second))
	require.False(t, keys.Undecided("f1", a, a, 2*second))
	require.False(t, keys.Undecided("f2", a, b, 2*second))
	require.False(t, keys.Undecided("saf", a, b, 2*second))
	require.False(t, keys.Undecided("unicef", a, b, 2*second))
}
