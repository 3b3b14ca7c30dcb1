package importer

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"orrery/internal/disk"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Format is what a file is, by its content: Bundle, Parquet, or the name of a raw
// format.
type Format string

// What a trace can be read from without an import.
const (
	Bundle  Format = "trace bundle"  // a directory of Parquet tables
	Parquet Format = "Parquet table" // one table of jobs
)

// Raw says whether files of the format are imported.
func (f Format) Raw() bool { return f != Bundle && f != Parquet }

// Detect says what the file or directory at path is. It looks at the content;
// the name does not matter. What no format accepts is a DataError that says
// what was found, and which format came nearest.
func Detect(path string, opts Options) (Format, error) {
	in, err := open([]string{path}, opts)
	if err != nil {
		return "", err
	}
	defer in.close()
	return in.format, nil
}

// headBytes is how much of a file, decompressed, decides its format.
const headBytes = 64 << 10

// inputs are files given together, of one format.
type inputs struct {
	list   []*file
	format Format
	raw    *format.Format // nil for what is no raw format

	archives   []*archive
	dictionary int64 // most bytes of a dictionary of xz

	watch func(done, total int64) error // of the import under way, may be nil
	read  int64                         // bytes of the passes over the files so far
	next  int64                         // when to call the watcher again
	total int64                         // bytes of both passes over all files
}

// file is one of them.
type file struct {
	in   *inputs
	name string // as the user named it, for messages
	path string // what is read: another file when the user's is a pipe
	temp bool   // path is a copy to be removed
	head format.Head
	// archive is the tar archive at path of which this is the member with an index, nil
	// where it is none.
	archive *archive
	index   int
}

// open finds the format of files. A pipe is copied to a temporary file, since an import
// reads twice.
func open(paths []string, opts Options) (in *inputs, err error) {
	in = &inputs{dictionary: opts.XZDictionary}
	defer func() {
		if err != nil {
			in.close()
			in = nil
		}
	}()
	for i, path := range paths {
		of, err := in.add(path, opts)
		switch {
		case err != nil:
			return in, err
		case i > 0 && of != in.format:
			return in, &traces.DataError{File: path, Found: "a file of the format " + string(of), Expected: string(in.format) + ", as " + paths[0],
				Mend: "import files of different formats one by one, and unite them with orrery trace transform --step merge"}
		}
		in.format = of
	}
	if err := in.fewEnough(max(len(paths), len(in.list))); err != nil {
		return in, err
	}
	return in, in.fits(opts)
}

// fewEnough refuses more files than the format may have.
func (in *inputs) fewEnough(n int) error {
	limit, name := 1, in.format
	if in.raw != nil {
		limit, name = in.raw.Files, Format(in.raw.Name)
	}
	if n > limit {
		return &OptionError{fmt.Sprintf("%d files of the format %s: want %d at most", n, name, limit)}
	}
	return nil
}

// fits refuses options that the format has no use for.
func (in *inputs) fits(opts Options) error {
	switch {
	case in.raw == nil:
		return nil
	case opts.Zone != nil && !in.raw.Zoned:
		return &OptionError{fmt.Sprintf("--time-zone does not go with the format %s: its times are in no zone, or it names one", in.format)}
	case opts.Sequence && !in.raw.Sequenced:
		return &OptionError{fmt.Sprintf("--arrival sequence does not go with the format %s: its rows say when they come", in.format)}
	case opts.Service != "" && !in.raw.Served:
		return &OptionError{fmt.Sprintf("--service does not go with the format %s: it is not the load of one service", in.format)}
	}
	return nil
}

// add opens one more file.
func (in *inputs) add(path string, opts Options) (Format, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	f := &file{in: in, name: path, path: path}
	in.list = append(in.list, f)
	if st.IsDir() {
		if !traces.IsBundle(path) {
			return "", &traces.DataError{File: path, Found: "a directory without jobs.parquet or another table", Expected: "a trace",
				Mend: "name a trace bundle, a Parquet table of jobs, or a workload log"}
		}
		return Bundle, nil
	}
	if !st.Mode().IsRegular() {
		if err := f.spool(); err != nil {
			return "", fmt.Errorf("reading %s: %w", path, err)
		}
	}
	if err := f.look(); err != nil {
		return "", err
	}
	if f.isTar() {
		return in.unpackMembers(f, opts)
	}
	return f.detect(opts)
}

