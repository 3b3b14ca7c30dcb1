package studies

import (
	"context"
	"errors"
	"fmt"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/disk"
	"orrery/sim/experiment"
	"orrery/sim/sweep"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/transform"
)

// taskRunner makes what the workers of a process compute the tasks of a study
// with.
var taskRunner = func(s *sweep.Study) (newWorker func() sweep.Run, err error) {
	if err := formats.Ours(s); err != nil {
		return nil, err
	}
	r := studyRunner(s)
	return func() sweep.Run {
		run := r.Worker()
		return func(ctx context.Context, spec []byte) ([]byte, error) {
			result, err := run(ctx, spec)
			if bad := (*task.TraceError)(nil); errors.As(err, &bad) {
				t, parsing := task.Parse(spec)
				err = &sweep.UnusableError{Err: errors.Join(withoutTrace(s, &t, err), parsing)}
			}
			return result, err
		}
	}, nil
}

// withoutTrace is err; of a trace that is not what it should be, with what to do about it.
func withoutTrace(s *sweep.Study, t *task.Task, err error) error {
	var bad *task.TraceError
	if !errors.As(err, &bad) {
		return err
	}
	return cli.BadInput(fmt.Errorf("%w; remove %s and run the sweep again, which puts the right one there", err, formats.TracePath(s.Dir(), t.Spec.Trace)))
}

// studyRunner computes tasks with the traces that a study holds.
func studyRunner(s *sweep.Study) *task.Runner {
	return task.NewRunner(func(hash string) (*transform.Set, error) {
		if _, err := sweep.ParseDigest(hash); err != nil { // it becomes a path
			return nil, cli.BadInput(fmt.Errorf("%s: a task is about the trace %q: %w", s.Dir(), hash, err))
		}
		if err := s.Plain(formats.TracesDir, hash+".trace"); err != nil { // a link, or nothing at all
			return nil, &task.TraceError{Err: formats.StudyError(err)}
		}
		return logfile.HoldBundle(formats.TracePath(s.Dir(), hash), traceName(s.Dir(), hash))
	})
}

// traceName is what a trace of a study is called by its users.
func traceName(study, hash string) string {
	if p, err := formats.ReadPlan(study); err == nil {
		for _, t := range p.Traces {
			if t.Hash == hash {
				return t.Name
			}
		}
	}
	return hash[:min(len(hash), 12)]
}

// KeepTrace writes a trace into a study, unless it is there.
func KeepTrace(ctx context.Context, study, hash string, set *transform.Set) error {
	path := formats.TracePath(study, hash)
	if cli.There(path) != nil {
		return formats.IsTrace(path, hash)
	}
	root, err := disk.OpenRoot(study, disk.Anyone)
	if err != nil {
		return err
	}
	defer root.Close()
	create := func(meta traces.Meta) (*traces.Writer, error) { return traces.NewWriterWithin(root, path, meta) }
	res, err := set.WriteBy(create, func(int64) error { return ctx.Err() })
	if err != nil {
		return fmt.Errorf("keeping the trace in the study: %w", err)
	}
	if res.Hash != hash {
		return fmt.Errorf("keeping the trace %s in the study: found the content hash %s, expected %s: a fault in the program, please report it", set.Name, res.Hash, hash)
	}
	return nil
}

// outcomes looks tasks up in a study.
func outcomes(s *sweep.Study) experiment.Outcomes {
	return func(id string) (*task.Result, bool, error) {
		d, err := sweep.ParseDigest(id)
		if err != nil {
			return nil, false, cli.BadInput(err)
		}
		b, failed, err := s.Outcome(d)
		switch {
		case errors.Is(err, sweep.ErrNoOutcome):
			return nil, false, nil
		case err != nil:
			return nil, false, formats.StudyError(err)
		case failed != nil:
			return nil, true, nil
		}
		r, err := task.ResultOf(id, b)
		if err != nil {
			return nil, false, cli.BadInput(fmt.Errorf("%s, task %s: %w; %s", s.Dir(), id, err, s.Remedy(d)))
		}
		return &r, false, nil
	}
}

// PlainFolder makes the folder dir below out; a link in its place is refused.
func PlainFolder(out, dir string) error {
	root, err := disk.OpenRoot(out, disk.Anyone)
	if err != nil {
		return err
	}
	below, err := root.Below(dir)
	if err == nil {
		err = below.Close()
	}
	return errors.Join(err, root.Close())
}
