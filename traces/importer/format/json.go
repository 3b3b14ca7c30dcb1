package format

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"orrery/traces"
)

// mostJSON bounds one element of a file of JSON, in bytes: a file that is one long string or list
// is refused in little memory.
const mostJSON = 64 << 20

// Element is an element of a list in a file of JSON, or a member of an object.
type Element struct {
	File File
	Of   int    // which of the files it is, from 0
	N    int64  // from 1, in its file
	All  int64  // from 1, over all files
	Key  string // "" in a list
	JSON json.RawMessage
}

// Place is where the element stands.
func (e *Element) Place(name string) *Place { return &Place{Of: "element", Line: e.N, Name: name} }

// Wrong is the complaint about a field of the element.
func (e *Element) Wrong(field, found, expected string) *traces.DataError {
	return &traces.DataError{File: e.File.Name, Row: e.N, Column: field, Found: cmp.Or(found, "nothing"), Expected: expected, Mend: "correct the value, or leave the element out"}
}

// Into reads the element into a value.
func (e *Element) Into(value any) error {
	err := json.Unmarshal(e.JSON, value)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return e.Wrong(kind.Field, kind.Value, kind.Type.String())
	}
	if err != nil {
		return e.Wrong("", err.Error(), "JSON of another form")
	}
	return nil
}

// mostLeftOut is in how many elements of a file members are looked for that are not read: those of others are the same.
const mostLeftOut = 64

// LeftOut are the members of the element that a value, a pointer to a struct, does not take, at the first of a file.
func (e *Element) LeftOut(value any) (names []string) {
	var members map[string]json.RawMessage
	if e.N > mostLeftOut || json.Unmarshal(e.JSON, &members) != nil {
		return nil
	}
	known := map[string]bool{}
	for i, t := 0, reflect.TypeOf(value).Elem(); i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[strings.ToLower(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !known[strings.ToLower(name)] && utf8.ValidString(name) && len(name) < 100 {
			names = append(names, name)
		}
	}
	return names
}

// EachJSONLine goes through the lines of files of which each is a value in JSON. One that is none costs no other.
func EachJSONLine(files []File, fn func(*Element) error) error {
	all := int64(0)
	for i, f := range files {
		err := EachLine(f, func(n int64, text string) error {
			if text = strings.TrimSpace(text); text == "" {
				return nil
			}
			all++
			return fn(&Element{File: f, Of: i, N: n, All: all, JSON: json.RawMessage(text)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// EachElement goes through the elements of the list or object that stands at a path of
// keys in files of JSON, one file behind the other, or, where the path is nil, through the
// values that follow one another. An empty path is the list that a file is.
func EachElement(files []File, path []string, fn func(*Element) error) error {
	all := int64(0)
	for i, f := range files {
		err := eachElement(f, path, func(e *Element) error {
			all++
			e.Of, e.All = i, all
			return fn(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func eachElement(f File, path []string, fn func(*Element) error) error {
	raw, err := f.Open()
	if err != nil {
		return err
	}
	defer raw.Close() // only read
	f.Bad.Reading(f.Name)
	in := &bounded{r: bufio.NewReader(raw), left: mostJSON}
	e := elements{file: f, in: in, dec: json.NewDecoder(in), fn: fn}
	e.dec.UseNumber() // a number of any size is no list, and no error of the decoder
	if path == nil {
		return e.values()
	}
	found, err := e.descend(path)
	if err == nil && !found {
		err = &traces.DataError{File: f.Name, Found: fmt.Sprintf("no list at %q", path), Expected: "JSON with it", Mend: "fetch the file again"}
	}
	return err
}

// elements is a file of JSON under way.
type elements struct {
	file File
	in   *bounded
	dec  *json.Decoder
	fn   func(*Element) error
	n    int64
}

// wrong says what is wrong with the JSON.
func (e *elements) wrong(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, errLong):
		return &traces.DataError{File: e.file.Name, Row: e.n + 1, Found: fmt.Sprintf("an element longer than %d bytes", mostJSON), Expected: "smaller ones", Mend: "fetch the file again"}
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &traces.DataError{File: e.file.Name, Row: e.n + 1, Found: fmt.Sprintf("no JSON at byte %d (%v)", e.dec.InputOffset(), err), Expected: "whole JSON", Mend: "fetch the file again if it was cut short"}
	}
	return err
}

// list goes through the elements of the list, or the members of the object, that begins here.
func (e *elements) list(object bool) error {
	for e.dec.More() {
		key := ""
		if object {
			name, err := e.dec.Token()
			if err != nil {
				return e.wrong(err)
			}
			key, _ = name.(string)
		}
		if err := e.element(key); err != nil {
			return err
		}
	}
	_, err := e.dec.Token()
	return e.wrong(err)
}

func (e *elements) element(key string) error {
	element := Element{File: e.file, N: e.n + 1, Key: key}
	e.in.left = mostJSON
	err := e.dec.Decode(&element.JSON)
	switch {
	case errors.Is(err, io.EOF):
		return err
	case err != nil:
		return e.wrong(err)
	}
	e.n++
	return e.file.Pass(e.fn(&element))
}

// values goes through values that follow one another.
func (e *elements) values() error {
	for {
		err := e.element("")
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// descend finds the list at a path in the object that begins here.
func (e *elements) descend(path []string) (found bool, err error) {
	open, err := e.dec.Token()
	if err != nil {
		return false, e.wrong(err)
	}
	if len(path) == 0 {
		if open != json.Delim('[') && open != json.Delim('{') {
			return false, nil
		}
		err := e.list(open == json.Delim('{'))
		if errors.Is(err, io.EOF) {
			err = e.wrong(err)
		}
		return true, err
	}
	if open != json.Delim('{') {
		return false, nil
	}
	for e.dec.More() {
		key, err := e.dec.Token()
		if err != nil {
			return false, e.wrong(err)
		}
		if key == path[0] && !found {
			if found, err = e.descend(path[1:]); err != nil || !found {
				return found, err
			}
			continue
		}
		var other json.RawMessage
		e.in.left = mostJSON
		if err := e.dec.Decode(&other); err != nil {
			return false, e.wrong(err)
		}
	}
	_, err = e.dec.Token()
	return found, e.wrong(err)
}

// JSONMatch says how many of some texts stand at the beginning of a file of JSON.
func JSONMatch(h Head, wanted ...string) Match {
	text := bytes.TrimSpace(bytes.TrimPrefix(h.Bytes, utf8BOM))
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return No(0, 1, Excerpt(string(text[:min(len(text), 20)])), "JSON", "name another file")
	}
	found := 0
	for _, w := range wanted {
		if bytes.Contains(text, []byte(w)) {
			found++
		}
	}
	if found < len(wanted) {
		return No(5+90*found/len(wanted), 1, "JSON that begins "+Excerpt(string(text[:min(len(text), 50)])), fmt.Sprintf("JSON with %s", wanted), "name another file")
	}
	return Match{Percent: 100}
}
