package traces

// Rule counts the rows that one rule of an importer dropped or repaired.
type Rule struct {
	Rule    string `json:"rule"`
	Count   int64  `json:"count"`
	Example string `json:"example,omitempty"` // the first such row, for the user to look at
}

// TableReport says what became of the rows of one table: Read == Kept + the sum of
// Dropped.
type TableReport struct {
	Table    string `json:"table"`
	Read     int64  `json:"read"`
	Kept     int64  `json:"kept"`
	Dropped  []Rule `json:"dropped,omitempty"`
	Repaired []Rule `json:"repaired,omitempty"`
	// FirstUS and LastUS are the first and the last instant that a row kept states, µs since 1970-01-01 UTC, or since the
	// zero of the source where that is not known; nil in a table without instants. Times says where instants come from.
	FirstUS *int64 `json:"first_us,omitempty"`
	LastUS  *int64 `json:"last_us,omitempty"`
	Times   string `json:"times,omitempty"`
	// Use and Requests are those of jobs.
	Use      []Use     `json:"recorded_use,omitempty"`
	Requests *Requests `json:"requests,omitempty"`
}

// Drop counts one dropped row.
func (t *TableReport) Drop(rule, example string) { count(&t.Dropped, rule, example) }

// Repair counts one repair.
func (t *TableReport) Repair(rule, example string) { count(&t.Repaired, rule, example) }

// Assumption is what a bundle states and its source does not.
type Assumption struct {
	What  string `json:"what"` // a column, as table.column, or what else was assumed
	Value string `json:"value"`
	Why   string `json:"why"`
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
	// Tables are the accounts of the tables; those above are their sums. An export has none.
	Tables  []TableReport `json:"tables,omitempty"`
	Assumed []Assumption  `json:"assumed,omitempty"`
}

// AddTable adds the account of a table to the sums.
func (r *Report) AddTable(t *TableReport) {
	r.Tables = append(r.Tables, *t)
	r.Read += t.Read
	r.Kept += t.Kept
	sum(&r.Dropped, t.Dropped)
	sum(&r.Repaired, t.Repaired)
}

func sum(all *[]Rule, rules []Rule) {
	for _, t := range rules {
		count(all, t.Rule, t.Example)
		for i := range *all {
			if (*all)[i].Rule == t.Rule {
				(*all)[i].Count += t.Count - 1
			}
		}
	}
}

// Drop counts one dropped row.
func (r *Report) Drop(rule, example string) { count(&r.Dropped, rule, example) }

// Repair counts one repair.
func (r *Report) Repair(rule, example string) { count(&r.Repaired, rule, example) }

// Balanced says whether the counts add up, in each table and in all.
func (r *Report) Balanced() bool {
	var read, kept int64
	for i := range r.Tables {
		t := &r.Tables[i]
		if !balanced(t.Read, t.Kept, t.Dropped) || !t.measuresAddUp() {
			return false
		}
		read, kept = read+t.Read, kept+t.Kept
	}
	if len(r.Tables) > 0 && (read != r.Read || kept != r.Kept) {
		return false
	}
	return balanced(r.Read, r.Kept, r.Dropped)
}

// measuresAddUp says whether what was measured of a table fits the rows that were kept.
func (t *TableReport) measuresAddUp() bool {
	if t.FirstUS != nil && (t.LastUS == nil || *t.FirstUS > *t.LastUS || t.Kept == 0) {
		return false
	}
	q := t.Requests
	return q == nil || q.Jobs+q.Without == t.Kept && 0 <= q.Exceeded && q.Exceeded <= q.Jobs
}

func balanced(read, kept int64, dropped []Rule) bool {
	for _, d := range dropped {
		kept += d.Count
	}
	return kept == read
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
