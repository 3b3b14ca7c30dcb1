// Package logfile opens the logs and traces that verbs read, standard input and the sample among them: a raw log
// is imported first. It must not know what is done with one.
package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/disk"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/synth"
	"orrery/traces/transform"
)

// Trace is the opened LOG of a verb.
type Trace struct {
	Label  string   // for people
	Path   string   // that another process can open
	Names  []string // as the user named the files
	more   []string // further files that are read with it
	Table  string   // the bundle or Parquet file that is read
	Sample bool     // it is the one that is part of the program
	About  traces.Info
	nodes  []traces.Node
	shares []traces.Tenant
	events []traces.Event
	prices []traces.Price
	load   func() iter.Seq2[*traces.Load, error] // of the bundle, as long as it is open

	Report *traces.Report // of the import, nil when nothing was imported
	note   string         // what was done beside the user's back
	Open   func() (traces.Source, error)
	undo   []func() error
}

// Info implements sim.Tables.
func (t *Trace) Info() traces.Info { return t.About }

// Nodes implements sim.Tables.
func (t *Trace) Nodes() []traces.Node { return t.nodes }

// Events implements sim.Tables.
func (t *Trace) Events() []traces.Event { return t.events }

// Prices implements sim.Tables.
func (t *Trace) Prices() []traces.Price { return t.prices }

// Load implements sim.Tables.
func (t *Trace) Load() iter.Seq2[*traces.Load, error] { return t.load() }

// Tenants implements sim.Tables.
func (t *Trace) Tenants() []traces.Tenant { return t.shares }

// Close releases the files and removes what was temporary. A file that was
// only read and does not close has no consequence for the result.
func (t *Trace) Close() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		_ = t.undo[i]() // see above
	}
}

// NewTrace is the trace in files that are given together.
func NewTrace(names []string) *Trace {
	return &Trace{Label: strings.Join(names, ", "), Path: names[0], Names: names, more: names[1:]}
}

// Absent is the first of the files that is not there, as the user named it.
func (t *Trace) Absent() string {
	for i, path := range t.Paths() {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return t.Names[i]
		}
	}
	return t.Label
}

