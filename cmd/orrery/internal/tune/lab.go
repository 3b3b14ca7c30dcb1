package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/looks"
	"orrery/cmd/orrery/internal/studies"
	"orrery/cmd/orrery/internal/tunedir"
	"orrery/internal/disk"
	"orrery/reports/table"
	"orrery/sim/plan"
	"orrery/sim/record"
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
	if err := studies.PlainFolder(v.out, dir); err != nil {
		return err
	}
	s, err := sweep.Create(dir, sweep.Options{Binary: binary, About: formats.StudyAbout(), Lease: v.by.Lease})
	if errors.Is(err, fs.ErrExist) {
		s, err = sweep.Open(dir, binary, v.app.Trust...)
	}
	if err != nil {
		return formats.Mixed(err, formats.OtherOut(v.app, v.out))
	}
	if err := formats.Ours(s); err != nil {
		return err
	}
	for i := range p.Traces {
		if err := studies.KeepTrace(ctx, s.Dir(), p.Traces[i].Spec.Trace, p.Traces[i].Set); err != nil {
			return err
		}
	}
	if err := s.Mend(); err != nil {
		return formats.StudyError(err)
	}
	if n := s.Len(); n > 0 && !v.quiet {
		v.app.Say("%s holds %s, not to be computed again", s.Dir(), table.Counted(n, "run"))
	}
	x, err := v.by.Made(v.app, s, func() sweep.Run { return sweep.Run(l.runner.Worker()) })
	if err != nil {
		return err
	}
	l.work, l.end = context.WithCancel(ctx)
	workers, err := x.Start(l.work, s)
	if err != nil {
		l.end()
		return formats.StudyError(err)
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
	specs := studies.SpecsOf(tasks)
	if _, _, err := l.study.Add(specs); err != nil {
		return nil, formats.StudyError(err)
	}
	err := studies.Watch(l.v.app, l.study, "tuning", l.v.quiet, func() error { return l.workers.Wait(ctx) })
	if err != nil {
		return nil, formats.StudyError(err)
	}
	out := make([]task.Result, len(tasks))
	for i, spec := range specs {
		b, failed, err := l.study.Outcome(sweep.DigestOf(spec))
		if err != nil {
			return nil, formats.StudyError(err)
		}
		if failed != nil {
			err := fmt.Errorf("run %d of the study %s failed: %s", failed.Number, l.study.Dir(), failed.Error)
			if failed.Quarantined {
				err = fmt.Errorf("%w; mend what kept it from being done (a longer --timeout, or none), then %s", err, l.study.Remedy(sweep.DigestOf(spec)))
			}
			return nil, cli.Coded(cli.ExitPartial, err)
		}
		if out[i], err = task.ResultOf(sweep.DigestOf(spec).String(), b); err != nil {
			return nil, cli.BadInput(fmt.Errorf("run %d of the study %s: %w; %s", i, l.study.Dir(), err, l.study.Remedy(sweep.DigestOf(spec))))
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
	return formats.StudyError(l.workers.Stop())
}

// mayUse refuses the directory of something else.
func (v *tuneVerb) mayUse(p *tune.Problem) (err error) {
	v.owned, err = v.claimed(p)
	return err
}

// claimed says whether the directory is of this tune already.
func (v *tuneVerb) claimed(p *tune.Problem) (bool, error) {
	path := filepath.Join(v.out, tunedir.File)
	text, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range []string{"tune.json", "study", "study.json", "run.json", "page.md", "report.html", "report.json", "profile.yaml", tunedCluster} {
			if _, err := os.Lstat(filepath.Join(v.out, name)); err == nil {
				return false, cli.Usagef("--out %s: found %s there and no %s that says what it is of, want a new directory or one of the same tune: name another with --out, or remove what is there", v.out, name, tunedir.File)
			}
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var found tunedir.Settings
	err = json.Unmarshal(text, &found)
	if other := formats.VersionIn(found.Schema); strings.HasPrefix(found.Schema, tunedir.Kind) && other != formats.TuneFormat.Now {
		return false, v.elsewhere(formats.TuneFormat, path, other)
	}
	if err == nil && found.Schema == tunedir.Schema && found.Semantics > 0 && found.Semantics != plan.Semantics {
		return false, v.elsewhere(formats.SemanticsFormat, path, found.Semantics)
	}
	if err != nil || found.Schema != tunedir.Schema {
		return false, cli.Usagef("%s: want the settings of a tune (schema %s), which it does not hold: name another directory with --out, or remove this one", path, tunedir.Schema)
	}
	if what := found.Others(tunedir.Of(p, &v.opt, v.loads)); what != "" {
		return false, cli.Usagef("--out %s holds the tune of something else: found there %s. Name another directory with --out, or remove this one, to begin anew; the same log and settings go on with it", v.out, what)
	}
	return true, nil
}

// elsewhere refuses the directory of a tune of another version, with the same command
// for another directory.
func (v *tuneVerb) elsewhere(f *formats.Format, path string, version int) error {
	return cli.Coded(cli.ExitUsage, errors.Unwrap(f.Only(path, version, formats.OtherOut(v.app, v.out))))
}

// claim makes the directory, which mayUse has looked at, that of this tune.
func (v *tuneVerb) claim(p *tune.Problem) error {
	if v.owned {
		return nil
	}
	text, err := record.AppendJSON(nil, tunedir.Of(p, &v.opt, v.loads))
	if err != nil {
		return err
	}
	if err := disk.Folder(v.out); err != nil {
		return err
	}
	return v.app.Create(filepath.Join(v.out, tunedir.File), cli.Writing(text))
}

// remarkLooks tells what the ledger of looks says. That it cannot be kept is said, and stops
// nothing.
func (v *tuneVerb) remarkLooks(r *tune.Report, p *tune.Problem) {
	Flags, err := json.Marshal(tunedir.Of(p, &v.opt, v.loads).Choosing())
	if err == nil {
		var said []string
		said, err = looks.Enter(r, Flags)
		for _, text := range said {
			v.app.Say("%s", text)
		}
	}
	if err != nil {
		v.app.Say("orrery: the ledger of tunes of a log cannot be kept: %v", err)
	}
}
