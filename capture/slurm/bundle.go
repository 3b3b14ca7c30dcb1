package slurm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/disk"
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
	importer "orrery/traces/importer/slurm"
)

// FormatName and its version stand in the reports of bundles.
const (
	FormatName    = "slurm-capture"
	formatVersion = 1
)

// Bundle makes out, NAME.trace, of all that was captured. It appears whole or not at all.
func (r *Recorder) Bundle(out string) (traces.Report, error) {
	g, err := gather(r.dir, &r.state)
	if err != nil {
		return traces.Report{}, err
	}
	scratch, err := disk.Scratch(r.dir, ".bundle"+partial)
	if err != nil {
		return traces.Report{}, err
	}
	defer func() { _ = disk.Delete(scratch) }() // the next start removes it, too
	a := assembly{gathered: g, out: out, report: traces.Report{File: filepath.Base(r.dir), Format: FormatName, Importer: fmt.Sprintf("%s %d", FormatName, formatVersion)}}
	if len(g.last) > 0 {
		if err := a.imported(r.dir, scratch); err != nil {
			return a.report, err
		}
	}
	return a.report, a.write(&r.state)
}

// gathered is what the files hold, but for the rows of sacct.
type gathered struct {
	upTo         *state
	last         map[uint64]int64 // the place of the last row of a job
	columns      []string         // headers, in the order in which they first came
	jobs         map[string]*facts
	nodes        []named[node]
	events       []named[nodeEvent]
	reservations []named[booked]
	accounts     []record
	index        map[string]int         // of nodes and their events, by kind and key
	found        map[uint64]model.Time  // the first poll that had a job among those that have ended
	ends         map[string]*completion // of jobs that were seen to complete
	states       map[string][]phase     // of nodes, by time
}

// named is a thing with its key; the last that was told of it stands.
type named[T any] struct {
	key   string
	value T
}

// booked is a reservation, and when it was first and last there.
type booked struct {
	reservation
	seen model.Time
	gone model.Time // 0 while it is there
}

// facts are what the queue told of a job.
type facts struct {
	first    queued
	depends  []string
	released model.Time // of the first poll that found it not held any more, 0 for none
	later    bool       // held after it had not been
}

