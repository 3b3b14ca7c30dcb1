package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ulikunitz/xz"

	"orrery/traces"
	"orrery/traces/importer/swf"
)

// Format is what a file is, by its content.
type Format string

// The formats a trace can be read from.
const (
	Bundle  Format = "trace bundle"  // a directory of Parquet tables
	Parquet Format = "Parquet table" // one table of jobs
	SWF     Format = "SWF log"       // plain or compressed
)

// Detect says what the file or directory at path is. It looks at the content;
// the name does not matter. What no reader accepts is a DataError that says
// what was found.
func Detect(path string) (Format, error) {
	f, err := open(path)
	if err != nil {
		return "", err
	}
	defer f.close()
	return f.format, nil
}

// headBytes is how much of a file, decompressed, decides its format.
const headBytes = 64 << 10

// file is an input whose format is known.
type file struct {
	name   string // as the user named it, for messages
	path   string // what is read: another file when the user's is a pipe
	format Format
	temp   bool // path is a copy to be removed

	watch func(done, total int64) error // of the import under way, may be nil
	read  int64                         // bytes of the passes over the file so far
}

// open finds the format of an input. A pipe is copied to a temporary file,
// since an import reads twice.
func open(path string) (f *file, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f = &file{name: path, path: path}
	if st.IsDir() {
		_, err := os.Stat(filepath.Join(path, "jobs.parquet"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &traces.DataError{File: path, Found: "a directory without jobs.parquet", Expected: "a trace",
				Mend: "name a trace bundle, a Parquet table of jobs, or a workload log"}
		}
		f.format = Bundle
		return f, err
	}
	if !st.Mode().IsRegular() {
		if err := f.spool(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	if err := f.detect(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
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
		return err
	}
	f.path, f.temp = to.Name(), true
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
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

// detect reads the head and sets the format.
func (f *file) detect() error {
	in, err := f.content()
	if err != nil {
		return err
	}
	defer in.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(in, head)
	head = head[:n]
	atEOF := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	var data *traces.DataError
	if err != nil && !atEOF || errors.As(err, &data) {
		return err
	}
	if bytes.HasPrefix(head, []byte("PAR1")) {
		f.format = Parquet
		return nil
	}
	if err := swf.Sniff(head, atEOF); err != nil {
		if errors.As(err, &data) {
			data.File = f.name
		}
		return err
	}
	f.format = SWF
	return nil
}

// Magic numbers at the start of a file.
var (
	magicGzip = []byte{0x1f, 0x8b}
	magicXZ   = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	// otherPackings are known so that the refusal can name them.
	otherPackings = []struct {
		magic string
		name  string
	}{
		{"BZh", "bzip2"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"PK\x03\x04", "zip"},
		{"\x04\x22\x4d\x18", "lz4"}, {"7z\xbc\xaf\x27\x1c", "7-Zip"}, {"\x1f\x9d", "compress"},
	}
)

// content opens the input and decompresses it if its first bytes say that it
// is compressed. What is wrong with the compression is a DataError.
func (f *file) content() (io.ReadCloser, error) {
	raw, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	in := &content{name: f.name, file: raw}
	buffered := bufio.NewReaderSize(f.watched(raw), headBytes)
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
		in.r, err = xz.NewReader(buffered)
	default:
		in.r, err = buffered, nil
		for _, p := range otherPackings {
			if bytes.HasPrefix(head, []byte(p.magic)) {
				err = &traces.DataError{File: f.name, Found: p.name + " data", Expected: "a log, plain or compressed by gzip or xz",
					Mend: "unpack it first"}
			}
		}
	}
	if err != nil {
		return nil, errors.Join(in.damaged(err), raw.Close())
	}
	return in, nil
}

// watchBytes is how often a watcher is called.
const watchBytes = 2 << 20

// watched counts what is read of the raw file for the import's watcher.
func (f *file) watched(raw *os.File) io.Reader {
	st, err := raw.Stat()
	if f.watch == nil || err != nil {
		return raw
	}
	return &watched{f: f, raw: raw, total: 2 * st.Size(), next: f.read}
}

// watched is a file that tells how far it is read.
type watched struct {
	f     *file
	raw   *os.File
	total int64 // bytes of both passes
	next  int64 // when to call the watcher again
}

// stopped is the watcher's error, told apart from damage to the data.
type stopped struct{ error }

// Unwrap gives the watcher's error.
func (s stopped) Unwrap() error { return s.error }

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	if w.f.read >= w.next {
		w.next = w.f.read + watchBytes
		if err := w.f.watch(min(w.f.read, w.total), w.total); err != nil {
			return 0, stopped{err}
		}
	}
	n, err := w.raw.Read(p)
	w.f.read += int64(n)
	return n, err
}

// content is the decompressed input.
type content struct {
	name    string
	packing string // "" when the file is plain
	file    *os.File
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
	if c.packing == "" || errors.As(err, &path) || errors.As(err, &stop) {
		return err
	}
	return &traces.DataError{File: c.name, Found: "damaged or cut short " + c.packing + " data", Expected: "a whole " + c.packing + " file",
		Mend: "fetch the file again", Cause: err}
}
