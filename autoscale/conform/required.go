package conform

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// required says which field of the schema a case lacks: without it an expectation that
// is missing would be one of zero.
func required(raw json.RawMessage, into any) error {
	return requiredIn(raw, reflect.TypeOf(into).Elem(), "")
}

func requiredIn(raw json.RawMessage, t reflect.Type, path string) error {
	if string(raw) == "null" || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil // what reads itself says what it lacks
	}
	switch t.Kind() {
	case reflect.Pointer:
		return requiredIn(raw, t.Elem(), path)
	case reflect.Slice:
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return err
		}
		for i, item := range items {
			if err := requiredIn(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return requiredFields(raw, t, path)
	}
	return nil
}

func requiredFields(raw json.RawMessage, t reflect.Type, path string) error {
	var have map[string]json.RawMessage
	if err := json.Unmarshal(raw, &have); err != nil {
		return err
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			if err := requiredFields(raw, f.Type, path); err != nil {
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
		if err := requiredIn(value, f.Type, path+"."+name); err != nil {
			return err
		}
	}
	return nil
}
