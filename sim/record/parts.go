package record

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parts are what a table that was written just now is read as, so that the library describes to itself
// no more row groups at a time than when it was written. Each is the pages of the file and a footer of
// its own.
type parts struct {
	footer *footer
	pages  int64               // bytes of the file up to where they end
	last   format.FileMetaData // what the library says of the last part, but for its row groups
}

func (p *parts) number() int { return max(1, (len(p.footer.ends)+partGroups-1)/partGroups) }

// open reads the footer of part i.
func (p *parts) open(file io.ReaderAt, i int) (*parquet.File, error) {
	first, end := i*partGroups, min((i+1)*partGroups, len(p.footer.ends))
	from, to := 0, 0
	if first > 0 {
		from = p.footer.ends[first-1]
	}
	if end > 0 {
		to = p.footer.ends[end-1]
	}
	rows := min(p.footer.rows, int64(end)*rowGroupRows) - int64(first)*rowGroupRows
	before, behind, err := around(&p.last, rows, end-first)
	if err != nil {
		return nil, err
	}
	text := append(append(before, p.footer.groups[from:to]...), behind...)
	text = append(text, trailer(len(text))...)
	return parquet.OpenFile(&partReader{file, p.pages, text}, p.pages+int64(len(text)), readOptions...)
}

// partReader reads a file with another footer.
type partReader struct {
	file   io.ReaderAt
	pages  int64
	footer []byte
}

// ReadAt implements io.ReaderAt.
func (p *partReader) ReadAt(b []byte, at int64) (n int, err error) {
	if at < p.pages {
		if n, err = p.file.ReadAt(b[:min(int64(len(b)), p.pages-at)], at); err != nil {
			return n, err
		}
	}
	behind := min(at+int64(n)-p.pages, int64(len(p.footer)))
	if n < len(b) {
		n += copy(b[n:], p.footer[behind:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
