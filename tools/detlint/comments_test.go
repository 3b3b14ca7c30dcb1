package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRetiredComments keeps comments to the terms of the field.
func TestRetiredComments(t *testing.T) {
	fail(t, theRepository(t).retiredComments(), "what waits, starts and decides is a job, a node or a package")
}

func TestDocCommentsNameWhatTheyDocument(t *testing.T) {
	fail(t, theRepository(t).misnamed(), "a comment that names something else is read as one of something else")
}

func TestCommentRulesFire(t *testing.T) {
	r := inMemory(t, map[string]string{
		"a/a.go": `package a
// startAll starts everybody.
func startAll() {}
// StartEvery is an older name of it.
func startEvery() {}
// Everything that starts.
func old() {} // for its Twin
// core.lookAt is a name of two parts, which goes by the second.
func (core) lookAt() {}
// vClusters are a term.
type core struct{}
// GPUs, SWF and x are words.
var some = "nobody"
// maxLen and minLen are both declared.
const maxLen, minLen = 1, 0
const (
	// max_size is not what follows.
	maxSize = 1
)
`,
		"a/a_test.go": "package a\n// TestOfOther is another.\nfunc TestThis() {}\n",
	})
	var said []string
	for _, f := range append(r.retiredComments(), r.misnamed()...) {
		said = append(said, f.String())
	}
	assert.ElementsMatch(t, []string{
		`a/a.go:2:1: [words] the comment has the retired word "everybody": jobs and nodes are things, and there is a naive implementation`,
		`a/a.go:7:15: [words] the comment has the retired word "Twin": jobs and nodes are things, and there is a naive implementation`,
		"a/a.go:4:1: [comment] the comment of startEvery begins with StartEvery: name what it documents",
		"a/a.go:17:2: [comment] the comment of maxSize begins with max_size: name what it documents",
		"a/a_test.go:2:1: [comment] the comment of TestThis begins with TestOfOther: name what it documents",
	}, said)
}
