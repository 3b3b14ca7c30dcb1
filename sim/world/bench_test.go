package world

import (
	"testing"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/traces"
)

// BenchmarkSite submits, starts and ends a job of one node of 1024, with 500
// others running.
func BenchmarkSite(b *testing.B) {
	const running = 500
	site := smallSite(1024)
	s := NewSite(SiteConfig{Site: site, Exit: preempt.DefaultConfig()}, forget{})
	rows := batchOf(row(1, 0, runs(running*sec), walltime(1000*sec), func(j *traces.Job) { j.Tenant, j.GPUType = "bob", "" }))
	var proposals [1]model.Proposal
	var words [1]model.NodeWord
	var answers, facts []model.Fact
	b.ReportAllocs()
	now := model.Time(0)
	for i := 0; b.Loop(); i++ {
		now += at
		for s.Next() <= now {
			facts = s.Take(s.Next(), facts[:0])
			s.Close()
		}
		rows.Submit[0] = now
		f, _, err := s.submission(rows, 0, anything)
		if err != nil {
			b.Fatal(err)
		}
		n := i % (2 * running)
		words[0] = model.NodeWord{Word: int32(n >> 6), Mask: 1 << (n & 63)}
		proposals[0] = model.Proposal{Ref: f.Ref, Job: f.Job, Placement: model.Placement{Words: words[:]}}
		if answers = s.Submit(now, proposals[:], answers[:0]); answers[0].Kind != model.FactAssigned {
			b.Fatal(answers[0].Reason)
		}
		s.Start(now, f.Ref)
	}
}
