package detlint

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"
)

// maxPrefixed is how many files of a package may begin with the name of another one of
// it. More are a package that has no folder.
const maxPrefixed = 3

// keptPrefix is a file whose name more files may begin with.
type keptPrefix struct{ file, reason string }

var keptPrefixes = []keptPrefix{
}

// prefixes reports the files of packages whose name too many others begin with, tests
// aside, and the kept ones of which that is not so. In a program a prefix is a verb.
func (r *repository) prefixes(kept []keptPrefix) []Finding {
	var found []Finding
	used := make([]bool, len(kept))
	for _, dir := range r.packages() {
		if strings.HasPrefix(dir, "cmd/") {
			continue
		}
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
			if i := slices.IndexFunc(kept, func(k keptPrefix) bool { return k.file == s.path }); i >= 0 {
				used[i] = true
				continue
			}
			found = append(found, Finding{token.Position{Filename: s.path}, "prefix",
				fmt.Sprintf("%d files begin with the name of this one, %d at most: make them a package", n, maxPrefixed)})
		}
	}
	for i, k := range kept {
		if !used[i] {
			found = append(found, Finding{token.Position{Filename: k.file}, "prefix", "no longer too many files begin with its name: remove it from the kept ones"})
		}
	}
	return found
}
