package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDependencies keeps go.mod, the pinned tools and docs/DEPENDENCIES.md in
// step: what is used is explained, and what is explained is used.
func TestDependencies(t *testing.T) {
	r := theRepository(t)
	text := func(name string) string {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		require.NoError(t, err)
		return string(data)
	}
	tools := map[string]string{}
	for file, module := range map[string]string{
		"tools/lint.mod": "github.com/golangci/golangci-lint/v2",
		"tools/vuln.mod": "golang.org/x/vuln",
	} {
		tools[module] = requirements(text(file))[module].version
	}
	duckdb := regexp.MustCompile(`"(@duckdb/node-api)@([^"]+)"`).FindStringSubmatch(text(".ci/run"))
	require.NotNil(t, duckdb, ".ci/run pins DuckDB")
	tools[duckdb[1]] = duckdb[2]

	assert.NotRegexp(t, `(?m)^\s*(replace\b|.*=>)`, text("go.mod"), "go install does not build a module with a replace line")
	required := requirements(text("go.mod"))
	found := dependencies(r.directModules(required), required, documentedModules(text("docs/DEPENDENCIES.md")), tools)
	fail(t, found, "each dependency is code that we answer for without having written it")
}

func TestDependenciesFire(t *testing.T) {
	required := requirements(`module example
require example.com/single v1.0.0
require (
	example.com/direct v1.2.3
	example.com/nested/deep v0.1.0 // indirect
	example.com/nested v0.2.0
	example.com/idle v1.0.0
)`)
	r := inMemory(t, map[string]string{
		"a/a.go":      "package a\n" + `import ("example.com/direct/sub"; "fmt"; "example.com/single")`,
		"a/a_test.go": "package a\n" + `import "example.com/nested/deep/x"`,
	})
	direct := r.directModules(required)
	assert.Equal(t, []string{"example.com/direct", "example.com/nested/deep", "example.com/single"}, direct)

	document := documentedModules("| module | version | why |\n|---|---|---|\n" +
		"| `example.com/direct` | v1.2.2 | because |\n" +
		"| `example.com/single` | v1.0.0 | |\n" +
		"| `example.com/gone` | v1.0.0 | because |\n" +
		"| `tool` | 1.5.0-r.1 | because |\n")
	assert.Equal(t, []string{
		"docs/DEPENDENCIES.md: example.com/direct is documented at v1.2.2 and used at v1.2.3: read what changed, then write it",
		"docs/DEPENDENCIES.md: no row for example.com/nested/deep v0.1.0: say what it is for and why the standard library does not do",
		"docs/DEPENDENCIES.md: example.com/single has an empty cell",
		"docs/DEPENDENCIES.md: nothing imports example.com/gone: remove its row",
		"go.mod: example.com/idle is not imported and not marked // indirect: mark or remove it, as go mod tidy does",
		"go.mod: example.com/nested is not imported and not marked // indirect: mark or remove it, as go mod tidy does",
		"go.mod: example.com/nested/deep is imported and marked // indirect: move its line to the direct ones, as go mod tidy does",
	}, whats(dependencies(direct, required, document, map[string]string{"tool": "1.5.0-r.1"})))
}
