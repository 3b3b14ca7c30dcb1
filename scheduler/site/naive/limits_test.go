package naive_test

import (
	"slices"

	"orrery/scheduler/model"
)

// naiveLimit is a hard limit on one job, and whether it keeps it.
type naiveLimit struct {
	ok  bool
	why model.Reason
}

// withinLimits says whether j keeps every hard limit on so many nodes: on c, or before
// they are known, nil, by the least that it then takes.
func (s *naiveSite) withinLimits(j *naiveJob, size int, c *naiveChoice) bool {
	for _, l := range slices.Concat(s.limitsOf(j, size, c), s.boundsOf(j, size)) {
		if !l.ok {
			return false
		}
	}
	return true
}

// rejectedFor is the first limit of its tenant, QOS, partition and user that j would break if
// it started now, where such jobs are not to wait.
func (s *naiveSite) rejectedFor(j *naiveJob) model.Reason {
	if s.cfg.RejectOverLimit {
		for _, l := range s.limitsOf(j, int(j.NodesMin), nil) {
			if !l.ok {
				return l.why
			}
		}
	}
	return model.ReasonNone
}

// limitsOf are the limits of the tenant, the QOS, the partition and the user of j.
func (s *naiveSite) limitsOf(j *naiveJob, size int, c *naiveChoice) []naiveLimit {
	milli := size * s.leastOf(j)
	if c != nil {
		milli = s.milliOf(j, c)
	}
	// okNodes and okGPUs are about the jobs that count and j.
	okNodes := func(limit int32, count func(*naiveJob) bool) bool {
		if limit <= 0 {
			return true
		}
		used, shares := s.distinct(j, count)
		more := size
		if j.Divides() {
			if more = 0; !naiveAtMost(limit, size) {
				return false
			}
			for i := 0; c != nil && i < len(c.nodes); i++ {
				if !shares[c.nodes[i]] {
					more++
				}
			}
		}
		return more == 0 || naiveAtMost(limit, used+more)
	}
	okGPUs := func(limit int32, count func(*naiveJob) bool) bool {
		if limit <= 0 {
			return true
		}
		used := milli
		for _, o := range s.holders {
			if o != j && count(o) {
				used += s.milliOf(o, o.most())
			}
		}
		return milli == 0 || used <= 1000*int(limit)
	}
	okJobs := func(limit int32, count func(*naiveJob) bool) bool {
		if limit <= 0 {
			return true
		}
		_, jobs := s.withAll(j, size, count)
		return naiveAtMost(limit, jobs)
	}
	l := &s.limits[s.row(j.Tenant)]
	tenant := func(o *naiveJob) bool { return o.Tenant == j.Tenant }
	all := []naiveLimit{
		{okNodes(l.MaxNodes, tenant), model.ReasonQuotaNodes},
		{okGPUs(l.MaxGPUs, tenant), model.ReasonQuotaGPUs},
		{okJobs(l.MaxConcurrent, tenant), model.ReasonQuotaConcurrent},
	}
	if j.QOS >= 0 {
		q := &s.st.QOS[j.QOS]
		group := func(o *naiveJob) bool { return o.QOS == j.QOS }
		all = append(all, naiveLimit{naiveAtMost(q.MaxNodes, size) && okNodes(q.GroupNodes, group) && okJobs(q.GroupJobs, group) &&
			okGPUs(q.MaxGPUs, func(*naiveJob) bool { return false }) && okGPUs(q.GroupGPUs, group), model.ReasonQOSLimit})
		if j.User >= 0 {
			user := func(o *naiveJob) bool { return o.QOS == j.QOS && o.User == j.User }
			all = append(all, naiveLimit{okNodes(q.UserNodes, user) && okGPUs(q.UserGPUs, user) && okJobs(q.UserJobs, user), model.ReasonQOSLimit})
		}
	}
	if j.Partition >= 0 {
		p := &s.st.Partitions[j.Partition]
		all = append(all, naiveLimit{p.Up && size >= int(p.MinNodes) && naiveAtMost(p.MaxNodes, size), model.ReasonPartitionLimit})
	}
	if j.Kind == model.Session && j.User >= 0 {
		sessions := func(o *naiveJob) bool { return o.Kind == model.Session && o.User == j.User }
		all = append(all, naiveLimit{okJobs(s.cfg.Quota.UserSessions, sessions), model.ReasonSessionLimit})
	}
	return all
}

// boundsOf are the bound on sensitive work and those of the task group and the mutexes of j.
func (s *naiveSite) boundsOf(j *naiveJob, size int) (all []naiveLimit) {
	if j.IsSensitive() {
		nodes, _ := s.withAll(j, size, func(o *naiveJob) bool { return o.IsSensitive() })
		all = append(all, naiveLimit{naiveAtMost(s.pool, nodes), model.ReasonSensitivePool})
	}
	if j.TaskGroup >= 0 {
		_, jobs := s.withAll(j, size, func(o *naiveJob) bool { return o.TaskGroup == j.TaskGroup })
		all = append(all, naiveLimit{naiveAtMost(j.MaxConcurrent, jobs), model.ReasonGroupLimit})
	}
	for _, d := range j.Deps {
		if d.Condition == model.Mutex {
			_, jobs := s.withAll(j, size, func(o *naiveJob) bool {
				return slices.ContainsFunc(o.Deps, func(e model.Dependency) bool { return e.Condition == model.Mutex && e.Mutex == d.Mutex })
			})
			all = append(all, naiveLimit{jobs == 1, model.ReasonMutex})
		}
	}
	return all
}

// withAll are the nodes and jobs of those that count and hold nodes, and of j on so many.
func (s *naiveSite) withAll(j *naiveJob, size int, count func(*naiveJob) bool) (nodes, jobs int) {
	nodes, jobs = size, 1
	for _, o := range s.holders {
		if o != j && count(o) {
			nodes, jobs = nodes+len(o.most().nodes), jobs+1
		}
	}
	return nodes, jobs
}

func naiveAtMost(limit int32, used int) bool { return limit <= 0 || used <= int(limit) }

// look works out whether what j waits for has happened, or never will.
func (s *naiveSite) look(j *naiveJob) {
	open := false
	for _, d := range j.Deps {
		if d.Condition == model.Mutex {
			continue
		}
		end, over := s.ended[d.On]
		switch {
		case !over:
			open = true
		case !naiveHolds(d.Condition, end):
			s.withdraw(j, model.ReasonDependencyNever)
			return
		}
	}
	if open {
		return
	}
	if j.phase = naiveEarly; !j.Hold && j.Eligible <= s.now {
		s.enter(j)
	}
}

// withdraw has j withdrawn in the next plan.
func (s *naiveSite) withdraw(j *naiveJob, why model.Reason) {
	j.phase, j.why = naiveNever, why
	s.vclusterOf(j).changed = true
	s.unwanted = append(s.unwanted, j)
}

func naiveHolds(c model.Condition, end model.JobState) bool {
	switch c {
	case model.AfterOK, model.AfterCorr:
		return end == model.Completed
	case model.AfterNotOK:
		return end == model.Failed || end == model.Timeout || end == model.Rejected
	}
	return true
}