// OpenLog opens a trace that has jobs.
func OpenLog(ctx context.Context, app *cli.App, args []string, quiet bool) (*Trace, error) {
	t, err := OpenTrace(ctx, app, args, quiet)
	if err != nil {
		return nil, err
	}
	if err := t.needsJobs(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Paths are the files.
func (t *Trace) Paths() []string { return append([]string{t.Path}, t.more...) }

// OpenTrace opens LOG, the sample when there is none. Whatever is wrong with it
// is bad input.
func OpenTrace(ctx context.Context, app *cli.App, args []string, quiet bool) (*Trace, error) {
	if len(args) == 0 {
		return openSample(ctx, app)
	}
	t := NewTrace(args)
	options, err := app.Logs.Options()
	if err != nil {
		return nil, err
	}
	watch, done := WatchImport(ctx, app, quiet)
	defer done()
	options.Watch = watch
	if err := openFile(ctx, app, t, options); err != nil {
		t.Close()
		var option *importer.OptionError
		if errors.As(err, &option) {
			return nil, cli.Usagef("%w", err)
		}
		var room *disk.TemporaryError
		if errors.As(err, &room) {
			return nil, err
		}
		err = cli.BadInput(Missing(t.Absent(), err))
		return nil, cli.OtherContent(t.Path, err, cli.WantLog, cli.ExitInput, "a trace bundle", "a Parquet table", "a workload log", "a directory")
	}
	return t, nil
}

// Missing explains that a trace is not there.
func Missing(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return cli.NoFile(path, path, cli.WantLog)
}

// openSample opens the sample by way of a temporary file.
func openSample(ctx context.Context, app *cli.App) (*Trace, error) {
	t := &Trace{Label: "the sample", Sample: true}
	var err error
	if t.Path, err = t.temporary("sample.parquet", bytes.NewReader(synth.Sample())); err == nil {
		err = openFile(ctx, app, t, importer.Options{})
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("opening the sample: %w", err)
	}
	t.note = "no LOG given: replaying the sample that is part of the program"
	return t, nil
}

// WatchImport returns what an import calls as it goes on: it ends the import
// when ctx ends, and draws its progress until done is called.
func WatchImport(ctx context.Context, app *cli.App, quiet bool) (watch func(int64, int64) error, done func()) {
	bar := app.Progress("importing", "MB", quiet)
	return func(read, all int64) error {
		bar.Draw(read/1e6, all/1e6, "")
		return ctx.Err()
	}, bar.Done
}

func openFile(ctx context.Context, app *cli.App, t *Trace, o importer.Options) error {
	if err := SpoolInput(ctx, app, t); err != nil {
		return err
	}
	first, opened, err := importer.OpenAny(t.Paths(), o)
	if err != nil {
		return err
	}
	if opened.Report != nil && !opened.Cached { // it has made an entry, and may wait a little
		tidyCache()
	}
	t.undo = append(t.undo, first.Close)
	t.About, t.nodes, t.shares = first.Info(), first.Nodes(), first.Tenants()
	t.events, t.prices = first.Events(), first.Prices()
	t.Table, t.Report, t.note = opened.Table, opened.Report, opened.Note
	t.load = opened.Bundle.Load
	t.Open = func() (traces.Source, error) {
		src, err := opened.Bundle.Jobs()
		return named{src, t.About}, err
	}
	return nil
}

// named is a source under the name that the user knows the trace by.
type named struct {
	traces.Source
	info traces.Info
}

// Info implements traces.Source.
func (n named) Info() traces.Info { return n.info }

// SpoolInput puts standard input, where it is meant, into a file.
func SpoolInput(ctx context.Context, app *cli.App, t *Trace) error {
	if t.Path != "-" {
		return nil
	}
	t.Label = "standard input"
	return spool(ctx, app, t)
}

// spool copies standard input to a temporary file, since an import reads twice.
func spool(ctx context.Context, app *cli.App, t *Trace) (err error) {
	if t.Path, err = t.temporary("stdin", &interruptedReader{ctx, app.Stdin}); err != nil {
		return fmt.Errorf("reading standard input: %w", err)
	}
	return nil
}

// interruptedReader ends a read that waits, for a person or a slow pipe, when
// ctx does. The read itself cannot be called back: it is left alone until the
// process ends.
type interruptedReader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (i *interruptedReader) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	own := make([]byte, len(p)) // a read that is left alone must not write to p
	done := make(chan result, 1)
	go func() {
		n, err := i.r.Read(own)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return copy(p, own[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

// temporary copies from into a file of that name, which close removes.
func (t *Trace) temporary(name string, from io.Reader) (path string, err error) {
	dir, err := os.MkdirTemp("", "orrery-*")
	if err != nil {
		return "", &disk.TemporaryError{Err: err}
	}
	disk.Temporary(dir)
	t.undo = append(t.undo, func() error { return os.RemoveAll(dir) })
	path = filepath.Join(dir, name)
	f, err := os.Create(path)
	if err != nil {
		return "", &disk.TemporaryError{Err: err}
	}
	_, err = io.Copy(f, from)
	var full *fs.PathError
	if err = errors.Join(err, f.Close()); errors.As(err, &full) && full.Path == path {
		err = &disk.TemporaryError{Err: err}
	}
	return path, err
}

// Remark says what was done to open the trace.
func Remark(app *cli.App, t *Trace, quiet bool) {
	if t.note != "" && !quiet {
		app.Say("orrery: %s", t.note)
	}
}

// Until ends the rows with the error of ctx when it is cancelled.
func Until(ctx context.Context, rows iter.Seq2[*traces.Job, error]) iter.Seq2[*traces.Job, error] {
	return func(yield func(*traces.Job, error) bool) {
		n := 0
		for row, err := range rows {
			if n++; n%4096 == 0 && err == nil {
				err = ctx.Err()
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// needsJobs refuses a trace without jobs, for verbs that replay.
func (t *Trace) needsJobs() error {
	if t.About.Rows > 0 || len(t.About.Tables) == 0 {
		return nil
	}
	var there []string
	for _, r := range t.About.Tables {
		there = append(there, fmt.Sprintf("%s (%d rows)", r.Table, r.Rows))
	}
	return cli.BadInput(&traces.DataError{File: t.Label, Found: "no jobs, but " + strings.Join(there, ", "), Expected: "a trace with jobs, which a replay needs",
		Mend: "look at it with orrery trace head, or unite it with a trace of jobs: orrery trace transform JOBS --step \"merge with=" + t.Path + "\" --out BOTH.trace"})
}

// HoldTrace reads a trace into memory, the sample where args name none.
func HoldTrace(ctx context.Context, app *cli.App, args []string, quiet bool) (*transform.Set, error) {
	t, err := OpenLog(ctx, app, args, quiet)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if len(args) > 0 {
		Remark(app, t, quiet)
	}
	return HoldBundle(t.Table, t.About.Name)
}

// HoldBundle reads a bundle into memory.
func HoldBundle(path, name string) (*transform.Set, error) {
	b, err := traces.Open(path)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	defer func() { _ = b.Close() }() // only read
	set, err := transform.Open(b)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	set.Rename(name)
	if set, err = set.Hold(); err != nil {
		return nil, cli.BadInput(err)
	}
	return set, nil
}

// Opener opens the traces of a verb, which stay open until close.
type Opener struct {
	App   *cli.App
	Quiet bool
	Out   string // what is written, which must be none of them
	undo  []func()
}

// Open is a trace that stays open until close.
func (o *Opener) Open(ctx context.Context, path string) (*transform.Set, error) {
	t, err := OpenTrace(ctx, o.App, []string{path}, o.Quiet)
	if err != nil {
		return nil, err
	}
	o.undo = append(o.undo, t.Close)
	if err := cli.Apart(t.Path, o.Out); err != nil {
		return nil, err
	}
	Remark(o.App, t, o.Quiet)
	b, err := traces.Open(t.Table)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	o.undo = append(o.undo, func() { _ = b.Close() }) // only read
	set, err := transform.Open(b)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	set.Rename(t.About.Name)
	return set, nil
}

// Close closes what was opened, the last first.
func (o *Opener) Close() {
	for i := len(o.undo) - 1; i >= 0; i-- {
		o.undo[i]()
	}
}

// staleAfter is how long a half-written import must not have changed to count as left by a
// process that was killed; one at work writes all the time.
const staleAfter = time.Hour

// Cache is what the cache of imports holds.
type Cache struct {
	Dir             string
	Imports, Litter []string // paths
	Bytes           int64
}

// LookIntoCache lists the cache; half-written imports that may be at work are in no list,
// and whole ones only where they are asked for.
func LookIntoCache(now time.Time, whole bool) (c Cache, err error) {
	if c.Dir, err = importer.CacheDir(importer.Options{}); err != nil {
		return c, err
	}
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	for _, e := range entries {
		path, half := filepath.Join(c.Dir, e.Name()), strings.HasPrefix(e.Name(), ".")
		if !half && !whole {
			continue
		}
		bytes, changed := sizeOf(path)
		switch {
		case !half:
			c.Imports = append(c.Imports, path)
		case now.Sub(changed) > staleAfter:
			c.Litter = append(c.Litter, path)
		}
		c.Bytes += bytes
	}
	return c, err
}

// sizeOf is how many bytes lie below a path, and when the last of it changed. What cannot
// be looked at counts for nothing.
func sizeOf(path string) (bytes int64, changed time.Time) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if info, err := e.Info(); err == nil {
			if bytes += info.Size(); info.ModTime().After(changed) {
				changed = info.ModTime()
			}
		}
		return nil
	})
	return bytes, changed
}

// tidyCache removes what killed processes have left in the cache. That it fails has no
// consequence for what is being done.
func tidyCache() {
	c, err := LookIntoCache(time.Now(), false)
	if err != nil {
		return
	}
	for _, path := range c.Litter {
		_ = disk.Delete(path) // the next import tries again
	}
}

// CheckTraceName refuses a path that no trace can have, before anything is read.
func CheckTraceName(out string) error {
	switch {
	case out == "":
		return cli.Usagef("no output named: give --out NAME.trace or --out NAME.parquet")
	case out == "json" || out == "table" || out == "markdown":
		return cli.Usagef("--out %s: --out is the trace to write; the format of the results is -o %s", out, out)
	case !strings.HasSuffix(strings.TrimRight(out, "/"), ".trace") && !strings.HasSuffix(out, ".parquet"):
		return cli.Usagef("--out %s: expected a name that ends in .trace (a directory of tables) or .parquet (the jobs alone)", out)
	}
	return nil
}
