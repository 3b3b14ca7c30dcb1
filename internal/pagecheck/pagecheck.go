package pagecheck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Limits on what a file may claim. Writers in use stay far below them; a
// damaged or hostile file cannot make a reader allocate more than a few pages
// of this size.
const (
	maxFooter     = 64 << 20  // bytes of a footer
	maxPage       = 128 << 20 // bytes of a page, uncompressed
	maxPageValues = 4 << 20   // rows of a page
	maxRows       = 1<<31 - 1 // rows of a table: row indexes are 32-bit
)

// Footer walks the footer of a Parquet file before the library decodes
// it.
func Footer(r io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return fmt.Errorf("%d bytes are too few for a Parquet file", size)
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return err
	}
	if string(tail[4:]) != "PAR1" {
		return errors.New("the file does not end as a Parquet file does")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-12 || n > maxFooter {
		return fmt.Errorf("a footer of %d bytes in a file of %d", n, size)
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-8-n); err != nil {
		return err
	}
	c := compact{b: footer}
	return c.fields(0, nil)
}

// Groups compares the counts in the footer with each other.
func Groups(f *parquet.File) error {
	m := f.Metadata()
	rows := int64(0)
	for i := range m.RowGroups {
		g := &m.RowGroups[i]
		if g.NumRows < 0 || g.NumRows > maxRows {
			return fmt.Errorf("row group %d claims %d rows", i, g.NumRows)
		}
		if rows += g.NumRows; rows > maxRows {
			return fmt.Errorf("more than %d rows", maxRows)
		}
	}
	if rows != m.NumRows {
		return fmt.Errorf("the row groups hold %d rows and the footer says %d", rows, m.NumRows)
	}
	return nil
}

// pageHeader is what the check needs of a page header.
type pageHeader struct {
	kind         format.PageType
	uncompressed int64
	compressed   int64
	crc          bool
	values       int64
	nulls        int64
	encoding     format.Encoding
	levels       int64 // bytes of repetition and definition levels of a v2 page
	repeats      int64 // bytes of the repetition levels among them
	plainBody    bool  // a v2 page that is not compressed
}

func (h *pageHeader) parse(c *compact) error {
	*h = pageHeader{}
	return c.fields(0, func(id int, wire byte) (bool, error) {
		var at *int64
		switch id {
		case 1:
			n, err := c.number(wire)
			h.kind = format.PageType(n)
			return true, err
		case 2:
			at = &h.uncompressed
		case 3:
			at = &h.compressed
		case 4:
			n, err := c.number(wire)
			h.crc = n != 0
			return true, err
		case 5, 7, 8:
			if wire != wireStruct {
				return false, errCompact
			}
			return true, c.fields(1, func(sub int, wire byte) (bool, error) { return h.part(c, id, sub, wire) })
		default:
			return false, nil
		}
		n, err := c.number(wire)
		*at = n
		return true, err
	})
}

// part reads a field of a data page header (5), a dictionary page header (7)
// or a v2 data page header (8).
func (h *pageHeader) part(c *compact, of, id int, wire byte) (bool, error) {
	if of == 8 && id == 7 {
		h.plainBody = wire == wireFalse
		return true, nil
	}
	if last := map[int]int{5: 2, 7: 2, 8: 6}[of]; id > last {
		return false, nil
	}
	n, err := c.number(wire)
	switch {
	case id == 1:
		h.values = n
	case of != 8 && id == 2, of == 8 && id == 4:
		h.encoding = format.Encoding(n)
	case of == 8 && id == 2:
		h.nulls = n
	case of == 8 && id >= 5:
		if n < 0 {
			return true, errCompact
		}
		h.levels += n
		if id == 6 {
			h.repeats = n
		}
	}
	return true, err
}

// Checker looks at the pages of one file before the library does.
type Checker struct {
	r      io.ReaderAt
	size   int64
	file   *parquet.File
	window []byte // page headers are read here
	body   []byte // bodies of pages without a checksum
	unpack unpacker
}

// New is for the pages of an open file of so many bytes, whose footer was checked.
func New(r io.ReaderAt, size int64, file *parquet.File) *Checker {
	return &Checker{r: r, size: size, file: file}
}

