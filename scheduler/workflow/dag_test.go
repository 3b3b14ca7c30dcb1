package workflow

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// chain is n members that each wait for the one before; ids start at 100.
func chain(n int) []Member {
	dag := make([]Member, n)
	for i := range dag {
		dag[i] = Member{Job: model.JobID(i), ID: int64(100 + i), Group: -1}
		if i > 0 {
			dag[i].Deps = []model.Dependency{after(model.JobID(i-1), model.AfterOK)}
		}
	}
	return dag
}

func TestValidate(t *testing.T) {
	with := func(dag []Member, at int, deps ...model.Dependency) []Member {
		dag[at].Deps = append(dag[at].Deps, deps...)
		return dag
	}
	twice := chain(3)
	twice[2].Job = 1
	for _, c := range []struct {
		name string
		dag  []Member
		want string
	}{
		{"chain", chain(5), ""},
		{"largest", chain(MaxMembers), ""},
		{"diamond", with(chain(4), 3, after(0, model.AfterAny)), ""},
		{"same edge twice", with(chain(2), 1, after(0, model.AfterAny)), ""},
		{"mutexes only", with(chain(1), 0, model.Dependency{On: 0, Condition: model.Mutex}), ""},
		{"empty", nil, `dag "empty": no members, want at least 1`},
		{"too large", chain(MaxMembers + 1), "1001 members, want at most 1000"},
		{"twice", twice, "job 102 is a member twice"},
		{"unknown", with(chain(2), 1, after(9, model.AfterOK)), "job 101 depends on the job in row 9, which is not a member"},
		{"itself", with(chain(2), 1, after(1, model.AfterOK)), "101 -> 101"},
		{"cycle", with(chain(6), 2, after(4, model.AfterAny)), `dag "cycle": a cycle, in which each job waits for the next: 102 -> 104 -> 103 -> 102`},
		{"two cycles", with(with(chain(6), 0, after(1, model.AfterAny)), 4, after(5, model.AfterAny)), "100 -> 101 -> 100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := new(Validator).Validate(c.name, c.dag)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestValidateAgainstClosure: a DAG is acyclic when no job reaches itself; a
// cycle that is named exists.
func TestValidateAgainstClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		dag := make([]Member, n)
		reaches := make([][]bool, n)
		for i := range dag {
			dag[i], reaches[i] = Member{Job: model.JobID(i), ID: int64(i)}, make([]bool, n)
		}
		for range rapid.IntRange(0, 10).Draw(t, "edges") {
			i, j := rapid.IntRange(0, n-1).Draw(t, "job"), rapid.IntRange(0, n-1).Draw(t, "on")
			dag[i].Deps = append(dag[i].Deps, after(model.JobID(j), model.AfterOK))
			reaches[i][j] = true
		}
		v := Validator{dag: dag2(dag)}
		cycle, d := v.cycle(), v.dag
		v = Validator{}
		for k := range n {
			for i := range n {
				for j := range n {
					reaches[i][j] = reaches[i][j] || reaches[i][k] && reaches[k][j]
				}
			}
		}
		cyclic := false
		for i := range n {
			cyclic = cyclic || reaches[i][i]
		}
		require.Equal(t, cyclic, cycle != nil)
		require.Equal(t, cyclic, v.Validate("x", dag) != nil)
		for i := 1; i < len(cycle); i++ {
			require.Contains(t, d.before[cycle[i-1]], cycle[i])
		}
		if cyclic {
			require.Equal(t, cycle[0], cycle[len(cycle)-1])
		}
	})
}

func dag2(members []Member) dag {
	d := dag{make([][]int, len(members)), make([][]int, len(members))}
	for i, m := range members {
		for _, dep := range m.Deps {
			d.before[i] = append(d.before[i], int(dep.On))
			d.after[dep.On] = append(d.after[dep.On], i)
		}
	}
	return d
}

// TestPair: whichever element of the array is named, equal indices pair.
func TestPair(t *testing.T) {
	ok := after(0, model.AfterOK)
	members := []Member{
		{Job: 0, Group: 7, Index: 0}, {Job: 1, Group: 7, Index: 1}, {Job: 2, Group: 7, Index: 5},
		{Job: 10, Group: 8, Index: 0, Deps: []model.Dependency{after(0, model.AfterCorr)}},
		{Job: 11, Group: 8, Index: 1, Deps: []model.Dependency{ok, after(0, model.AfterCorr)}},
		{Job: 12, Group: 8, Index: 2, Deps: []model.Dependency{after(0, model.AfterCorr), ok}},
		{Job: 13, Group: 8, Index: 5, Deps: []model.Dependency{after(1, model.AfterCorr)}},
		{Job: 14, Group: -1, Deps: []model.Dependency{after(1, model.AfterCorr)}},
		{Job: 15, Group: 8, Index: 9, Deps: []model.Dependency{after(14, model.AfterCorr), after(99, model.AfterCorr)}},
	}
	Pair(members)
	got := map[model.JobID][]model.Dependency{}
	for _, m := range members[3:] {
		got[m.Job] = m.Deps
	}
	require.Equal(t, map[model.JobID][]model.Dependency{
		10: {after(0, model.AfterCorr)},
		11: {ok, after(1, model.AfterCorr)},
		12: {ok},
		13: {after(2, model.AfterCorr)},
		14: {after(1, model.AfterCorr)},
		15: {after(14, model.AfterCorr), after(99, model.AfterCorr)},
	}, got)
}
