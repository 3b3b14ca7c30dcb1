package record

import (
	"runtime"

	"github.com/klauspost/compress/zstd"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
)

// smallPage bounds the pages that are compressed with a window of as much. The bytes are those that the
// level's own window of four megabytes gives, for no page is larger than its window either way.
const smallPage = 1 << 20

// pageCodec is Parquet's zstd codec with less memory. That has one encoder with a window of eight
// megabytes for each table that is written, and another one after each collection of garbage.
type pageCodec struct {
	parquetzstd.Codec
	small, large *zstd.Encoder
}

// codec compresses at the fastest level: the tables are delta-coded first, and
// the slower levels gain little on what is left.
var codec = &pageCodec{
	Codec: parquetzstd.Codec{Level: zstd.SpeedFastest},
	small: encoder(zstd.WithWindowSize(smallPage)), large: encoder(),
}

// encoder makes what takes no memory to speak of until it is used.
func encoder(more ...zstd.EOption) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, append([]zstd.EOption{
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
		zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true),
	}, more...)...)
	if err != nil {
		panic(err) // only a wrong option makes it fail
	}
	return e
}

// Encode implements compress.Codec.
func (c *pageCodec) Encode(dst, src []byte) ([]byte, error) {
	if len(src) <= smallPage {
		return c.small.EncodeAll(src, dst[:0]), nil
	}
	return c.large.EncodeAll(src, dst[:0]), nil
}
