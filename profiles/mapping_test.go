package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMapping(t *testing.T) {
	m, err := ParseMapping("c.yaml", []byte(`table: load
time_zone: Europe/Berlin
service: web
columns:
  - {name: time, from: when, unit: text}
  - {name: arrivals, from: 3}
  - {name: width, value: 60, unit: s}
nulls: ["-", 99]
`))
	require.NoError(t, err)
	require.Equal(t, []string{"load", "Europe/Berlin", "web"}, []string{m.Table, m.TimeZone, m.Service})
	require.Equal(t, []MappedColumn{{"time", "when", "", "text"}, {"arrivals", "3", "", ""}, {"width", "", "60", "s"}}, m.Columns)
	require.Equal(t, []bool{false, false, true}, []bool{m.Constant(0), m.Constant(1), m.Constant(2)})
	require.Equal(t, []string{"-", "99"}, m.Nulls)
	require.ErrorContains(t, m.Wrong("columns[1].from", "is odd"), "c.yaml:6:28: columns[1].from: is odd")

	for text, want := range map[string]string{
		"":                                    "c.yaml:1:1: table: is missing",
		"table: lod\n":                        "c.yaml:1:8: table: found",
		"table: load\n":                       "columns: is missing",
		"table: load\ncolumns: [{from: a}]\n": "c.yaml:2:11: columns[0]: has no key name",
		"table: load\ncolumns: [{name: a}]\n": "columns[0]: has no key from and none of value",
		"table: load\ncolumns: [{name: a, from: b, value: 1}]\n": "columns[0].value: is there beside from",
		"table: load\ncolumns: [{name: a, from: ''}]\n":          "columns[0]: is empty",
		"table: load\ncolumn: []\n":                              "c.yaml:2:1: column: there is no such key (did you mean columns?)",
		"table load\ntime=when:text\n":                           "c.yaml:",
	} {
		_, err := ParseMapping("c.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
