package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic begins and ends a Parquet file.
const magic = "PAR1"

// footer is what stands behind the pages of a file: where they are and what is in them. The Parquet
// library holds more than half a kilobyte of that in memory for each column of each row group until the
// file ends. So it is made to write a file as parts, which are files to it, and what it says of a part
// is kept here as the bytes that stand in the end, a fifth of it.
type footer struct {
	columnIndexes, offsetIndexes []byte
	groups                       []byte // row groups, which say neither where their indexes are nor which they are
	ends                         []int  // of each in groups
	columns                      []columnEnd
	rows                         int64
}

// columnEnd is where a column of a row group ends in groups, and how long its indexes are. There the
// fields are to be put in that say where and how long they are, which are the last ones.
type columnEnd struct{ at, columnIndex, offsetIndex int32 }

var compact thrift.CompactProtocol

// add takes in what the library says of a part, and what it wrote behind the pages of it: the indexes of
// the columns, and then of the offsets. In the file everything is so many bytes further behind.
func (f *footer) add(part *format.FileMetaData, behind []byte, shift int64) error {
	if len(f.ends)+len(part.RowGroups) > parquet.MaxRowGroups {
		return parquet.ErrTooManyRowGroups
	}
	next := func(n int32) (b []byte) {
		b, behind = behind[:n], behind[n:]
		return b
	}
	for i := range part.RowGroups {
		for k := range part.RowGroups[i].Columns {
			f.columnIndexes = append(f.columnIndexes, next(part.RowGroups[i].Columns[k].ColumnIndexLength)...)
		}
	}
	var text bytes.Buffer
	enc := thrift.NewEncoder(compact.NewWriter(&text))
	for i := range part.RowGroups {
		g := part.RowGroups[i]
		part.RowGroups[i] = format.RowGroup{} // or the library would clear it for the next part, with names of columns that it goes on using
		for k := range g.Columns {
			var pages format.OffsetIndex
			if err := thrift.Unmarshal(&compact, next(g.Columns[k].OffsetIndexLength), &pages); err != nil {
				return err
			}
			for n := range pages.PageLocations {
				pages.PageLocations[n].Offset += shift
			}
			text.Reset()
			if err := enc.Encode(&pages); err != nil {
				return err
			}
			f.offsetIndexes = append(f.offsetIndexes, text.Bytes()...)
			g.Columns[k].OffsetIndexLength = int32(text.Len())
		}
		if err := f.addGroup(&g, shift); err != nil {
			return err
		}
	}
	return nil
}

// addGroup appends a row group: its first field, which is the list of its columns, and the others.
func (f *footer) addGroup(g *format.RowGroup, shift int64) error {
	var text bytes.Buffer
	enc := thrift.NewEncoder(compact.NewWriter(&text))
	columns := g.Columns
	g.Columns, g.Ordinal = nil, 0
	g.FileOffset += shift
	if err := enc.Encode(g); err != nil {
		return err
	}
	others := bytes.Clone(text.Bytes()[2:])
	f.groups = append(f.groups, text.Bytes()[0]) // a list follows, and then, that it is empty
	text.Reset()
	if err := compact.NewWriter(&text).WriteList(thrift.List{Size: int32(len(columns)), Type: thrift.STRUCT}); err != nil {
		return err
	}
	for k := range columns {
		c := &columns[k]
		end := columnEnd{columnIndex: c.ColumnIndexLength, offsetIndex: c.OffsetIndexLength}
		c.ColumnIndexOffset, c.ColumnIndexLength, c.OffsetIndexOffset, c.OffsetIndexLength = 0, 0, 0, 0
		c.MetaData.DataPageOffset += shift
		if c.MetaData.DictionaryPageOffset > 0 { // there is one
			c.MetaData.DictionaryPageOffset += shift
		}
		if err := enc.Encode(c); err != nil {
			return err
		}
		end.at = int32(len(f.groups) + text.Len() - 1) // the last byte ends the struct
		f.columns = append(f.columns, end)
	}
	f.groups = append(append(f.groups, text.Bytes()...), others...)
	f.ends = append(f.ends, len(f.groups))
	f.rows += g.NumRows
	return nil
}

