package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLayers holds the files of long packages to their order.
func TestLayers(t *testing.T) {
	r := preparedRepository(t)
	for _, l := range layerTable {
		_, err := r.check(l.dir)
		require.NoError(t, err)
	}
	fail(t, r.layers(layerTable), "a package is read from the top down only while what is below does not use what is above")
}

// small is a package of three files and a half: top uses middle and bottom, middle uses
// bottom, and bottom uses a method and a constant of top.
var small = map[string]string{
	"p/top.go": `package p
const limit = 3
type entry struct{ n int }
type port interface{ Do() }
func (e *entry) Run(p port) { p.Do(); e.step(); var s stack[int]; s.push(1) }
func (e entry) size() int { return limit }
`,
	"p/middle.go": "package p\nfunc (e *entry) step() { e.n++; descend(e) }\n",
	"p/bottom.go": `package p
type stack[T any] struct{ entry; all []T }
func (s *stack[T]) push(x T) { s.all = append(s.all, x) }
func descend(e *entry) { if e.size() > limit { descend(e) }; var s stack[string]; s.push("") ; _ = s.n + s.size() }
`,
	"p/a_test.go": "package p\nfunc helper() { descend(nil) }\n",
}

func TestArrowsAreOfDeclarations(t *testing.T) {
	r := inMemory(t, small)
	_, err := r.check("p")
	require.NoError(t, err)
	assert.Equal(t, []arrow{
		{"bottom", "top", []string{"entry", "entry.size", "limit"}}, // not the field n, by itself or through stack
		{"middle", "bottom", []string{"descend"}},
		{"middle", "top", []string{"entry"}},
		{"top", "bottom", []string{"stack", "stack.push"}}, // not the method of the interface
		{"top", "middle", []string{"entry.step"}},
	}, r.arrows("p"))
}

func TestLayersFire(t *testing.T) {
	texts := map[string]string{"long/a.go": "package long" + strings.Repeat("\n", minLayeredLines+1), "short/a.go": "package short" + strings.Repeat("\n", minLayeredLines)}
	for name, text := range small { //detlint:ordered a map from a map
		texts[name] = text
	}
	r := inMemory(t, texts)
	_, err := r.check("p")
	require.NoError(t, err)
	long := "long: 3001 lines, and no order of its files from 3000 on: add its row to tools/detlint/layertable.go, " +
		"which go run ./tools/detlint -layers -suggest ./long prints"
	assert.Equal(t, []string{long}, whats(r.layers([]layered{{"p", 2, "top middle bottom"}})))
	assert.Equal(t, []string{long, "p: 2 arrows go from a file to one above it, 1 at most: go run ./tools/detlint -layers ./p names them"},
		whats(r.layers([]layered{{"p", 1, "top middle bottom"}})))
	assert.Equal(t, []string{
		long,
		"p: lists top.go twice in tools/detlint/layertable.go: keep one",
		"p: lists side.go, which is no file of it: remove it from tools/detlint/layertable.go",
		"p/middle.go: not in the order of the files of p: add it to tools/detlint/layertable.go above the files that it uses and below those that use it",
		"gone: no such package: remove its row from tools/detlint/layertable.go",
	}, whats(r.layers([]layered{{"p", 0, "top top bottom side"}, {"gone", 0, ""}})))
}

func TestLayerReport(t *testing.T) {
	r := inMemory(t, small)
	_, err := r.check("p")
	require.NoError(t, err)
	assert.Equal(t, `p: 3 files, 12 lines, 5 arrows, 2 upward (no row in tools/detlint/layertable.go)
  lines   out    in    up  file, from the top
      6     2     2     0  top
      2     2     1     1  middle
      4     1     2     1  bottom
upward:
  middle → top: entry
  bottom → top: entry, entry.size, limit
methods: entry 3, stack 1
`, r.layerReport("p"))
	assert.Equal(t, "\t{\"p\", 2, `\n\t\ttop middle bottom`},\n", r.suggested("p"))
	text, err := r.chain("p", "entry.Run")
	require.NoError(t, err)
	assert.Equal(t, `p: 4 steps from entry.Run
  entry.Run
  entry.step
  descend
  entry.size
`, text)
	_, err = r.chain("p", "Run")
	assert.ErrorIs(t, err, errUsage)
	assert.ErrorContains(t, err, "p has no function Run; a method is written Type.Method")
}

func TestSuggest(t *testing.T) {
	arrows := func(text string) (out []arrow) {
		for pair := range strings.FieldsSeq(text) {
			out = append(out, arrow{from: pair[:1], to: pair[1:]})
		}
		return out
	}
	files := func(text string) []string { return strings.Split(text, "") }

	chain := arrows("dc cb ba da")
	assert.Equal(t, files("dcba"), suggest(files("abcd"), chain), "no cycle, no upward arrow")
	ring := arrows("ab bc cd da")
	assert.Equal(t, files("bcda"), suggest(files("bcda"), ring), "an order that is as good as any stays")
	assert.Len(t, upward(ring, suggest(files("dcba"), ring)), 1, "one arrow of a ring goes upward")

	// Two rings that share a, one of which ends at e; every order of the best has two upward.
	rings := arrows("ab bc ca ad de ea ce")
	least := len(rings)
	permute(files("abcde"), func(order []string) { least = min(least, len(upward(rings, order))) })
	best := suggest(files("edcba"), rings)
	assert.Len(t, upward(rings, best), least)
	assert.Equal(t, best, suggest(files("edcba"), rings))
}

// permute visits every order.
func permute(items []string, visit func([]string)) {
	var fill func(chosen []string)
	fill = func(chosen []string) {
		if len(chosen) == len(items) {
			visit(chosen)
			return
		}
		for _, x := range items {
			if !slices.Contains(chosen, x) {
				fill(append(slices.Clone(chosen), x))
			}
		}
	}
	fill(nil)
}

func TestChange(t *testing.T) {
	table := newArrows(4)
	table[0][2], table[2][0], table[3][1], table[2][1], table[1][0] = 1, 1, 1, 1, 1
	order := []int{2, 0, 3, 1}
	for from := range order {
		for to := range order {
			moved := slices.Insert(slices.Delete(slices.Clone(order), from, from+1), to, order[from])
			assert.Equal(t, table.upward(moved)-table.upward(order), table.change(order, from, to), "%d to %d", from, to)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"-layers", "./nosuch"}, {"-layer"}, {"-layers", "/"}} {
		assert.ErrorIs(t, run(args), errUsage, args)
	}
}
