package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"orrery/internal/disk"
	"orrery/traces"
)

// Opened says what OpenAny did.
type Opened struct {
	Format Format
	// Table is the bundle or Parquet file that is read: the user's own, a
	// cached import, or a temporary one.
	Table string
	// Bundle is the same, open until the source is closed. It starts further sources.
	Bundle *traces.Bundle
	// Report is that of the import, nil when nothing was imported.
	Report *traces.Report
	// Cached says that an earlier import was used.
	Cached bool
	// Note tells the user in a sentence what happened beside their back: what
	// was imported and where it is kept. "" when there is nothing to tell.
	Note string
}

// OpenAny opens whatever holds a workload: a bundle, a Parquet table of jobs,
// or raw files of one format, plain or compressed. Raw files are imported first, into the
// cache when it can be written, else into a temporary one that closing the
// source removes. Whichever way, the same files give the same Info but for its
// Name, which is that of the first file as the user named it.
func OpenAny(paths []string, opts Options) (traces.Source, *Opened, error) {
	in, err := open(paths, opts)
	if err != nil {
		return nil, nil, err
	}
	defer in.close()
	name := traceName(paths[0])
	o := &Opened{Format: in.format, Table: in.list[0].path}
	if in.raw == nil {
		src, err := o.open(name, nil)
		return src, o, err
	}
	dir, l, err := in.cached(opts, o)
	if err == nil {
		err = opts.check(l.Report)
	}
	var remove func() error
	var data *traces.DataError
	var stop stopped
	if err != nil && !errors.As(err, &data) && !errors.As(err, &stop) {
		why := err
		dir, l, err = in.makeEntry(os.TempDir(), "orrery-import-", opts)
		var room *disk.TemporaryError
		if err != nil && !errors.As(err, &data) && !errors.As(err, &stop) && !errors.As(err, &room) {
			err = &disk.TemporaryError{Err: err}
		}
		remove = func() error { return os.RemoveAll(dir) }
		o.Cached = false
		o.Note = fmt.Sprintf("imported %s into a temporary file, to be removed at the end: no cache (%v)", in.names(), why)
	}
	if err != nil {
		return nil, nil, err
	}
	l.Report.File = in.names()
	o.Report, o.Table = &l.Report, l.table(dir)
	src, err := o.open(name, remove)
	return src, o, err
}

// Text is what a file holds, decompressed like the files of an import, with at most so many bytes:
// for small files that are no workload. name is what errors call it.
func Text(name, path string, most int64) ([]byte, error) {
	f := &file{in: &inputs{}, name: name, path: path}
	r, err := f.content()
	if err != nil {
		return nil, err
	}
	defer r.Close() // only read
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = &traces.DataError{File: name, Found: fmt.Sprintf("more than %d bytes", most), Expected: "a smaller file", Mend: "name another file"}
	}
	return text, err
}

// fewNames is how many files are named one by one.
const fewNames = 8

// names are those of the files, as the user named them.
func (in *inputs) names() string {
	var names []string
	for i, f := range in.list {
		if i == fewNames {
			names = append(names, fmt.Sprintf("and %d more", len(in.list)-i))
			break
		}
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

var errNoCache = errors.New("as asked")

// cached finds or makes the cache entry of the log. An error that is neither a
// DataError nor the watcher's means that there is no cache to be had.
func (in *inputs) cached(opts Options, o *Opened) (dir string, l label, err error) {
	if opts.NoCache {
		return "", l, errNoCache
	}
	key, err := in.cacheKey(opts)
	if err != nil {
		return "", l, err
	}
	root, err := cacheRoot(opts)
	if err != nil {
		return "", l, err
	}
	place := filepath.Join(root, key)
	l, err = loadEntry(place)
	if err == nil {
		o.Cached = true
		o.Note = fmt.Sprintf("%s was imported before: reading %s", in.names(), place)
		return place, l, nil
	}
	again := ""
	if !errors.Is(err, os.ErrNotExist) {
		again = " again, since the earlier import is damaged"
	}
	made, l, err := in.makeEntry(root, ".partial-", opts)
	if err != nil {
		return "", l, err
	}
	o.Note = fmt.Sprintf("imported %s%s, kept in %s", in.names(), again, place)
	return place, l, publish(made, place)
}

// open opens the table as a source that owns its bundle. remove, if any, is called
// when the source is closed or cannot be opened.
func (o *Opened) open(name string, remove func() error) (traces.Source, error) {
	s := &owned{name: name, remove: remove}
	var err error
	if s.bundle, err = traces.Open(o.Table); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.Source, err = s.bundle.Jobs(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	o.Bundle = s.bundle
	return s, nil
}

// owned is a source that closes its bundle and removes its temporary file.
type owned struct {
	traces.Source
	name   string
	bundle *traces.Bundle
	remove func() error
}

// Info implements traces.Source.
func (s *owned) Info() traces.Info {
	info := s.Source.Info()
	info.Name = s.name
	return info
}

// Close implements traces.Source.
func (s *owned) Close() error {
	var err error
	if s.Source != nil {
		err = s.Source.Close()
	}
	if s.bundle != nil {
		err = errors.Join(err, s.bundle.Close())
	}
	if s.remove != nil {
		err = errors.Join(err, s.remove())
	}
	return err
}

// traceName is the base name without the extensions of formats and packings.
func traceName(path string) string {
	name := filepath.Base(path)
	for _, ext := range []string{".gz", ".xz", ".swf", ".csv", ".trace", ".parquet"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}
