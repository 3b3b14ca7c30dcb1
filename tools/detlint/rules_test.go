package main

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRulesFire runs all rules on the small programs of testdata/rules. A line
// that must be found ends in "// want RULE...", all others must pass: each file
// shows how its rule is broken, how the same thing is done well, and how the
// escape hatch opens.
func TestRulesFire(t *testing.T) {
	sources, err := filepath.Glob("testdata/rules/*.go")
	require.NoError(t, err)
	r := &repository{root: "../..", module: "example", fset: token.NewFileSet(),
		folders: map[string][]*source{}, checked: map[string]*pass{}}
	for _, name := range sources {
		file, err := parser.ParseFile(r.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		r.folders[name] = []*source{{path: name, file: file, built: true}}
	}
	require.NoError(t, r.prepare(sources))

	fired := map[string]bool{}
	for _, name := range sources {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".go"), func(t *testing.T) {
			p, err := r.check(name)
			require.NoError(t, err)
			got := map[int][]string{}
			for _, f := range p.run(func(string) bool { return false }) {
				got[f.Pos.Line] = append(got[f.Pos.Line], f.Rule)
				fired[f.Rule] = true
				assert.NotEmpty(t, f.What)
			}
			assert.Equal(t, wanted(t, name), got)
		})
	}
	for _, rule := range rules {
		assert.True(t, fired[rule.name], "no program of testdata/rules breaks rule %s", rule.name)
		assert.Contains(t, sources, "testdata/rules/"+rule.name+".go")
	}
	assert.True(t, fired[ruleAnnotation])
}

var wantMark = regexp.MustCompile(`// want ([a-z ]+)$`)

func wanted(t *testing.T, name string) map[int][]string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	want := map[int][]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if m := wantMark.FindStringSubmatch(line); m != nil {
			want[i+1] = strings.Fields(m[1])
		}
	}
	return want
}

// TestExemptionsAreNeeded keeps the table of exceptions honest: a package may
// be excused from a rule only while it would break it.
func TestExemptionsAreNeeded(t *testing.T) {
	r := preparedRepository(t)
	dirs := r.packages()
	for _, dir := range dirs {
		own, ok := ruleOf(dir)
		if !ok || slices.ContainsFunc(own.free, func(e exemption) bool { return e.reason == shell.reason }) {
			continue // shells are excused as a kind, not one by one
		}
		p, err := r.check(dir)
		if err != nil {
			continue // TestDeterminism says so
		}
		broken := map[string]bool{}
		for _, f := range p.run(func(string) bool { return false }) {
			broken[f.Rule] = true
		}
		for _, e := range own.free {
			for _, rule := range e.rules {
				assert.True(t, broken[rule], "%s no longer needs its exemption from %s (it breaks %v)",
					dir, rule, slices.Sorted(maps.Keys(broken)))
			}
		}
	}
}
