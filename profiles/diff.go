package profiles

import (
	"reflect"

	"orrery/scheduler/model"
)

// Difference is one key in which two profiles differ. Before or After is ""
// where the key does not apply to the one or the other.
type Difference struct {
	Key           string
	Before, After string
	// BeforeValue and AfterValue are the same as programs read them: spans in seconds,
	// sizes in bytes, bytes a second or watts, words as they are. nil where the key does
	// not apply.
	BeforeValue, AfterValue any
	Unit                    string // of numbers, "" without one
}

// Sign is + for a key that only the second profile has, - for one that only the
// first has, and ~ for a value that changes.
func (d Difference) Sign() string {
	switch {
	case d.Before == "":
		return "+"
	case d.After == "":
		return "-"
	}
	return "~"
}

// Diff lists the keys in which schedules by a and by b may differ, in the order
// of the documents. Names and remarks are not among them; weights are compared
// as scores see them, so normalised in documented mode.
func Diff(a, b *Profile) []Difference {
	var out []Difference
	before, after := a.leaves(), b.leaves()
	for i := range before {
		if before[i].text != after[i].text {
			out = append(out, Difference{before[i].key, before[i].text, after[i].text, before[i].value, after[i].value, before[i].unit})
		}
	}
	return out
}

// leaf is a key and its value as text, "" where it does not apply.
type leaf struct {
	key, text, unit string
	value           any
}

// leaves lists all keys of every profile, in the same order.
func (p *Profile) leaves() []leaf {
	var out []leaf
	applies, weight := p.applies(), 0
	effective, _ := p.scoreWeights() // of a valid profile, or not shown
	visit(reflect.ValueOf(p).Elem(), "", func(path string, v reflect.Value, f field) bool {
		if f.kind == aBlock || path == "name" || f.tag("unit") == "text" {
			return true
		}
		one := leaf{path, formatScalar(v, f), unitOf(f), valueOf(v, f)}
		if f.tag("unit") == "weight" {
			one.text, one.value = effective[weight].String(), effective[weight].Float()
			weight++
		}
		if !applies(f) {
			one.text, one.value = "", nil
		}
		out = append(out, one)
		return true
	})
	return out
}

// unitOf is the unit in which valueOf gives numbers.
func unitOf(f field) string {
	of := f.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of {
	case reflect.TypeFor[model.Duration]():
		return "s"
	case reflect.TypeFor[Bytes]():
		return "B"
	case reflect.TypeFor[Rate]():
		return "B/s"
	case reflect.TypeFor[Power]():
		return "W"
	}
	if f.kind == aWhole || f.kind == aNumber {
		return f.tag("unit")
	}
	return ""
}

// valueOf is the value of a key as a program reads it.
func valueOf(v reflect.Value, f field) any {
	if f.tag("zero") != "" && v.IsZero() {
		return f.tag("zero")
	}
	v = reflect.Indirect(v)
	switch f.kind {
	case aBool:
		return v.Bool()
	case aSpan:
		return model.Duration(v.Int()).Seconds()
	case aWhole, aSize:
		return v.Int()
	case aNumber:
		return v.Float()
	}
	return formatScalar(v, f)
}
