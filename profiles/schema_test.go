package profiles

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryTagIsRead: a tag that is in no list of names would say nothing.
func TestEveryTagIsRead(t *testing.T) {
	name := regexp.MustCompile(`(\w+):"`)
	files := []reflect.Type{reflect.TypeFor[Cluster](), reflect.TypeFor[Profile](), reflect.TypeFor[Experiment](), reflect.TypeFor[Gate]()}
	seen := map[reflect.Type]bool{}
	for len(files) > 0 {
		of := files[len(files)-1]
		files = files[:len(files)-1]
		if seen[of] {
			continue
		}
		seen[of] = true
		for _, f := range fieldsOf(of) {
			switch f.kind {
			case aBlock:
				files = append(files, f.Type)
			case blocks:
				files = append(files, f.Type.Elem())
			}
			for _, m := range name.FindAllStringSubmatch(string(f.Tag), -1) {
				require.Contains(t, tagNames, m[1], "tags of %s", f.Name)
				require.Equal(t, f.Tag.Get(m[1]), f.tag(m[1]))
			}
		}
	}
}