// gather reads all files once.
func gather(dir string, upTo *state) (*gathered, error) {
	g := &gathered{upTo: upTo, last: map[uint64]int64{}, jobs: map[string]*facts{}, index: map[string]int{}, found: map[uint64]model.Time{}, ends: map[string]*completion{}, states: map[string][]phase{}}
	place := int64(0)
	for r, err := range everything(dir, upTo) {
		if err != nil {
			return nil, err
		}
		switch r.Kind {
		case kindColumns:
			if !slices.Contains(g.columns, r.Value) {
				g.columns = append(g.columns, r.Value)
			}
		case kindJob:
			if of := sumOf(r.Key); g.found[of] == 0 {
				g.found[of] = r.At
			}
			g.last[sumOf(r.Key)] = place
			place++
		case kindAccounts:
			g.accounts = append(g.accounts, *r)
		case kindQueued:
			err = g.queued(r)
		case kindNode:
			err = put(&g.nodes, g.index, r)
		case kindNodeState:
			err = g.phase(r)
		case kindCompleting:
			err = g.completing(r)
		case kindNodeEvent:
			err = put(&g.events, g.index, r)
		case kindReservation:
			err = g.reserved(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s of the poll at %d µs: %w", r.Kind, r.Key, int64(r.At), err)
		}
	}
	return g, nil
}

// put takes the newest version of a thing.
func put[T any](list *[]named[T], index map[string]int, r *record) error {
	i, known := index[r.Kind+" "+r.Key]
	if !known {
		i = len(*list)
		index[r.Kind+" "+r.Key] = i
		*list = append(*list, named[T]{key: r.Key})
	}
	return json.Unmarshal([]byte(r.Value), &(*list)[i].value)
}

// queued adds what one poll told of a waiting job.
func (g *gathered) queued(r *record) error {
	var q queued
	if err := json.Unmarshal([]byte(r.Value), &q); err != nil {
		return err
	}
	f := g.jobs[r.Key]
	if f == nil {
		if !q.Pending && q.Nice == 0 && q.Include == "" && q.Exclude == "" && !q.Alone {
			return nil // nothing that sacct does not say
		}
		f = &facts{first: q}
		g.jobs[r.Key] = f
	}
	switch {
	case f.first.Held && !q.Held && f.released == 0:
		f.released = r.At
	case !f.first.Held && q.Held:
		f.later = true
	}
	for term := range strings.SplitSeq(q.Depends, ",") {
		term, _, _ = strings.Cut(term, "(")
		if term != "" && !slices.Contains(f.depends, term) {
			f.depends = append(f.depends, term)
		}
	}
	return nil
}

// reserved takes a reservation as it was last there. One that begins again later, as those that come
// daily do, is another.
func (g *gathered) reserved(r *record) error {
	i := -1
	for k := range g.reservations {
		if strings.TrimRight(g.reservations[k].key, "0123456789") == r.Key+"#" || g.reservations[k].key == r.Key {
			i = k
		}
	}
	if r.Value == "" {
		if i >= 0 && g.reservations[i].value.gone == 0 {
			g.reservations[i].value.gone = r.At
		}
		return nil
	}
	b := booked{seen: r.At}
	if err := json.Unmarshal([]byte(r.Value), &b.reservation); err != nil {
		return err
	}
	if i < 0 {
		g.reservations = append(g.reservations, named[booked]{r.Key, b})
		return nil
	}
	if old := &g.reservations[i]; seconds(b.Start) >= seconds(old.value.End) || old.value.gone != 0 {
		g.reservations = append(g.reservations, named[booked]{r.Key + "#" + strconv.Itoa(len(g.reservations)+1), b})
	} else {
		b.seen = old.value.seen
		old.value = b
	}
	return nil
}

// rowsFile writes the rows under one header into a file, as sacct would have printed them.
func (g *gathered) rowsFile(dir, scratch, columns string, n int) (format.File, error) {
	path := filepath.Join(scratch, fmt.Sprintf("sacct-%d", n))
	err := disk.Replace(path, func(w io.Writer) error { return g.print(dir, columns, w) })
	open := func() (io.ReadCloser, error) { return disk.Open(path) }
	return format.File{Name: "sacct", Open: open, Head: format.Head{Bytes: []byte(columns + "\n")}}, err
}

// print writes each job once, as it was last told.
func (g *gathered) print(dir, columns string, w io.Writer) error {
	if _, err := io.WriteString(w, columns+"\n"); err != nil {
		return err
	}
	place, current := int64(0), ""
	for r, err := range everything(dir, g.upTo) {
		if err != nil {
			return err
		}
		switch r.Kind {
		case kindColumns:
			current = r.Value
		case kindJob:
			if current == columns && g.last[sumOf(r.Key)] == place {
				if _, err := io.WriteString(w, r.Value+"\n"); err != nil {
					return err
				}
			}
			place++
		}
	}
	return nil
}

// assembly puts the bundle together.
type assembly struct {
	*gathered
	out     string
	report  traces.Report
	jobs    *traces.Bundle // as the importer of sacct made them, nil without any
	meta    traces.Meta
	w       *traces.Writer
	ids     map[int64]bool
	members map[string][]int64 // of the arrays that jobs depend on
	edges   []edge
}

// edge is a dependency on a job, or on all tasks of an array.
type edge struct {
	job       int64
	on        string
	condition string
}

// imported has the importer of sacct read the rows.
func (a *assembly) imported(dir, scratch string) error {
	path := filepath.Join(scratch, "jobs.trace")
	var all []format.File
	bad := &format.Bad{} // as many rows that cannot be read are left out as of an import
	for i, columns := range a.columns {
		f, err := a.rowsFile(dir, scratch, columns, i)
		if err != nil {
			return err
		}
		f.Bad = bad
		all = append(all, f)
	}
	log, err := importer.Sacct.Scan(importer.Sacct, all, format.Options{})
	if err != nil {
		return err
	}
	meta, err := log.Meta(log.Report())
	if err != nil {
		return err
	}
	w, err := traces.NewWriter(path, meta)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := log.Write(w); err != nil {
		return err
	}
	if a.report.Assumed = log.Report().Assumed; w.Jobs() > 0 {
		if _, err := w.Close(); err != nil {
			return err
		}
		if a.jobs, err = traces.Open(path); err != nil {
			return err
		}
	}
	r := log.Report()
	t := traces.TableReport{Table: "jobs", Read: r.Read, Kept: r.Kept, Dropped: r.Dropped, Repaired: r.Repaired}
	a.report.AddTable(&t)
	a.meta = meta
	return nil
}

// write writes all tables.
func (a *assembly) write(s *state) (err error) {
	a.meta.Source, a.meta.TimeZone, a.meta.Sorted = "orrery capture slurm", "UTC", true
	if !a.meta.EpochKnown {
		a.meta.Epoch, a.meta.EpochKnown = s.First-s.First%model.Time(model.Second), true
	}
	if a.w, err = traces.NewWriter(a.out, a.meta); err != nil {
		return err
	}
	defer a.w.Abort()
	a.w.Measure()
	steps := []func() error{a.writeJobs, a.writeDeps, a.writeNodes, a.writeTenants, a.writeEvents}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if a.report.Kept == 0 {
		return fmt.Errorf("nothing was captured yet: no poll found a node or a job that has ended")
	}
	a.w.Measured(&a.report, traces.TimesUTC)
	if !a.report.Balanced() {
		return fmt.Errorf("the account of rows does not add up (%d read, %d kept): this is an error of the capture", a.report.Read, a.report.Kept)
	}
	text, err := json.Marshal(a.report)
	if err != nil {
		return err
	}
	a.meta.Import = string(text)
	if err := a.w.SetMeta(a.meta); err != nil {
		return err
	}
	_, err = a.w.Close()
	return err
}

// table adds the account of a table that has rows.
func (a *assembly) table(t *traces.TableReport) {
	if t.Read > 0 {
		a.report.AddTable(t)
	}
}

// writeJobs adds to the rows of sacct what the queue told.
func (a *assembly) writeJobs() error {
	if a.jobs == nil {
		return nil
	}
	a.ids, a.members = map[int64]bool{}, map[string][]int64{}
	for _, f := range a.gathered.jobs { //detlint:ordered a set is filled
		for _, term := range f.depends {
			if array, all := wholeArray(term); all {
				a.members[array] = []int64{}
			}
		}
	}
	held, later := int64(0), int64(0)
	for j, err := range a.jobs.Rows() {
		if err != nil {
			return err
		}
		a.ids[j.ID] = true
		if list, wanted := a.members[j.Group]; wanted && j.Group != "" {
			a.members[j.Group] = append(list, j.ID)
		}
		submit := "|" + strconv.FormatInt(int64((a.meta.Epoch.Add(model.Duration(j.Submit)))/model.Time(model.Second)), 10)
		id := strconv.FormatInt(j.ID, 10)
		if j.Group != "" {
			a.fill(j, a.gathered.jobs[j.Group+"_*"+submit])
			id = j.Group + "_" + strconv.Itoa(int(j.Index.V))
		}
		if f := a.gathered.jobs[id+submit]; f != nil {
			a.fill(j, f)
			if f.later {
				later++
			}
		}
		if j.Hold.V {
			held++
		}
		if err := a.took(j, submit); err != nil {
			return err
		}
		if err := a.w.WriteJob(j); err != nil {
			return err
		}
	}
	if held > 0 {
		a.report.Assumed = append(a.report.Assumed, traces.Assumption{What: "jobs.released", Value: fmt.Sprintf("%d jobs", held), Why: "the first poll that found the job not held, or its recorded eligibility or start where that is earlier"})
	}
	if later > 0 {
		a.report.Assumed = append(a.report.Assumed, traces.Assumption{What: "jobs.hold", Value: fmt.Sprintf("%d jobs as if never held", later), Why: "they were put on hold after their submission, for which there is no column"})
	}
	return a.jobs.Close()
}

// fill adds to a job what the queue told of it.
func (a *assembly) fill(j *traces.Job, f *facts) {
	if f == nil {
		return
	}
	q := &f.first
	if q.Nice != 0 {
		j.Nice = traces.Some(int32(max(min(q.Nice, 1<<31-3), -1<<31+3)))
	}
	j.NodeInclude, j.NodeExclude = cmp.Or(q.Include, j.NodeInclude), cmp.Or(q.Exclude, j.NodeExclude)
	if q.Alone {
		j.Exclusive = traces.Some(true)
	}
	if q.Most > 0 {
		j.MaxConcurrent = traces.Some(q.Most)
	}
	if !j.Priority.OK && q.Priority > 0 {
		j.Priority = traces.Some(q.Priority)
	}
	if q.Held {
		j.Hold = traces.Some(true)
		if f.released != 0 {
			j.Released = traces.Some(model.Time(f.released.Sub(a.meta.Epoch)))
		}
		for _, t := range []traces.Opt[model.Time]{j.Eligible, j.Start} {
			if t.OK && t.V > j.Submit && (!j.Released.OK || t.V < j.Released.V) {
				j.Released = t
			}
		}
	}
	for _, term := range f.depends {
		kind, list, _ := strings.Cut(term, ":")
		if list == "" { // singleton, and what follows ? in a list of alternatives
			list = kind
		}
		for on := range strings.SplitSeq(list, ":") {
			on, _, _ = strings.Cut(on, "+") // a delay in minutes
			a.edges = append(a.edges, edge{j.ID, on, kind})
		}
	}
}

// wholeArray is the array that a dependency such as afterany:12_* names.
func wholeArray(term string) (string, bool) {
	_, list, _ := strings.Cut(term, ":")
	return strings.CutSuffix(list, "_*")
}
