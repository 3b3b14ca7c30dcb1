package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orrery/internal/disk"
	"orrery/scheduler/model"
)

// Meta describes the run whose tables are written.
type Meta struct {
	Epoch  model.Time      // UTC, µs since 1970-01-01: added to every time that is stored
	SpecID string          // of the spec that is run
	Users  func() []string // names by user index, as far as they are known by now; nil when the trace has none
	Facts  bool            // keep the log of facts too

	// Of a site, by id; a run that names no vCluster is of no site.
	VClusters []string
	Tenants   []string
	Shared    bool // jobs may share nodes
	// Decisions keeps why jobs wait and start too.
	Decisions bool
	// Power keeps what the nodes draw over time.
	Power bool
}

func (m *Meta) site() bool { return len(m.VClusters) > 0 }

// Writer writes a run directory; it is a Sink. It holds one batch and one row
// group per table, so memory does not grow with the number of rows, and the
// hot calls Job, Attempt and Fact do not allocate once their buffers have
// grown (writing a batch allocates a few times per thousand rows).
//
// Everything is written to a folder .partial-… inside the run directory and
// moved into place by Close, run.json last: a directory with run.json holds a
// finished run. Create removes such folders, which a run that was killed has
// left; so of two runs writing to one directory at a time the later one wins,
// and the earlier gets an error from Close.
type Writer struct {
	dir     string
	root    *disk.Root // the folder dir, through which all is written
	stage   string
	made    []string // directories created here, outermost first
	meta    Meta
	err     error
	sealed  bool
	reading *tableFile // handed out by Seal
	closed  bool
	written map[string]string // digests of the files in stage, by name

	jobs    *table[jobRow]
	opt     []optional        // of the rows in jobs
	users   []int32           // of the rows in jobs
	leaving []model.JobRecord // at lastEnd
	mixed   bool              // leaving is not ascending by job
	lastEnd model.Time

	attempts *table[attemptRow]
	// In place of jobs and attempts for a site.
	siteJobs       *table[siteJobRow]
	siteAttempts   *table[siteAttemptRow]   // where nodes are handed out whole
	sharedAttempts *table[sharedAttemptRow] // where jobs may share them
	decisions      *table[decisionRow]
	numbers        [][decisionNumbers]float64 // of the rows in decisions
	power          *table[powerRow]
	facts          *table[logRow]
	logged         int64 // entries of the log so far
	aText          texts
}

// stagePrefix begins the name of a folder in which a run is prepared.
const stagePrefix = ".partial-"

// resultFiles are the names that a run directory may hold; replacing a run
// removes those of the old one. The last three are drawn by reports.
var resultFiles = []string{
	"jobs.parquet", "attempts.parquet", "series.parquet", "facts.parquet",
	"tenants.parquet", "vclusters.parquet", "vcluster_series.parquet", "decisions.parquet", "power.parquet",
	FileMetrics, FileWork, FileHost,
	"report.html", "summary.md", "figures",
}

// Create starts a run directory, in the way of CreateWithin, wherever its path leads.
func Create(dir string, meta Meta) (*Writer, error) { return CreateWithin(nil, dir, meta) }

// CreateWithin starts a run directory below the folder that root has open, or anywhere where
// root is nil: no symbolic link below that folder is followed. dir may be missing, empty, or a finished run,
// which Close replaces; anything else is refused, so that no other data is
// overwritten. Nothing appears in dir before Close but the
// folder in which the run is prepared.
func CreateWithin(root *disk.Root, dir string, meta Meta) (*Writer, error) {
	dir = filepath.Clean(dir)
	if err := checkTarget(dir); err != nil {
		return nil, err
	}
	w := &Writer{
		dir: dir, meta: meta,
		written: map[string]string{},
		opt:     make([]optional, batchRows), users: make([]int32, batchRows),
		lastEnd: model.AbsentTime,
	}
	if err := w.open(root); err != nil {
		w.Abort()
		return nil, fmt.Errorf("starting run directory %s: %w", dir, err)
	}
	return w, nil
}

// ErrNotRun says that a directory named for results holds something else.
var ErrNotRun = errors.New("it is not a run directory")

// checkTarget says whether a run may be written to dir.
func checkTarget(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if st, e := os.Stat(dir); e == nil && !st.IsDir() {
		return fmt.Errorf("%s is a file: %w; choose a new or empty directory", dir, ErrNotRun)
	}
	if err != nil {
		return fmt.Errorf("looking into run directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, FileRun)); err == nil {
		return nil
	}
	staged := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), stagePrefix) })
	for _, e := range entries {
		cut := staged && slices.Contains(resultFiles, e.Name()) // the run was cut off while it was moved into place
		if !cut && !strings.HasPrefix(e.Name(), stagePrefix) {
			return fmt.Errorf("%s holds %s but no %s: %w, and nothing in it is overwritten; choose a new or empty directory",
				dir, e.Name(), FileRun, ErrNotRun)
		}
	}
	return nil
}

