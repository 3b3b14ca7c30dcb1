package record

import (
	"github.com/klauspost/compress/zstd"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
)

// windows are the sizes of pages up to which a window of as much is enough: the bytes are those that
// the level's own window of four megabytes gives, for no page is larger than its window either way.
var windows = [...]int{1 << 18, 1 << 20}

// pageCodec is Parquet's zstd codec with less memory. That has one encoder with a window of eight
// megabytes for each table that is written, and another one after each collection of garbage.
type pageCodec struct {
	parquetzstd.Codec
	encoders [len(windows) + 1]*zstd.Encoder // the last for pages of any size
}

// codec compresses at the fastest level: the tables are delta-coded first, and
// the slower levels gain little on what is left.
var codec = newCodec()

func newCodec() *pageCodec {
	c := &pageCodec{Codec: parquetzstd.Codec{Level: zstd.SpeedFastest}}
	for i, window := range windows {
		c.encoders[i] = encoder(zstd.WithWindowSize(window))
	}
	c.encoders[len(windows)] = encoder()
	return c
}

// encoder makes what takes no memory to speak of until it is used. It compresses one page at a time,
// since with room for several all of them come to be used in turn.
func encoder(more ...zstd.EOption) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, append([]zstd.EOption{
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true),
	}, more...)...)
	if err != nil {
		panic(err) // only a wrong option makes it fail
	}
	return e
}

// Encode implements compress.Codec.
func (c *pageCodec) Encode(dst, src []byte) ([]byte, error) {
	size := 0
	for size < len(windows) && len(src) > windows[size] {
		size++
	}
	return c.encoders[size].EncodeAll(src, dst[:0]), nil
}
