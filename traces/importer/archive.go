package importer

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/format"
)

// What an archive may hold. Archives of logs have tens of members; their bytes are bounded as
// those of compressed data are, so that a sparse member of terabytes is none.
const (
	mostMembers    = 100_000 // of any kind, folders too
	mostMemberName = 4096    // bytes, with the folders
)

// archive is a tar archive, plain or compressed. Its members are read one after another: one
// that is opened behind the last that was closed goes on from there, so that a pass over all
// of them reads the archive once.
type archive struct {
	of   *file
	idle *cursor // behind the last member that was closed, nil for none
}

// cursor is a place in an archive.
type cursor struct {
	in   *content
	tar  *tar.Reader
	body io.Reader // of the member, bounded
	next int       // index of the member that Next gives
}

// isTar says whether the head is that of a tar archive.
func (f *file) isTar() bool {
	return len(f.head.Bytes) >= 512 && bytes.HasPrefix(f.head.Bytes[257:], []byte("ustar"))
}

// start is a cursor before the first member.
func (a *archive) start() (*cursor, error) {
	in, err := a.of.unpack()
	if err != nil {
		return nil, err
	}
	c := &cursor{in: in, tar: tar.NewReader(in)}
	c.body = &unpacked{name: in.name, packed: in.packed, r: c.tar}
	return c, nil
}

// step goes on to the next member; io.EOF behind the last.
func (c *cursor) step() (*tar.Header, error) {
	h, err := c.tar.Next()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, c.damaged(err)
	}
	if c.next++; c.next > mostMembers {
		return nil, &traces.DataError{File: c.in.name, Found: fmt.Sprintf("an archive of more than %d members", mostMembers), Expected: "fewer",
			Mend: "unpack it, and name its files"}
	}
	if len(h.Name) > mostMemberName {
		return nil, &traces.DataError{File: c.in.name, Found: fmt.Sprintf("a member whose name has %d bytes", len(h.Name)),
			Expected: fmt.Sprintf("at most %d", mostMemberName), Mend: "fetch the file again"}
	}
	return h, nil
}

// each goes through the files of an archive once, each with its head. What macOS adds to
// archives (._NAME) is left out.
func (a *archive) each(fn func(*file) error) error {
	c, err := a.start()
	if err != nil {
		return err
	}
	defer c.in.Close()
	head := make([]byte, headBytes)
	for {
		h, err := c.step()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse || strings.HasPrefix(path.Base(h.Name), "._") {
			continue
		}
		n, err := io.ReadFull(c, head)
		whole := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !whole {
			return err
		}
		err = fn(&file{in: a.of.in, name: a.of.name + ":" + h.Name, path: a.of.path, archive: a, index: c.next - 1,
			head: format.Head{Bytes: bytes.Clone(head[:n]), Whole: whole}})
		if err != nil {
			return err
		}
	}
}

// Read implements io.Reader of the member that the cursor is at.
func (c *cursor) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.damaged(err)
	}
	return n, err
}

// damaged says that an archive cannot be read. The cause must not look like the end of a
// member.
func (c *cursor) damaged(err error) error {
	var path *fs.PathError
	var stop stopped
	var data *traces.DataError
	if errors.As(err, &path) || errors.As(err, &stop) || errors.As(err, &data) {
		return err
	}
	return &traces.DataError{File: c.in.name, Found: "a damaged or cut tar archive", Expected: "a whole one", Mend: "fetch the file again",
		Cause: errors.New(err.Error())}
}

// open opens a member from its start.
func (a *archive) open(index int) (io.ReadCloser, error) {
	c := a.idle
	a.idle = nil
	if c != nil && c.next > index {
		if err := c.in.Close(); err != nil {
			return nil, err
		}
		c = nil
	}
	if c == nil {
		var err error
		if c, err = a.start(); err != nil {
			return nil, err
		}
	}
	for c.next <= index {
		if _, err := c.step(); err != nil {
			return nil, errors.Join(err, c.in.Close())
		}
	}
	return &member{a, c}, nil
}

// member is an open member.
type member struct {
	of *archive
	*cursor
}

// Close keeps the cursor for the member that follows.
func (m *member) Close() error {
	c := m.cursor
	m.cursor = nil
	switch {
	case c == nil:
		return nil
	case m.of.idle == nil:
		m.of.idle = c
		return nil
	}
	return c.in.Close()
}

// close ends all reading, and removes the copy of a pipe.
func (a *archive) close() {
	if a.idle != nil {
		_ = a.idle.in.Close() // only read
		a.idle = nil
	}
	if a.of.temp {
		_ = os.Remove(a.of.path) // it lies in the system's temporary directory
		a.of.temp = false
	}
}

// unpackMembers puts the members of an archive in its place: those of the format of the first
// that is of one. Others, as notes on the data, are passed over.
func (in *inputs) unpackMembers(f *file, opts Options) (Format, error) {
	in.list = in.list[:len(in.list)-1]
	a := &archive{of: f}
	in.archives = append(in.archives, a)
	var of Format
	var raw *format.Format
	var refused error
	names := map[string]bool{}
	err := a.each(func(f *file) error {
		one, err := f.detect(opts)
		if err == nil && !one.Raw() {
			err = &traces.DataError{File: f.name, Found: "a " + string(one) + " inside an archive", Expected: "raw files", Mend: "unpack the archive, and name the file"}
		}
		switch {
		case err != nil:
			if refused == nil {
				refused = err
			}
			return nil
		case raw == nil:
			of, raw = one, in.raw
		case one != of:
			return nil
		}
		if names[f.name] {
			return &traces.DataError{File: f.name, Found: "two members of that name", Expected: "one", Mend: "unpack the archive, and name the file that holds"}
		}
		names[f.name] = true
		in.list = append(in.list, f)
		in.raw = raw
		return in.fewEnough(len(in.list))
	})
	in.raw = raw
	switch {
	case err != nil:
		return "", err
	case raw == nil && refused != nil:
		return "", refused
	case raw == nil:
		return "", &traces.DataError{File: f.name, Found: "an archive without files", Expected: "raw files", Mend: "name another file"}
	}
	return of, nil
}