// files are the inputs as formats read them, with as many unreadable rows left out as the limit allows.
func (in *inputs) files(limit traces.BadRows) []format.File {
	var out []format.File
	bad := &format.Bad{Unreadable: traces.Unreadable{Limit: limit}}
	for _, f := range in.list {
		one := format.File{Name: f.name, Open: func() (io.ReadCloser, error) { return f.content() }, Head: f.head, Bad: bad}
		if f.head.Columns != nil {
			one.Path = f.path
		}
		out = append(out, one)
	}
	return out
}

// close removes temporary copies.
func (in *inputs) close() {
	for _, f := range in.list {
		f.close()
	}
	for _, a := range in.archives {
		a.close()
	}
}

// spool copies the input to a temporary file and reads that one from now on.
func (f *file) spool() error {
	from, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.CreateTemp("", "orrery-input-*")
	if err != nil {
		return &disk.TemporaryError{Err: err}
	}
	f.path, f.temp = to.Name(), true
	disk.Temporary(f.path)
	_, err = io.Copy(to, from)
	var full *fs.PathError
	if err = errors.Join(err, to.Close()); errors.As(err, &full) && full.Path == f.path {
		err = &disk.TemporaryError{Err: err}
	}
	if err != nil {
		f.close()
	}
	return err
}

// close removes the temporary copy, if there is one.
func (f *file) close() {
	if f.temp {
		_ = os.Remove(f.path) // it lies in the system's temporary directory
	}
}

// look reads the head.
func (f *file) look() error {
	in, err := f.content()
	if err != nil {
		return err
	}
	defer in.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(in, head)
	f.head = format.Head{Bytes: bytes.Clone(head[:n]), Whole: errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)}
	var data *traces.DataError
	if err != nil && !f.head.Whole || errors.As(err, &data) {
		return err
	}
	return nil
}

// detect finds the format by the head.
func (f *file) detect(opts Options) (Format, error) {
	if bytes.HasPrefix(f.head.Bytes, []byte("PAR1")) {
		f.head.Columns = f.columns()
		for _, p := range formats {
			if p.Parquet && p.Sniff(f.head).Err == nil {
				f.in.raw = p
				return Format(p.Name), nil
			}
		}
		return Parquet, nil
	}
	if opts.Columns != nil {
		f.in.raw = opts.Columns.Format()
		return Format(f.in.raw.Name), nil
	}
	var err error
	if f.in.raw, err = formatOf(f.head); err != nil {
		var data *traces.DataError
		if errors.As(err, &data) {
			data.File = f.name
		}
		return "", err
	}
	return Format(f.in.raw.Name), nil
}

// columns are those of a Parquet file; what is wrong with one that has none is said where it is opened as a table.
func (f *file) columns() []string {
	if f.archive != nil {
		return nil
	}
	names, err := format.ParquetColumns(f.path)
	if err != nil {
		return nil
	}
	return names
}

// Magic numbers at the start of a file.
var (
	magicGzip  = []byte{0x1f, 0x8b}
	magicBzip2 = []byte("BZh")
	magicXZ    = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	// otherPackings are known so that the refusal can name them.
	otherPackings = []struct {
		magic string
		name  string
	}{
		{"\x28\xb5\x2f\xfd", "zstd"}, {"PK\x03\x04", "zip"},
		{"\x04\x22\x4d\x18", "lz4"}, {"7z\xbc\xaf\x27\x1c", "7-Zip"}, {"\x1f\x9d", "compress"},
	}
)

// content opens the input from its start, decompressed, or the member of an archive.
func (f *file) content() (io.ReadCloser, error) {
	if f.archive != nil {
		return f.archive.open(f.index)
	}
	in, err := f.unpack()
	if err != nil {
		return nil, err
	}
	return in, nil
}

