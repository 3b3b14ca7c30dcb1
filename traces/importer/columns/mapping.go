// Package columns reads any table of separated values by a mapping that says which
// column of a table of the bundle each of its columns is, in what unit, and in what time
// zone. It guesses nothing: a number of a physical column without a unit, a time without
// a zone and a column that a table needs and the mapping lacks are refused.
package columns

import (
	"fmt"
	"slices"
	"strings"

	"orrery/internal/spelling"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Mapping says what the columns of a file are.
type Mapping struct {
	table   string
	sources []source
	nulls   []string
	text    string // what people wrote, in one line
}

// source is where the values of a column come from.
type source struct {
	column traces.Column
	index  int    // of the source in its mapping
	place  int    // of the column in its table
	from   string // name of the column in the file; "" for a constant
	value  string // constant
	step   bool   // the constant is the smallest step between two rows
	unit   unit
}

// widthStep is the word for a width that is the smallest step between two rows.
const widthStep = "step"

// nullWords mean that there is no value, in columns that are no text.
var nullWords = []string{"", "NaN", "nan", "NULL", "null", "None", `\N`, "N/A", "[N/A]", "[Not Supported]", "no reading"}

// Parse reads a mapping: the table, columns as NAME=SOURCE or NAME=SOURCE:UNIT (a
// source whose name has a colon ends with another one), constants as NAME=VALUE or
// NAME=VALUE:UNIT, and further words that mean that there is no value.
func Parse(table string, columns, constants, nulls []string) (*Mapping, error) {
	if _, ok := traces.NewRecord(table); !ok {
		var names []string
		for _, t := range traces.TableNames() {
			if _, ok := traces.NewRecord(t); ok {
				names = append(names, t)
			}
		}
		return nil, fmt.Errorf("table %q%s: want one of %s", table, spelling.Hint(table, names), strings.Join(names, ", "))
	}
	m := &Mapping{table: table, nulls: append(slices.Clone(nullWords), nulls...)}
	m.text = fmt.Sprintf("table %s columns %q set %q null %q", table, columns, constants, nulls)
	for _, text := range columns {
		if err := m.add(text, false); err != nil {
			return nil, err
		}
	}
	for _, text := range constants {
		if err := m.add(text, true); err != nil {
			return nil, err
		}
	}
	return m, m.whole()
}

// String is the mapping in one line: equal mappings have equal lines.
func (m *Mapping) String() string { return m.text }

// Format is that of the files that the mapping is for.
func (m *Mapping) Format() *format.Format {
	f := &format.Format{
		Name: "csv", Version: 1, Files: 1, What: "separated values, by named columns",
		Zoned: slices.ContainsFunc(m.sources, func(s source) bool { return s.column.Type == traces.Timestamp && s.unit.special == asText }),
	}
	f.Served = m.table == "load" && m.find("service") == nil
	f.Scan = m.scan
	return f
}

func (m *Mapping) find(column string) *source {
	for i := range m.sources {
		if m.sources[i].column.Name == column {
			return &m.sources[i]
		}
	}
	return nil
}

// add reads NAME=SOURCE[:UNIT].
func (m *Mapping) add(text string, constant bool) error {
	flag := "--column"
	if constant {
		flag = "--set"
	}
	name, from, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || from == "" {
		return fmt.Errorf("%s %s: want NAME=SOURCE or NAME=SOURCE:UNIT", flag, text)
	}
	columns := traces.Columns(m.table)
	place := slices.IndexFunc(columns, func(c traces.Column) bool { return c.Name == name })
	if place < 0 {
		var names []string
		for _, c := range columns {
			names = append(names, c.Name)
		}
		return fmt.Errorf("%s %s: the table %s has no column %q%s", flag, text, m.table, name, spelling.Hint(name, names))
	}
	if m.find(name) != nil {
		return fmt.Errorf("%s %s: %s is given twice", flag, text, name)
	}
	s := source{column: columns[place], place: place, index: len(m.sources)}
	if constant && from == widthStep && m.table == "load" && name == "width" {
		s.step = true
		m.sources = append(m.sources, s)
		return nil
	}
	of := unitsOf(m.table, &s.column)
	given, word := from, ""
	if i := strings.LastIndexByte(from, ':'); i >= 0 && s.column.Type != traces.String {
		given, word = from[:i], from[i+1:]
	} else if s.column.Type == traces.String {
		given = strings.TrimSuffix(from, ":")
	}
	k := slices.IndexFunc(of, func(u unit) bool { return u.name == word })
	switch {
	case k >= 0:
		s.unit = of[k]
	case word == "":
		return fmt.Errorf("%s %s: a number of %s needs a unit: write %s=%s:UNIT, with UNIT one of %s", flag, text, name, name, given, unitNames(of))
	case len(of) == 1 && of[0].name == "":
		return fmt.Errorf("%s %s: %s takes no unit, found %q; a source whose name has a colon ends with one more", flag, text, name, word)
	default:
		return fmt.Errorf("%s %s: %q is no unit of %s%s: want one of %s", flag, text, word, name, spelling.Hint(word, strings.Split(unitNames(of), ", ")), unitNames(of))
	}
	if s.from = given; constant {
		s.from, s.value = "", given
	}
	m.sources = append(m.sources, s)
	return nil
}

// own are the columns that a table needs and that stand for themselves when a mapping
// leaves them out.
var own = map[string][]string{"jobs": {"id", "kind"}, "nodes": {"up"}, "load": {"service"}}

// whole says which columns are missing, and holds instants to one zero.
func (m *Mapping) whole() error {
	for _, c := range traces.Columns(m.table) {
		if c.Optional || m.find(c.Name) != nil || slices.Contains(own[m.table], c.Name) {
			continue
		}
		unit := ""
		if of := unitsOf(m.table, &c); of[0].name != "" {
			unit = ":" + of[0].name
		}
		more := ""
		if c.Name == "width" {
			more = ", or --set width=step for the smallest step between two rows"
		}
		return fmt.Errorf("the table %s needs the column %s (%s): give --column %s=NAME%s or --set %s=VALUE%s%s", m.table, c.Name, c.Doc, c.Name, unit, c.Name, unit, more)
	}
	var zero *source
	for i := range m.sources {
		s := &m.sources[i]
		if s.column.Type != traces.Timestamp {
			continue
		}
		if zero != nil && (zero.unit.special == relative) != (s.unit.special == relative) {
			return fmt.Errorf("%s is counted from an arbitrary zero and %s is not, or the other way: all times of a file count from one", s.column.Name, zero.column.Name)
		}
		zero = s
	}
	return nil
}
