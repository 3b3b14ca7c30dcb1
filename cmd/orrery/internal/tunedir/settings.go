// Package tunedir says what the directory of a tune is of, so that only the same tune goes
// on with it. It must not know flags, nor what a tune found.
package tunedir

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/reports/table"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/tune"
)

// File says in the directory of a tune what it is of.
const (
	File   = "settings.json"
	Kind   = "orrery-tune-settings-"
	Schema = Kind + "3"
)

// Settings are what decides what a tune finds. Where and by how many workers it
// is computed is not of them.
type Settings struct {
	Schema string `json:"schema"`
	// Semantics are those of the replays; 0 in directories that do not say.
	Semantics int   `json:"semantics,omitempty"`
	Logs      []Log `json:"logs"`
	// Settings are the flags of tune, those left out with their defaults.
	Settings []Setting `json:"settings"`
}

// Log is a log that is tuned on.
type Log struct {
	// Name is what the log is called, which decides nothing; Trace is the hash of its
	// content.
	Name  string `json:"name"`
	Trace string `json:"trace"`
	// Now is the SHA-256 of the current policy on it: the cluster, the profiles, the
	// settings of the replays.
	Now string `json:"now"`
}

// Setting is a flag of tune with its value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Of is what is to be tuned, and how. The loads are as the user gave them.
func Of(p *tune.Problem, o *tune.Options, loads string) *Settings {
	out := &Settings{Schema: Schema, Semantics: plan.Semantics}
	for i := range p.Traces {
		spec := p.Traces[i].Spec
		spec.Trace = "" // said by itself
		out.Logs = append(out.Logs, Log{p.Traces[i].Set.Name, p.Traces[i].Spec.Trace, spec.ID()})
	}
	add := func(name string, value string) { out.Settings = append(out.Settings, Setting{name, value}) }
	objectives := o.Objectives
	if len(objectives) == 0 {
		objectives = []search.Objective{tune.DefaultObjective}
	}
	var goals, bounds []string
	for _, m := range objectives {
		goals = append(goals, string(m.Direction)+":"+m.Metric)
	}
	for _, c := range o.Constraints {
		bounds = append(bounds, c.String())
	}
	add("--vcluster", cmp.Or(p.VCluster, "all"))
	add("--objective", strings.Join(goals, " "))
	add("--subject-to", cmp.Or(strings.Join(bounds, ", "), "default"))
	add("--vary", cmp.Or(strings.Join(o.Vary, " "), "default"))
	add("--budget", strconv.FormatInt(o.Budget, 10))
	add("--points", strconv.Itoa(o.Trials))
	add("--method", cmp.Or(o.Method, "default"))
	if o.Batch > 0 {
		add("--batch", strconv.Itoa(o.Batch))
	} else {
		add("--batch", "default")
	}
	add("--windows", strconv.Itoa(o.Windows))
	add("--least-gain", strconv.FormatFloat(o.Margin, 'g', -1, 64))
	add("--no-group-worse", strconv.FormatFloat(o.NoGroupWorse, 'g', -1, 64))
	add("--loads", loads)
	add("--replicas", strconv.Itoa(o.Replicas))
	add("--jitter", o.JitterBy.String())
	add("--trajectories", strconv.Itoa(o.Trajectories))
	add("--sobol", strconv.Itoa(o.Points))
	add("--seed", strconv.FormatUint(o.Seed, 10))
	return out
}

// Choosing is what decides which candidates are held against the current policy, and on
// what: not the name of a file, nor what is measured beside the decision.
func (t *Settings) Choosing() *Settings {
	out := *t
	out.Logs, out.Settings = slices.Clone(t.Logs), slices.Clone(t.Settings)
	for i := range out.Logs {
		out.Logs[i].Name = ""
	}
	out.Settings = slices.DeleteFunc(out.Settings, func(s Setting) bool {
		return slices.Contains([]string{"--loads", "--sobol"}, s.Name)
	})
	return &out
}

// Others says in words what differs, "" when nothing does.
func (t *Settings) Others(given *Settings) string {
	var parts []string
	if len(t.Logs) != len(given.Logs) {
		parts = append(parts, fmt.Sprintf("%s, not %d", table.Counted(len(t.Logs), "log"), len(given.Logs)))
	}
	for i := range min(len(t.Logs), len(given.Logs)) {
		a, b := &t.Logs[i], &given.Logs[i]
		if a.Trace != b.Trace {
			parts = append(parts, fmt.Sprintf("the log %s (%.12s…), not %s (%.12s…)", a.Name, a.Trace, b.Name, b.Trace))
		}
		if a.Now != b.Now {
			parts = append(parts, "another cluster, profile or setting of the replays of "+a.Name)
		}
	}
	for _, s := range given.Settings {
		i := slices.IndexFunc(t.Settings, func(o Setting) bool { return o.Name == s.Name })
		switch {
		case i < 0:
			parts = append(parts, fmt.Sprintf("no %s, not %s", s.Name, s.Value))
		case t.Settings[i].Value != s.Value:
			there, asked := t.Settings[i].Value, s.Value
			if a, b := boundsText(there), boundsText(asked); s.Name == "--subject-to" && a != b {
				there, asked = a, b
			}
			parts = append(parts, fmt.Sprintf("%s %s, not %s", s.Name, there, asked))
		}
	}
	return strings.Join(parts, "; ")
}

// boundsText is the text of bounds, whose values are plain numbers there, with units.
func boundsText(text string) string {
	var out []string
	for one := range strings.SplitSeq(text, ", ") {
		words := strings.Fields(one)
		n := len(words)
		if n < 3 {
			return text
		}
		value, err := strconv.ParseFloat(words[n-1], 64)
		if err != nil {
			return text
		}
		b := tune.Bound{Metric: strings.Join(words[:n-2], " "), Relation: search.Relation(words[n-2]), Asked: value}
		out = append(out, b.String())
	}
	return strings.Join(out, ", ")
}
