package metric

import "orrery/scheduler/model"

// ReasonTime is for how long jobs waited for one reason in the whole run.
type ReasonTime struct {
	Reason string `json:"reason"`
	JobUS  int64  `json:"job_us"` // job·µs
	Begun  int64  `json:"spells"` // how often a job began to wait for it
}

const numReasons = int(model.LastReason) + 1

// reasons sums up why jobs wait. Memory is that of the jobs in the system.
type reasons struct {
	jobs  []waiting // by model.Ref
	time  [numReasons]int64
	begun [numReasons]int64
	quota []int64 // of vClusters, then of tenants
	first int     // of the tenants
}

// waiting is since when a job waits, and why; not at all with ReasonNone.
type waiting struct {
	since            model.Time
	vcluster, tenant int32
	reason           model.Reason
}

func newReasons(cfg *SiteConfig) *reasons {
	return &reasons{first: len(cfg.VClusters), quota: make([]int64, len(cfg.VClusters)+len(cfg.Tenants))}
}

// Waits says that the job under ref waits for r from now on. It does nothing
// unless SiteConfig.Reasons is set. Calls come in order of time.
func (s *Series) Waits(now model.Time, ref model.Ref, vcluster model.VClusterID, tenant model.TenantID, r model.Reason) {
	w := s.reasons
	if w == nil {
		return
	}
	for int(ref) >= len(w.jobs) {
		w.jobs = append(w.jobs, waiting{})
	}
	j := &w.jobs[ref]
	w.settle(j, now)
	*j = waiting{since: now, vcluster: int32(vcluster), tenant: int32(tenant), reason: r}
	if r != model.ReasonNone {
		w.begun[r]++
	}
}

// WaitsNoMore says that the job under ref has started or left.
func (s *Series) WaitsNoMore(now model.Time, ref model.Ref) {
	if w := s.reasons; w != nil && int(ref) < len(w.jobs) {
		w.settle(&w.jobs[ref], now)
		w.jobs[ref].reason = model.ReasonNone
	}
}

// settle adds up what a job has waited for.
func (w *reasons) settle(j *waiting, now model.Time) {
	if j.reason == model.ReasonNone {
		return
	}
	d := int64(now.Sub(j.since))
	w.time[j.reason] = model.Plus(w.time[j.reason], d)
	j.since = now
	switch j.reason {
	case model.ReasonQuotaNodes, model.ReasonQuotaGPUs, model.ReasonQuotaConcurrent, model.ReasonQOSLimit, model.ReasonSessionLimit:
		w.quota[j.vcluster] = model.Plus(w.quota[j.vcluster], d)
		if j.tenant >= 0 {
			of := &w.quota[w.first+int(j.tenant)]
			*of = model.Plus(*of, d)
		}
	}
}

// times are the reasons that occurred; jobs that still wait do so until now.
func (w *reasons) times(now model.Time) []ReasonTime {
	if w == nil {
		return nil
	}
	for i := range w.jobs {
		w.settle(&w.jobs[i], now)
	}
	var out []ReasonTime
	for r, n := range w.begun {
		if n > 0 {
			out = append(out, ReasonTime{model.Reason(r).String(), w.time[r], n})
		}
	}
	return out
}
