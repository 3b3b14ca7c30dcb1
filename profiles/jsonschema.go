package profiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"orrery/internal/spelling"
)

// JSONSchema is the JSON Schema (draft 2020-12) of a kind of file, for editors that
// check and complete YAML by one. It is made of the tags by which files are read, so it
// has the same keys; conditions between keys are in words only.
func JSONSchema(k Kind) ([]byte, error) {
	root := typeOf(k)
	if root == nil {
		return nil, fmt.Errorf("there is no kind of file %q%s", k, kindsInWords(string(k)))
	}
	s := schemaWriter{defs: map[reflect.Type]bool{}}
	body := s.object(root)
	out := jsonObject{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "urn:orrery:schema:" + string(k)},
		{"title", "Orrery " + string(k) + " file"},
	}
	out = append(out, body...)
	var defs jsonObject
	for len(s.queue) > 0 { // a definition may need others
		t := s.queue[0]
		s.queue = s.queue[1:]
		defs = append(defs, jsonMember{t.Name(), s.object(t)})
	}
	if len(defs) > 0 {
		out = append(out, jsonMember{"$defs", defs})
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// jsonObject is an object whose keys keep their order: that of the documents.
type jsonObject []jsonMember

type jsonMember struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o jsonObject) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(&b, m.key)
		b.WriteByte(':')
		var value bytes.Buffer
		enc := json.NewEncoder(&value)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
		b.Write(bytes.TrimRight(value.Bytes(), "\n"))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schemaWriter describes structs, each once.
type schemaWriter struct {
	defs  map[reflect.Type]bool
	queue []reflect.Type // that are referred to and not described yet
}

// object describes a block of keys.
func (s *schemaWriter) object(t reflect.Type) jsonObject {
	var keys jsonObject
	for _, f := range fieldsOf(t) {
		keys = append(keys, jsonMember{f.key, s.key(t, f)})
	}
	return jsonObject{{"type", "object"}, {"additionalProperties", false}, {"properties", keys}}
}

func (s *schemaWriter) ref(t reflect.Type) jsonObject {
	if !s.defs[t] {
		s.defs[t] = true
		s.queue = append(s.queue, t)
	}
	return jsonObject{{"$ref", "#/$defs/" + t.Name()}}
}

// key describes the value of a key of t: what it may be, what it means, what it is when the
// key is left out.
func (s *schemaWriter) key(t reflect.Type, f field) jsonObject {
	out := s.value(f, f.Type)
	if zero := f.tag("zero"); zero != "" {
		out = anyOf(out, jsonObject{{"const", zero}})
	}
	if key := f.tag("list"); key != "" { // or what another key of the block may be
		list, _ := findField(fieldsOf(t), key)
		out = anyOf(out, s.value(list, list.Type))
	}
	out = append(jsonObject{{"description", describeKey(f)}}, out...)
	if def := f.tag("default"); def != "" {
		out = append(out, jsonMember{"default", defaultOf(f, def)})
	}
	return out
}

func anyOf(of ...jsonObject) jsonObject { return jsonObject{{"anyOf", of}} }

// value describes a value of a type under a key.
func (s *schemaWriter) value(f field, t reflect.Type) jsonObject {
	switch kindOf(t) {
	case aBool:
		return jsonObject{{"type", "boolean"}}
	case aWhole:
		return append(jsonObject{{"type", "integer"}}, bounds(f)...)
	case aNumber:
		return append(jsonObject{{"type", "number"}}, bounds(f)...)
	case aSpan:
		return anyOf(jsonObject{{"type", "string"}, {"pattern", spanPattern}}, jsonObject{{"const", 0}})
	case aSize:
		return anyOf(jsonObject{{"type", "string"}, {"pattern", sizePattern(t)}}, jsonObject{{"const", 0}})
	case anAmount:
		return anyOf(jsonObject{{"type", "number"}}, jsonObject{{"type", "string"}, {"pattern", amountPattern}})
	case aNodes:
		term := []string{"string", "integer"}
		return anyOf(jsonObject{{"type", term}}, jsonObject{{"type", "array"}, {"items", jsonObject{{"type", term}}}})
	case aList:
		return jsonObject{{"type", "array"}, {"items", s.item(f, t.Elem())}}
	case aTable:
		return jsonObject{{"type", "array"}, {"items", jsonObject{{"type", "array"}, {"items", s.item(f, t.Elem().Elem())}}}}
	case aBlock:
		return s.ref(t)
	case blocks:
		return jsonObject{{"type", "array"}, {"items", s.ref(t.Elem())}}
	case aRef:
		return anyOf(jsonObject{{"type", "string"}}, s.ref(reflect.TypeFor[Profile]()))
	}
	return textOf(f)
}

