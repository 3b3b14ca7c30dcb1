package profiles

import (
	"regexp"
	"strings"
)

// ColumnPattern is what a column of a row must match for its job to be of a class of work.
type ColumnPattern struct {
	Column string
	Match  *regexp.Regexp
}

// Patterns are those of the class; all of them must match.
func (w *Workload) Patterns() []ColumnPattern {
	out := make([]ColumnPattern, len(w.Columns))
	for i, text := range w.Columns {
		column, patterns, _ := strings.Cut(text, "=")
		out[i] = ColumnPattern{strings.TrimSpace(column), globs(patterns)}
	}
	return out
}

// globs matches texts by patterns that are apart by bars, in which * is any text and ? any
// character.
func globs(patterns string) *regexp.Regexp {
	var any []string
	for p := range strings.SplitSeq(patterns, "|") {
		p = regexp.QuoteMeta(strings.TrimSpace(p))
		any = append(any, strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(p))
	}
	return regexp.MustCompile("(?s)^(?:" + strings.Join(any, "|") + ")$")
}

// WorkClasses tells classes of work of rows.
type WorkClasses struct {
	rules    []*Workload
	patterns [][]ColumnPattern
}

// WorkClasses are the classes of work of the file.
func (c *Cluster) WorkClasses() *WorkClasses {
	out := &WorkClasses{}
	for i := range c.Workloads {
		out.rules, out.patterns = append(out.rules, &c.Workloads[i]), append(out.patterns, c.Workloads[i].Patterns())
	}
	return out
}

// Of is the first class that holds a row, -1 for none. text gives the row's value of a column,
// "" for none, which matches nothing; gpus is how many its job asks for in all.
func (c *WorkClasses) Of(text func(column string) string, gpus int64) int {
	for i, w := range c.rules {
		holds := gpus >= w.MinGPUs && (w.MaxGPUs == 0 || gpus <= w.MaxGPUs)
		for _, p := range c.patterns[i] {
			if value := text(p.Column); value == "" || !p.Match.MatchString(value) {
				holds = false
			}
		}
		if holds {
			return i
		}
	}
	return -1
}
