package naive_test

import (
	"slices"

	"orrery/scheduler/model"
)

// lack says why j, which runs, gets no node more: a limit, or what is wrong with the node that it
// would get next, or that there is none.
func (s *naiveSite) lack(l *naiveVCluster, j *naiveJob) model.Reason {
	if r := s.limitOn(j, nil); r != model.ReasonNone {
		return r
	}
	v := s.view(l, nil)
	next := func(nodes []int) *naiveChoice {
		if j.Divides() {
			return s.chooseParts(v, j, nodes, 1)
		}
		if n := s.chooseWhole(j, s.idleOf(v, nodes), 1); n != nil {
			return &naiveChoice{nodes: n}
		}
		return nil
	}
	more := next(s.only(s.may(j), func(n int) bool { return s.mayGainNode(j, n) }))
	if more == nil {
		others := s.only(s.may(j), func(n int) bool {
			return !slices.Contains(j.nodes, n) && (!j.IsSensitive() || s.conformance(n) == s.conformance(j.nodes[0]))
		})
		if next(others) != nil {
			return model.ReasonReserved
		}
		return model.ReasonResources
	}
	if r := s.limitOn(j, more); r != model.ReasonNone {
		return r
	}
	whole := &naiveChoice{nodes: slices.Sorted(slices.Values(slices.Concat(j.nodes, more.nodes))), amounts: more.amounts}
	if j.Divides() {
		whole.gpus = map[int]uint64{}
		for _, n := range j.nodes {
			whole.gpus[n] = j.gpus[n]
		}
		whole.gpus[more.nodes[0]] = more.gpus[more.nodes[0]]
	}
	own := func(o *naiveJob) bool { return o == j }
	switch {
	case !s.withinCaps(naiveNeeds{power: s.drawOf(j, whole), on: whole.nodes}, own):
		return model.ReasonPower
	case !s.withinCaps(naiveNeeds{band: j.Demand(int32(len(whole.nodes)))}, own):
		return model.ReasonBandwidth
	}
	return model.ReasonPriority
}

// limitOn is the first limit that keeps j from one node more, which is more where it is known.
func (s *naiveSite) limitOn(j *naiveJob, more *naiveChoice) model.Reason {
	limits, pool := s.limits, s.pool
	qos, partitions := s.st.QOS, s.st.Partitions
	defer func() { s.limits, s.pool, s.st.QOS, s.st.Partitions = limits, pool, qos, partitions }()
	breaks := func(set func()) bool {
		s.limits, s.pool = make([]model.Limits, len(limits)), 0
		s.st.QOS, s.st.Partitions = make([]model.QOS, len(qos)), slices.Clone(partitions)
		for i := range s.st.Partitions {
			p := &s.st.Partitions[i]
			p.Up, p.MinNodes, p.MaxNodes = true, 0, 0
		}
		set()
		return !s.mayHold(j, len(j.nodes)+1, more)
	}
	row := s.row(j.Tenant)
	for _, x := range []struct {
		why model.Reason
		set func()
	}{
		{model.ReasonQuotaNodes, func() { s.limits[row].MaxNodes = limits[row].MaxNodes }},
		{model.ReasonQuotaGPUs, func() { s.limits[row].MaxGPUs = limits[row].MaxGPUs }},
		{model.ReasonQOSLimit, func() { s.st.QOS = qos }},
		{model.ReasonPartitionLimit, func() { s.st.Partitions = partitions }},
		{model.ReasonSensitivePool, func() { s.pool = pool }},
	} {
		if breaks(x.set) {
			return x.why
		}
	}
	return model.ReasonNone
}
