package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// AppendJSON appends v in the canonical form of all documents of a run: keys
// of objects ascending by bytes, two spaces of indentation, numbers as
// encoding/json spells them (shortest form that reads back equal), no HTML
// escapes, one line feed at the end. Numbers that JSON cannot spell are errors.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("encoding JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // keeps the spelling, and integers beyond 2^53
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return dst, fmt.Errorf("encoding JSON: %w", err)
	}
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(tree); err != nil {
		return dst, fmt.Errorf("encoding JSON: %w", err)
	}
	return buf.Bytes(), nil
}

// WriteFile writes a file beside and renames it, so that path holds the old
// content or the new, never a part.
func WriteFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644) // CreateTemp makes it private
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
