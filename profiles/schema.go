package profiles

import (
	"fmt"
	"reflect"
	"strings"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// field is one key of a file, as the tags of a struct describe it.
type field struct {
	reflect.StructField
	key  string
	kind kind
	when []condition // all hold where the key applies
	tags map[string]string
}

// tag is what a tag of the key says, "" without it.
func (f *field) tag(name string) string { return f.tags[name] }

// tagNames are the tags that a key may have.
var tagNames = []string{"any", "default", "doc", "list", "max", "min", "of", "same", "unit", "when", "yaml", "zero"}

func tagsOf(of reflect.StructTag) map[string]string {
	out := map[string]string{}
	for _, name := range tagNames {
		if text, ok := of.Lookup(name); ok {
			out[name] = text
		}
	}
	return out
}

// condition is on another key of the same file: that it is one of the words, or
// that it is none of them.
type condition struct {
	key   string
	words []string
	not   bool
}

// tables are the keys of every struct below the files that there are. A site is
// read and checked for each task of a study, so tags are read once, not each time.
var tables = tablesOf(reflect.TypeFor[Cluster](), reflect.TypeFor[Profile](), reflect.TypeFor[Experiment](), reflect.TypeFor[Gate](), reflect.TypeFor[Scaling]())

func tablesOf(files ...reflect.Type) map[reflect.Type][]field {
	out := map[reflect.Type][]field{}
	for len(files) > 0 {
		t := files[len(files)-1]
		files = files[:len(files)-1]
		if _, known := out[t]; known {
			continue
		}
		out[t] = taggedIn(t)
		for _, f := range out[t] {
			switch f.kind {
			case aBlock:
				files = append(files, f.Type)
			case blocks:
				files = append(files, f.Type.Elem())
			}
		}
	}
	return out
}

// fieldsOf lists the keys of a struct in the order of its declaration.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := tables[t]; ok {
		return fields
	}
	return taggedIn(t)
}

// taggedIn is fieldsOf from the tags themselves.
func taggedIn(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		if sf := t.Field(i); sf.IsExported() {
			tags := tagsOf(sf.Tag)
			out = append(out, field{sf, tags["yaml"], kindOf(sf.Type), conditions(tags["when"]), tags})
		}
	}
	return out
}

func conditions(tag string) []condition {
	if tag == "" {
		return nil
	}
	var out []condition
	for text := range strings.SplitSeq(tag, ",") {
		key, words, not := strings.Cut(text, "!=")
		if !not {
			key, words, _ = strings.Cut(text, "=")
		}
		out = append(out, condition{key, strings.Split(words, "|"), not})
	}
	return out
}

// block is a struct whose default is more than those of its keys: it applies
// when the whole key is absent, while a block that is there starts from the
// defaults of its keys.
type block interface{ setDefault() }

// kind is how a value is written. Numbers, spans, sizes and amounts may be pointers: nil is
// that there is none, which a tag has the word for, and 0 is 0.
type kind uint8

const (
	aText    kind = iota
	aBool         // true or false
	aWhole        // int32, int64
	aNumber       // float64
	aSpan         // model.Duration
	aSize         // Bytes, Rate, Power
	anAmount      // Amount
	aNodes        // Nodes: one term or a list of them
	aList         // of words or whole numbers
	aTable        // a list of lists of whole numbers
	aBlock        // keys of its own
	blocks        // a list of blocks
	aRef          // ProfileRef: a name, or a block
)

func kindOf(t reflect.Type) kind {
	switch t {
	case reflect.TypeFor[model.Duration]():
		return aSpan
	case reflect.TypeFor[Bytes](), reflect.TypeFor[Rate](), reflect.TypeFor[Power]():
		return aSize
	case reflect.TypeFor[Amount]():
		return anAmount
	case reflect.TypeFor[Nodes]():
		return aNodes
	case reflect.TypeFor[ProfileRef]():
		return aRef
	}
	switch t.Kind() {
	case reflect.Bool:
		return aBool
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Int32, reflect.Int64:
		return aWhole
	case reflect.Float64:
		return aNumber
	case reflect.Struct:
		return aBlock
	case reflect.Slice:
		switch t.Elem().Kind() {
		case reflect.Struct:
			return blocks
		case reflect.Slice:
			return aTable
		}
		return aList
	}
	return aText
}

// setDefaults fills every key below v, which is a struct, with its default.
func setDefaults(v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		setDefault(v.FieldByIndex(f.Index), f)
	}
}

func setDefault(v reflect.Value, f field) {
	switch k := f.kind; {
	case k == aBlock:
		setDefaults(v)
		if b, ok := v.Addr().Interface().(block); ok {
			b.setDefault()
		}
	case k == aRef:
		v.Set(reflect.ValueOf(ProfileRef{Name: f.tag("default")}))
	case k < aNodes && f.tag("default") != "":
		if err := parseScalar(f.tag("default"), v, f); err != nil {
			panic(fmt.Sprintf("profiles: the default of %s: %v", f.key, err)) // a tag of this package
		}
	case k == aNodes && f.tag("default") != "":
		v.Set(reflect.ValueOf(Nodes{f.tag("default")}))
	default:
		v.SetZero()
	}
}

// isDefault says whether v is what the key has when it is left out.
func isDefault(v reflect.Value, f field) bool {
	def := reflect.New(f.Type).Elem()
	setDefault(def, f)
	if f.kind < aNodes {
		return formatScalar(v, f) == formatScalar(def, f)
	}
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return def.Len() == 0
	}
	return reflect.DeepEqual(v.Interface(), def.Interface())
}

// words that a key may be, nil when any will do.
func (f *field) words() []string {
	switch of := f.tag("of"); of {
	case "":
		return nil
	case "orders":
		return append([]string{"score", "multifactor"}, order.Names()...)
	default:
		return strings.Split(of, ",")
	}
}

// visit calls see for every key below v, which is a struct: blocks before what
// is in them, which is passed over when see says so. path is v's own, "" for a
// whole file.
func visit(v reflect.Value, path string, see func(path string, v reflect.Value, f field) (descend bool)) {
	for _, f := range fieldsOf(v.Type()) {
		at, x := join(path, f.key), v.FieldByIndex(f.Index)
		if !see(at, x, f) {
			continue
		}
		switch f.kind {
		case aBlock:
			visit(x, at, see)
		case blocks:
			for i := range x.Len() {
				visit(x.Index(i), fmt.Sprintf("%s[%d]", at, i), see)
			}
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

var kindNames = [...]string{"text", "true or false", "whole number", "number", "span", "size", "number with its unit", "nodes", "list", "list of lists", "block", "list of blocks", "profile"}
