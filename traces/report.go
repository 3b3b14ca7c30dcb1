package traces

// Rule counts the rows that one rule of an importer dropped or repaired.
type Rule struct {
	Rule    string `json:"rule"`
	Count   int64  `json:"count"`
	Example string `json:"example,omitempty"` // the first such row, for the user to look at
}

// Report says what became of every row that an importer read (or that
// Validate looked at): Read == Kept + the sum of Dropped. Rules stand in the
// order in which they first applied. A row can be repaired by several rules.
type Report struct {
	File     string `json:"file"`
	Format   string `json:"format"`
	Importer string `json:"importer"` // name and version
	Read     int64  `json:"read"`
	Kept     int64  `json:"kept"`
	Dropped  []Rule `json:"dropped,omitempty"`
	Repaired []Rule `json:"repaired,omitempty"`
}

// Drop counts one dropped row.
func (r *Report) Drop(rule, example string) { count(&r.Dropped, rule, example) }

// Repair counts one repair.
func (r *Report) Repair(rule, example string) { count(&r.Repaired, rule, example) }

// Balanced says whether the counts add up.
func (r *Report) Balanced() bool {
	sum := r.Kept
	for _, d := range r.Dropped {
		sum += d.Count
	}
	return sum == r.Read
}

func count(rules *[]Rule, rule, example string) {
	for i := range *rules {
		if (*rules)[i].Rule == rule {
			(*rules)[i].Count++
			return
		}
	}
	*rules = append(*rules, Rule{Rule: rule, Count: 1, Example: example})
}
