// Package global keeps state between runs.
package global

var names = []string{"a", "b"}

var total struct{ runs int }

func wrong() {
	names[0] = "c"             // want global
	total.runs++               // want global
	names = nil                // want global
	for total.runs = range 3 { // want global
	}
}

func right() string {
	names := names[:1]
	names = append(names, "c")
	return names[0]
}
