package main

import (
	"fmt"
	"go/token"
	"path"
	"strings"
)

// maxPrefixed is how many files of a package may begin with the name of another one of
// it. More are a package that has no folder.
const maxPrefixed = 3

// prefixes reports the files of packages whose name too many others begin with, tests
// aside.
func (r *repository) prefixes() []Finding {
	var found []Finding
	for _, dir := range r.packages() {
		for _, s := range r.folders[dir] {
			name, n := strings.TrimSuffix(path.Base(s.path), ".go"), 0
			for _, other := range r.folders[dir] {
				if base := path.Base(other.path); !other.test && other != s && strings.HasPrefix(base, name) {
					n++
				}
			}
			if s.test || n <= maxPrefixed {
				continue
			}
			found = append(found, Finding{token.Position{Filename: s.path}, "prefix",
				fmt.Sprintf("%d files begin with the name of this one, %d at most: make them a package", n, maxPrefixed)})
		}
	}
	return found
}
