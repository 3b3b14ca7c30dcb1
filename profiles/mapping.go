package profiles

import "fmt"

// Mapping says what the columns of a table of separated values are, as the flags --table, --column, --set, --null, --time-zone
// and --service of orrery import do. Its tags describe the file as those of Profile do profile.yaml.
type Mapping struct {
	Table    string         `yaml:"table" of:"jobs,nodes,tenants,events,prices,load,telemetry" doc:"of the trace, of which each row becomes one"`
	TimeZone string         `yaml:"time_zone" unit:"name" doc:"of times that name none: UTC, or an IANA name such as Europe/Berlin"`
	Service  string         `yaml:"service" unit:"name" doc:"of the service whose load is read, where the file has none"`
	Columns  []MappedColumn `yaml:"columns" doc:"of the table, one by one"`
	Nulls    []string       `yaml:"nulls" any:"values" unit:"words" doc:"that mean there is no value, beside the usual ones"`

	*source // where it was read from
}

// MappedColumn says where the values of a column are.
type MappedColumn struct {
	Name  string `yaml:"name" unit:"name" doc:"of the column of the table"`
	From  string `yaml:"from" any:"values" unit:"name" doc:"of the column of the file"`
	Value string `yaml:"value" any:"values" doc:"in every row, instead of from"`
	Unit  string `yaml:"unit" any:"values" unit:"unit" doc:"of the values; a number of a column with units needs one"`
}

// LoadMapping reads the mapping at path. The error is an *Error that lists every problem, as far as it shows without the
// tables of traces.
func LoadMapping(path string) (*Mapping, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	return ParseMapping(path, text)
}

// ParseMapping reads a mapping; file is what errors call it.
func ParseMapping(file string, text []byte) (*Mapping, error) {
	m := new(Mapping)
	src, err := decode(file, text, m)
	if err != nil {
		return nil, err
	}
	m.source = src
	p := problems{src: src}
	if !src.has("table") {
		p.add("table", "is missing: say of which table of a trace each row becomes one")
	}
	if len(m.Columns) == 0 {
		p.add("columns", "is missing: say which columns of the table the file has")
	}
	for i := range m.Columns {
		at := fmt.Sprintf("columns[%d]", i)
		switch from, value := src.has(at+".from"), src.has(at+".value"); {
		case m.Columns[i].Name == "":
			p.add(at, "has no key name: say which column of the table it is")
		case from && value:
			p.add(at+".value", "is there beside from: leave one of them out")
		case !from && !value:
			p.add(at, "has no key from and none of value: say which column of the file it is, or what stands in every row")
		case from && m.Columns[i].From == "" || value && m.Columns[i].Value == "":
			p.add(at, "is empty: say which column of the file it is, or what stands in every row")
		}
	}
	return m, p.err()
}

// Constant says whether a column has the same value in every row.
func (m *Mapping) Constant(i int) bool { return m.has(fmt.Sprintf("columns[%d].value", i)) }
