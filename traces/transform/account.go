package transform

import "orrery/traces"

// Account says what a step did: Read + Added = Kept + the sum of Dropped, always.
// A row can be changed by several rules.
type Account struct {
	Step    string        `json:"step"`
	Read    int64         `json:"read"`
	Kept    int64         `json:"kept"`
	Added   int64         `json:"added,omitempty"`
	Dropped []traces.Rule `json:"dropped,omitempty"`
	Changed []traces.Rule `json:"changed,omitempty"`
	// Notes are what was measured: loads before and after, for instance.
	Notes []string `json:"notes,omitempty"`
}

// Balanced says whether the counts add up.
func (a *Account) Balanced() bool {
	sum := a.Kept
	for _, d := range a.Dropped {
		sum += d.Count
	}
	return sum == a.Read+a.Added
}

// reset begins a new reading of the rows. Notes stay.
func (a *Account) reset() {
	a.Read, a.Kept, a.Added, a.Dropped, a.Changed = 0, 0, 0, nil, nil
}

func (a *Account) read() { a.Read++ }
func (a *Account) keep() { a.Kept++ }

func (a *Account) drop(rule, example string)   { count(&a.Dropped, rule, example) }
func (a *Account) change(rule, example string) { count(&a.Changed, rule, example) }
func (a *Account) note(text string)            { a.Notes = append(a.Notes, text) }

func count(rules *[]traces.Rule, rule, example string) {
	for i := range *rules {
		if (*rules)[i].Rule == rule {
			(*rules)[i].Count++
			return
		}
	}
	*rules = append(*rules, traces.Rule{Rule: rule, Count: 1, Example: example})
}
