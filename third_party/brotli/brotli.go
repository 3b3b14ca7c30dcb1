// Package brotli stands for the module of this name in builds of Orrery. The Parquet
// library asks for it, to read and write pages that are compressed by Brotli; Orrery
// writes none and refuses to read them before the library sees them. The module itself
// would bring an HTTP server and client, TLS and a dictionary into the program, a
// twelfth of its size. Everything here fails.
package brotli

import (
	"errors"
	"io"
)

// ErrAbsent is what reading and writing come to.
var ErrAbsent = errors.New("brotli: not part of this program")

// Reader reads nothing.
type Reader struct{}

// NewReader returns a reader that fails.
func NewReader(io.Reader) *Reader { return &Reader{} }

// Read fails.
func (*Reader) Read([]byte) (int, error) { return 0, ErrAbsent }

// Reset does nothing.
func (*Reader) Reset(io.Reader) error { return nil }

// WriterOptions are those of the module, and have no effect.
type WriterOptions struct {
	Quality int
	LGWin   int
}

// Writer writes nothing.
type Writer struct{}

// NewWriterOptions returns a writer that fails.
func NewWriterOptions(io.Writer, WriterOptions) *Writer { return &Writer{} }

// Write fails.
func (*Writer) Write([]byte) (int, error) { return 0, ErrAbsent }

// Flush does nothing.
func (*Writer) Flush() error { return nil }

// Close fails: what was written is nowhere.
func (*Writer) Close() error { return ErrAbsent }

// Reset does nothing.
func (*Writer) Reset(io.Writer) {}
