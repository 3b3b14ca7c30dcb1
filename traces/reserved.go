package traces

import (
	"encoding/json"
	"strings"

	"orrery/scheduler/model"
)

// Reserved is the value of an event of kind reservation.
type Reserved struct {
	Nodes       []string   `json:"nodes"` // names, at least one
	Start       model.Time `json:"start"`
	End         model.Time `json:"end"`         // after Start
	Maintenance bool       `json:"maintenance"` // no job may name it
}

// ParseReserved reads the value of an event of kind reservation. It is not ok
// unless it is a JSON object of these keys and no others, with a node and a span.
func ParseReserved(value string) (r Reserved, ok bool) {
	in := json.NewDecoder(strings.NewReader(value))
	in.DisallowUnknownFields()
	err := in.Decode(&r)
	return r, err == nil && !in.More() && len(r.Nodes) > 0 && r.Start < r.End
}
