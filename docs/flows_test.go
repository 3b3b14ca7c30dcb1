package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// The pages that tell a flow have state diagrams in the syntax of Mermaid. The
// tests read them and compare states and transitions with the code.

var (
	diagram    = regexp.MustCompile("(?s)```mermaid\nstateDiagram-v2\n(.*?)```")
	transition = regexp.MustCompile(`^\s+(\S+) --> (\S+?)(?:: (.+))?$`)
	named      = regexp.MustCompile(`^\s+state "([^"]+)" as (\w+)$`)
)

// arrow is a transition of a diagram. "[*]" is the begin or the end.
type arrow struct{ from, to string }

// diagrams reads the state diagrams of a page, each as labels by transition, with
// states by the names that a reader sees. Each line must be understood.
func diagrams(t *testing.T, page string) []map[arrow]string {
	t.Helper()
	var all []map[arrow]string
	for _, block := range diagram.FindAllStringSubmatch(documents(t)[page], -1) {
		arrows, names := map[arrow]string{}, map[string]string{"[*]": "[*]"}
		for line := range strings.Lines(block[1]) {
			line = strings.TrimRight(line, "\n")
			if m := named.FindStringSubmatch(line); m != nil {
				names[m[2]] = m[1]
				continue
			}
			m := transition.FindStringSubmatch(line)
			require.NotNil(t, m, "%s: a line of a diagram that the test does not understand: %q", page, line)
			a := arrow{m[1], m[2]}
			for _, end := range []*string{&a.from, &a.to} {
				if name, ok := names[*end]; ok {
					*end = name
				}
			}
			require.NotContains(t, arrows, a, "%s has a transition twice", page)
			arrows[a] = m[3]
		}
		all = append(all, arrows)
	}
	return all
}

// spelled are the words of an enumeration, from 0 until its table of words ends.
func spelled(word func(i uint8) string) (words []string) {
	defer func() { _ = recover() }() // there is no such value
	for i := range uint8(255) {
		words = append(words, word(i))
	}
	return words
}

func jobStates() []string { return spelled(func(i uint8) string { return model.JobState(i).String() }) }

// The diagram of a job's states has the legal transitions and no others.
func TestJobStates(t *testing.T) {
	have := diagrams(t, "docs/FLOW-JOB.md")[0]
	want := map[arrow]bool{{"[*]", model.Pending.String()}: true}
	states := jobStates()
	require.Len(t, states, 9)
	for i, from := range states {
		for k, to := range states {
			if model.JobState(i).CanBecome(model.JobState(k)) {
				want[arrow{from, to}] = true
			}
		}
		if model.JobState(i).Terminal() {
			want[arrow{from, "[*]"}] = true
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(have)))
}

// The diagram of a victim's way out has the phases that its agents go through, by
// every event in every phase.
func TestVictimPhases(t *testing.T) {
	have := diagrams(t, "docs/FLOW-JOB.md")[2]
	cfg := preempt.DefaultConfig()
	events := spelled(func(i uint8) string { return preempt.Event(i).String() })
	want := map[arrow]bool{{preempt.Done.String(), "[*]"}: true}
	seen := map[preempt.Machine]bool{}
	var open []preempt.Machine
	for _, ck := range []model.Checkpoint{model.CheckpointAuto, model.CheckpointManual, model.CheckpointNone} {
		m, _, _ := preempt.Begin(ck, &cfg, 0)
		want[arrow{"[*]", m.Phase.String()}] = true
		open = append(open, m)
	}
	for len(open) > 0 {
		m := open[0]
		if open = open[1:]; seen[m] {
			continue
		}
		seen[m] = true
		for e := range events {
			next, _, _ := preempt.Next(m, preempt.Event(e), &cfg, 0)
			if next.Phase != m.Phase {
				want[arrow{m.Phase.String(), next.Phase.String()}] = true
			}
			open = append(open, next)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(have)))
}
