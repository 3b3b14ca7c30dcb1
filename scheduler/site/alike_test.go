package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

func sensitive(a *model.Allocation) { a.Sensitive = true }

// That a job would delay the blocked one holds for those that ask for the same, and is found once. Sensitive work, which has nodes of
// its own choice, says nothing about others.
func TestDelaysAreFoundOnce(t *testing.T) {
	long := wall(9999)
	for _, c := range []struct {
		name   string
		others func(*model.Allocation)
		delays int
	}{
		{"alike", long, 1},
		{"sensitive", func(a *model.Allocation) { long(a); sensitive(a) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t, alike(8, fcfs(order.Easy)))
			s.submit(0, size(4), wall(100))
			require.Equal(t, ids(0), s.pass(0))
			s.submit(1, size(8), sensitive) // of which the nodes matter, and not their number alone
			s.submit(1, c.others)
			s.submit(1, c.others)
			require.Empty(t, s.pass(1))
			require.Equal(t, c.delays, s.core.Delays(0))
		})
	}
}

// A job has the number of those before it that ask for the same nodes, whatever was asked for in between. Requests for 3 and for
// 67 nodes are remembered in one place.
func TestAlikesAreNumbered(t *testing.T) {
	spread := func(a *model.Allocation) { a.Topology = model.Spread }
	cpus := func(a *model.Allocation) { a.CPUs = 2 }
	s := newStand(t, alike(70, fcfs(order.Easy)))
	var numbers []int32
	for _, asked := range [][]func(*model.Allocation){
		{size(3)}, {size(67)}, {size(3)}, {size(3), spread}, {size(67), spread}, {size(3), cpus}, {size(3)}, {size(67)}, {size(67), spread}, {size(3), cpus},
	} {
		numbers = append(numbers, s.core.Alike(model.Ref(s.submit(0, asked...))))
	}
	require.Equal(t, []int32{0, 1, 0, 2, 3, 4, 0, 1, 3, 4}, numbers)
}
