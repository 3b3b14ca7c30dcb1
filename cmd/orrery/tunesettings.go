package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/search"
	"orrery/sim/tune"
)

// tuneSettingsFile says in the directory of a tune what it is of.
const (
	tuneSettingsFile   = "settings.json"
	tuneSettingsKind   = "orrery-tune-settings-"
	tuneSettingsSchema = tuneSettingsKind + "2"
)

// tuneSettings are what decides what a tune finds. Where and by how many workers it
// is computed is not of them.
type tuneSettings struct {
	Schema string `json:"schema"`
	// Semantics are those of the replays; 0 in directories that do not say.
	Semantics int       `json:"semantics,omitempty"`
	Logs      []tuneLog `json:"logs"`
	// Settings are the flags of tune, those left out with their defaults.
	Settings []tuneSetting `json:"settings"`
}

// tuneLog is a log that is tuned on.
type tuneLog struct {
	// Name is what the log is called, which decides nothing; Trace is the hash of its
	// content.
	Name  string `json:"name"`
	Trace string `json:"trace"`
	// Now is the SHA-256 of the current policy on it: the cluster, the profiles, the
	// settings of the replays.
	Now string `json:"now"`
}

type tuneSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// identity is what is to be tuned, and how.
func (v *tuneVerb) identity(p *tune.Problem) *tuneSettings {
	out := &tuneSettings{Schema: tuneSettingsSchema, Semantics: plan.Semantics}
	for i := range p.Traces {
		spec := p.Traces[i].Spec
		spec.Trace = "" // said by itself
		out.Logs = append(out.Logs, tuneLog{p.Traces[i].Set.Name, p.Traces[i].Spec.Trace, spec.ID()})
	}
	add := func(name string, value string) { out.Settings = append(out.Settings, tuneSetting{name, value}) }
	o := &v.opt
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
	add("--vcluster", or(p.VCluster, "all"))
	add("--objective", strings.Join(goals, " "))
	add("--subject-to", or(strings.Join(bounds, ", "), "default"))
	add("--vary", or(strings.Join(o.Vary, " "), "default"))
	add("--budget", strconv.Itoa(o.Budget))
	add("--method", or(o.Method, "default"))
	if o.Batch > 0 {
		add("--batch", strconv.Itoa(o.Batch))
	} else {
		add("--batch", "default")
	}
	add("--race", string(o.Race))
	add("--windows", fmt.Sprintf("%d+%d", o.Tuning, o.Acceptance))
	add("--window", o.Length.String())
	add("--follow", o.Follow.String())
	add("--loads", v.loads)
	add("--replicas", strconv.Itoa(o.Replicas))
	add("--shake", o.ShakeBy.String())
	add("--trajectories", strconv.Itoa(o.Trajectories))
	add("--sobol", strconv.Itoa(o.Points))
	add("--seed", strconv.FormatUint(o.Seed, 10))
	return out
}

// others says in words what differs, "" when nothing does.
func (t *tuneSettings) others(given *tuneSettings) string {
	var parts []string
	if len(t.Logs) != len(given.Logs) {
		parts = append(parts, fmt.Sprintf("%s, not %d", countOf(len(t.Logs), "log"), len(given.Logs)))
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
		i := slices.IndexFunc(t.Settings, func(o tuneSetting) bool { return o.Name == s.Name })
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

// mayUse refuses the directory of something else.
func (v *tuneVerb) mayUse(p *tune.Problem) (err error) {
	v.owned, err = v.claimed(p)
	return err
}

// claimed says whether the directory is of this tune already.
func (v *tuneVerb) claimed(p *tune.Problem) (bool, error) {
	path := filepath.Join(v.out, tuneSettingsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range []string{"tune.json", "study", "study.json", "run.json", "page.md", "report.html", "report.json", "profile.yaml"} {
			if _, err := os.Lstat(filepath.Join(v.out, name)); err == nil {
				return false, usagef("--out %s: found %s there and no %s that says what it is of, want a new directory or one of the same tune: name another with --out, or remove what is there", v.out, name, tuneSettingsFile)
			}
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var found tuneSettings
	err = json.Unmarshal(text, &found)
	if other := versionIn(found.Schema); strings.HasPrefix(found.Schema, tuneSettingsKind) && other != tuneFormat.now {
		return false, v.elsewhere(tuneFormat, path, other)
	}
	if err == nil && found.Schema == tuneSettingsSchema && found.Semantics > 0 && found.Semantics != plan.Semantics {
		return false, v.elsewhere(semanticsFormat, path, found.Semantics)
	}
	if err != nil || found.Schema != tuneSettingsSchema {
		return false, usagef("%s: want the settings of a tune (schema %s), which it does not hold: name another directory with --out, or remove this one", path, tuneSettingsSchema)
	}
	if what := found.others(v.identity(p)); what != "" {
		return false, usagef("--out %s holds the tune of something else: found there %s. Name another directory with --out, or remove this one, to begin anew; the same log and settings go on with it", v.out, what)
	}
	return true, nil
}

// elsewhere refuses the directory of a tune of another version, with the same command
// for another directory.
func (v *tuneVerb) elsewhere(f *fileFormat, path string, version int) error {
	return &codedError{exitUsage, errors.Unwrap(f.only(path, version, v.m.otherOut(v.out)))}
}

// claim makes the directory, which mayUse has looked at, that of this tune.
func (v *tuneVerb) claim(p *tune.Problem) error {
	if v.owned {
		return nil
	}
	text, err := record.AppendJSON(nil, v.identity(p))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(v.out, 0o755); err != nil {
		return err
	}
	return v.m.create(filepath.Join(v.out, tuneSettingsFile), writing(text))
}
