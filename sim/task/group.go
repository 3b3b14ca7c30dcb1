package task

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"orrery/sim/metric"
)

// columns are the numbers that a Group holds, in their order.
var columns = metric.Columns()

// Group is what a result tells of a part of the work: a number for each of
// metric.Columns, NaN where it is undefined. As JSON it has those that are defined,
// by name.
type Group []float64

// Value is a number of the group; false when it is undefined or unknown.
func (g Group) Value(name string) (float64, bool) {
	i := columnAt(name)
	if i < 0 || i >= len(g) || math.IsNaN(g[i]) {
		return 0, false
	}
	return g[i], true
}

// set enters a number of a group that has room for all; nil is none.
func (g Group) set(column int, value *float64) {
	if value != nil {
		g[column] = *value
	}
}

// named is set by the name of the number.
func (g Group) named(name string, value *float64) {
	g.set(columnAt(name), value)
}

// columnAt is the place of a number in a Group, -1 for one that there is not.
func columnAt(name string) int {
	return slices.IndexFunc(columns, func(c metric.Column) bool { return c.Name == name })
}

// MarshalJSON implements json.Marshaler.
func (g Group) MarshalJSON() ([]byte, error) {
	out := make(map[string]float64, len(g))
	for i, x := range g {
		if !math.IsNaN(x) {
			out[columns[i].Name] = x
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *Group) UnmarshalJSON(text []byte) error {
	var in map[string]float64
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*g = slices.Repeat(Group{math.NaN()}, len(columns))
	for i := range columns {
		if x, ok := in[columns[i].Name]; ok {
			(*g)[i] = x
			delete(in, columns[i].Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		return fmt.Errorf("found %q among the numbers of a group, which this program does not know", name)
	}
	return nil
}
