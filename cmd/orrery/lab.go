package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"orrery/reports/table"
	"orrery/sim/sweep"
	"orrery/sim/task"
	"orrery/sim/tune"
)

// lab computes the runs of a tune in a study, with one worker pool from the first to the
// last. Nothing is made before the first run is asked for: what is wrong with the
// options has been said by then.
type lab struct {
	v       *tuneVerb
	problem *tune.Problem
	runner  *task.Runner
	study   *sweep.Study
	workers sweep.Workers   // nil before the first run
	work    context.Context //nolint:containedctx // it ends with the lab
	end     context.CancelFunc
}

// open opens or makes the study of a tune and brings the workers up.
func (l *lab) open(ctx context.Context) error {
	v, p := l.v, l.problem
	if err := v.claim(p); err != nil {
		return err
	}
	binary, err := sweep.BinaryDigest()
	if err != nil {
		return err
	}
	dir := filepath.Join(v.out, "study")
	if err := plainFolder(v.out, dir); err != nil {
		return err
	}
	s, err := sweep.Create(dir, sweep.Options{Binary: binary, About: studyAbout(), Lease: v.by.lease})
	if errors.Is(err, fs.ErrExist) {
		s, err = sweep.Open(dir, binary, v.m.trust...)
	}
	if err != nil {
		return mixed(err, v.m.otherOut(v.out))
	}
	if err := ours(s); err != nil {
		return err
	}
	for i := range p.Traces {
		if err := keepTrace(ctx, s.Dir(), held{p.Traces[i].Spec.Trace, p.Traces[i].Set}); err != nil {
			return err
		}
	}
	if err := s.Mend(); err != nil {
		return studyError(err)
	}
	if n := s.Len(); n > 0 && !v.quiet {
		v.m.say("%s holds %s, not to be computed again", s.Dir(), table.Counted(n, "run"))
	}
	x, err := v.by.made(v.m, s, func() sweep.Run { return sweep.Run(l.runner.Worker()) })
	if err != nil {
		return err
	}
	l.work, l.end = context.WithCancel(ctx)
	workers, err := x.Start(l.work, s)
	if err != nil {
		l.end()
		return studyError(err)
	}
	l.study, l.workers = s, workers
	return nil
}

// evaluate computes tasks that have no outcome yet and gives the results of all.
func (l *lab) evaluate(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
	if l.workers == nil {
		if err := l.open(ctx); err != nil {
			return nil, err
		}
	}
	specs := specsOf(tasks)
	if _, _, err := l.study.Add(specs); err != nil {
		return nil, studyError(err)
	}
	err := l.v.m.watch(l.study, "tuning", l.v.quiet, func() error { return l.workers.Wait(ctx) })
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
			err := fmt.Errorf("run %d of the study %s failed: %s", failed.Number, l.study.Dir(), failed.Error)
			if failed.Quarantined {
				err = fmt.Errorf("%w; mend what kept it from being done (a longer --timeout, or none), then %s", err, l.study.Remedy(sweep.DigestOf(spec)))
			}
			return nil, coded(exitPartial, err)
		}
		if out[i], err = task.ResultOf(sweep.DigestOf(spec).String(), b); err != nil {
			return nil, input(fmt.Errorf("run %d of the study %s: %w; %s", i, l.study.Dir(), err, l.study.Remedy(sweep.DigestOf(spec))))
		}
	}
	return out, nil
}

// close ends the workers.
func (l *lab) close() error {
	if l.workers == nil {
		return nil
	}
	defer l.end()
	return studyError(l.workers.Stop())
}
