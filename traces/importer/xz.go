package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/therootcompany/xz"

	"orrery/traces"
)

// DefaultXZDictionary is the largest dictionary of xz data that is unpacked unless a larger
// one is allowed, in bytes: that of xz -9, the largest preset.
const DefaultXZDictionary = xz.DefaultDictMax

// xz unpacks xz data. What a block says about its dictionary is held to the limit before
// anything is allocated by it, and all blocks share one dictionary.
func (f *file) xz(r io.Reader) (io.Reader, error) {
	most := cmp.Or(f.in.dictionary, DefaultXZDictionary)
	z, err := xz.NewReader(r, uint32(min(most, math.MaxUint32)))
	x := &xzReader{z, f.name, most}
	return x, x.said(err)
}

// xzReader says of a dictionary beyond the limit what to do.
type xzReader struct {
	r    *xz.Reader
	name string
	most int64
}

// Read implements io.Reader.
func (x *xzReader) Read(p []byte) (int, error) {
	n, err := x.r.Read(p)
	return n, x.said(err)
}

func (x *xzReader) said(err error) error {
	if errors.Is(err, xz.ErrMemlimit) {
		return &traces.DataError{File: x.name, Found: fmt.Sprintf("xz data that needs a dictionary of more than %d MiB", x.most>>20), Expected: "a smaller one",
			Mend: "allow it by orrery import --xz-dictionary SIZE, or unpack it by xz -d"}
	}
	return err
}