// item describes an entry of a list: its tags are about the list.
func (s *schemaWriter) item(f field, t reflect.Type) jsonObject {
	return s.value(field{tags: map[string]string{"any": f.tag("any")}}, t)
}

func textOf(f field) jsonObject {
	if words := f.words(); words != nil {
		return jsonObject{{"enum", words}}
	}
	if f.tag("any") != "" {
		return jsonObject{{"type", []string{"string", "number", "boolean"}}}
	}
	return jsonObject{{"type", "string"}, {"maxLength", maxText}}
}

// bounds are those of a number.
func bounds(f field) (out jsonObject) {
	for _, b := range []struct{ tag, key string }{{"min", "minimum"}, {"max", "maximum"}} {
		if text := f.tag(b.tag); text != "" {
			out = append(out, jsonMember{b.key, json.Number(plainText(text))})
		}
	}
	return out
}

// plainText is a number of a tag as JSON has it.
func plainText(text string) string {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("profiles: the tag of a number is " + text) // a mistake in this package
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

const (
	// spanPattern is what model.ParseDuration reads, and formatSpan writes.
	spanPattern = `^-?(([0-9]+d)?([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs))*|([0-9]+d)?[0-9]+:[0-9]{2}(:[0-9]{2})?(\.[0-9]+)?|[0-9]+-[0-9]+(:[0-9]{2}){0,2}(\.[0-9]+)?)$`
	// amountPattern is a number with its unit, and spans.
	amountPattern = `^-?[0-9].*$`
)

func sizePattern(t reflect.Type) string {
	units, _ := unitsOf(t)
	var words []string
	for _, u := range units {
		words = append(words, u.suffix)
	}
	return `^(0|[0-9]+(\.[0-9]+)? *(` + strings.Join(words, "|") + `))$`
}

// describeKey is what a key means, with its unit and where it applies.
func describeKey(f field) string {
	var b strings.Builder
	doc := f.tag("doc")
	b.WriteString(strings.ToUpper(doc[:min(1, len(doc))]) + doc[min(1, len(doc)):] + ".")
	if unit := unitInWords(f); unit != "" {
		b.WriteString(" Unit: " + unit + ".")
	}
	if f.kind == aSpan || f.kind == aSize || f.kind == anAmount { // whose range no keyword has
		if low, high := f.tag("min"), f.tag("max"); low != "" && high != "" {
			b.WriteString(" " + low + " to " + high + ".")
		} else if low != "" && strings.Trim(low, "0s") != "" {
			b.WriteString(" At least " + low + ".")
		}
	}
	var where []string
	for _, w := range f.when {
		is := " is "
		if w.not {
			is = " is not "
		}
		where = append(where, w.key+is+oneOf(w.words))
	}
	if len(where) > 0 {
		b.WriteString(" Applies where " + strings.Join(where, " and ") + ".")
	}
	return b.String()
}

// unitInWords is the unit of a key for people who write its value.
func unitInWords(f field) string {
	switch f.kind {
	case aSpan:
		return "a span such as 90s, 1h30m or 2d"
	case aSize:
		_, example := unitsOf(f.Type)
		return "written with the number, " + example
	case aText, aBool, aBlock, blocks, aRef, aNodes:
		return ""
	}
	return f.tag("unit")
}

// defaultOf is a default as JSON has it.
func defaultOf(f field, text string) any {
	if text == f.tag("zero") {
		return text
	}
	switch f.kind {
	case aBool:
		return text == "true"
	case aWhole, aNumber:
		return json.Number(plainText(text))
	case anAmount:
		if x, ok := plainNumber(text); ok {
			return x
		}
	}
	return text
}

// kindsInWords suggests a kind and lists them.
func kindsInWords(word string) string {
	var words []string
	for _, k := range Kinds() {
		words = append(words, string(k))
	}
	return spelling.Hint(word, words) + ": want " + oneOf(words)
}
