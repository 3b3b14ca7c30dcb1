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
