package conform

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// required says which field of the schema a case lacks: without it an expectation that
// is missing would be one of zero. So would one be that is null; these are returned.
func required(raw json.RawMessage, into any) (nulls []string, err error) {
	var r requirement
	err = r.in(raw, reflect.TypeOf(into).Elem(), "")
	return r.nulls, err
}

// requirement compares a case with its schema.
type requirement struct {
	nulls []string
}

func (r *requirement) in(raw json.RawMessage, t reflect.Type, path string) error {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil // what reads itself says what it lacks
	}
	if string(raw) == "null" {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		default:
			r.nulls = append(r.nulls, strings.TrimPrefix(path, "."))
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return r.in(raw, t.Elem(), path)
	case reflect.Slice:
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return err
		}
		for i, item := range items {
			if err := r.in(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return r.fields(raw, t, path)
	}
	return nil
}

func (r *requirement) fields(raw json.RawMessage, t reflect.Type, path string) error {
	var have map[string]json.RawMessage
	if err := json.Unmarshal(raw, &have); err != nil {
		return err
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			if err := r.fields(raw, f.Type, path); err != nil {
				return err
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value, ok := have[name]
		if !ok {
			if options == "omitempty" {
				continue
			}
			return fmt.Errorf("lacks field %q", strings.TrimPrefix(path+"."+name, "."))
		}
		if err := r.in(value, f.Type, path+"."+name); err != nil {
			return err
		}
	}
	return nil
}