// write ends a file that has so many bytes. last is what the library says of its last part. The indexes
// are let go.
func (f *footer) write(w io.Writer, at int64, last *format.FileMetaData) error {
	for _, indexes := range [][]byte{f.columnIndexes, f.offsetIndexes} {
		if _, err := w.Write(indexes); err != nil {
			return err
		}
	}
	before, behind, err := around(last, f.rows, len(f.ends))
	if err != nil {
		return err
	}
	length := 0
	write := func(b []byte) error {
		length += len(b)
		_, err := w.Write(b)
		return err
	}
	if err := write(before); err != nil {
		return err
	}
	if err := f.writeGroups(write, at); err != nil {
		return err
	}
	if err := write(behind); err != nil {
		return err
	}
	f.columnIndexes, f.offsetIndexes = nil, nil
	return write(trailer(length))
}

// trailer ends a file whose metadata have so many bytes.
func trailer(length int) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(length)), magic...)
}

// writeGroups writes the row groups, the indexes of whose columns begin at the byte at.
func (f *footer) writeGroups(write func([]byte) error, at int64) error {
	columnIndex, offsetIndex := at, at+int64(len(f.columnIndexes))
	var text bytes.Buffer
	out := compact.NewWriter(&text)
	another := func(of thrift.Type) error { return out.WriteField(thrift.Field{ID: 1, Delta: true, Type: of}) } // field
	columns, from := f.columns, 0
	for i, end := range f.ends {
		text.Reset()
		for len(columns) > 0 && int(columns[0].at) < end {
			c := columns[0]
			columns = columns[1:]
			text.Write(f.groups[from:c.at])
			from = int(c.at)
			err := errors.Join(
				another(thrift.I64), out.WriteInt64(offsetIndex), another(thrift.I32), out.WriteInt32(c.offsetIndex),
				another(thrift.I64), out.WriteInt64(columnIndex), another(thrift.I32), out.WriteInt32(c.columnIndex))
			if err != nil {
				return err
			}
			columnIndex += int64(c.columnIndex)
			offsetIndex += int64(c.offsetIndex)
		}
		text.Write(f.groups[from : end-2]) // the last field is which row group it is, a byte, and another one ends the struct
		from = end
		if err := errors.Join(out.WriteInt16(int16(i)), out.WriteField(thrift.Field{Type: thrift.STOP})); err != nil {
			return err
		}
		if err := write(text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// around is the metadata of a file of so many rows before its row groups, with their number, and behind
// them. What is before them is that of a struct of its first fields, without the byte that ends it.
func around(last *format.FileMetaData, rows int64, groups int) (before, behind []byte, err error) {
	whole := *last
	whole.NumRows, whole.RowGroups = rows, nil
	all, err := thrift.Marshal(&compact, &whole)
	if err != nil {
		return nil, nil, err
	}
	first, err := thrift.Marshal(&compact, &struct {
		Version int32                              `thrift:"1,required"`
		Schema  thrift.Slice[format.SchemaElement] `thrift:"2,required"`
		NumRows int64                              `thrift:"3,required"`
	}{whole.Version, whole.Schema, whole.NumRows})
	if err != nil {
		return nil, nil, err
	}
	list := len(first) // there all says that there are none, and before that, that a list follows
	if !bytes.HasPrefix(all, first[:list-1]) || len(all) <= list {
		return nil, nil, fmt.Errorf("the metadata of a table are laid out in another way than they should be")
	}
	var number bytes.Buffer
	if err := compact.NewWriter(&number).WriteList(thrift.List{Size: int32(groups), Type: thrift.STRUCT}); err != nil {
		return nil, nil, err
	}
	return append(all[:list:list], number.Bytes()...), all[list+1:], nil
}

// partWriter takes what the library writes of a part: the pages go to the file, and what is behind them
// is kept.
type partWriter struct {
	file   io.Writer
	size   int64 // of the file
	magic  int   // bytes that a part begins with and the file has already
	ended  bool  // no page comes any more
	behind []byte
}

// begin makes p ready for another part, and says by how much further behind it is in the file.
func (p *partWriter) begin() (shift int64) {
	p.magic, p.ended, p.behind = len(magic), false, p.behind[:0]
	return p.size - int64(len(magic))
}

// Write implements io.Writer.
func (p *partWriter) Write(b []byte) (int, error) {
	n := min(p.magic, len(b))
	p.magic -= n
	if p.ended {
		p.behind = append(p.behind, b[n:]...)
		return len(b), nil
	}
	written, err := p.file.Write(b[n:])
	p.size += int64(written)
	return n + written, err
}
