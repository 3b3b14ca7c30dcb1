package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/disk"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// askedScenario is a scenario as it was asked for: that of a run, a file, and flags, one behind the
// other. nil asks for nothing.
type askedScenario struct {
	whole profiles.Scenario
	parts []scenarioPart
}

// scenarioPart is where some of the events come from.
type scenarioPart struct {
	from *profiles.Scenario
	skip int // events before its own
}

// loadScenario reads the file of --scenario; nil for "".
func loadScenario(path string) (*askedScenario, error) {
	if path == "" {
		return nil, nil
	}
	s, err := readScenarioFile(path)
	if err != nil {
		return nil, err
	}
	a := &askedScenario{}
	a.add(s)
	return a, nil
}

func readScenarioFile(path string) (*profiles.Scenario, error) {
	s, err := profiles.LoadScenario(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noFile("--scenario "+path, path, "a scenario")
	}
	if err != nil {
		return nil, coded(exitUsage, err)
	}
	return s, nil
}

// add puts what another scenario asks for behind what was asked.
func (a *askedScenario) add(s *profiles.Scenario) {
	a.parts = append(a.parts, scenarioPart{s, len(a.whole.Events)})
	w := &a.whole
	w.Events = append(w.Events, s.Events...)
	w.Without.Jobs = append(w.Without.Jobs, s.Without.Jobs...)
	w.Without.Users = append(w.Without.Users, s.Without.Users...)
	w.Without.Tenants = append(w.Without.Tenants, s.Without.Tenants...)
	if s.Prefer != nil {
		w.Prefer = s.Prefer
	}
}

// JSON is the canonical form for a spec.
func (a *askedScenario) JSON() json.RawMessage {
	if a == nil || a.whole.Empty() {
		return nil
	}
	return a.whole.JSON()
}

// located tells an error about the scenario of a spec by where it was asked for; nil for others.
func (a *askedScenario) located(err error) error {
	var wrong *profiles.Error
	if a == nil || !errors.As(err, &wrong) || !slices.ContainsFunc(wrong.Problems, func(p profiles.Problem) bool { return p.File == profiles.SpecScenario }) {
		return nil
	}
	for _, p := range a.parts {
		err = p.from.Locate(err, p.skip)
	}
	return coded(exitUsage, err)
}

// mostForks bounds how many forks of forks are followed to their log.
const mostForks = 16

// logsOf are the files of the log that a run was of, or the run that it was forked from; none where
// host.json does not say, or one is not there.
func logsOf(dir string) []string {
	for range mostForks {
		if _, logs := replayOf(dir); len(logs) > 0 {
			return logs
		}
		args := forkOf(dir)
		if len(args) != 1 {
			return args[min(len(args), 1):]
		}
		dir = args[0]
	}
	return nil
}

// forkOf are the arguments of the fork that made a run, RUN first; none where another verb did, or
// a file is not there.
func forkOf(dir string) []string {
	text, err := disk.ReadFile(filepath.Join(dir, record.FileHost))
	var host struct{ Arguments []string }
	if err != nil || json.Unmarshal(text, &host) != nil || len(host.Arguments) < 2 || host.Arguments[0] != "fork" {
		return nil
	}
	cmd := newMain().forkCommand()
	if cmd.ParseFlags(host.Arguments[1:]) != nil { // flags of that time
		return nil
	}
	for _, path := range cmd.Flags().Args() {
		if there(path) == nil {
			return nil
		}
	}
	return cmd.Flags().Args()
}

// scenarioFlags are those of fork that ask for something.
type scenarioFlags struct {
	profiles        []string
	order, backfill string
	events          []string
	without         []string
	prefer          string
}

// scenario is what the flags ask for at an instant.
func (f *scenarioFlags) scenario(at model.Time) (*profiles.Scenario, error) {
	s := &profiles.Scenario{}
	event := func(kind, value string) {
		e := profiles.NewScenarioEvent(kind)
		e.Time, e.Value = model.Duration(at), value
		s.Events = append(s.Events, e)
	}
	for _, text := range f.profiles {
		vcluster, profile, one := strings.Cut(text, "=")
		if !one {
			vcluster, profile = "", text
		}
		event(profiles.EventProfile, "")
		e := &s.Events[len(s.Events)-1]
		if e.Profile.Name = profile; vcluster != "" {
			e.Subject = profiles.Nodes{vcluster}
		}
	}
	if f.order != "" {
		event(profiles.EventOrder, f.order)
	}
	if f.backfill != "" {
		event(profiles.EventBackfill, f.backfill)
	}
	for _, text := range f.events {
		e, err := profiles.ParseScenarioEvent(text, model.Duration(at))
		if err != nil {
			return nil, usagef("--event %q: %w", text, err)
		}
		s.Events = append(s.Events, e)
	}
	if err := f.work(s); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, coded(exitUsage, err)
	}
	if err := s.Inline("."); err != nil {
		return nil, coded(exitUsage, err)
	}
	return s, nil
}

// work reads --without and --counterfactual.
func (f *scenarioFlags) work(s *profiles.Scenario) error {
	for _, text := range f.without {
		key, value, _ := strings.Cut(text, "=")
		switch w := &s.Without; {
		case value == "":
			return usagef("--without %s: want job=ID, user=NAME or tenant=NAME", text)
		case key == "job":
			id, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return usagef("--without %s: found %q, want the id of a job, a whole number", text, value)
			}
			w.Jobs = append(w.Jobs, id)
		case key == "user":
			w.Users = append(w.Users, value)
		case key == "tenant":
			w.Tenants = append(w.Tenants, value)
		default:
			return usagef("--without %s: found the key %q, want job=ID, user=NAME or tenant=NAME", text, key)
		}
	}
	if f.prefer == "" {
		return nil
	}
	id, err := strconv.ParseInt(f.prefer, 10, 64)
	if err != nil {
		return usagef("--counterfactual %s: want the id of a job, a whole number", f.prefer)
	}
	s.Prefer = &id
	return nil
}
