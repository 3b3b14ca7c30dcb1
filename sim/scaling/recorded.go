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
	var notes []string
	if s.Service.Kind == "inference" {
		notes = tokens(rows, &s.Service.Batch)
	}
	d, err := demand.FromLoad(rows, s.Service.Work)
	if err != nil {
		return nil, 0, fmt.Errorf("the load table: %w", err)
	}
	d.Notes = append(d.Notes, notes...)
	return d, first, nil
}

// tokens settles how long the requests of samples are that do not say it, and tells of it. Of
// one number that is not known the mean of the file stands in, for a request is never of no
// tokens; where neither is known both are drawn.
func tokens(rows []traces.Load, b *profiles.ScalingBatch) (notes []string) {
	var in, out, both int
	for i := range rows {
		switch r := &rows[i]; {
		case r.TokensIn.V == 0 && r.TokensOut.V == 0:
			both++
		case !r.TokensIn.OK:
			in++
			r.TokensIn = traces.Some(b.In)
		case !r.TokensOut.OK:
			out++
			r.TokensOut = traces.Some(b.Out)
		}
	}
	tell := func(n int, what, instead string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%d of %d samples do not say how many tokens requests %s: assumed are %s", n, len(rows), what, instead))
		}
	}
	tell(both, "read and generate", fmt.Sprintf("%v read and %v generated in the mean (service.batch.tokens_in, tokens_out)", b.In, b.Out))
	tell(in, "read", fmt.Sprintf("%v (service.batch.tokens_in)", b.In))
	tell(out, "generate", fmt.Sprintf("%v (service.batch.tokens_out)", b.Out))
	return notes
}
