package formats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/disk"
	"orrery/scheduler/model"
	"orrery/sim/experiment"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/rundir"
	"orrery/sim/sweep"
	"orrery/traces"
)

// ReadError is for verbs that read a run directory: a missing one is bad input.
func ReadError(err error) error {
	var none *record.DataError
	if errors.As(err, &none) && none.Found == record.NoRun { // a directory of something else
		return cli.OtherContent(none.File, err, cli.WantRun, cli.ExitInput, "a directory")
	}
	if none != nil && strings.HasSuffix(none.Mend, record.MendReplay) { // its settings say by which command
		dir := filepath.Dir(none.File)
		r, ok := Recorded(dir)
		switch v, bad := strconv.Atoi(none.Schema); {
		case !ok:
		case bad == nil:
			return schemaFormat(none.File).Refusal(none.File, v, ReplayAnew(dir, &r))
		default:
			return cli.BadInput(fmt.Errorf("%w: %s", err, ReplayAnew(dir, &r)))
		}
	}
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	if filepath.Base(path.Path) == record.FileRun { // where a file stands for the directory
		return cli.OtherContent(filepath.Dir(path.Path), err, cli.WantRun, cli.ExitInput)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if IsRun(filepath.Dir(path.Path)) { // it lacks a table, and no other will do
		return cli.BadInput(err)
	}
	return cli.BadInput(fmt.Errorf("%w%s", err, cli.Meant(path.Path)))
}

// schemaFormat is the format of a file of a run.
func schemaFormat(path string) *Format {
	switch filepath.Base(path) {
	case record.FileRun:
		return RunFormat
	case record.TableFacts + ".parquet":
		return FactsFormat
	}
	return TableFormat
}

// OpenStudy opens a study that the user names; binary is the build that is to compute
// in it, "" to read alone.
func OpenStudy(app *cli.App, dir, binary string) (*sweep.Study, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, cli.BadInput(fmt.Errorf("%s: there is no such directory%s: want a study that orrery sweep or tune made; check the path", dir, cli.Meant(dir)))
	}
	s, err := sweep.Open(dir, binary, app.Trust...)
	return s, cli.OtherContent(dir, Mixed(err, sweepAnew(dir)), "a study that orrery sweep or tune made", cli.ExitInput, "the directory of a study", "a directory")
}

// IsRun says whether a path is the directory of a run.
func IsRun(path string) bool {
	_, err := os.Stat(filepath.Join(path, record.FileRun))
	return err == nil
}

// ReadSpec reads the settings of a run.
func ReadSpec(dir string) (spec plan.Spec, err error) {
	path := filepath.Join(dir, record.FileRun)
	text, err := record.ReadInfo(dir)
	if err != nil {
		return spec, cli.BadInput(err)
	}
	var d struct{ Spec *plan.Spec }
	d.Spec = &spec
	if err := json.Unmarshal(text, &d); err != nil {
		return spec, cli.BadInput(fmt.Errorf("%s: %w; replay once more to write it anew", path, err))
	}
	return spec, nil
}

// InstantOf reads TIME as an instant of the trace of a run.
func InstantOf(run *record.Run, text string) (model.Time, error) {
	var d rundir.Document
	_ = json.Unmarshal(run.Info(), &d) // explain and fork say what is wrong with it
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		t, err := time.Parse(layout, text)
		if err == nil && !d.Trace.EpochKnown {
			return 0, cli.Usagef("--at %s: the trace of %s knows no dates: give a span since it begins, such as 36h", text, run.Dir())
		}
		if err == nil {
			return model.Time(t.UnixMicro()) - run.Epoch(), nil
		}
	}
	span, err := cli.ParseSpan(text)
	if err != nil {
		return 0, cli.Usagef("--at %s: want an instant such as 2026-05-03 14:00:00 (UTC), or a span since the epoch of the trace such as 36h", text)
	}
	return model.Time(span), nil
}

