package record

import (
	"bytes"
	"encoding/json"
	"fmt"
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
