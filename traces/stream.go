package traces

import (
	"io"
	"iter"

	"orrery/scheduler/model"
)

const sourceRows = 8192 // rows in a Batch

// jobSource implements Source over a bundle.
type jobSource struct {
	b     *Bundle
	next  func() (*Job, error, bool)
	stop  func()
	row   int64
	users []string
	ids   map[string]int32
}

func newJobSource(b *Bundle) (Source, error) {
	s := &jobSource{b: b, ids: map[string]int32{}}
	s.next, s.stop = iter.Pull2(b.Rows())
	return s, nil
}

func (s *jobSource) Info() Info      { return s.b.info }
func (s *jobSource) Users() []string { return s.users }
func (s *jobSource) Nodes() []Node   { return s.b.nodes }
func (s *jobSource) Close() error    { s.stop(); return nil }

// Next implements Source.
func (s *jobSource) Next(b *Batch) error {
	*b = Batch{First: model.JobID(s.row)}
	for b.Len() < sourceRows {
		j, err, ok := s.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		s.add(b, j)
		s.row++
	}
	if b.Len() == 0 {
		return io.EOF
	}
	return nil
}

func (s *jobSource) add(b *Batch, j *Job) {
	b.ID = append(b.ID, j.ID)
	b.Submit = append(b.Submit, j.Submit)
	b.Start = append(b.Start, orElse(j.Start, model.AbsentTime))
	b.Runtime = append(b.Runtime, orElse(j.Runtime, model.AbsentDuration))
	b.Walltime = append(b.Walltime, orElse(j.Walltime, model.AbsentDuration))
	b.CancelledAt = append(b.CancelledAt, orElse(j.CancelledAt, model.AbsentTime))
	b.ProcsRequested = append(b.ProcsRequested, orElse(j.ProcsRequested, Absent))
	b.ProcsAllocated = append(b.ProcsAllocated, orElse(j.ProcsAllocated, Absent))
	b.NodesMin = append(b.NodesMin, orElse(j.NodesMin, Absent))
	b.CPUsPerNode = append(b.CPUsPerNode, orElse(j.CPUsPerNode, Absent))
	b.GPUsPerNode = append(b.GPUsPerNode, orElse(j.GPUsPerNode, Absent))
	user := int32(-1)
	if j.User != "" {
		id, ok := s.ids[j.User]
		if !ok {
			id = int32(len(s.users))
			s.users = append(s.users, j.User)
			s.ids[j.User] = id
		}
		user = id
	}
	b.User = append(b.User, user)
}

func orElse[T any](o Opt[T], absent T) T {
	if o.OK {
		return o.V
	}
	return absent
}
