package gate

import (
	"encoding/json"
	"errors"
	"fmt"

	"orrery/profiles"
)

// asked is the scenario of a run; nil in it for none.
type asked struct{ file *profiles.Scenario }

// scenarioOf reads the scenario file that a run names.
func scenarioOf(g *profiles.Gate, i int, files Files) (asked, error) {
	path := g.Runs[i].Scenario
	if path == "" || path == profiles.NoScenario {
		return asked{}, nil
	}
	s, err := files.Scenario(path)
	var own *profiles.Error
	if err != nil && !errors.As(err, &own) {
		err = g.Wrong(fmt.Sprintf("runs[%d].scenario", i), "%v", err)
	}
	return asked{s}, err
}

// JSON is the canonical form for a spec.
func (a asked) JSON() json.RawMessage {
	if a.file == nil || a.file.Empty() {
		return nil
	}
	return a.file.JSON()
}

// located tells an error about the scenario of a spec by the places of its file.
func (a asked) located(err error) error {
	if a.file == nil {
		return err
	}
	return a.file.Locate(err, 0)
}

// without says in words which jobs of the trace are left out, as the end of what a replay meets.
func (a asked) without() string {
	if a.file == nil {
		return ""
	}
	w := profiles.Scenario{Without: a.file.Without}
	if w.Empty() {
		return ""
	}
	return " but those of " + string(w.JSON())
}
