package pagecheck

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

var errCounts = errors.New("the counts inside a page disagree with its header")

// payload checks the body of a page that carries no checksum, as files of
// other writers do: every count inside it must agree with the page header
// before the library allocates by it.
func (k *Checker) payload(h *pageHeader, at int64, meta *format.ColumnMetaData, of Levels) error {
	codec := meta.Codec
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
		body, present, err := levelsV1(body, h.values, of)
		if err != nil {
			return err
		}
		return checkValues(body, h.encoding, meta.Type, present)
	case format.DataPageV2:
		if h.repeats > h.levels {
			return errCounts
		}
		repeats, defines, body := body[:h.repeats], body[h.repeats:h.levels], body[h.levels:]
		if _, err := present(repeats, of.Repeat, h.values); err != nil {
			return err
		}
		if n, err := present(defines, of.Define, h.values); err != nil || of.Define > 0 && n != h.values-h.nulls {
			return errCounts
		}
		if !h.plainBody {
			var err error
			if body, err = k.unpack.all(codec, body, h.uncompressed-h.levels); err != nil {
				return err
			}
		}
		return checkValues(body, h.encoding, meta.Type, h.values-h.nulls)
	case format.DictionaryPage:
		body, err := k.unpack.all(codec, body, h.uncompressed)
		if err != nil {
			return err
		}
		return checkValues(body, format.Plain, meta.Type, h.values)
	}
	return fmt.Errorf("a page of unknown type %d", h.kind)
}

// levelsV1 checks the levels before the values of a v1 data page
// and returns what follows them and how many values are not null.
func levelsV1(body []byte, values int64, of Levels) (rest []byte, n int64, err error) {
	n = values
	for _, highest := range []int{of.Repeat, of.Define} {
		if highest == 0 {
			continue
		}
		if len(body) < 4 {
			return nil, 0, errCounts
		}
		size := int64(binary.LittleEndian.Uint32(body))
		body = body[4:]
		if size > int64(len(body)) {
			return nil, 0, errCounts
		}
		if n, err = present(body[:size], highest, values); err != nil {
			return nil, 0, err
		}
		body = body[size:]
	}
	if of.Define == 0 {
		n = values
	}
	return body, n, nil
}

// present checks the levels of so many values and counts those that are the highest: of
// definition levels, the values that are not null.
func present(b []byte, highest int, values int64) (int64, error) {
	if highest == 0 {
		return values, nil
	}
	return hybrid(b, levelWidth(highest), values, uint64(highest))
}

// levelWidth is how many bits hold levels up to the highest.
func levelWidth(highest int) uint { return uint(bits.Len(uint(highest))) }

// unpacker decompresses pages into memory that it keeps.
type unpacker struct {
	zstd *zstd.Decoder
	out  []byte
}

// Unpacks says whether pages of a codec are read.
func Unpacks(codec format.CompressionCodec) bool {
	switch codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd:
		return true
	}
	return false
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
	out, err := u.into(u.out[:want], codec, body)
	if err == nil && int64(len(out)) != want {
		err = errCounts
	}
	return out, err
}

// into decompresses into out and no further: the library's own decoders grow
// their output as long as a damaged input asks for it.
func (u *unpacker) into(out []byte, codec format.CompressionCodec, body []byte) ([]byte, error) {
	switch codec {
	case format.Zstd:
		if u.zstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return nil, err
			}
			u.zstd = d
		}
		return u.zstd.DecodeAll(body, out[:0:len(out)])
	case format.Snappy:
		if n, err := snappy.DecodedLen(body); err != nil || n != len(out) {
			return nil, errCounts
		}
		return snappy.Decode(out, body)
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return filled(out, r)
	case format.Brotli:
		return filled(out, brotli.NewReader(bytes.NewReader(body)))
	}
	return nil, fmt.Errorf("pages compressed by %s", codec)
}

// filled reads out full, which must be all that there is.
func filled(out []byte, r io.Reader) ([]byte, error) {
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, err
	}
	if n, _ := r.Read(make([]byte, 1)); n > 0 {
		return nil, errCounts
	}
	return out, nil
}

// plainDictionary is how older writers call RLEDictionary.
const plainDictionary format.Encoding = 2

