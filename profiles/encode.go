package profiles

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// canonical is the JSON of a struct: keys in the order of the documents, those
// at their default and remarks left out, every value in its one spelling.
func canonical(v reflect.Value) []byte {
	var w jsonWriter
	w.object(v)
	return w.b.Bytes()
}

// jsonWriter prints structs as JSON.
type jsonWriter struct {
	b bytes.Buffer
	// applies makes it print every key for which it holds, at its default or
	// not; nil prints the canonical form.
	applies func(field) bool
}

func (w *jsonWriter) object(v reflect.Value) {
	w.b.WriteByte('{')
	first := true
	for _, f := range fieldsOf(v.Type()) {
		x := v.FieldByIndex(f.Index)
		if !w.shown(x, f) {
			continue
		}
		if !first {
			w.b.WriteByte(',')
		}
		first = false
		writeText(&w.b, f.key)
		w.b.WriteByte(':')
		w.value(x, f)
	}
	w.b.WriteByte('}')
}

func (w *jsonWriter) shown(v reflect.Value, f field) bool {
	if w.applies == nil {
		return !isDefault(v, f) && f.tag("unit") != "text"
	}
	return shown(v, f, w.applies)
}

// shown says whether a key stands in a full print: texts and lists that are
// empty do not, nor does what does not apply.
func shown(v reflect.Value, f field, applies func(field) bool) bool {
	if !applies(f) {
		return false
	}
	switch f.kind {
	case aBlock:
		for _, sub := range fieldsOf(f.Type) {
			if shown(v.FieldByIndex(sub.Index), sub, applies) {
				return true
			}
		}
		return false
	case aText, aList, aTable, aNodes, blocks:
		return v.Len() > 0
	}
	return true
}

func (w *jsonWriter) value(v reflect.Value, f field) {
	switch kindOf(v.Type()) {
	case aBlock:
		w.object(v)
	case aNodes:
		if terms := v.Interface().(Nodes); len(terms) == 1 {
			writeText(&w.b, terms[0])
			return
		}
		w.list(v, f)
	case blocks, aList, aTable:
		w.list(v, f)
	case aRef:
		w.ref(v.Interface().(ProfileRef))
	default:
		text := formatScalar(v, f)
		if literal(v, text) || w.applies != nil && f.tag("any") != "" && isNumber(text) {
			w.b.WriteString(text)
			return
		}
		writeText(&w.b, text)
	}
}

func (w *jsonWriter) list(v reflect.Value, f field) {
	w.b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			w.b.WriteByte(',')
		}
		within := jsonWriter{applies: appliesIn(v.Index(i), w.applies)}
		within.value(v.Index(i), field{tags: map[string]string{"any": f.tag("any")}})
		w.b.Write(within.b.Bytes())
	}
	w.b.WriteByte(']')
}

// appliesIn says which keys below an entry of a list apply: those of the whole file, but for
// a service, whose conditions are on its own keys, and of which some are the cluster's.
func appliesIn(entry reflect.Value, file func(field) bool) func(field) bool {
	if file == nil || entry.Type() != reflect.TypeFor[Service]() {
		return file
	}
	return entry.Addr().Interface().(*Service).applies
}

// isNumber says whether a text that may be anything is a JSON number in its one
// spelling.
func isNumber(text string) bool {
	x, ok := plainNumber(text)
	return ok && strconv.FormatFloat(x, 'f', -1, 64) == text
}

func (w *jsonWriter) ref(r ProfileRef) {
	switch {
	case r.Inline == nil:
		writeText(&w.b, r.Name)
	case w.applies == nil:
		w.b.Write(r.Inline.JSON())
	default:
		w.b.Write(r.Inline.FullJSON())
	}
}

// writeText writes a JSON string that is YAML too.
func writeText(b *bytes.Buffer, text string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string
	}
	b.Truncate(b.Len() - 1) // the line end
}

// yamlWriter prints structs with every key that applies, defaults included.
type yamlWriter struct {
	b       strings.Builder
	applies func(field) bool
	brief   bool // leaves out what is at its default
}

func (w *yamlWriter) shows(v reflect.Value, f field) bool {
	return shown(v, f, w.applies) && !(w.brief && isDefault(v, f))
}

// block prints the keys of v, each indented by indent; the first line of a list
// item has its dash instead.
func (w *yamlWriter) block(v reflect.Value, indent string, item bool) {
	lead := indent
	if item {
		lead = indent[:len(indent)-2] + "- "
	}
	for _, f := range fieldsOf(v.Type()) {
		x := v.FieldByIndex(f.Index)
		if !w.shows(x, f) {
			continue
		}
		w.b.WriteString(lead + f.key + ":")
		w.value(x, indent, f)
		lead = indent
	}
}

func (w *yamlWriter) value(v reflect.Value, indent string, f field) {
	switch k := f.kind; k {
	case aBlock:
		w.b.WriteByte('\n')
		w.block(v, indent+"  ", false)
	case blocks:
		w.b.WriteByte('\n')
		for i := range v.Len() {
			within := yamlWriter{applies: appliesIn(v.Index(i), w.applies), brief: w.brief}
			within.block(v.Index(i), indent+"    ", true)
			w.b.WriteString(within.b.String())
		}
	case aRef:
		if inline := v.Interface().(ProfileRef).Inline; inline != nil {
			w.b.WriteByte('\n')
			text := inline.YAML()
			if w.brief {
				text = inline.briefYAML()
			}
			w.b.WriteString(indented(text, indent+"  "))
			return
		}
		w.b.WriteString(" " + plain(v.Interface().(ProfileRef).Name) + "\n")
	case aList, aTable, aNodes:
		var j jsonWriter
		j.value(v, f)
		w.b.WriteString(" " + j.b.String() + "\n")
	default:
		text := formatScalar(v, f)
		if !literal(v, text) {
			text = plain(text)
		}
		w.b.WriteString(" " + text + "\n")
	}
}

func indented(text []byte, by string) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString(by + line)
	}
	return b.String()
}

// plainWord matches what YAML takes for text without quotes in every version.
var plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_ .,;/()%-]*$|^[0-9]+(\.[0-9]+)?[A-Za-z][A-Za-z0-9./]*$`)

// ambiguous are words that some version of YAML takes for something else.
var ambiguous = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|y|n|[0-9.]+e[0-9]*)$`)

func plain(text string) string {
	if plainWord.MatchString(text) && !ambiguous.MatchString(text) && !strings.HasSuffix(text, " ") {
		return text
	}
	var b bytes.Buffer
	writeText(&b, text)
	return b.String()
}
