package transform

import (
	"strconv"

	"orrery/traces"
)

// Account says what a step did: Read + Added = Kept + the sum of Dropped, always.
// A row can be changed by several rules.
type Account struct {
	Step string `json:"step"`
	// Table is what the rows are of: "" for jobs, and for the ends of dependencies and
	// demands, which are steps of their own.
	Table   string        `json:"table,omitempty"`
	Read    int64         `json:"read"`
	Kept    int64         `json:"kept"`
	Added   int64         `json:"added,omitempty"`
	Dropped []traces.Rule `json:"dropped,omitempty"`
	Changed []traces.Rule `json:"changed,omitempty"`
	// Notes are what was measured: loads before and after, for instance.
	Notes []string `json:"notes,omitempty"`
}

// reset begins a new reading of the rows. Notes stay.
func (a *Account) reset() {
	a.Read, a.Kept, a.Added, a.Dropped, a.Changed = 0, 0, 0, nil, nil
}

func (a *Account) read() { a.Read++ }
func (a *Account) keep() { a.Kept++ }

// drop and change count a job by its id, which people read as an example of the
// rule when it is the first.
func (a *Account) drop(rule string, id int64)   { count(&a.Dropped, rule, example(id)) }
func (a *Account) change(rule string, id int64) { count(&a.Changed, rule, example(id)) }
func (a *Account) note(text string)             { a.Notes = append(a.Notes, text) }

func example(id int64) func() string {
	return func() string { return "id " + strconv.FormatInt(id, 10) }
}

func count(rules *[]traces.Rule, rule string, example func() string) {
	for i := range *rules {
		if (*rules)[i].Rule == rule {
			(*rules)[i].Count++
			return
		}
	}
	*rules = append(*rules, traces.Rule{Rule: rule, Count: 1, Example: example()})
}
