package profiles

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryTagIsRead: a tag that is in no list of names would say nothing.
func TestEveryTagIsRead(t *testing.T) {
	name := regexp.MustCompile(`(\w+):"`)
	for _, fields := range tables {
		for _, f := range fields {
			for _, m := range name.FindAllStringSubmatch(string(f.Tag), -1) {
				require.Contains(t, tagNames, m[1], "tags of %s", f.Name)
				require.Equal(t, f.Tag.Get(m[1]), f.tag(m[1]))
			}
		}
	}
}
