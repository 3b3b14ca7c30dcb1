package record

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"
)

// The Arrow IPC file format, as far as tables of runs need it: fixed columns of
// integers, floats, instants and texts, uncompressed, little-endian. Slots and numbers
// are those of Schema.fbs, Message.fbs and File.fbs of the Arrow columnar format 1.5.

// arrowMagic begins and ends a file.
const arrowMagic = "ARROW1"

// arrowAlign is what buffers begin at a multiple of, from the beginning of the file, so
// that readers map them: the format asks for 8 and advises 64.
const arrowAlign = 64

// Numbers of enums and unions.
const (
	arrowV5          = 4 // MetadataVersion
	arrowSchema      = 1 // MessageHeader
	arrowRecordBatch = 3
	arrowInt         = 2 // Type
	arrowFloat       = 3
	arrowUtf8        = 5
	arrowTimestamp   = 10
	arrowDouble      = 2 // Precision
	arrowMicrosecond = 2 // TimeUnit
)

// arrowColumn says how a column is written.
type arrowColumn struct {
	name     string
	kind     kind
	nullable bool
}

// arrowWriter writes one file. Cost: a record batch in memory at a time.
type arrowWriter struct {
	w       io.Writer
	pos     int64
	columns []arrowColumn
	keys    [][2]string // metadata
	blocks  []arrowBlock
	body    []byte // of the batch being written
	buffers [][2]int64
	nodes   [][2]int64
}

// arrowBlock is where a record batch stands.
type arrowBlock struct {
	offset   int64
	metadata int32
	body     int64
}

func (a *arrowWriter) write(b []byte) error {
	n, err := a.w.Write(b)
	a.pos += int64(n)
	return err
}

// begin writes the magic and the schema.
func (a *arrowWriter) begin() error {
	if err := a.write(append([]byte(arrowMagic), make([]byte, arrowAlign-len(arrowMagic))...)); err != nil {
		return err
	}
	b := flatbuffers.NewBuilder(1024)
	_, err := a.message(b, arrowSchema, a.schema(b), 0)
	return err
}

// message writes a metadata message and returns its length with prefix and padding.
func (a *arrowWriter) message(b *flatbuffers.Builder, kind byte, header flatbuffers.UOffsetT, body int64) (int32, error) {
	b.StartObject(5)
	b.PrependInt16Slot(0, arrowV5, 0)
	b.PrependByteSlot(1, kind, 0)
	b.PrependUOffsetTSlot(2, header, 0)
	b.PrependInt64Slot(3, body, 0)
	b.Finish(b.EndObject())
	text := b.FinishedBytes()
	const prefix = 8 // a marker, and the length
	length := padded(int64(prefix+len(text)), arrowAlign)
	out := make([]byte, length)
	binary.LittleEndian.PutUint32(out, math.MaxUint32)
	binary.LittleEndian.PutUint32(out[4:], uint32(length-prefix))
	copy(out[prefix:], text)
	return int32(length), a.write(out)
}

func padded(n, to int64) int64 { return (n + to - 1) / to * to }

// schema describes the columns.
func (a *arrowWriter) schema(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	fields := make([]flatbuffers.UOffsetT, len(a.columns))
	for i, c := range a.columns {
		fields[i] = c.field(b)
	}
	pairs := make([]flatbuffers.UOffsetT, len(a.keys))
	for i, k := range a.keys {
		key, value := b.CreateString(k[0]), b.CreateString(k[1])
		b.StartObject(2)
		b.PrependUOffsetTSlot(0, key, 0)
		b.PrependUOffsetTSlot(1, value, 0)
		pairs[i] = b.EndObject()
	}
	of, with := b.CreateVectorOfTables(fields), b.CreateVectorOfTables(pairs)
	b.StartObject(4) // little-endian is the default
	b.PrependUOffsetTSlot(1, of, 0)
	b.PrependUOffsetTSlot(2, with, 0)
	return b.EndObject()
}

func (c *arrowColumn) field(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	name := b.CreateString(c.name)
	number, kind := c.typed(b)
	none := b.CreateVectorOfTables(nil) // children
	b.StartObject(7)
	b.PrependUOffsetTSlot(0, name, 0)
	b.PrependBoolSlot(1, c.nullable, false)
	b.PrependByteSlot(2, number, 0)
	b.PrependUOffsetTSlot(3, kind, 0)
	b.PrependUOffsetTSlot(5, none, 0)
	return b.EndObject()
}

