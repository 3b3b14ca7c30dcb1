package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"orrery/internal/disk"
	"orrery/traces"
)

// tiny is a log of four rows of which one cannot be kept.
const tiny = `; Version: 2.2
; UnixStartTime: 843480031
; TimeZoneString: Europe/Stockholm
; MaxProcs: 100
1 0 10 3477 4 -1 -1 4 53940 -1 1 12 12 -1 -1 -1 -1 -1
2 5 -1 60 4 -1 -1 4 53940 -1 1 13 12 -1 -1 -1 -1 -1
3 -1 0 60 4 -1 -1 4 53940 -1 1 13 12 -1 -1 -1 -1 -1
4 6 0 60 4 -1 -1 4 53940 -1 1 12 12 -1 -1 -1 -1 -1
`

func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, errors.Join(err, w.Close()))
	return b.String()
}

func xzed(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	require.NoError(t, err)
	_, err = w.Write([]byte(text))
	require.NoError(t, errors.Join(err, w.Close()))
	return b.String()
}

// save writes a file into a new directory and returns its path.
func save(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// inventory lists a directory and what lies in it, hidden files too.
func inventory(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if path != dir {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	return names
}

func TestImportOfEveryPacking(t *testing.T) {
	var hashes []string
	for _, c := range []struct{ name, content string }{
		{"log.swf", tiny},
		{"log.swf.gz", gz(t, tiny)},
		{"log.swf.xz", xzed(t, tiny)},
		{"gzip under a false name.swf", gz(t, tiny)},
		{"two members.gz", gz(t, tiny[:300]) + gz(t, tiny[300:])},
		{"two streams.xz", xzed(t, tiny[:300]) + xzed(t, tiny[300:])},
		{"dos.txt", strings.ReplaceAll(tiny, "\n", "\r\n")},
	} {
		path := save(t, c.name, c.content)
		out := filepath.Join(t.TempDir(), "out.trace")
		report, err := Import([]string{path}, out, Options{})
		require.NoError(t, err, c.name)
		require.Equal(t, path, report.File)
		require.True(t, report.Balanced())
		require.Equal(t, [2]int64{4, 3}, [2]int64{report.Read, report.Kept})
		require.Equal(t, []string{"jobs.parquet"}, inventory(t, out))
		b, err := traces.Open(out)
		require.NoError(t, err)
		require.Equal(t, int64(3), b.Info().Rows)
		require.Equal(t, int32(100), b.Info().MaxProcs)
		require.True(t, b.Info().Sorted)
		hashes = append(hashes, b.Info().Hash)
		require.NoError(t, b.Close())
	}
	for _, h := range hashes {
		require.Equal(t, hashes[0], h)
	}
}

func TestRefusalsLeaveNothing(t *testing.T) {
	many := strings.Repeat(tiny[strings.Index(tiny, "\n1 "):], 3000)
	for name, c := range map[string]struct{ content, found string }{
		"empty":               {"", "an empty file"},
		"empty in gzip":       {gz(t, ""), "an empty file"},
		"header without rows": {"; MaxProcs: 4\n", "a header without rows"},
		"binary":              {"\x7fELF\x02\x01\x01\x00\x00", "a binary file"},
		"binary in gzip":      {gz(t, "\x00\x01\x02"), "a binary file"},
		"cut gzip":            {gz(t, many)[:1500], "damaged or cut short gzip data"},
		"cut gzip, head":      {gz(t, tiny)[:5], "damaged or cut short gzip data"},
		"cut gzip, sum":       {strings.TrimSuffix(gz(t, tiny), gz(t, tiny)[len(gz(t, tiny))-1:]), "damaged or cut short gzip data"},
		"altered gzip":        {gz(t, tiny)[:60] + "X" + gz(t, tiny)[61:], "damaged or cut short gzip data"},
		"cut xz":              {xzed(t, many)[:len(xzed(t, many))-40], "damaged or cut short xz data"},
		"cut xz, head":        {xzed(t, tiny)[:7], "damaged or cut short xz data"},
		"cut xz, index":       {xzed(t, tiny)[:len(xzed(t, tiny))-4], "damaged or cut short xz data"},
		"bzip2":               {"BZh91AY&SY", "bzip2 data"},
		"zstd":                {"\x28\xb5\x2f\xfd\x00", "zstd data"},
		"zip":                 {"PK\x03\x04", "zip data"},
		"NaN":                 {tiny + strings.Replace(tiny[strings.Index(tiny, "\n1 "):], "3477", "NaN", 1), `found "NaN"`},
		"text":                {many + "5 6 0 sixty 4 -1 -1 4 53940 -1 1 12 12 -1 -1 -1 -1 -1", `found "sixty"`},
		"overflow":            {tiny + "5 6 0 60 4294967296 -1 -1 4 53940 -1 1 12 12 -1 -1 -1 -1 -1", `found "4294967296"`},
		"other text":          {"job,start,end,user\n1,2,3,4\n", "a table of comma-separated values is imported by naming its columns"},
		"parquet magic only":  {"PAR1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := save(t, "log.swf", c.content)
			dir := t.TempDir()
			_, err := Import([]string{path}, filepath.Join(dir, "out.trace"), Options{BadRows: traces.NoBadRows})
			require.Error(t, err)
			require.Empty(t, inventory(t, dir))

			cache := t.TempDir()
			_, _, err = OpenAny([]string{path}, Options{CacheDir: cache, BadRows: traces.NoBadRows})
			var data *traces.DataError
			require.ErrorAs(t, err, &data)
			require.ErrorContains(t, err, c.found)
			for _, name := range inventory(t, cache) {
				require.Equal(t, "imports", name)
			}
		})
	}
}

// TestTwoGigabyteLine reads a compressed line of 2 GB: it is refused early and
// in little memory. The line is the content of 128 gzip members.
func TestTwoGigabyteLine(t *testing.T) {
	part := gz(t, strings.Repeat("0", 16<<20))
	for name, start := range map[string]string{"first": "", "after rows": tiny, "after a header": "; header\n"} {
		t.Run(name, func(t *testing.T) {
			path := save(t, "log.swf.gz", gz(t, start)+strings.Repeat(part, 128))
			dir := t.TempDir()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Import([]string{path}, filepath.Join(dir, "out.trace"), Options{})
			runtime.ReadMemStats(&after)
			var data *traces.DataError
			require.ErrorAs(t, err, &data)
			require.ErrorContains(t, err, "a line longer than ")
			require.Empty(t, inventory(t, dir))
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
		})
	}
}

func TestStrict(t *testing.T) {
	path := save(t, "log.swf", tiny)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.parquet")
	report, err := Import([]string{path}, out, Options{Strict: true})
	var data *traces.DataError
	require.ErrorAs(t, err, &data)
	require.ErrorContains(t, err, "no-submit-time: 1 (first on line 7: job 3, submit time -1)")
	require.Equal(t, int64(4), report.Read)
	require.Empty(t, inventory(t, dir))

	cache := Options{CacheDir: t.TempDir()}
	src, _, err := OpenAny([]string{path}, cache)
	require.NoError(t, err)
	require.NoError(t, src.Close())
	cache.Strict = true
	_, _, err = OpenAny([]string{path}, cache)
	require.ErrorAs(t, err, &data, "a cached import is judged too")
}

func TestWatch(t *testing.T) {
	rows := strings.Repeat(tiny[strings.Index(tiny, "\n1 "):], 12_000)
	for _, content := range []string{rows, gz(t, rows), xzed(t, rows)} {
		path := save(t, "log.swf", content)
		dir := t.TempDir()
		last, calls := int64(-1), 0
		_, err := Import([]string{path}, filepath.Join(dir, "out.parquet"), Options{Watch: func(done, total int64) error {
			require.Equal(t, int64(2*len(content)), total)
			require.Greater(t, done, last)
			require.LessOrEqual(t, done, total)
			last = done
			calls++
			return nil
		}})
		require.NoError(t, err)
		require.GreaterOrEqual(t, calls, 2)

		enough := errors.New("enough")
		for _, after := range []int{1, 2} { // in the first pass, in the second
			cache, n := t.TempDir(), 0
			_, _, err = OpenAny([]string{path}, Options{CacheDir: cache, Watch: func(done, _ int64) error {
				if n++; n == after || done >= int64(len(content)) {
					return enough
				}
				return nil
			}})
			require.ErrorIs(t, err, enough)
			require.Equal(t, []string{"imports"}, inventory(t, cache))
		}
	}
}

func TestDetect(t *testing.T) {
	log := save(t, "log.swf", tiny)
	bundle := filepath.Join(t.TempDir(), "b.trace")
	_, err := Import([]string{log}, bundle, Options{})
	require.NoError(t, err)
	for path, want := range map[string]Format{
		log:                                   "swf",
		save(t, "x", gz(t, tiny)):             "swf",
		bundle:                                Bundle,
		filepath.Join(bundle, "jobs.parquet"): Parquet,
	} {
		got, err := Detect(path, Options{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = Import([]string{bundle}, filepath.Join(t.TempDir(), "c.trace"), Options{})
	require.ErrorContains(t, err, "a trace bundle already")
	_, err = Detect(t.TempDir(), Options{})
	require.ErrorContains(t, err, "a directory without jobs.parquet")
	_, err = Detect(filepath.Join(t.TempDir(), "nowhere"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// FuzzDetect feeds the importer with anything, compressed or not: it neither
// panics nor hangs, and it opens nothing whose counts do not add up.
func FuzzDetect(f *testing.F) {
	f.Add([]byte(tiny))
	f.Add([]byte(gz(f, tiny)))
	f.Add([]byte(xzed(f, tiny)))
	f.Add([]byte("PAR1xxxxPAR1"))
	f.Add([]byte(fmt.Sprintf("%s\n%s", tiny, tiny)))
	f.Cleanup(disk.Through(unsynced))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		src, o, err := OpenAny([]string{path}, Options{CacheDir: t.TempDir()})
		if err != nil {
			var data *traces.DataError
			if !errors.As(err, &data) {
				t.Fatalf("refused without a DataError: %v", err)
			}
			return
		}
		if o.Report != nil && (!o.Report.Balanced() || o.Report.Kept != src.Info().Rows) {
			t.Fatalf("counts do not add up: %+v, %d rows", o.Report, src.Info().Rows)
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
