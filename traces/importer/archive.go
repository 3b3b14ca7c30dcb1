package importer

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"

	"orrery/traces"
)

// members lists the files of a tar archive, plain or compressed; nil when f is none. What
// macOS adds to archives (._NAME) is left out.
func (f *file) members() ([]string, error) {
	in, err := f.content()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c := in.(*content)
	head := make([]byte, 512)
	n, err := io.ReadFull(c.r, head)
	if err != nil || !bytes.HasPrefix(head[257:n], []byte("ustar")) {
		return nil, nil // what is wrong with it is said where it is read as a log
	}
	archive := tar.NewReader(io.MultiReader(bytes.NewReader(head), c))
	names := []string{}
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return names, nil
		case err != nil:
			return nil, c.unarchived(err)
		case h.Typeflag == tar.TypeReg && !strings.HasPrefix(path.Base(h.Name), "._"):
			names = append(names, h.Name)
		}
	}
}

// seek leaves what follows of c to be a member of the archive.
func (c *content) seek(member string) error {
	whole := *c
	archive := tar.NewReader(&whole)
	for {
		h, err := archive.Next()
		if err != nil {
			return c.unarchived(err)
		}
		if h.Typeflag == tar.TypeReg && h.Name == member {
			c.r = archive
			return nil
		}
	}
}

// unarchived says that an archive cannot be read.
func (c *content) unarchived(err error) error {
	var data *traces.DataError
	if errors.As(err, &data) {
		return err
	}
	return &traces.DataError{File: c.name, Found: "a damaged or cut tar archive", Expected: "a whole one", Mend: "fetch the file again", Cause: err}
}
