package profiles

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// checker holds one struct against the tags of its fields.
type checker struct {
	problems
	root reflect.Value
	base string // path of root in its file
}

// check notes every value out of range and every key that does not apply.
func (c *checker) check() {
	visit(c.root, c.base, func(path string, v reflect.Value, f field) (descend bool) {
		if f.Type == reflect.TypeFor[[]Service]() {
			return false // each has conditions of its own, see checkServices
		}
		if why := c.inert(f); why != "" {
			if c.src.has(path) || !isDefault(v, f) {
				c.add(path, "does not apply %s: leave it out", why)
			}
			return false
		}
		if f.kind < aNodes {
			c.within(path, v, f)
		}
		return true
	})
}

// within holds one value against its kind, its words and its range.
func (c *checker) within(path string, v reflect.Value, f field) {
	fresh := reflect.New(f.Type).Elem()
	if err := parseScalar(formatScalar(v, f), fresh, f); err != nil {
		c.add(path, "%v", err)
		return
	}
	low, high := f.tag("min"), f.tag("max")
	if zero := f.tag("zero"); zero != "" && v.IsZero() {
		return
	}
	if f.kind == anAmount && !strings.HasSuffix(f.tag("unit"), "the metric") { // else the metric says
		if _, err := amountIn(v).In("1"); err != nil {
			c.add(path, "%v", err)
			return
		}
	}
	below, above := c.beyond(v, f, low) < 0, c.beyond(v, f, high) > 0
	switch found := formatScalar(v, f); {
	case (below || above) && low != "" && high != "":
		c.add(path, "found %s, want %s to %s", found, low, high)
	case below:
		c.add(path, "found %s, want %s or more", found, low)
	case above:
		c.add(path, "found %s, want at most %s", found, high)
	}
}

// beyond compares a value with a bound that a tag states; none is met.
func (c *checker) beyond(v reflect.Value, f field, bound string) int {
	if bound == "" {
		return 0
	}
	v = reflect.Indirect(v)
	b := reflect.New(v.Type()).Elem()
	if err := parseValue(bound, b, f); err != nil {
		panic(fmt.Sprintf("profiles: the range of %s: %v", f.key, err)) // a tag of this package
	}
	if f.kind == anAmount {
		return cmp.Compare(amountIn(v).bare(), amountIn(b).bare())
	}
	switch {
	case v.CanFloat() && v.Float() < b.Float(), v.CanInt() && v.Int() < b.Int():
		return -1
	case v.CanFloat() && v.Float() > b.Float(), v.CanInt() && v.Int() > b.Int():
		return 1
	}
	return 0
}

// inert says why a key has no effect, "" when it has one.
func (c *checker) inert(f field) string {
	for _, w := range f.when {
		if found := lookup(c.root, w.key); slices.Contains(w.words, found) == w.not {
			return fmt.Sprintf("with %s: %s", w.key, found)
		}
	}
	return ""
}

// lookup is the value of a key below v as it is written.
func lookup(v reflect.Value, path string) string {
	key, rest, deeper := strings.Cut(path, ".")
	f, ok := findField(fieldsOf(v.Type()), key)
	if !ok {
		panic("profiles: a condition names the key " + path + ", which does not exist") // a tag of this package
	}
	if deeper {
		return lookup(v.FieldByIndex(f.Index), rest)
	}
	return formatScalar(v.FieldByIndex(f.Index), f)
}

// goodName says what is wrong with a name, "" when it is fine. A name stands in
// results and on command lines.
func goodName(name string) string {
	const most = 128
	switch {
	case name == "":
		return "is missing: give it a name"
	case len(name) > most:
		return fmt.Sprintf("a name of %d bytes, want at most %d", len(name), most)
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._-", r)) {
			return fmt.Sprintf("found the name %q, want letters, digits and . _ -, a letter or digit first", name)
		}
	}
	return ""
}

func namesOf[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = name(x)
	}
	return out
}
