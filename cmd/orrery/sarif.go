package main

import (
	"path/filepath"

	"orrery/reports/table"
	"orrery/sim/gate"
)

// formatSARIF is the Static Analysis Results Interchange Format, version 2.1.0, which
// code scanning reads.
const formatSARIF table.Format = "sarif"

// The elements of a SARIF log that are used here.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		About sarifText `json:"shortDescription"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		Level     string          `json:"level"` // error, warning or note
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
)

// sarifRules are what results refer to: those of lint, and one for each kind of check
// of a gate.
var sarifRules = []sarifRule{
	{"invalid", sarifText{"The file is not valid."}},
	{"remark", sarifText{"A setting has no effect, or one that may surprise."}},
	{"gate-" + gate.Exact, sarifText{"The schedule is that of the baseline."}},
	{"gate-" + gate.Banded, sarifText{"A metric stays within a tolerance of the baseline."}},
	{"gate-" + gate.Paired, sarifText{"A run is not worse than another, over windows."}},
	{"gate-" + gate.Counted, sarifText{"A run costs no more work than in the baseline."}},
	{"gate-" + gate.Bound, sarifText{"A metric lies within limits."}},
	{"gate-" + gate.Balance, sarifText{"Tenants get their shares."}},
	{"gate-" + gate.Steady, sarifText{"The queue does not grow without end."}},
	{"gate-" + gate.Thrash, sarifText{"Work is not moved to and fro."}},
}

// sarif prints results as one SARIF log.
func (p *printer) sarif(results []sarifResult) error {
	if results == nil {
		results = []sarifResult{}
	}
	return p.document(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{sarifTool{sarifDriver{"orrery", version(), sarifRules}}, results}},
	})
}

// lintResults are the errors and warnings of lint.
func lintResults(all []finding) (out []sarifResult) {
	for _, f := range all {
		rule := map[string]string{"error": "invalid", "warning": "remark"}[f.severity]
		if rule == "" {
			continue
		}
		text := f.Text
		if f.Key != "" {
			text = f.Key + ": " + text
		}
		out = append(out, newSarifResult(rule, f.severity, text, f.File, f.Line, f.Column))
	}
	return out
}

// gateResults are the checks of a gate that do not hold: regressions are errors, a lack
// of evidence is a warning. file is the gate file, and place where a check stands in it.
func gateResults(r *gate.Report, file string, place func(kind string, i int) (line, column int)) (out []sarifResult) {
	kind, n := "", 0
	for i := range r.Checks {
		f := &r.Checks[i]
		if f.Kind != kind {
			kind, n = f.Kind, 0
		}
		line, column := place(f.Kind, n)
		n++
		level := map[gate.Verdict]string{gate.Regression: "error", gate.Undecided: "warning"}[f.Verdict]
		if level == "" {
			continue
		}
		text := f.Check + ": " + string(f.Verdict) + ", " + f.Sentence()
		if f.Why != "" {
			text += ": " + f.Why
		}
		out = append(out, newSarifResult("gate-"+f.Kind, level, text, file, line, column))
	}
	return out
}

// newSarifResult is what was found by a rule at a place in a file; "" is no file, and a line of 0 none of it.
func newSarifResult(rule, level, text, file string, line, column int) sarifResult {
	r := sarifResult{Rule: rule, Level: level, Message: sarifText{text}}
	if file != "" {
		at := sarifPhysical{Artifact: sarifArtifact{filepath.ToSlash(file)}}
		if line > 0 {
			at.Region = &sarifRegion{line, column}
		}
		r.Locations = []sarifLocation{{at}}
	}
	return r
}
