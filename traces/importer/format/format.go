// Package format is what the importers of the formats have in common: what a format
// is to the registry, the files that it reads, the account of rows by table, rows of
// delimited text, and instants in time zones. It does not know which formats there are.
package format

import (
	"io"
	"time"

	"orrery/traces"
)

// File is an input. Open opens it from its start, decompressed; an import opens it
// twice.
type File struct {
	Name string // as the user named it
	Open func() (io.ReadCloser, error)
	Head Head
	Path string // of a Parquet file, "" of others
	// Bad takes the rows that cannot be read, nil where none is left out. The files of an import share it.
	Bad *Bad
}

// Head is what a file begins with, decompressed, up to 64 KiB.
type Head struct {
	Bytes []byte
	Whole bool // it is all of the file
	// Columns are the names of the columns of a Parquet file, nil of others.
	Columns []string
}

// Options say what files do not say themselves.
type Options struct {
	// Zone is that of times without one; nil when it was not given. Formats load no
	// zones of their own.
	Zone *time.Location
	// Service is the name of the service whose load a file is; "" for that of the
	// format.
	Service string
	// Sequence says that jobs without times come one after another.
	Sequence bool
}

// Format is a kind of file that becomes a bundle.
type Format struct {
	Name string // in reports and in the names of cached imports
	// Version is raised whenever the same file may import differently: cached imports
	// of other versions are not used.
	Version int
	What    string // for people, in the plural
	// Files is how many files may be given together, 1 or more.
	Files int
	// Untested says that the format is known by its description alone: no rows of
	// its source were at hand.
	Untested bool
	// Parquet says that its files are Parquet, which others are not.
	Parquet bool
	// Zoned says that its times may be in a zone that the file does not name, Served that
	// a file is the load of one service that it does not name.
	Zoned, Served bool
	// Sequenced says that its jobs may have no times, so that they can be told to come one after another.
	Sequenced bool
	// Sniff judges a file by its beginning; its name does not matter.
	Sniff func(Head) Match
	// Scan reads the files through and answers a DataError, with the line, where one is
	// not of the format. It keeps no rows. The first argument is the format.
	Scan func(*Format, []File, Options) (Scanned, error)
}

// Match says how near a file comes to a format.
type Match struct {
	Percent int // how much of what was looked for is there
	// Err is why it is not of the format, without the name of the file; nil when it is.
	Err *traces.DataError
}

// Scanned is input that was read through once and whose rows can be written.
type Scanned interface {
	// Write reads the input again and writes the bundle's rows.
	Write(*traces.Writer) error
	// Report says what became of the rows; it is complete behind Write.
	Report() traces.Report
	// Meta is the metadata of the bundle, with the report that it keeps.
	Meta(traces.Report) (traces.Meta, error)
}
