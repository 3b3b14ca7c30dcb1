package traces

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

var errCounts = errors.New("the counts inside a page disagree with its header")

// payload checks the body of a page that carries no checksum, as files of
// other writers do: every count inside it must agree with the page header
// before the library allocates by it.
func (k *pageChecker) payload(h *pageHeader, at int64, codec format.CompressionCodec, optional bool) error {
	if int64(cap(k.body)) < h.compressed {
		k.body = make([]byte, h.compressed)
	}
	body := k.body[:h.compressed]
	if _, err := k.r.ReadAt(body, at); err != nil {
		return err
	}
	switch h.kind {
	case format.DataPage:
		body, err := k.unpack.all(codec, body, h.uncompressed)
		if err != nil {
			return err
		}
		if optional {
			if body, err = levelsV1(body, h.values); err != nil {
				return err
			}
		}
		return h.bodyValues(body)
	case format.DataPageV2:
		levels, body := body[:h.levels], body[h.levels:]
		if optional {
			if err := hybrid(levels, 1, h.values); err != nil {
				return err
			}
		}
		if !h.plainBody {
			var err error
			if body, err = k.unpack.all(codec, body, h.uncompressed-h.levels); err != nil {
				return err
			}
		}
		return h.bodyValues(body)
	case format.DictionaryPage:
		_, err := k.unpack.all(codec, body, h.uncompressed)
		return err
	}
	return fmt.Errorf("a page of unknown type %d", h.kind)
}

// levelsV1 checks the definition levels before the values of a v1 data page
// and returns what follows them.
func levelsV1(body []byte, values int64) ([]byte, error) {
	if len(body) < 4 {
		return nil, errCounts
	}
	n := int64(binary.LittleEndian.Uint32(body))
	body = body[4:]
	if n > int64(len(body)) {
		return nil, errCounts
	}
	return body[n:], hybrid(body[:n], 1, values)
}

// unpacker decompresses pages into memory that it keeps.
type unpacker struct {
	zstd *zstd.Decoder
	out  []byte
}

// all refuses a body whose size is not the one the page header states. The
// result is valid until the next call.
func (u *unpacker) all(codec format.CompressionCodec, body []byte, want int64) ([]byte, error) {
	if codec == format.Uncompressed || len(body) == 0 {
		return body, nil
	}
	if want < 0 {
		return nil, errCounts
	}
	if int64(cap(u.out)) < want {
		u.out = make([]byte, want)
	}
	var err error
	switch codec {
	case format.Zstd:
		if u.zstd == nil {
			u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return nil, err
			}
		}
		body, err = u.zstd.DecodeAll(body, u.out[:0:want])
	case format.Snappy:
		if n, _ := binary.Uvarint(body); n != uint64(want) {
			return nil, errCounts
		}
		fallthrough
	default:
		body, err = parquet.LookupCompressionCodec(codec).Decode(u.out[:want], body)
	}
	if err == nil && int64(len(body)) != want {
		err = errCounts
	}
	return body, err
}

// bodyValues checks the counts of an encoded run of at most h.values values.
func (h *pageHeader) bodyValues(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	switch h.encoding {
	case format.RLEDictionary, format.PlainDictionary:
		if b[0] > 32 {
			return errCounts
		}
		return hybrid(b[1:], uint(b[0]), h.values)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.DeltaByteArray:
		pos := 0
		for i := range 3 { // block size, miniblocks per block, values
			u, n := binary.Uvarint(b[pos:])
			if n <= 0 {
				return errCounts
			}
			pos += n
			if i == 2 && u > uint64(h.values) {
				return errCounts
			}
		}
	}
	return nil
}

// hybrid walks the runs of the RLE and bit-packing hybrid encoding. Bit-packed
// runs come in groups of eight, so the last may pass the count by seven.
func hybrid(b []byte, width uint, values int64) error {
	left := values
	for len(b) > 0 && left > 0 {
		u, n := binary.Uvarint(b)
		if n <= 0 {
			return errCounts
		}
		b = b[n:]
		count, size := u>>1, uint64(width+7)/8
		if u&1 != 0 {
			if count > uint64(values) {
				return errCounts
			}
			size = count * uint64(width)
			count *= 8
		}
		if count > uint64(left)+7 {
			return errCounts
		}
		left -= int64(count)
		if size > uint64(len(b)) {
			size = uint64(len(b)) // some writers cut the padding off
		}
		b = b[size:]
	}
	if len(b) > 0 && left <= 0 {
		return trailing(b)
	}
	return nil
}

// trailing accepts padding only: the library would decode further runs.
func trailing(b []byte) error {
	for _, c := range b {
		if c != 0 {
			return errCounts
		}
	}
	return nil
}
