package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/sim/experiment"
	"orrery/sim/sweep"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/transform"
)

// What a study of this program holds beside the files of package sweep.
const (
	planFile   = "experiment.json" // the last experiment that was swept into it
	tracesDir  = "traces"          // the traces that its tasks name, as HASH.trace
	aboutTasks = "orrery-tasks-4"
)

// studyAbout marks a study whose specs are tasks of sim/task.
func studyAbout() json.RawMessage {
	return json.RawMessage(`{"tasks":"` + aboutTasks + `"}`)
}

// olderTasks begins what studies of other builds of this program say of their tasks.
const olderTasks = "orrery-tasks-"

// ours refuses a study of other tasks.
func ours(s *sweep.Study) error {
	v := tasksOf(s)
	if v == 0 {
		return input(fmt.Errorf("%s: its tasks are not replays that this program knows: want a study that orrery sweep made", s.Dir()))
	}
	return tasksFormat.only(filepath.Join(s.Dir(), "study.json"), v, sweepAnew(s.Dir()))
}

// sameTasks is the first version of tasks that ask for the same replay as those of today.
// Since 4 their jitter is called that.
const sameTasks = 3

// understood refuses a study of tasks that ask for something else than those of today.
func understood(s *sweep.Study) error {
	if v := tasksOf(s); v >= sameTasks && v < tasksFormat.now {
		return nil
	}
	return ours(s)
}

// replayable refuses a study of tasks that this program does not replay as they were.
func replayable(s *sweep.Study) error {
	if err := understood(s); err != nil {
		return err
	}
	if v := semanticsOf(s); v > 0 {
		return semanticsFormat.only(s.Dir(), v, sweepAnew(s.Dir()))
	}
	return nil
}

// taskRunner makes what the workers of a process compute the tasks of a study
// with.
var taskRunner = func(s *sweep.Study) (newWorker func() sweep.Run, err error) {
	if err := ours(s); err != nil {
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
	return input(fmt.Errorf("%w; remove %s and run the sweep again, which puts the right one there", err, tracePath(s.Dir(), t.Spec.Trace)))
}

// studyRunner computes tasks with the traces that a study holds.
func studyRunner(s *sweep.Study) *task.Runner {
	return task.NewRunner(func(hash string) (*transform.Set, error) {
		if _, err := sweep.ParseDigest(hash); err != nil { // it becomes a path
			return nil, input(fmt.Errorf("%s: a task is about the trace %q: %w", s.Dir(), hash, err))
		}
		if err := s.Plain(tracesDir, hash+".trace"); err != nil { // a link, or nothing at all
			return nil, &task.TraceError{Err: studyError(err)}
		}
		return holdBundle(tracePath(s.Dir(), hash), traceName(s.Dir(), hash))
	})
}

func tracePath(study, hash string) string { return filepath.Join(study, tracesDir, hash+".trace") }

// traceName is what a trace of a study is called by its users.
func traceName(study, hash string) string {
	if p, err := readPlan(study); err == nil {
		for _, t := range p.Traces {
			if t.Hash == hash {
				return t.Name
			}
		}
	}
	return hash[:min(len(hash), 12)]
}

// keepTrace writes a trace into a study, unless it is there.
func keepTrace(ctx context.Context, study string, h held) error {
	path := tracePath(study, h.hash)
	if there(path) != nil {
		return isTrace(path, h.hash)
	}
	root, err := disk.OpenRoot(study, disk.Anyone)
	if err != nil {
		return err
	}
	defer root.Close()
	create := func(meta traces.Meta) (*traces.Writer, error) { return traces.NewWriterWithin(root, path, meta) }
	res, err := h.set.WriteBy(create, func(int64) error { return ctx.Err() })
	if err != nil {
		return fmt.Errorf("keeping the trace in the study: %w", err)
	}
	if res.Hash != h.hash {
		return fmt.Errorf("keeping the trace %s in the study: found the content hash %s, expected %s: a fault in the program, please report it", h.set.Name, res.Hash, h.hash)
	}
	return nil
}

// isTrace refuses a trace of a study that is not the one that its name says.
func isTrace(path, hash string) error {
	b, err := traces.Open(path)
	if err == nil {
		if found := b.Info().Hash; found != hash {
			err = fmt.Errorf("the trace %s has the content hash %s: the file was changed", path, found)
		}
		_ = b.Close() // only read
	}
	if err != nil {
		return input(fmt.Errorf("%w; remove %s and run the sweep again, which puts the right one there", err, path))
	}
	return nil
}

// readPlan reads what was swept into a study last.
func readPlan(study string) (*experiment.Plan, error) {
	study = filepath.Clean(study)
	root, err := disk.OpenRoot(study, disk.Anyone) // its digest is checked
	var b []byte
	if err == nil {
		b, err = root.ReadFile(filepath.Join(study, planFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, input(fmt.Errorf("%s holds no %s: want a study that orrery sweep made", study, planFile))
	}
	if err != nil {
		return nil, err
	}
	if v, known := schemaOf(filepath.Join(study, planFile)); known {
		if err := planFormat.refusal(filepath.Join(study, planFile), v, sweepAnew(study)); err != nil {
			return nil, err
		}
	}
	p, err := experiment.ParsePlan(b)
	if err != nil {
		return nil, input(fmt.Errorf("%s: %w", study, err))
	}
	return p, nil
}

// outcomes looks tasks up in a study.
func outcomes(s *sweep.Study) experiment.Outcomes {
	return func(id string) (*task.Result, bool, error) {
		d, err := sweep.ParseDigest(id)
		if err != nil {
			return nil, false, input(err)
		}
		b, failed, err := s.Outcome(d)
		switch {
		case errors.Is(err, sweep.ErrNoOutcome):
			return nil, false, nil
		case err != nil:
			return nil, false, studyError(err)
		case failed != nil:
			return nil, true, nil
		}
		r, err := task.ResultOf(id, b)
		if err != nil {
			return nil, false, input(fmt.Errorf("%s, task %s: %w; %s", s.Dir(), id, err, s.Remedy(d)))
		}
		return &r, false, nil
	}
}

// writing fills a file with b.
func writing(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(b))
		return err
	}
}

// plainFolder makes the folder dir below out; a link in its place is refused.
func plainFolder(out, dir string) error {
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
