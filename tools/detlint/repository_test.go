package main

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var repositoryOnce = sync.OnceValues(func() (*repository, error) { return open("../..") })

func theRepository(t *testing.T) *repository {
	t.Helper()
	r, err := repositoryOnce()
	require.NoError(t, err)
	return r
}

// preparedOnce readies the repository for type-checking, once: types that two importers read are two.
var preparedOnce = sync.OnceValue(func() error {
	r, err := repositoryOnce()
	if err != nil {
		return err
	}
	return r.prepare(r.packages())
})

func preparedRepository(t *testing.T) *repository {
	t.Helper()
	require.NoError(t, preparedOnce())
	return theRepository(t)
}

// TestDeterminism checks every package against every rule that
// binds it.
func TestDeterminism(t *testing.T) {
	r := preparedRepository(t)
	dirs := r.packages()
	byRule := map[string][]Finding{}
	for _, dir := range dirs {
		p, err := r.check(dir)
		if !assert.NoError(t, err) {
			continue
		}
		own, _ := ruleOf(dir)
		for _, f := range p.run(own.excused) {
			byRule[f.Rule] = append(byRule[f.Rule], f)
		}
	}
	for _, rule := range append(slices.Clone(rules), rule{name: ruleAnnotation, reason: "an exception is worth only its reason"}) {
		t.Run(rule.name, func(t *testing.T) {
			require.NotEmpty(t, rule.reason)
			fail(t, byRule[rule.name], rule.reason)
		})
	}
}

// TestImportRules keeps each package to the imports that the table grants it, so
// that the layers of docs/ARCHITECTURE.md stand.
func TestImportRules(t *testing.T) {
	fail(t, theRepository(t).importRules(), "the simulator and the live shell can share the core only while it knows neither")
}

func TestSize(t *testing.T) {
	fail(t, theRepository(t).sizes(), "what does not fit in one reading is not read")
}

func TestPackageComments(t *testing.T) {
	fail(t, theRepository(t).undocumented(), "the comment is where a reader learns what a package is for")
}

func fail(t *testing.T, found []Finding, reason string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
	if len(found) > 0 {
		t.Logf("the reason: %s", reason)
	}
}

// TestPackageTable checks the table itself: no row twice, every exemption names
// a rule and a reason, every folder in it exists or is spelt like one.
func TestPackageTable(t *testing.T) {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	seen := map[string]bool{}
	for _, own := range packageTable {
		assert.False(t, seen[own.dir], "%s has two rows", own.dir)
		seen[own.dir] = true
		for _, e := range own.free {
			assert.NotEmpty(t, e.reason, own.dir)
			assert.Subset(t, names, e.rules, own.dir)
		}
	}
}