// typed is the type of a column, and its number in the union of types.
func (c *arrowColumn) typed(b *flatbuffers.Builder) (number byte, at flatbuffers.UOffsetT) {
	switch c.kind {
	case kindInt32, kindInt64:
		bits := map[kind]int32{kindInt32: 32, kindInt64: 64}[c.kind]
		b.StartObject(2)
		b.PrependInt32Slot(0, bits, 0)
		b.PrependBoolSlot(1, true, false) // signed
		return arrowInt, b.EndObject()
	case kindFloat:
		b.StartObject(1)
		b.PrependInt16Slot(0, arrowDouble, 0)
		return arrowFloat, b.EndObject()
	case kindTime:
		zone := b.CreateString("UTC")
		b.StartObject(2)
		b.PrependInt16Slot(0, arrowMicrosecond, 0)
		b.PrependUOffsetTSlot(1, zone, 0)
		return arrowTimestamp, b.EndObject()
	}
	b.StartObject(0)
	return arrowUtf8, b.EndObject()
}

// column starts the next column of a batch: valid says which of n values are there, nil
// that all are.
func (a *arrowWriter) column(n int, valid []bool) {
	nulls := int64(0)
	var bits []byte
	for i, ok := range valid {
		if ok {
			continue
		}
		if bits == nil {
			bits = make([]byte, (n+7)/8)
			for k := range n {
				bits[k/8] |= 1 << (k % 8)
			}
		}
		bits[i/8] &^= 1 << (i % 8)
		nulls++
	}
	a.nodes = append(a.nodes, [2]int64{int64(n), nulls})
	a.buffer(bits) // of no length where nothing is missing
}

// buffer appends a buffer of the column to the body.
func (a *arrowWriter) buffer(content []byte) {
	a.buffers = append(a.buffers, [2]int64{int64(len(a.body)), int64(len(content))})
	a.body = append(a.body, content...)
	a.body = append(a.body, make([]byte, padded(int64(len(a.body)), arrowAlign)-int64(len(a.body)))...)
}

// texts appends the offsets and the bytes of a column of texts.
func (a *arrowWriter) texts(list []string) error {
	offsets, bytes := make([]byte, 4, 4*len(list)+4), []byte(nil)
	for _, s := range list {
		bytes = append(bytes, s...)
		if len(bytes) > math.MaxInt32 {
			return fmt.Errorf("record: more than 2 GiB of text in %d rows", len(list))
		}
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(bytes)))
	}
	a.buffer(offsets)
	a.buffer(bytes)
	return nil
}

// batch writes the columns appended since the last one.
func (a *arrowWriter) batch(rows int) error {
	b := flatbuffers.NewBuilder(1024)
	b.StartVector(16, len(a.buffers), 8)
	for i := len(a.buffers) - 1; i >= 0; i-- {
		b.PrependInt64(a.buffers[i][1])
		b.PrependInt64(a.buffers[i][0])
	}
	buffers := b.EndVector(len(a.buffers))
	b.StartVector(16, len(a.nodes), 8)
	for i := len(a.nodes) - 1; i >= 0; i-- {
		b.PrependInt64(a.nodes[i][1])
		b.PrependInt64(a.nodes[i][0])
	}
	nodes := b.EndVector(len(a.nodes))
	b.StartObject(5)
	b.PrependInt64Slot(0, int64(rows), 0)
	b.PrependUOffsetTSlot(1, nodes, 0)
	b.PrependUOffsetTSlot(2, buffers, 0)
	block := arrowBlock{offset: a.pos, body: int64(len(a.body))}
	var err error
	if block.metadata, err = a.message(b, arrowRecordBatch, b.EndObject(), block.body); err != nil {
		return err
	}
	a.blocks = append(a.blocks, block)
	err = a.write(a.body)
	a.body, a.buffers, a.nodes = a.body[:0], a.buffers[:0], a.nodes[:0]
	return err
}

// end writes the end of the stream and the footer.
func (a *arrowWriter) end() error {
	if err := a.write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}); err != nil {
		return err
	}
	b := flatbuffers.NewBuilder(1024)
	schema := a.schema(b)
	b.StartVector(24, len(a.blocks), 8)
	for i := len(a.blocks) - 1; i >= 0; i-- {
		b.PrependInt64(a.blocks[i].body)
		b.Pad(4)
		b.PrependInt32(a.blocks[i].metadata)
		b.PrependInt64(a.blocks[i].offset)
	}
	batches := b.EndVector(len(a.blocks))
	b.StartVector(24, 0, 8)
	none := b.EndVector(0) // dictionaries
	b.StartObject(5)
	b.PrependInt16Slot(0, arrowV5, 0)
	b.PrependUOffsetTSlot(1, schema, 0)
	b.PrependUOffsetTSlot(2, none, 0)
	b.PrependUOffsetTSlot(3, batches, 0)
	b.Finish(b.EndObject())
	footer := b.FinishedBytes()
	out := binary.LittleEndian.AppendUint32(footer[:len(footer):len(footer)], uint32(len(footer)))
	return a.write(append(out, arrowMagic...))
}
