// Package pagecheck looks at a Parquet file before the library decodes it, which makes room for
// whatever a file claims: the counts in the footer, in the headers of pages and inside their
// bodies have to agree with the bytes that are there.
package pagecheck

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Parquet is an open Parquet file of any schema, as the tools of others write them.
// The library allocates what a file claims; here nothing is decoded before its counts were
// found to agree with its bytes.
type Parquet struct {
	file   *parquet.File
	check  *Checker
	levels []Levels // by column
}

// Open checks and decodes the footer. It reads no row. It panics where the library does.
func Open(r io.ReaderAt, size int64) (*Parquet, error) {
	if err := Footer(r, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	if err := Groups(file); err != nil {
		return nil, err
	}
	p := &Parquet{file: file, check: New(r, size, file)}
	for _, path := range file.Schema().Columns() {
		leaf, found := file.Schema().Lookup(path...)
		if !found || leaf.MaxDefinitionLevel > maxLevel || leaf.MaxRepetitionLevel > maxLevel {
			return nil, fmt.Errorf("no column %v within %d levels", path, maxLevel)
		}
		p.levels = append(p.levels, Levels{leaf.MaxRepetitionLevel, leaf.MaxDefinitionLevel})
	}
	return p, nil
}

// maxLevel is how deep columns are nested: levels take 8 bits at most.
const maxLevel = 100

// Schema is that of the file.
func (p *Parquet) Schema() *parquet.Schema { return p.file.Schema() }

// Groups is how many row groups there are.
func (p *Parquet) Groups() int { return len(p.file.RowGroups()) }

// Group is a row group of which all pages were checked.
func (p *Parquet) Group(i int) (parquet.RowGroup, error) {
	columns := p.file.Metadata().RowGroups[i].Columns
	if len(columns) != len(p.levels) {
		return nil, fmt.Errorf("%d columns in a row group and %d in the schema", len(columns), len(p.levels))
	}
	for c, of := range p.levels {
		if codec := columns[c].MetaData.Codec; !Unpacks(codec) {
			return nil, errors.New("pages compressed by " + codec.String() + ", which is not read")
		}
		if err := p.check.Chunk(i, c, of); err != nil {
			return nil, err
		}
	}
	return p.file.RowGroups()[i], nil
}
