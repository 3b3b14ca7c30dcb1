package scaling

import (
	"fmt"
	"iter"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/service/demand"
	"orrery/traces"
)

// Recorded is the demand of a load table, from its first sample on, which is at first. The
// error is a *profiles.Error where the file names what the table does not have.
func Recorded(s *profiles.Scaling, table iter.Seq2[*traces.Load, error]) (_ *demand.Demand, first model.Time, err error) {
	var rows []traces.Load
	services := map[string]bool{}
	var names []string
	for r, err := range table {
		if err != nil {
			return nil, 0, err
		}
		if !services[r.Service] {
			services[r.Service] = true
			names = append(names, r.Service)
		}
		if s.Demand.Service == "" || s.Demand.Service == r.Service {
			rows = append(rows, *r)
		}
	}
	switch {
	case len(rows) == 0:
		return nil, 0, s.Wrong("demand.service", "found %q, want one of %s", s.Demand.Service, strings.Join(names, ", "))
	case s.Demand.Service == "" && len(names) > 1:
		return nil, 0, s.Wrong("demand.trace", "has %d services: name one with service: %s", len(names), strings.Join(names, ", "))
	}
	first = rows[0].Time
	for i := range rows {
		rows[i].Time -= first
	}
	d, err := demand.FromLoad(rows, s.Service.Work)
	if err != nil {
		return nil, 0, fmt.Errorf("the load table: %w", err)
	}
	return d, first, nil
}