func (w *Writer) open(within *disk.Root) (err error) {
	for d := w.dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
			break
		}
		w.made = append(w.made, d)
	}
	slices.Reverse(w.made)
	if within != nil {
		w.root, err = within.Below(w.dir)
	} else if err = disk.Folder(w.dir); err == nil {
		w.root, err = disk.OpenRoot(w.dir, disk.Anyone)
	}
	if err != nil {
		return err
	}
	names, err := w.root.Names(w.dir)
	for _, name := range names {
		if strings.HasPrefix(name, stagePrefix) {
			err = errors.Join(err, w.root.Delete(filepath.Join(w.dir, name)))
		}
	}
	if err != nil {
		return err
	}
	if w.stage, err = w.root.Scratch(w.dir, stagePrefix); err != nil {
		return err
	}
	if err := w.openResults(); err != nil {
		return err
	}
	if !w.meta.Facts {
		return nil
	}
	w.facts, err = newTable[logRow](w.root, w.path(TableFacts), TableFacts, w.meta)
	return err
}

// openResults starts the tables of finished jobs.
func (w *Writer) openResults() (err error) {
	if w.meta.site() {
		return w.openSiteResults()
	}
	if w.jobs, err = newTable[jobRow](w.root, w.path(TableJobs), TableJobs, w.meta); err != nil {
		return err
	}
	w.attempts, err = newTable[attemptRow](w.root, w.path(TableAttempts), TableAttempts, w.meta)
	return err
}

// openSiteResults starts those of a site.
func (w *Writer) openSiteResults() (err error) {
	if w.siteJobs, err = newTable[siteJobRow](w.root, w.path(TableJobs), TableJobs, w.meta); err != nil {
		return err
	}
	if w.meta.Shared {
		w.sharedAttempts, err = newTable[sharedAttemptRow](w.root, w.path(TableAttempts), TableAttempts, w.meta)
		if err != nil {
			return err
		}
	} else if w.siteAttempts, err = newTable[siteAttemptRow](w.root, w.path(TableAttempts), TableAttempts, w.meta); err != nil {
		return err
	}
	if w.meta.Power {
		if w.power, err = newTable[powerRow](w.root, w.path(TablePower), TablePower, w.meta); err != nil {
			return err
		}
	}
	if !w.meta.Decisions {
		return nil
	}
	w.numbers = make([][decisionNumbers]float64, batchRows)
	w.decisions, err = newTable[decisionRow](w.root, w.path(TableDecisions), TableDecisions, w.meta)
	return err
}

// path is where a table is prepared.
func (w *Writer) path(table string) string {
	return filepath.Join(w.stage, table+".parquet")
}

