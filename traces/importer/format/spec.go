package format

import (
	"slices"
	"strings"
)

// Spec is a format of delimited text whose files are all of one layout.
type Spec struct {
	Format Format // Sniff and Scan are set, unless they are given
	Layout Layout
	// Relative says that instants count from a zero of the log's own.
	Relative bool
	// Begin prepares an import: what is assumed, which zone; nil for nothing.
	Begin func(*Table, Options) error
	// Row hands what a row says to the sink; the error of the cells is looked at behind it.
	Row func(*Table, *Cells, *Sink) error
}

// Build makes the format of a spec.
func (s Spec) Build() *Format {
	f := s.Format
	if f.Files == 0 {
		f.Files = ManyFiles
	}
	if f.Sniff == nil {
		f.Sniff = func(h Head) Match { return HeaderMatch(h, s.Layout.Comma, s.Layout.Columns...) }
	}
	f.Scan = s.scan
	return &f
}

// ManyFiles is how many files of one format may be given together.
const ManyFiles = 1 << 10

func (s Spec) scan(f *Format, files []File, o Options) (Scanned, error) {
	t := NewTable(f, files, s.Layout)
	t.Log.Relative, t.Clock.Zone = s.Relative, o.Zone
	if s.Begin != nil {
		if err := s.Begin(t, o); err != nil {
			return nil, err
		}
	}
	t.Row = func(c *Cells, sink *Sink) error {
		if err := s.Row(t, c, sink); err != nil {
			return err
		}
		return c.Err
	}
	return t.Scan()
}

// Exact is a match of a file whose columns are those of the layout and no others: for formats
// whose columns others have as well.
func Exact(h Head, comma rune, columns ...string) Match {
	m := HeaderMatch(h, comma, columns...)
	names, err := Header(h, comma)
	if m.Err != nil || err != nil {
		return m
	}
	for _, n := range names {
		if !slices.Contains(columns, n) && !slices.Contains(columns, n+"?") {
			return No(90, 1, "a column "+Excerpt(n), "the columns "+Excerpt(strings.Join(columns, ",")), "name another file")
		}
	}
	return m
}
