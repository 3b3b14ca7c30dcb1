package refdata

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// probe stands in for the test that asks for a path and records how it ended.
type probe struct {
	testing.TB
	skipped, failed string
}

type ended struct{}

func (p *probe) Helper() {}
func (p *probe) Skipf(format string, args ...any) {
	p.skipped = format
	panic(ended{})
}
func (p *probe) Fatal(args ...any) {
	p.failed = args[0].(error).Error()
	panic(ended{})
}

func probed(t *testing.T, elem ...string) (path string, p *probe) {
	t.Helper()
	p = &probe{TB: t}
	defer func() {
		if r := recover(); r != nil && r != (ended{}) {
			panic(r)
		}
	}()
	return Path(p, elem...), p
}

func TestPath(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "logs"), 0o755))
	file := filepath.Join(dir, "logs", "a.swf")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv(EnvDir, dir)

	for _, require1 := range []string{"", "1"} {
		t.Setenv(EnvRequire, require1)
		got, p := probed(t, "logs", "a.swf")
		assert.Equal(t, file, got)
		assert.Empty(t, p.skipped+p.failed)

		_, p = probed(t, "logs/b.swf")
		assert.Contains(t, p.failed, "lacks logs/b.swf", "a misspelt name is a failure, not an absence")
		_, p = probed(t, "../a.swf")
		assert.Contains(t, p.failed, "leaves the data folder")
	}

	t.Setenv(EnvDir, filepath.Join(dir, "nowhere"))
	_, p := probed(t, "logs/a.swf")
	assert.Contains(t, p.failed, "set ORRERY_DATA", "data was required")
	t.Setenv(EnvRequire, "")
	_, p = probed(t, "logs/a.swf")
	assert.NotEmpty(t, p.skipped)
	assert.Empty(t, p.failed)
}

func TestDataDir(t *testing.T) {
	root := filepath.FromSlash("/src/orrery")
	for env, want := range map[string]string{
		"":          "/src/shared",
		"../else":   "/src/else",
		"/data//x/": "/data/x",
	} {
		assert.Equal(t, want, filepath.ToSlash(dataDir(root, env)), "ORRERY_DATA=%q", env)
	}
}

func TestModuleRoot(t *testing.T) {
	root, err := moduleRoot()
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(root, "go.mod"))

	t.Chdir(t.TempDir())
	_, err = moduleRoot()
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), "no go.mod above"), err)
}