// Seal ends the tables jobs, attempts and facts and returns the jobs for
// reading, so that metrics can be computed before the directory appears. The
// scanner is valid until Close or Abort. No row may follow.
func (w *Writer) Seal() (Scanner, error) {
	if w.sealed || w.closed {
		return nil, errors.New("record: the tables are sealed already")
	}
	w.sealed = true
	w.leave()
	w.fillUsers()
	w.fillAttemptTexts()
	var jobs *parts
	if w.meta.site() {
		w.keep(w.siteJobs.close(w.written))
		jobs = w.siteJobs.parts()
		if w.meta.Shared {
			w.keep(w.sharedAttempts.close(w.written))
		} else {
			w.keep(w.siteAttempts.close(w.written))
		}
	} else {
		w.keep(w.jobs.close(w.written))
		jobs = w.jobs.parts()
		w.keep(w.attempts.close(w.written))
	}
	if w.decisions != nil {
		w.keep(w.decisions.close(w.written))
	}
	if w.power != nil {
		w.keep(w.power.close(w.written))
	}
	if w.facts != nil {
		w.keep(w.facts.close(w.written))
	}
	w.forget()
	if w.err != nil {
		return nil, w.err
	}
	f, err := w.root.Open(w.path(TableJobs), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	t, err := readTable(f, w.path(TableJobs), TableJobs, jobs)
	if err != nil {
		return nil, err
	}
	t.know(w.meta.VClusters, w.meta.Tenants)
	w.reading = t
	return t, nil
}

// forget lets go of the tables that are closed, and of the buffers of their columns.
func (w *Writer) forget() {
	w.jobs, w.attempts, w.siteJobs, w.siteAttempts, w.sharedAttempts = nil, nil, nil, nil, nil
	w.decisions, w.power, w.facts = nil, nil, nil
}

// keep remembers the first error.
func (w *Writer) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Flush returns the first error so far. Rows stay buffered until a row group
// is full, so that the bytes of the files do not depend on when it is called.
func (w *Writer) Flush() error { return w.err }

// WriteJSON writes the document name (FileRun, FileMetrics or FileHost) in
// canonical form; see AppendJSON. FileRun comes last: it takes in the digests of
// what was written before it.
func (w *Writer) WriteJSON(name string, v any) error {
	if w.err != nil {
		return w.err
	}
	if name != FileRun && !slices.Contains(resultFiles, name) {
		return fmt.Errorf("record: %s is not a file of a run directory", name)
	}
	b, err := AppendJSON(nil, v)
	if err == nil && name == FileRun {
		b, err = withManifest(b, w.written)
	}
	if err == nil {
		err = w.writeWhole(filepath.Join(w.stage, name), b)
	}
	if err != nil {
		err = fmt.Errorf("writing %s: %w", name, err)
		w.keep(err)
		return err
	}
	w.written[name] = digestOf(b)
	return nil
}

// writeWhole writes a file that publish syncs.
func (w *Writer) writeWhole(path string, content []byte) error {
	f, err := w.root.NewFile(path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// Close moves the run into place, replacing an earlier one, and returns the
// first error of the whole life of w; after an error it leaves nothing. Run.json
// must have been written.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	if !w.sealed {
		_, err := w.Seal()
		w.keep(err)
	}
	if w.err == nil && w.written[FileRun] == "" {
		w.err = fmt.Errorf("record: closing %s without %s", w.dir, FileRun)
	}
	if w.err == nil {
		w.err = w.publish()
	}
	if w.err != nil {
		w.Abort()
		return w.err
	}
	w.closed = true
	w.stopReading()
	return nil
}

// stopReading also ends the use of the folder.
func (w *Writer) stopReading() {
	if w.reading != nil {
		_ = w.reading.Close()
	}
	if w.root != nil {
		_ = w.root.Close() // all names in it were synced
	}
}

// publish replaces an old run by the staged one. Run.json goes first and comes
// last, and is on the disk after all else, so that a crash in between leaves a
// directory without it.
func (w *Writer) publish() error {
	names := slices.DeleteFunc(slices.Clone(resultFiles), func(name string) bool { return w.written[name] == "" })
	for _, name := range append(names[:len(names):len(names)], FileRun) { // before anything is removed
		if err := w.root.SyncFile(filepath.Join(w.stage, name)); err != nil {
			return fmt.Errorf("the files of this run are gone; has another run been started in the same directory? %w", err)
		}
	}
	if err := w.clear(); err != nil {
		return err
	}
	if err := w.move(names); err != nil {
		_ = w.clear() // a part of a run is no run
		return err
	}
	return w.root.Delete(w.stage)
}

// move puts the files into place, run.json when all others are on the disk.
func (w *Writer) move(names []string) error {
	for _, some := range [][]string{names, {FileRun}} {
		for _, name := range some {
			if err := w.root.Move(filepath.Join(w.stage, name), filepath.Join(w.dir, name)); err != nil {
				return fmt.Errorf("moving %s into place: %w", name, err)
			}
		}
		if err := w.root.SyncFolder(w.dir); err != nil {
			return err
		}
	}
	return nil
}

// clear removes an earlier run.
func (w *Writer) clear() error {
	if _, err := w.root.Lstat(filepath.Join(w.dir, FileRun)); !errors.Is(err, os.ErrNotExist) {
		if err := errors.Join(w.root.Delete(filepath.Join(w.dir, FileRun)), w.root.SyncFolder(w.dir)); err != nil {
			return err
		}
	}
	for _, name := range resultFiles {
		if _, err := w.root.Lstat(filepath.Join(w.dir, name)); errors.Is(err, os.ErrNotExist) {
			continue // a link is removed like a file
		}
		if err := w.root.Delete(filepath.Join(w.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Abort drops everything written and removes the directories that Create made.
// It does nothing after Close.
func (w *Writer) Abort() {
	if w.closed {
		return
	}
	w.closed = true
	w.keep(errors.New("record: the run was aborted"))
	if !w.sealed {
		w.sealed = true
		w.jobs.drop()
		w.attempts.drop()
		w.facts.drop()
		w.siteJobs.drop()
		w.siteAttempts.drop()
		w.sharedAttempts.drop()
		w.decisions.drop()
		w.power.drop()
	}
	if w.stage != "" {
		_ = w.root.Delete(w.stage)
	}
	w.stopReading()
	for _, d := range slices.Backward(w.made) {
		_ = os.Remove(d) // fails, as it should, when something else has come in
	}
}
