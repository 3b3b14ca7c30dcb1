package main

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

	"orrery/internal/disk"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/synth"
)

// trace is the opened LOG of a verb.
type trace struct {
	label  string   // for people
	path   string   // that another process can open
	names  []string // as the user named the files
	more   []string // further files that are read with it
	table  string   // the bundle or Parquet file that is read
	sample bool     // it is the one that is part of the program
	info   traces.Info
	nodes  []traces.Node
	shares []traces.Tenant
	events []traces.Event
	prices []traces.Price
	load   func() iter.Seq2[*traces.Load, error] // of the bundle, as long as it is open

	report *traces.Report // of the import, nil when nothing was imported
	note   string         // what was done beside the user's back
	open   func() (traces.Source, error)
	undo   []func() error
}

// Info implements sim.Tables.
func (t *trace) Info() traces.Info { return t.info }

// Nodes implements sim.Tables.
func (t *trace) Nodes() []traces.Node { return t.nodes }

// Events implements sim.Tables.
func (t *trace) Events() []traces.Event { return t.events }

// Prices implements sim.Tables.
func (t *trace) Prices() []traces.Price { return t.prices }

// Load implements sim.Tables.
func (t *trace) Load() iter.Seq2[*traces.Load, error] { return t.load() }

// Tenants implements sim.Tables.
func (t *trace) Tenants() []traces.Tenant { return t.shares }

// close releases the files and removes what was temporary. A file that was
// only read and does not close has no consequence for the result.
func (t *trace) close() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		_ = t.undo[i]() // see above
	}
}

// newTrace is the trace in files that are given together.
func newTrace(names []string) *trace {
	return &trace{label: strings.Join(names, ", "), path: names[0], names: names, more: names[1:]}
}

// absent is the first of the files that is not there, as the user named it.
func (t *trace) absent() string {
	for i, path := range t.paths() {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return t.names[i]
		}
	}
	return t.label
}

// openLog opens a trace that has jobs.
func (m *Main) openLog(ctx context.Context, args []string, quiet bool) (*trace, error) {
	t, err := m.openTrace(ctx, args, quiet)
	if err != nil {
		return nil, err
	}
	if err := t.needsJobs(); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// paths are the files.
func (t *trace) paths() []string { return append([]string{t.path}, t.more...) }

// openTrace opens LOG, the sample when there is none. Whatever is wrong with it
// is bad input.
func (m *Main) openTrace(ctx context.Context, args []string, quiet bool) (*trace, error) {
	if len(args) == 0 {
		return m.openSample(ctx)
	}
	t := newTrace(args)
	options, err := m.logs.options()
	if err != nil {
		return nil, err
	}
	watch, done := m.watchImport(ctx, quiet)
	defer done()
	options.Watch = watch
	if err := m.openFile(ctx, t, options); err != nil {
		t.close()
		var option *importer.OptionError
		if errors.As(err, &option) {
			return nil, usagef("%w", err)
		}
		var room *disk.TemporaryError
		if errors.As(err, &room) {
			return nil, err
		}
		err = input(missing(t.absent(), err))
		return nil, otherContent(t.path, err, wantLog, exitInput, "a trace bundle", "a Parquet table", "a workload log", "a directory")
	}
	return t, nil
}

// missing explains that a trace is not there.
func missing(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return noFile(path, path, wantLog)
}

// openSample opens the sample by way of a temporary file.
func (m *Main) openSample(ctx context.Context) (*trace, error) {
	t := &trace{label: "the sample", sample: true}
	var err error
	if t.path, err = t.temporary("sample.parquet", bytes.NewReader(synth.Sample())); err == nil {
		err = m.openFile(ctx, t, importer.Options{})
	}
	if err != nil {
		t.close()
		return nil, fmt.Errorf("opening the sample: %w", err)
	}
	t.note = "no LOG given: replaying the sample that is part of the program"
	return t, nil
}

// watchImport returns what an import calls as it goes on: it ends the import
// when ctx ends, and draws its progress until done is called.
func (m *Main) watchImport(ctx context.Context, quiet bool) (watch func(int64, int64) error, done func()) {
	bar := m.progress("importing", "MB", quiet)
	return func(read, all int64) error {
		bar.draw(read/1e6, all/1e6, "")
		return ctx.Err()
	}, bar.done
}

func (m *Main) openFile(ctx context.Context, t *trace, o importer.Options) error {
	if err := m.spoolInput(ctx, t); err != nil {
		return err
	}
	first, opened, err := importer.OpenAny(t.paths(), o)
	if err != nil {
		return err
	}
	if opened.Report != nil && !opened.Cached { // it has made an entry, and may wait a little
		tidyCache()
	}
	t.undo = append(t.undo, first.Close)
	t.info, t.nodes, t.shares = first.Info(), first.Nodes(), first.Tenants()
	t.events, t.prices = first.Events(), first.Prices()
	t.table, t.report, t.note = opened.Table, opened.Report, opened.Note
	t.load = opened.Bundle.Load
	t.open = func() (traces.Source, error) {
		src, err := opened.Bundle.Jobs()
		return named{src, t.info}, err
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

// spoolInput puts standard input, where it is meant, into a file.
func (m *Main) spoolInput(ctx context.Context, t *trace) error {
	if t.path != "-" {
		return nil
	}
	t.label = "standard input"
	return m.spool(ctx, t)
}

// spool copies standard input to a temporary file, since an import reads twice.
func (m *Main) spool(ctx context.Context, t *trace) (err error) {
	if t.path, err = t.temporary("stdin", &interruptedReader{ctx, m.Stdin}); err != nil {
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
func (t *trace) temporary(name string, from io.Reader) (path string, err error) {
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

// remark says what was done to open the trace.
func (m *Main) remark(t *trace, quiet bool) {
	if t.note != "" && !quiet {
		m.say("orrery: %s", t.note)
	}
}

// until ends the rows with the error of ctx when it is cancelled.
func until(ctx context.Context, rows iter.Seq2[*traces.Job, error]) iter.Seq2[*traces.Job, error] {
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