// Levels are the highest levels of the values of a column: of a plain one 0 and 0, of an
// optional one 0 and 1, more where it is nested or repeated.
type Levels struct{ Repeat, Define int }

// Flat are the levels of a column that is neither nested nor repeated.
func Flat(optional bool) Levels {
	if optional {
		return Levels{Define: 1}
	}
	return Levels{}
}

// Chunk walks the page headers of one column chunk: the pages must lie inside
// the file, be of bearable size and hold as many rows as the row group says, where each
// row has one value.
// Pages without a checksum have the counts of their body checked too.
func (k *Checker) Chunk(group, column int, of Levels) error {
	m := k.file.Metadata()
	meta := &m.RowGroups[group].Columns[column].MetaData
	start := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		start = meta.DictionaryPageOffset
	}
	end := start + meta.TotalCompressedSize
	if start < 4 || meta.TotalCompressedSize < 0 || end < start || end > k.size {
		return fmt.Errorf("a column chunk at bytes %d to %d of a file of %d", start, end, k.size)
	}
	rows := int64(0)
	for start < end {
		h, n, err := k.header(start, end)
		if err != nil {
			return fmt.Errorf("page at byte %d: %w", start, err)
		}
		body := start + int64(n)
		if err := h.check(end - body); err != nil {
			return fmt.Errorf("page at byte %d: %w", start, err)
		}
		if h.kind != format.DictionaryPage {
			rows += h.values
		}
		if !h.trusted(meta.Codec) {
			if err := k.payload(&h, body, meta, of); err != nil {
				return fmt.Errorf("page at byte %d: %w", start, err)
			}
		}
		start = body + h.compressed
	}
	if want := m.RowGroups[group].NumRows; rows != want && of.Repeat == 0 {
		return fmt.Errorf("the pages of a column hold %d rows and its row group %d", rows, want)
	}
	return nil
}

// Pages opens the pages of one column chunk after they were checked.
func (k *Checker) Pages(group, column int, of Levels) (parquet.Pages, error) {
	if err := k.Chunk(group, column, of); err != nil {
		return nil, err
	}
	return k.file.RowGroups()[group].ColumnChunks()[column].Pages(), nil
}

// header decodes the page header at byte start; n is its length.
func (k *Checker) header(start, end int64) (h pageHeader, n int, err error) {
	for size := int64(512); ; size *= 8 {
		size = min(size, end-start)
		if int64(len(k.window)) < size {
			k.window = make([]byte, size)
		}
		b := k.window[:size]
		if _, err := k.r.ReadAt(b, start); err != nil && !errors.Is(err, io.EOF) {
			return h, 0, err
		}
		c := compact{b: b}
		err := h.parse(&c)
		if errors.Is(err, errShort) && size < end-start && size < 1<<20 {
			continue
		}
		return h, c.pos, err
	}
}

// trusted says that the library may decode the page as it is: it compares the
// checksum before it decompresses, and codec and encoding, which the checksum
// does not cover, are those of our own files, whose decoders cannot be led
// astray by a body that is whole. A checksum guards against damage, not
// against forgery.
func (h *pageHeader) trusted(codec format.CompressionCodec) bool {
	if !h.crc || codec != format.Zstd {
		return false
	}
	switch h.encoding {
	case format.Plain, plainDictionary, format.RLEDictionary, format.DeltaBinaryPacked, format.RLE:
		return true
	}
	return false
}

func (h *pageHeader) check(left int64) error {
	switch {
	case h.compressed < 0 || h.compressed > left:
		return fmt.Errorf("%d bytes where %d are left", h.compressed, left)
	case h.uncompressed < 0 || h.uncompressed > maxPage:
		return fmt.Errorf("%d bytes uncompressed; at most %d are accepted", h.uncompressed, maxPage)
	case h.values < 0 || h.values > maxPageValues:
		return fmt.Errorf("%d values; at most %d are accepted: write smaller row groups", h.values, maxPageValues)
	case h.nulls < 0 || h.nulls > h.values:
		return fmt.Errorf("%d nulls among %d values", h.nulls, h.values)
	case h.levels > h.compressed:
		return fmt.Errorf("%d bytes of levels in a page of %d", h.levels, h.compressed)
	}
	return nil
}
