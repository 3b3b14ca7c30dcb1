package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	// The metrics of a site with tenants without number are 80 MB: no tree is made of them.
	l := layout{dst: slices.Grow(dst, 2*len(raw)), dec: json.NewDecoder(bytes.NewReader(raw))}
	l.dec.UseNumber() // keeps the spelling, and integers beyond 2^53
	l.text = json.NewEncoder(&l.quoted)
	l.text.SetEscapeHTML(false)
	if err := l.value(0); err != nil {
		return dst, fmt.Errorf("encoding JSON: %w", err)
	}
	return append(l.dst, '\n'), nil
}

// layout writes the values that dec reads, each object with its members in order.
type layout struct {
	dst     []byte
	dec     *json.Decoder
	text    *json.Encoder
	quoted  bytes.Buffer
	members []member // of the objects that are open
	moved   []byte
}

// member is a key with its value in dst, from the line feed before it up to end.
type member struct {
	key       string
	from, end int
}

// value writes the next value, whose lines are so many levels deep.
func (l *layout) value(depth int) error {
	token, err := l.dec.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return l.object(depth)
		}
		return l.array(depth)
	case json.Number:
		l.dst = append(l.dst, token...)
		return nil
	}
	return l.quote(token)
}

func (l *layout) array(depth int) error {
	l.dst = append(l.dst, '[')
	for k := 0; l.dec.More(); k++ {
		if k > 0 {
			l.dst = append(l.dst, ',')
		}
		l.line(depth + 1)
		if err := l.value(depth + 1); err != nil {
			return err
		}
	}
	return l.closing(depth)
}

func (l *layout) object(depth int) error {
	l.dst = append(l.dst, '{')
	first := len(l.members)
	for l.dec.More() {
		key, err := l.dec.Token()
		if err != nil {
			return err
		}
		name, from := key.(string), len(l.dst)
		l.line(depth + 1)
		if err := l.quote(name); err != nil {
			return err
		}
		l.dst = append(l.dst, ": "...)
		if err := l.value(depth + 1); err != nil {
			return err
		}
		l.dst = append(l.dst, ',')
		l.members = append(l.members, member{name, from, len(l.dst)})
	}
	members := l.members[first:]
	l.order(members)
	l.members = l.members[:first]
	if len(members) > 0 {
		l.dst = l.dst[:len(l.dst)-1] // the comma behind the last
	}
	return l.closing(depth)
}

// order moves the members of an object, which end dst, to where their keys belong.
func (l *layout) order(members []member) {
	byKey := func(a, b member) int { return strings.Compare(a.key, b.key) }
	if slices.IsSortedFunc(members, byKey) {
		return
	}
	begin := members[0].from
	l.moved = append(l.moved[:0], l.dst[begin:]...)
	slices.SortStableFunc(members, byKey)
	at := begin
	for _, m := range members {
		at += copy(l.dst[at:], l.moved[m.from-begin:m.end-begin])
	}
}

// closing writes the end of an object or an array, on a line of its own unless it is empty.
func (l *layout) closing(depth int) error {
	token, err := l.dec.Token()
	if err != nil {
		return err
	}
	if last := l.dst[len(l.dst)-1]; last != '[' && last != '{' {
		l.line(depth)
	}
	l.dst = append(l.dst, token.(json.Delim).String()...)
	return nil
}

func (l *layout) line(depth int) {
	l.dst = append(l.dst, '\n')
	for range depth {
		l.dst = append(l.dst, "  "...)
	}
}

// quote writes what is no object, no array and no number.
func (l *layout) quote(token json.Token) error {
	l.quoted.Reset()
	if err := l.text.Encode(token); err != nil {
		return err
	}
	l.dst = append(l.dst, bytes.TrimSuffix(l.quoted.Bytes(), []byte("\n"))...)
	return nil
}
