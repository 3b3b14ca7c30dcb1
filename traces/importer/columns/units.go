package columns

import (
	"slices"
	"strings"

	"orrery/traces"
)

// unit says how a number in a file becomes one of a column: times num, over den.
type unit struct {
	name     string
	num, den int64
	special  special
}

// special is a unit that no factor expresses.
type special uint8

const (
	plain    special = iota
	asText           // an instant or a span in words
	relative         // an instant from an arbitrary zero
	perTime          // a rate, times the width of the sample
)

const micro = 1_000_000

// spans are the units of time, in µs.
var spans = []unit{
	{"us", 1, 1, plain}, {"ms", 1000, 1, plain}, {"s", micro, 1, plain}, {"min", 60 * micro, 1, plain}, {"h", 3600 * micro, 1, plain},
	{"d", 86400 * micro, 1, plain}, {"text", 1, 1, asText},
}

// instants are those of a time: as text, since 1970, or since the start of the log.
var instants = []unit{
	{"text", 1, 1, asText},
	{"unix-s", micro, 1, plain}, {"unix-ms", 1000, 1, plain}, {"unix-us", 1, 1, plain}, {"unix-ns", 1, 1000, plain},
	{"us", 1, 1, relative}, {"ms", 1000, 1, relative}, {"s", micro, 1, relative}, {"min", 60 * micro, 1, relative}, {"h", 3600 * micro, 1, relative},
	{"d", 86400 * micro, 1, relative},
}

var sizes = []unit{
	{"B", 1, 1, plain}, {"kB", 1e3, 1, plain}, {"MB", 1e6, 1, plain}, {"GB", 1e9, 1, plain}, {"TB", 1e12, 1, plain},
	{"KiB", 1 << 10, 1, plain}, {"MiB", 1 << 20, 1, plain}, {"GiB", 1 << 30, 1, plain}, {"TiB", 1 << 40, 1, plain},
}

// physical are the units of columns with one, by it.
var physical = map[string][]unit{
	"B": sizes, "B/s": rates(sizes),
	"W":          {{"W", 1, 1, plain}, {"mW", 1, 1000, plain}, {"kW", 1000, 1, plain}, {"MW", micro, 1, plain}},
	"mJ":         {{"mJ", 1, 1, plain}, {"J", 1000, 1, plain}, {"kJ", micro, 1, plain}, {"Wh", 3600 * 1000, 1, plain}, {"kWh", 3600 * micro, 1, plain}},
	"MHz":        {{"MHz", 1, 1, plain}, {"Hz", 1, micro, plain}, {"kHz", 1, 1000, plain}, {"GHz", 1000, 1, plain}},
	"°C":         {{"C", 1, 1, plain}},
	"EUR/kWh":    {{"EUR/kWh", 1, 1, plain}, {"EUR/MWh", 1, 1000, plain}, {"ct/kWh", 1, 100, plain}},
	"g/kWh":      {{"g/kWh", 1, 1, plain}, {"kg/MWh", 1, 1, plain}, {"kg/kWh", 1000, 1, plain}},
	"h":          {{"h", 1, 1, plain}, {"min", 1, 60, plain}, {"s", 1, 3600, plain}},
	"1/1000 GPU": {{"milli", 1, 1, plain}, {"GPU", 1000, 1, plain}, {"%", 10, 1, plain}},
}

func rates(of []unit) (out []unit) {
	for _, u := range of {
		u.name += "/s"
		out = append(out, u)
	}
	return out
}

// shares are columns of which a bare number may be a fraction or a percentage.
var (
	shares     = []string{"comm_fraction", "fair_share", "sm_util", "mem_util"}
	shareUnits = []unit{{"1", 1, 1, plain}, {"%", 1, 100, plain}}
	bare       = unit{"", 1, 1, plain}
	// counted are of things that files also give in thousandths.
	counted = []unit{bare, {"milli", 1, 1000, plain}}
	// arriving is a count, or a rate that the width of the sample makes one.
	arriving = []unit{bare, {"/s", 1, micro, perTime}, {"/min", 1, 60 * micro, perTime}, {"/h", 1, 3600 * micro, perTime}}
)

// unitsOf are the units in which a column can be given; those of a column that takes a
// number without one begin with the empty name.
func unitsOf(table string, c *traces.Column) []unit {
	switch {
	case c.Type == traces.Timestamp:
		return instants
	case c.Type == traces.Int64 && c.Unit == "µs":
		return spans
	case slices.Contains(shares, c.Name):
		return shareUnits
	case table == "load" && c.Name == "arrivals":
		return arriving
	case c.Unit == "processors" || c.Unit == "GPUs":
		return counted
	}
	if of, ok := physical[c.Unit]; ok {
		return of
	}
	return []unit{bare}
}

func unitNames(of []unit) string {
	var names []string
	for _, u := range of {
		if u.name != "" {
			names = append(names, u.name)
		}
	}
	return strings.Join(names, ", ")
}
