package metric

import (
	"encoding/json"
	"math"
)

// Number is a value that may be missing: a float64 that JSON writes as null when
// it is not finite.
type Number float64

// Undefined is the Number of what has no value.
var Undefined = Number(math.NaN())

// NumberOf is a value that may be nil.
func NumberOf(v *float64) Number {
	if v == nil {
		return Undefined
	}
	return Number(*v)
}

// Numbers are the values as they are kept.
func Numbers(values ...float64) []Number {
	out := make([]Number, len(values))
	for i, v := range values {
		out[i] = Number(v)
	}
	return out
}

// Defined says whether there is a value.
func (n Number) Defined() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON writes null for what is undefined.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Defined() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as undefined.
func (n *Number) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*n = Undefined
		return nil
	}
	return json.Unmarshal(raw, (*float64)(n))
}