// What a study of this program holds beside the files of package sweep.
const (
	PlanFile   = "experiment.json" // the last experiment that was swept into it
	TracesDir  = "traces"          // the traces that its tasks name, as HASH.trace
	aboutTasks = "orrery-tasks-4"
)

// StudyAbout marks a study whose specs are tasks of sim/task.
func StudyAbout() json.RawMessage {
	return json.RawMessage(`{"tasks":"` + aboutTasks + `"}`)
}

// olderTasks begins what studies of other builds of this program say of their tasks.
const olderTasks = "orrery-tasks-"

// Ours refuses a study of other tasks.
func Ours(s *sweep.Study) error {
	v := TasksOf(s)
	if v == 0 {
		return cli.BadInput(fmt.Errorf("%s: its tasks are not replays that this program knows: want a study that orrery sweep made", s.Dir()))
	}
	return TasksFormat.Only(filepath.Join(s.Dir(), "study.json"), v, sweepAnew(s.Dir()))
}

// SameTasks is the first version of tasks that ask for the same replay as those of today.
// Since 4 their jitter is called that.
const SameTasks = 3

// Understood refuses a study of tasks that ask for something else than those of today.
func Understood(s *sweep.Study) error {
	if v := TasksOf(s); v >= SameTasks && v < TasksFormat.Now {
		return nil
	}
	return Ours(s)
}

// Replayable refuses a study of tasks that this program does not replay as they were.
func Replayable(s *sweep.Study) error {
	if err := Understood(s); err != nil {
		return err
	}
	if v := semanticsOf(s); v > 0 {
		return SemanticsFormat.Only(s.Dir(), v, sweepAnew(s.Dir()))
	}
	return nil
}

// TracePath is where a study keeps the trace with this content hash.
func TracePath(study, hash string) string { return filepath.Join(study, TracesDir, hash+".trace") }

// IsTrace refuses a trace of a study that is not the one that its name says.
func IsTrace(path, hash string) error {
	b, err := traces.Open(path)
	if err == nil {
		if found := b.Info().Hash; found != hash {
			err = fmt.Errorf("the trace %s has the content hash %s: the file was changed", path, found)
		}
		_ = b.Close() // only read
	}
	if err != nil {
		return cli.BadInput(fmt.Errorf("%w; remove %s and run the sweep again, which puts the right one there", err, path))
	}
	return nil
}

// ReadPlan reads what was swept into a study last.
func ReadPlan(study string) (*experiment.Plan, error) {
	study = filepath.Clean(study)
	root, err := disk.OpenRoot(study, disk.Anyone) // its digest is checked
	var b []byte
	if err == nil {
		b, err = root.ReadFile(filepath.Join(study, PlanFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.BadInput(fmt.Errorf("%s holds no %s: want a study that orrery sweep made", study, PlanFile))
	}
	if err != nil {
		return nil, err
	}
	if v, known := SchemaOf(filepath.Join(study, PlanFile)); known {
		if err := PlanFormat.Refusal(filepath.Join(study, PlanFile), v, sweepAnew(study)); err != nil {
			return nil, err
		}
	}
	p, err := experiment.ParsePlan(b)
	if err != nil {
		return nil, cli.BadInput(fmt.Errorf("%s: %w", study, err))
	}
	return p, nil
}

// StudyError gives an error of a study the exit code that it calls for.
func StudyError(err error) error {
	var (
		data    *sweep.DataError
		mixed   *sweep.MixedError
		fault   *sweep.FaultError
		partial *sweep.PartialError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fault):
		return cli.Coded(cli.ExitMismatch, err)
	case errors.As(err, &partial):
		return cli.Coded(cli.ExitPartial, err)
	case errors.As(err, &mixed):
		return cli.Coded(cli.ExitUsage, err)
	case errors.As(err, &data):
		return cli.Coded(cli.ExitInput, err)
	}
	return err
}
