// Package maporder walks over maps.
package maporder

import (
	"maps"
	"reflect"
	"slices"
)

type table map[int]string

func wrong(m table) (keys []int) {
	for k := range m { // want maporder
		keys = append(keys, k)
	}
	for k := range maps.Keys(m) { // want maporder
		keys = append(keys, k)
	}
	values := slices.Collect(maps.Values(m)) // want maporder
	_ = values
	_ = reflect.ValueOf(m).MapKeys() // want maporder
	return keys
}

func generic[M ~map[K]V, K comparable, V any](m M) {
	for range m { // want maporder
	}
}

func right(m table) (total int) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		total += k
	}
	//detlint:ordered a sum of integers does not depend on the order
	for k := range m {
		total += k
	}
	for k := range m { //detlint:ordered a sum of integers does not depend on the order
		total += k
	}
	//detlint:ordered a sum of integers does not depend on the order, which is
	// a reason that takes two lines
	for k := range m {
		total += k
	}
	return total + len(m)
}
