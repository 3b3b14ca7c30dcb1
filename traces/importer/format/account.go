package format

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"orrery/traces"
)

// Account counts what became of the rows, by table.
type Account struct {
	tables  []*traces.TableReport
	assumed []traces.Assumption
}

// Table is the account of a table, made when it is first asked for.
func (a *Account) Table(name string) *traces.TableReport {
	for _, t := range a.tables {
		if t.Table == name {
			return t
		}
	}
	t := &traces.TableReport{Table: name}
	a.tables = append(a.tables, t)
	return t
}

// Assume notes what the files do not say and the bundle states nevertheless.
func (a *Account) Assume(what, value, why string) {
	a.assumed = append(a.assumed, traces.Assumption{What: what, Value: value, Why: why})
}

// Again begins a new reading of the rows; assumptions stay.
func (a *Account) Again() { a.tables = nil }

// Report sums the tables.
func (a *Account) Report(files []File, f *Format) traces.Report {
	r := traces.Report{Format: f.Name, Importer: fmt.Sprintf("%s %d", f.Name, f.Version), Assumed: a.assumed}
	for i := range files {
		if i > 0 {
			r.File += ", "
		}
		r.File += files[i].Name
	}
	for _, t := range a.tables {
		r.AddTable(t)
	}
	return r
}

// Describe is the metadata that every import has: the names of the files, without
// their folders so that the bundle does not depend on where they lay, and the report.
func Describe(files []File, r traces.Report) (traces.Meta, error) {
	base := ""
	for i := range files {
		if i > 0 {
			base += ", "
		}
		base += filepath.Base(files[i].Name)
	}
	r.File = base
	text, err := json.Marshal(r)
	if err != nil {
		return traces.Meta{}, fmt.Errorf("describing the import of %s: %w", base, err)
	}
	return traces.Meta{Source: base, Import: string(text)}, nil
}
