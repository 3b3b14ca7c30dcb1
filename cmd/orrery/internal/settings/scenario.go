package settings

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

	"orrery/cmd/orrery/internal/cli"
	"orrery/profiles"
)

// AskedScenario is a scenario as it was asked for: that of a run, a file, and flags, one behind the
// other. nil asks for nothing.
type AskedScenario struct {
	Whole profiles.Scenario
	parts []scenarioPart
}

// scenarioPart is where some of the events come from.
type scenarioPart struct {
	from *profiles.Scenario
	skip int // events before its own
}

// loadScenario reads the file of --scenario; nil for "".
func loadScenario(path string) (*AskedScenario, error) {
	if path == "" {
		return nil, nil
	}
	s, err := ReadScenarioFile(path)
	if err != nil {
		return nil, err
	}
	a := &AskedScenario{}
	a.Add(s)
	return a, nil
}

// ReadScenarioFile reads the file of --scenario.
func ReadScenarioFile(path string) (*profiles.Scenario, error) {
	s, err := profiles.LoadScenario(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.NoFile("--scenario "+path, path, "a scenario")
	}
	if err != nil {
		return nil, cli.Coded(cli.ExitUsage, err)
	}
	return s, nil
}

// Add puts what another scenario asks for behind what was asked.
func (a *AskedScenario) Add(s *profiles.Scenario) {
	a.parts = append(a.parts, scenarioPart{s, len(a.Whole.Events)})
	w := &a.Whole
	w.Events = append(w.Events, s.Events...)
	w.Without.Jobs = append(w.Without.Jobs, s.Without.Jobs...)
	w.Without.Users = append(w.Without.Users, s.Without.Users...)
	w.Without.Tenants = append(w.Without.Tenants, s.Without.Tenants...)
	if s.Prefer != nil {
		w.Prefer = s.Prefer
	}
}

// JSON is the canonical form for a spec.
func (a *AskedScenario) JSON() json.RawMessage {
	if a == nil || a.Whole.Empty() {
		return nil
	}
	return a.Whole.JSON()
}

// Located tells an error about the scenario of a spec by where it was asked for; nil for others.
func (a *AskedScenario) Located(err error) error {
	var wrong *profiles.Error
	if a == nil || !errors.As(err, &wrong) || !slices.ContainsFunc(wrong.Problems, func(p profiles.Problem) bool { return p.File == profiles.SpecScenario }) {
		return nil
	}
	for _, p := range a.parts {
		err = p.from.Locate(err, p.skip)
	}
	return cli.Coded(cli.ExitUsage, err)
}
