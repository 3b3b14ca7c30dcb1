package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// TestShareOfTheWork: a share of 1 % is told as before, more refuses, and a single job that
// can never run is told first and refuses nothing; a policy of error refuses any.
func TestShareOfTheWork(t *testing.T) {
	spec := Spec{Semantics: Semantics, Cluster: ClusterSpec{Procs: 8}}
	for _, c := range []struct {
		name          string
		spec          func(*Spec)
		small         int // jobs of one processor hour
		large         int // jobs of one processor hour that can never run
		found, beyond bool
	}{
		{"none", func(*Spec) {}, 100, 0, false, false},
		{"one in a hundred", func(*Spec) {}, 99, 1, false, false},
		{"one in ten", func(*Spec) {}, 9, 1, true, false},
		{"two in a hundred", func(*Spec) {}, 98, 2, true, true},
		{"two in two hundred", func(*Spec) {}, 198, 2, false, false},
		{"strict", func(s *Spec) { s.Infeasible = "error" }, 999, 1, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec
			c.spec(&s)
			p := planned(t, s, traces.Meta{}, traces.Tables{})
			j := p.Judge(traces.Info{})
			n := c.small + c.large
			b := traces.Batch{
				ID: make([]int64, n), Submit: make([]model.Time, n), Start: make([]model.Time, n), Runtime: make([]model.Duration, n), CancelledAt: make([]model.Time, n),
				ProcsRequested: make([]int32, n), ProcsAllocated: make([]int32, n), NodesMin: make([]int32, n), CPUsPerNode: make([]int32, n), GPUsPerNode: make([]int32, n),
			}
			for i := range n {
				b.ID[i], b.Runtime[i], b.ProcsRequested[i] = int64(i), model.Hour, 1
				j.Row(&b, i, i < c.large)
			}
			found, beyond := j.Unheeded(nil)
			require.Equal(t, c.found, len(found) > 0)
			require.Equal(t, c.beyond, beyond)
		})
	}
}

// TestWorkIsOfTheLargestPart: a job of one processor and four GPUs weighs four.
func TestWorkIsOfTheLargestPart(t *testing.T) {
	b := traces.Batch{Runtime: []model.Duration{10}, ProcsRequested: []int32{1}, ProcsAllocated: []int32{traces.Absent}, NodesMin: []int32{2}, CPUsPerNode: []int32{traces.Absent}, GPUsPerNode: []int32{4}}
	hi, lo := workOf(&b, 0)
	require.Zero(t, hi)
	require.EqualValues(t, 80, lo)
}
