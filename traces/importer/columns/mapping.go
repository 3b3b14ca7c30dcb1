// Package columns reads any table of separated values by a mapping that says which
// column of a table of the bundle each of its columns is, in what unit, and in what time
// zone. It guesses nothing: a number of a physical column without a unit, a time without
// a zone and a column that a table needs and the mapping lacks are refused.
package columns

import (
	"errors"
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

// Column says where the values of one column of the table come from.
type Column struct {
	Name string // of the column of the table
	From string // the name of the column of the file; "" where Constant
	// Constant says that Value stands in every row.
	Constant bool
	Value    string
	Unit     string // "" where there is none
}

// ColumnError says which of the columns of a mapping is wrong: its place, and which of name, from, value and unit is.
type ColumnError struct {
	Index int
	Key   string
	Err   error
}

// Error implements error.
func (e *ColumnError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *ColumnError) Unwrap() error { return e.Err }

// New makes a mapping of columns, and further words that mean that there is no value. What is wrong with a column is a
// ColumnError.
func New(table string, columns []Column, nulls []string) (*Mapping, error) {
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
	m.text = fmt.Sprintf("table %s columns %#v null %q", table, columns, nulls)
	for i := range columns {
		if key, err := m.add(&columns[i]); err != nil {
			return nil, &ColumnError{i, key, err}
		}
	}
	return m, m.whole()
}

// Parse reads NAME=SOURCE or NAME=SOURCE:UNIT, or with constant NAME=VALUE or NAME=VALUE:UNIT. A source whose name has a
// colon ends with another one.
func Parse(table, text string, constant bool) (Column, error) {
	name, from, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || from == "" {
		return Column{}, errors.New("want NAME=SOURCE or NAME=SOURCE:UNIT")
	}
	isText := slices.ContainsFunc(traces.Columns(table), func(c traces.Column) bool { return c.Name == name && c.Type == traces.String })
	given, word := from, ""
	if i := strings.LastIndexByte(from, ':'); i >= 0 && !isText {
		given, word = from[:i], from[i+1:]
	} else if isText {
		given = strings.TrimSuffix(from, ":")
	}
	if constant {
		return Column{Name: name, Constant: true, Value: given, Unit: word}, nil
	}
	return Column{Name: name, From: given, Unit: word}, nil
}

// String is the mapping in one line: equal mappings have equal lines.
func (m *Mapping) String() string { return m.text }

// Format is that of the files that the mapping is for.
func (m *Mapping) Format() *format.Format {
	f := &format.Format{
		Name: "csv", Version: 2, Files: 1, What: "separated values, by named columns",
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

// add takes a column; key is which part of it is wrong.
func (m *Mapping) add(c *Column) (key string, err error) {
	columns := traces.Columns(m.table)
	place := slices.IndexFunc(columns, func(of traces.Column) bool { return of.Name == c.Name })
	if place < 0 {
		var names []string
		for _, of := range columns {
			names = append(names, of.Name)
		}
		return "name", fmt.Errorf("the table %s has no column %q%s", m.table, c.Name, spelling.Hint(c.Name, names))
	}
	if m.find(c.Name) != nil {
		return "name", fmt.Errorf("%s is given twice", c.Name)
	}
	s := source{column: columns[place], place: place, index: len(m.sources), from: c.From, value: c.Value}
	if c.Constant && c.Value == widthStep && m.table == "load" && c.Name == "width" {
		s.step, s.value = true, ""
		m.sources = append(m.sources, s)
		return "", nil
	}
	of := unitsOf(m.table, &s.column)
	k := slices.IndexFunc(of, func(u unit) bool { return u.name == c.Unit })
	switch {
	case k >= 0:
		s.unit = of[k]
	case c.Unit == "":
		return "unit", fmt.Errorf("a number of %s needs a unit, one of %s", c.Name, unitNames(of))
	case len(of) == 1 && of[0].name == "":
		return "unit", fmt.Errorf("%s takes no unit, found %q", c.Name, c.Unit)
	default:
		return "unit", fmt.Errorf("%q is no unit of %s%s: want one of %s", c.Unit, c.Name, spelling.Hint(c.Unit, strings.Split(unitNames(of), ", ")), unitNames(of))
	}
	m.sources = append(m.sources, s)
	return "", nil
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
		unit, more := "", ""
		if of := unitsOf(m.table, &c); of[0].name != "" {
			unit = ", in " + unitNames(of)
		}
		if c.Name == "width" {
			more = "; the value step is the smallest step between two rows"
		}
		return fmt.Errorf("the table %s needs the column %s (%s): say which column of the file it is, or which value it has in every row%s%s", m.table, c.Name, c.Doc, unit, more)
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
