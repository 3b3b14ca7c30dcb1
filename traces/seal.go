package traces

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// unsealed stands in the metadata where the digest of the file goes. That is the SHA-256 of
// all its bytes with this in the place of the digest: rows, metadata and what the
// footer says of either.
var unsealed = keySeal + strings.Repeat("0", hex.EncodedLen(sha256.Size)-len(keySeal))

// sealing writes a file whose end, from hold on, is kept back until its digest is known.
type sealing struct {
	w    io.Writer
	sum  hash.Hash
	tail *bytes.Buffer // nil until the end begins
}

// Write implements io.Writer.
func (s *sealing) Write(p []byte) (int, error) {
	s.sum.Write(p)
	if s.tail != nil {
		return s.tail.Write(p)
	}
	return s.w.Write(p)
}

// hold keeps back what is written from now on.
func (s *sealing) hold() { s.tail = new(bytes.Buffer) }

// seal writes the end with the digest in it.
func (s *sealing) seal() error {
	end := s.tail.Bytes()
	at := bytes.LastIndex(end, []byte(unsealed))
	if at < 0 {
		return errors.New("no place for the digest")
	}
	hex.Encode(end[at:], s.sum.Sum(nil))
	_, err := s.w.Write(end)
	return err
}

// checkSeal compares all bytes of a file with the digest in its metadata. Files of before
// there was one have none.
func (t *tableReader[R]) checkSeal() error {
	want, ok := t.parquet.Lookup(keySeal)
	if !ok {
		return nil
	}
	altered := func(found string) error {
		return &DataError{File: t.path, Found: found, Expected: "the digest that its metadata state",
			Mend: "the file was altered after it was written: restore it or import the log again"}
	}
	at, err := t.lastOf(want)
	if err != nil {
		return err
	}
	if len(want) != len(unsealed) || at < 0 {
		return altered(fmt.Sprintf("the digest %q", want))
	}
	sum := sha256.New()
	for _, part := range []io.Reader{
		io.NewSectionReader(t.osfile, 0, at), strings.NewReader(unsealed), io.NewSectionReader(t.osfile, at+int64(len(want)), t.size-at-int64(len(want))),
	} {
		if _, err := io.Copy(sum, part); err != nil {
			return err
		}
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != want {
		return altered(fmt.Sprintf("bytes with the SHA-256 %.16s…", found))
	}
	return nil
}

// lastOf is where a text stands last in the footer, -1 for nowhere.
func (t *tableReader[R]) lastOf(text string) (int64, error) {
	var length [4]byte
	if _, err := t.osfile.ReadAt(length[:], t.size-8); err != nil {
		return 0, err
	}
	tail := make([]byte, min(int64(binary.LittleEndian.Uint32(length[:]))+8, t.size)) // pagecheck.Footer has bounded it
	if _, err := t.osfile.ReadAt(tail, t.size-int64(len(tail))); err != nil {
		return 0, err
	}
	at := bytes.LastIndex(tail, []byte(text))
	if at < 0 {
		return -1, nil
	}
	return t.size - int64(len(tail)) + int64(at), nil
}
