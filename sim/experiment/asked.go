package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"orrery/profiles"
)

// asked is a scenario file of an experiment.
type asked struct {
	name string             // as the experiment has it
	file *profiles.Scenario // nil of none
	spec []byte             // canonical, for specs
}

// scenarioFiles reads the scenario files that the experiment names. Without any there is one
// without a name, which asks for nothing.
func (x *expander) scenarioFiles() error {
	if len(x.e.Scenarios) == 0 {
		x.asked = []asked{{}}
		return nil
	}
	for i, name := range x.e.Scenarios {
		a, err := x.scenarioFile(fmt.Sprintf("scenarios[%d]", i), name)
		if err := x.note(err); err != nil {
			return err
		}
		if err == nil {
			x.asked = append(x.asked, a)
		}
	}
	return nil
}

// scenarioFile reads one of them.
func (x *expander) scenarioFile(key, name string) (asked, error) {
	a := asked{name: name}
	if name == profiles.NoScenario {
		return a, nil
	}
	path := x.path(name)
	s, err := profiles.LoadScenario(path)
	var wrong *profiles.Error
	switch {
	case errors.As(err, &wrong):
		return a, err // told of that file
	case errors.Is(err, fs.ErrNotExist):
		return a, x.e.Wrong(key, "there is no file %s: want %s, or the path of a scenario from the folder of this file", path, profiles.NoScenario)
	case err != nil:
		return a, x.e.Wrong(key, "%v", err)
	case s.Empty():
		return a, x.e.Wrong(key, "%s asks for nothing: write %s in its place", path, profiles.NoScenario)
	}
	a.file, a.spec = s, s.JSON()
	if j := slices.IndexFunc(x.asked, func(o asked) bool { return string(o.spec) == string(a.spec) }); j >= 0 {
		return a, x.e.Wrong(key, "%s asks for the same as %s: leave one out", path, x.asked[j].name)
	}
	return a, nil
}

// Files are the scenario files of the plan, as its experiment names them, in their order; none
// where it has no such axis.
func (p *Plan) Files() []string {
	var out []string
	for i := range p.Scenarios {
		if f := p.Scenarios[i].File; f != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// UnderFile is what came of a point under one scenario file.
type UnderFile struct {
	File string
	// Values are means over the scenarios of the file, of constraints the worst, by column.
	// Have says which there are.
	Values []float64
	Have   []bool
}

// under divides what came of a point by scenario file; nil where there are not several.
// Scenarios that are set aside count here too, for points are compared under one file.
func (p *Plan) under(columns []Column, tried []trial, said [][]bool) []UnderFile {
	files := p.Files()
	if len(files) < 2 {
		return nil
	}
	var out []UnderFile
	for _, file := range files {
		r := Row{Values: make([]float64, len(columns)), Have: make([]bool, len(columns)), Worst: make([]int, len(columns))}
		for j := range columns {
			got, whole := 0, true
			for s := range tried {
				if p.Scenarios[s].File != file || !said[s][j] {
					continue
				}
				if whole = whole && tried[s].done && tried[s].have[j]; !whole {
					break
				}
				r.take(&columns[j], j, s, tried[s].values[j], got == 0)
				got++
			}
			if r.Have[j] = whole && got > 0; !r.Have[j] {
				r.Values[j] = 0
				continue
			}
			if _, bound := columns[j].Constraint(); !bound {
				r.Values[j] /= float64(got)
			}
		}
		out = append(out, UnderFile{file, r.Values, r.Have})
	}
	return out
}
