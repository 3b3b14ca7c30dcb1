package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"orrery/sim/sweep"
	"orrery/sim/task"
	"orrery/sim/tune"
)

// lab computes the runs of a tune in a study, with one crew from the first to the
// last.
type lab struct {
	v     *tuneVerb
	study *sweep.Study
	crew  sweep.Crew
	work  context.Context //nolint:containedctx // it ends with the lab
	end   context.CancelFunc
}

// open opens or makes the study of a tune and brings the workers up.
func (v *tuneVerb) open(ctx context.Context, p tune.Problem, runner *task.Runner) (*lab, error) {
	binary, err := sweep.BinaryDigest()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(v.out, "study")
	s, err := sweep.Create(dir, sweep.Options{Binary: binary, About: studyAbout(), Lease: v.by.lease})
	if errors.Is(err, fs.ErrExist) {
		s, err = sweep.Open(dir, binary)
	}
	if err != nil {
		return nil, studyError(err)
	}
	if err := ours(s); err != nil {
		return nil, err
	}
	if err := keepTrace(ctx, s.Dir(), held{p.Spec.Trace, p.Trace}); err != nil {
		return nil, err
	}
	if err := s.Mend(); err != nil {
		return nil, studyError(err)
	}
	if n := s.Len(); n > 0 && !v.quiet {
		v.m.say("%s holds %d runs: none of them is computed again", s.Dir(), n)
	}
	x, err := v.by.made(v.m, s, func() sweep.Run { return sweep.Run(runner.Worker()) })
	if err != nil {
		return nil, err
	}
	l := &lab{v: v, study: s}
	l.work, l.end = context.WithCancel(ctx)
	if l.crew, err = x.Start(l.work, s); err != nil {
		l.end()
		return nil, studyError(err)
	}
	return l, nil
}

// evaluate computes tasks that have no outcome yet and gives the results of all.
func (l *lab) evaluate(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
	specs := specsOf(tasks)
	if _, _, err := l.study.Add(specs); err != nil {
		return nil, studyError(err)
	}
	err := l.v.m.watch(l.study, "tuning", l.v.quiet, func() error { return l.crew.Wait(ctx) })
	if err != nil {
		return nil, studyError(err)
	}
	out := make([]task.Result, len(tasks))
	for i, spec := range specs {
		b, failed, err := l.study.Outcome(sweep.DigestOf(spec))
		if err != nil {
			return nil, studyError(err)
		}
		if failed != nil {
			return nil, &codedError{exitPartial, fmt.Errorf("run %d of the study %s failed: %s", failed.Number, l.study.Dir(), failed.Error)}
		}
		if out[i], err = task.ParseResult(b); err != nil {
			return nil, input(err)
		}
	}
	return out, nil
}

// close ends the workers.
func (l *lab) close() error {
	defer l.end()
	return studyError(l.crew.Stop())
}
