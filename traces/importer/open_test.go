package importer

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

func rows(t testing.TB, src traces.Source) int {
	t.Helper()
	n := 0
	var b traces.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err)
		n += b.Len()
	}
}

func mustOpen(t testing.TB, path string, opts Options) (traces.Info, *Opened) {
	t.Helper()
	src, o, err := OpenAny([]string{path}, opts)
	require.NoError(t, err)
	require.Equal(t, 3, rows(t, src))
	info := src.Info()
	require.NoError(t, src.Close())
	return info, o
}

func TestOpenAnyKeepsImports(t *testing.T) {
	opts := Options{CacheDir: t.TempDir()}
	path := save(t, "a.swf.gz", gz(t, tiny))
	first, o := mustOpen(t, path, opts)
	require.False(t, o.Cached)
	require.Contains(t, o.Note, "imported "+path)
	require.Equal(t, "a", first.Name)
	require.Equal(t, int64(4), o.Report.Read)

	second, o := mustOpen(t, path, opts)
	require.True(t, o.Cached)
	require.Contains(t, o.Note, "imported before")
	require.Equal(t, first, second)
	require.Equal(t, int64(4), o.Report.Read)
	require.Equal(t, path, o.Report.File)

	copied := save(t, "b.swf.gz", gz(t, tiny))
	info, o := mustOpen(t, copied, opts)
	require.True(t, o.Cached, "the content counts, not the name")
	require.Equal(t, "b", info.Name)
	require.Equal(t, copied, o.Report.File)

	plain, o := mustOpen(t, save(t, "a.swf", tiny), opts)
	require.False(t, o.Cached)
	require.Equal(t, first, plain, "the identity of a log is its content")
}

func TestDamagedEntriesAreMadeAgain(t *testing.T) {
	path := save(t, "a.swf", tiny)
	for name, damage := range map[string]func(entry string) error{
		"altered": func(entry string) error {
			text, err := os.ReadFile(filepath.Join(entry, entryTable))
			if err != nil {
				return err
			}
			text[len(text)/2] ^= 1
			return os.WriteFile(filepath.Join(entry, entryTable), text, 0o644)
		},
		"cut":      func(entry string) error { return os.Truncate(filepath.Join(entry, entryTable), 10) },
		"no table": func(entry string) error { return os.Remove(filepath.Join(entry, entryTable)) },
		"no label": func(entry string) error { return os.Remove(filepath.Join(entry, entryLabel)) },
		"label":    func(entry string) error { return os.WriteFile(filepath.Join(entry, entryLabel), []byte("{"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{CacheDir: t.TempDir()}
			first, o := mustOpen(t, path, opts)
			entry := filepath.Dir(o.Table)
			require.NoError(t, damage(entry))
			again, o := mustOpen(t, path, opts)
			require.False(t, o.Cached)
			require.Equal(t, first, again)
			_, o = mustOpen(t, path, opts)
			require.True(t, o.Cached)
			require.Len(t, inventory(t, filepath.Dir(entry)), 3, "one entry of two files")
		})
	}
}

// TestEntriesOfEarlierBuilds: those have the digest of the table of jobs alone.
func TestEntriesOfEarlierBuilds(t *testing.T) {
	opts := Options{CacheDir: t.TempDir()}
	path := save(t, "a.swf", tiny)
	first, o := mustOpen(t, path, opts)
	entry := filepath.Dir(o.Table)
	l, err := loadEntry(entry)
	require.NoError(t, err)
	l.SHA256, l.Tables = l.Tables[entryTable], nil
	text, err := json.Marshal(l)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(entry, entryLabel), text, 0o644))
	again, o := mustOpen(t, path, opts)
	require.True(t, o.Cached)
	require.Equal(t, first, again)
}

func TestWithoutCache(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	path := save(t, "a.swf", tiny)
	file := save(t, "not a directory", "")
	for name, set := range map[string]func(*testing.T) Options{
		"as asked":        func(*testing.T) Options { return Options{NoCache: true} },
		"cache is a file": func(*testing.T) Options { return Options{CacheDir: file} },
		"no home": func(t *testing.T) Options {
			t.Setenv("HOME", "")
			t.Setenv("XDG_CACHE_HOME", "")
			return Options{}
		},
		"home is a file": func(t *testing.T) Options {
			t.Setenv("XDG_CACHE_HOME", file)
			return Options{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			src, o, err := OpenAny([]string{path}, set(t))
			require.NoError(t, err)
			require.Contains(t, o.Note, "no cache (")
			require.NotEmpty(t, inventory(t, temp))
			require.Equal(t, 3, rows(t, src))
			require.NoError(t, src.Close())
			require.Empty(t, inventory(t, temp))
		})
	}
}

func TestUserCacheDirIsTheDefault(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("HOME", home)
	mustOpen(t, save(t, "a.swf", tiny), Options{})
	user, err := os.UserCacheDir()
	require.NoError(t, err)
	require.Len(t, inventory(t, filepath.Join(user, "orrery", "imports")), 3)
}

// TestImportsAtOnce opens one log many times at once: all get the same trace,
// and one entry is left.
func TestImportsAtOnce(t *testing.T) {
	opts := Options{CacheDir: t.TempDir()}
	path := save(t, "a.swf", tiny)
	hashes := make([]string, 16)
	var wg sync.WaitGroup
	for i := range hashes {
		wg.Go(func() {
			src, _, err := OpenAny([]string{path}, opts)
			if err != nil {
				hashes[i] = err.Error()
				return
			}
			hashes[i] = src.Info().Hash
			if err := src.Close(); err != nil {
				hashes[i] = err.Error()
			}
		})
	}
	wg.Wait()
	for _, h := range hashes {
		require.Equal(t, hashes[0], h)
	}
	require.Len(t, hashes[0], 64)
	require.Len(t, inventory(t, filepath.Join(opts.CacheDir, "imports")), 3)
}

func TestOpenAnyOfTraces(t *testing.T) {
	path := save(t, "a.swf", tiny)
	out := filepath.Join(t.TempDir(), "my.trace")
	_, err := Import([]string{path}, out, Options{})
	require.NoError(t, err)
	info, o := mustOpen(t, out, Options{CacheDir: t.TempDir()})
	require.Equal(t, "my", info.Name)
	require.Equal(t, &Opened{Format: Bundle, Table: out, Bundle: o.Bundle}, o)
	info, o = mustOpen(t, filepath.Join(out, "jobs.parquet"), Options{})
	require.Equal(t, "jobs", info.Name)
	require.Equal(t, Parquet, o.Format)
}

// TestPipe reads a log that can be read once only.
func TestPipe(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	go func() {
		_ = os.WriteFile(path, []byte(tiny), 0o600) // the open below fails if this does
	}()
	info, o := mustOpen(t, path, Options{CacheDir: t.TempDir()})
	require.Equal(t, "pipe", info.Name)
	require.Equal(t, path, o.Report.File)
	require.Empty(t, inventory(t, os.TempDir()))
}