// unpack opens the file and decompresses it if its first bytes say that it
// is compressed. What is wrong with the compression is a DataError.
func (f *file) unpack() (*content, error) {
	raw, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	packed := &counted{r: f.watched(raw)}
	in := &content{name: f.name, file: raw, packed: packed}
	buffered := bufio.NewReaderSize(packed, headBytes)
	head, err := buffered.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", f.name, err), raw.Close())
	}
	switch {
	case bytes.HasPrefix(head, magicGzip):
		in.packing = "gzip"
		in.r, err = gzip.NewReader(buffered)
	case bytes.HasPrefix(head, magicXZ):
		in.packing = "xz"
		in.r, err = f.xz(buffered)
	case bytes.HasPrefix(head, magicBzip2):
		in.packing = "bzip2"
		in.r, err = bzip2.NewReader(buffered), nil
	default:
		in.r, err = buffered, nil
		for _, p := range otherPackings {
			if bytes.HasPrefix(head, []byte(p.magic)) {
				err = &traces.DataError{File: f.name, Found: p.name + " data", Expected: "a log, plain or compressed by gzip, bzip2 or xz",
					Mend: "unpack it first"}
			}
		}
	}
	if err != nil {
		return nil, errors.Join(in.damaged(err), raw.Close())
	}
	if in.packing != "" {
		in.r = &unpacked{name: f.name, packed: packed, r: in.r}
	}
	return in, nil
}

// What compressed data may unpack to: logs are 5 to 30 times as large, gzip of nothing
// but zeros is 1,032 times, and xz 7,000 times.
const (
	freeBytes = 256 << 20 // however small it was
	mostRatio = 250
)

// counted counts the bytes that are read.
type counted struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// unpacked is what comes out of a decompressor, which must not be out of all proportion.
type unpacked struct {
	name   string
	packed *counted
	r      io.Reader
	n      int64
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.n += int64(n); u.n > freeBytes && u.n/mostRatio > u.packed.n {
		return 0, &traces.DataError{File: u.name, Found: fmt.Sprintf("%d bytes that unpack to more than %d", u.packed.n, u.n-1),
			Expected: fmt.Sprintf("at most %d times as many", mostRatio), Mend: "unpack it by hand if it is a log"}
	}
	return n, err
}

// watchBytes is how often a watcher is called.
const watchBytes = 2 << 20

// watched counts what is read of the raw file for the import's watcher.
func (f *file) watched(raw *os.File) io.Reader {
	if f.in.watch == nil {
		return raw
	}
	f.in.next = f.in.read // it is told where each pass begins
	return &watched{in: f.in, raw: raw}
}

// work is how many bytes both passes over all files read. Archives are read whole.
func (in *inputs) work() (total int64) {
	seen := map[*archive]bool{}
	for _, f := range in.list {
		if f.archive != nil && seen[f.archive] {
			continue
		}
		if f.archive != nil {
			seen[f.archive] = true
		}
		if st, err := os.Stat(f.path); err == nil {
			total += 2 * st.Size()
		}
	}
	return total
}

// watched is a file that tells how far the import is.
type watched struct {
	in  *inputs
	raw *os.File
}

// stopped is the watcher's error, told apart from damage to the data.
type stopped struct{ error }

// Unwrap gives the watcher's error.
func (s stopped) Unwrap() error { return s.error }

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	if w.in.read >= w.in.next {
		w.in.next = w.in.read + watchBytes
		if err := w.in.watch(min(w.in.read, w.in.total), w.in.total); err != nil {
			return 0, stopped{err}
		}
	}
	n, err := w.raw.Read(p)
	w.in.read += int64(n)
	return n, err
}

// content is the decompressed input.
type content struct {
	name    string
	packing string // "" when the file is plain
	file    *os.File
	packed  *counted
	r       io.Reader
}

// Read implements io.Reader. A panic of a decompressor on malformed input is
// turned into an error like any other damage.
func (c *content) Read(p []byte) (n int, err error) {
	if c.packing != "" {
		defer func() {
			if r := recover(); r != nil {
				n, err = 0, c.damaged(fmt.Errorf("%v", r))
			}
		}()
	}
	n, err = c.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.damaged(err)
	}
	return n, err
}

// Close implements io.Closer.
func (c *content) Close() error { return c.file.Close() }

// damaged says that the compressed data cannot be read.
func (c *content) damaged(err error) error {
	var path *fs.PathError
	var stop stopped
	var data *traces.DataError
	if c.packing == "" || errors.As(err, &path) || errors.As(err, &stop) || errors.As(err, &data) {
		return err
	}
	return &traces.DataError{File: c.name, Found: "damaged or cut short " + c.packing + " data", Expected: "a whole " + c.packing + " file",
		Mend: "fetch the file again", Cause: err}
}
