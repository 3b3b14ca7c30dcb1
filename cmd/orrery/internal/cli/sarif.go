package cli

import (
	"path/filepath"

	"orrery/reports/table"
	"orrery/sim/gate"
)

// FormatSARIF is the Static Analysis Results Interchange Format, version 2.1.0, which
// code scanning reads.
const FormatSARIF table.Format = "sarif"

// SARIFResult is what was found by a rule, at places in files.
type SARIFResult struct {
	Rule      string          `json:"ruleId"`
	Level     string          `json:"level"` // error, warning or note
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

// The other elements of a SARIF log that are used here.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []SARIFResult `json:"results"`
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

// SARIF prints results as one SARIF log.
func (p *Printer) SARIF(results []SARIFResult) error {
	if results == nil {
		results = []SARIFResult{}
	}
	return p.Document(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{sarifTool{sarifDriver{"orrery", Version(), sarifRules}}, results}},
	})
}

// NewSARIFResult is what was found by a rule at a place in a file; "" is no file, and a line of 0 none of it.
func NewSARIFResult(rule, level, text, file string, line, column int) SARIFResult {
	r := SARIFResult{Rule: rule, Level: level, Message: sarifText{text}}
	if file != "" {
		at := sarifPhysical{Artifact: sarifArtifact{filepath.ToSlash(file)}}
		if line > 0 {
			at.Region = &sarifRegion{line, column}
		}
		r.Locations = []sarifLocation{{at}}
	}
	return r
}
