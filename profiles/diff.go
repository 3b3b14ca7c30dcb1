package profiles

import "reflect"

// Difference is one key in which two profiles differ. Before or After is ""
// where the key does not apply to the one or the other.
type Difference struct {
	Key           string
	Before, After string
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
			out = append(out, Difference{before[i].key, before[i].text, after[i].text})
		}
	}
	return out
}

// leaf is a key and its value as text, "" where it does not apply.
type leaf struct{ key, text string }

// leaves lists all keys of every profile, in the same order.
func (p *Profile) leaves() []leaf {
	var out []leaf
	applies, weight := p.applies(), 0
	effective, _ := p.ScoreWeights() // of a valid profile, or not shown
	visit(reflect.ValueOf(p).Elem(), "", func(path string, v reflect.Value, f field) bool {
		if f.kind == aBlock || path == "name" || f.tag("unit") == "text" {
			return true
		}
		text := formatScalar(v, f)
		if f.tag("unit") == "weight" {
			text = effective[weight].String()
			weight++
		}
		if !applies(f) {
			text = ""
		}
		out = append(out, leaf{path, text})
		return true
	})
	return out
}