// checkValues checks the counts of n encoded values.
func checkValues(b []byte, encoding format.Encoding, typ format.Type, n int64) error {
	switch encoding {
	case format.RLEDictionary, plainDictionary:
		if len(b) == 0 {
			return nil
		}
		if b[0] > 32 {
			return errCounts
		}
		_, err := hybrid(b[1:], uint(b[0]), n, 0)
		return err
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.DeltaByteArray:
		if len(b) == 0 && n == 0 {
			return nil
		}
		total := uint64(0)
		for range 3 { // block size, miniblocks in a block, values
			u, k := binary.Uvarint(b)
			if k <= 0 {
				return errCounts
			}
			total, b = u, b[k:]
		}
		if total != uint64(n) {
			return errCounts
		}
	case format.Plain:
		if typ == format.ByteArray {
			return plainTexts(b, n)
		}
	}
	return nil
}

// plainTexts walks n byte strings, each behind its length.
func plainTexts(b []byte, n int64) error {
	for ; n > 0; n-- {
		if len(b) < 4 {
			return errCounts
		}
		size := int64(binary.LittleEndian.Uint32(b))
		if b = b[4:]; size > int64(len(b)) {
			return errCounts
		}
		b = b[size:]
	}
	if len(b) > 0 {
		return errCounts
	}
	return nil
}

// maxPadding is the most values by which a bit-packed run may pass the end of
// its page; DuckDB always writes 256.
const maxPadding = 1024

// hybrid walks the runs of the RLE and bit-packing hybrid encoding, which must
// hold the given number of values of width bits, and counts those among
// them that are the highest level; 0 when they are no levels. Bit-packed runs come in groups of eight and some
// writers fill the last one up, so it may pass the count by maxPadding.
func hybrid(b []byte, width uint, values int64, highest uint64) (n int64, err error) {
	left := values
	for len(b) > 0 && left > 0 {
		u, k := binary.Uvarint(b)
		if k <= 0 {
			return 0, errCounts
		}
		b = b[k:]
		count, size := u>>1, uint64(width+7)/8
		if count == 0 {
			continue
		}
		packed := u&1 != 0
		if packed {
			if count > uint64(values)+maxPadding {
				return 0, errCounts
			}
			size = count * uint64(width)
			count *= 8
		}
		if count > uint64(left)+maxPadding || !packed && count > uint64(left) {
			return 0, errCounts
		}
		size = min(size, uint64(len(b))) // some writers cut the padding off
		if width == 1 {
			if !packed && size == 1 && b[0] > 1 {
				return 0, errCounts
			}
			n += countOnes(b[:size], packed, min(int64(count), left))
		} else if highest > 0 {
			n += countLevel(b[:size], packed, min(int64(count), left), width, highest)
		}
		left -= int64(count)
		b = b[size:]
	}
	if (width == 1 || highest > 0) && left > 0 {
		return 0, errCounts
	}
	for _, c := range b { // the library would decode further runs; padding is none
		if c != 0 {
			return 0, errCounts
		}
	}
	return n, nil
}

// countLevel counts the values of a run of n that are the level, width bits each.
func countLevel(b []byte, packed bool, n int64, width uint, level uint64) (count int64) {
	at := func(bit int) (v uint64) {
		for k := bit / 8; k <= (bit+int(width)-1)/8; k++ {
			if k < len(b) {
				v |= uint64(b[k]) << (8 * (k - bit/8))
			}
		}
		return v >> (bit % 8) & (1<<width - 1)
	}
	if !packed {
		if at(0) == level {
			return n
		}
		return 0
	}
	for i := range int(n) {
		if at(i*int(width)) == level {
			count++
		}
	}
	return count
}

// countOnes counts the ones of a run of n bits.
func countOnes(b []byte, packed bool, n int64) (ones int64) {
	if len(b) == 0 {
		return 0
	}
	if !packed {
		return int64(b[0]&1) * n
	}
	for i := 0; i < len(b) && n > 0; i++ {
		c := b[i]
		if n < 8 {
			c &= 1<<n - 1
		}
		ones += int64(bits.OnesCount8(c))
		n -= 8
	}
	return ones
}
