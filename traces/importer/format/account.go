package format

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"orrery/traces"
)

// Account counts what became of the rows, by table.
type Account struct {
	tables  []*Ledger
	assumed []traces.Assumption
	leftOut []string // ascending
}

// Table is the ledger of a table, made when it is first asked for.
func (a *Account) Table(name string) *Ledger {
	for _, t := range a.tables {
		if t.report.Table == name {
			return t
		}
	}
	t := &Ledger{report: traces.TableReport{Table: name}}
	a.tables = append(a.tables, t)
	return t
}

// Assume notes what the files do not say and the bundle states nevertheless. The same is
// noted once.
func (a *Account) Assume(what, value, why string) {
	for _, known := range a.assumed {
		if known.What == what {
			return
		}
	}
	a.assumed = append(a.assumed, traces.Assumption{What: what, Value: value, Why: why})
}

// mostColumns bounds the columns that are named as left out.
const mostColumns = 200

// LeftOut notes columns of the files that no column of a table takes and that are not kept in extra either.
func (a *Account) LeftOut(names ...string) {
	if len(names) == 0 || len(a.leftOut) >= mostColumns {
		return
	}
	known := len(a.leftOut)
	for _, name := range names {
		if i, found := slices.BinarySearch(a.leftOut, name); !found {
			a.leftOut = slices.Insert(a.leftOut, i, name)
		}
	}
	if len(a.leftOut) == known {
		return
	}
	const what = "columns left out"
	a.assumed = slices.DeleteFunc(a.assumed, func(n traces.Assumption) bool { return n.What == what })
	a.Assume(what, strings.Join(a.leftOut, ", "), "no column of the table is theirs")
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
		r.AddTable(&t.report)
	}
	return r
}

// Ledger is the account of one table. Its one way to count a row counts what became of
// it as well, so that rows read are those kept and those dropped.
type Ledger struct{ report traces.TableReport }

// Take counts a row with the rules by which it was mended: dropped by the rule drop, which
// may be written with blanks, or kept when that is "".
func (l *Ledger) Take(at *Place, drop string) (kept bool) {
	l.report.Read++
	for _, rule := range at.Repaired {
		l.Repair(rule, at)
	}
	if drop == "" {
		l.report.Kept++
		return true
	}
	count(&l.report.Dropped, strings.ReplaceAll(drop, " ", "-"), at)
	return false
}

// Repair counts one more repair of a row that is taken.
func (l *Ledger) Repair(rule string, at *Place) { count(&l.report.Repaired, rule, at) }

// count writes the place out for the first row of a rule alone.
func count(rules *[]traces.Rule, rule string, at *Place) {
	for i := range *rules {
		if (*rules)[i].Rule == rule {
			(*rules)[i].Count++
			return
		}
	}
	*rules = append(*rules, traces.Rule{Rule: rule, Count: 1, Example: at.String()})
}

// Place is where a row stands, and how it was mended.
type Place struct {
	File string // "" where there is only one
	Of   string // what Line counts, "line" when empty
	Line int64
	Name string // of what the row is about, "" when it has none

	Repaired []string
}

// String reads "FILE line N: NAME".
func (p *Place) String() string {
	of, text := p.Of, ""
	if of == "" {
		of = "line"
	}
	if p.File != "" {
		text = filepath.Base(p.File) + " "
	}
	text += fmt.Sprintf("%s %d", of, p.Line)
	if p.Name != "" {
		text += ": " + p.Name
	}
	return text
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
