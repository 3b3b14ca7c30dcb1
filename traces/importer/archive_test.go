package importer

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// entry is a member of a tar archive that is to be made.
type entry struct {
	name, text string
	kind       byte
}

func tarred(t testing.TB, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o600}
		if e.kind == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(e.text))
		}
		require.NoError(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := io.WriteString(w, e.text)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return b.String()
}

// accounting is a log of SGE with one job.
func accounting(t testing.TB, id int) string {
	t.Helper()
	f := make([]string, 45)
	for i := range f {
		f[i] = "0"
	}
	f[0], f[1], f[2], f[3], f[4], f[5] = "short.q", "n1", "lab", "eva", "fit", fmt.Sprint(id)
	f[6], f[7] = "sge", "0"
	f[8], f[9], f[10] = fmt.Sprint(1700000000+id), fmt.Sprint(1700000010+id), fmt.Sprint(1700000070+id)
	f[33], f[34], f[35] = "none", "1", "0"
	f[31], f[39], f[41] = "NONE", "NONE", "NONE"
	return strings.Join(f, ":") + "\n"
}

// TestArchiveIsReadOncePerPass: an import of many members reads the archive as often as one
// of a few does, and so does looking for the format.
func TestArchiveIsReadOncePerPass(t *testing.T) {
	var entries []entry
	for i := range 1000 {
		entries = append(entries, entry{name: fmt.Sprintf("logs/%04d", i), text: accounting(t, i+1)})
	}
	for name, content := range map[string]string{"a.tar": tarred(t, entries...), "a.tar.gz": gz(t, tarred(t, entries...)), "a.tar.xz": xzed(t, tarred(t, entries...))} {
		t.Run(name, func(t *testing.T) {
			path := save(t, name, content)
			in, err := open([]string{path}, Options{})
			require.NoError(t, err)
			defer in.close()
			require.Len(t, in.list, 1000)
			in.read = 0
			report, err := in.importTo(filepath.Join(t.TempDir(), "a.trace"), Options{Watch: func(int64, int64) error { return nil }})
			require.NoError(t, err)
			require.Equal(t, int64(1000), report.Kept)
			require.LessOrEqual(t, in.read, int64(2*len(content)+4*headBytes))
		})
	}
}

// TestManyEmptyMembers took a quarter of a minute for 2,500 when each was sought from the
// beginning.
func TestManyEmptyMembers(t *testing.T) {
	for name, kind := range map[string]byte{"files": 0, "folders": tar.TypeDir} {
		t.Run(name, func(t *testing.T) {
			var entries []entry
			for i := range 20_000 {
				entries = append(entries, entry{name: fmt.Sprintf("n%d", i), kind: kind})
			}
			path := save(t, "a.tar.gz", gz(t, tarred(t, append(entries, entry{name: "log", text: tiny})...)))
			began := time.Now()
			report, err := Import([]string{path}, filepath.Join(t.TempDir(), "a.trace"), Options{})
			require.NoError(t, err)
			require.Equal(t, int64(4), report.Read)
			require.Less(t, time.Since(began), 20*time.Second)

			path = save(t, "b.tar.gz", gz(t, tarred(t, append(entries, entries...)...)+strings.Repeat("\x00", 1<<20)))
			_, err = Import([]string{path}, filepath.Join(t.TempDir(), "a.trace"), Options{})
			require.Error(t, err)
		})
	}
}

func TestRefusedArchives(t *testing.T) {
	var many []entry
	for i := range mostMembers + 1 {
		many = append(many, entry{name: fmt.Sprintf("n%d", i), kind: tar.TypeDir})
	}
	whole := tarred(t, entry{name: "log", text: tiny})
	for name, c := range map[string]struct{ content, found string }{
		"too many members": {tarred(t, many...), "an archive of more than 100000 members"},
		"a long name":      {tarred(t, entry{name: strings.Repeat("n", 5000), text: tiny}), "a member whose name has 5000 bytes"},
		"a name twice":     {tarred(t, entry{name: "log", text: tiny}, entry{name: "log", text: tiny}), "two members of that name"},
		"no files":         {tarred(t, entry{name: "d", kind: tar.TypeDir}), "an archive without files"},
		"a table":          {tarred(t, entry{name: "jobs.parquet", text: "PAR1xxxxPAR1"}), "a Parquet table inside an archive"},
		"another archive":  {tarred(t, entry{name: "a.tar.gz", text: gz(t, whole)}), "binary"},
		"a cut member":     {whole[:700], "a damaged or cut tar archive"},
		"a cut header":     {whole[:512+1024][:1100] + "x", "a damaged or cut tar archive"},
		"cut gzip":         {gz(t, tarred(t, entry{name: "log", text: strings.Repeat(tiny, 3000)}))[:1000], "damaged or cut short gzip data"},
		"a sparse member":  {sparse(t, 1<<40), "a line longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			path := save(t, "a.tar", c.content)
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			grown := allocatedBy(func() {
				_, err := Import([]string{path}, filepath.Join(dir, "out.trace"), Options{})
				var data *traces.DataError
				require.ErrorAs(t, err, &data)
				require.ErrorContains(t, err, c.found)
			})
			require.Empty(t, inventory(t, dir))
			if !underRace { // the detector allocates beside each thing
				require.Less(t, grown, uint64(128<<20))
			}
		})
	}
}

// underRace says whether the race detector looks on.
var underRace bool

// sparse is an archive whose member says that it has so many bytes of zeros, in the old
// format of GNU tar, behind rows that are read.
func sparse(t testing.TB, size int64) string {
	t.Helper()
	head := strings.Repeat("; a line of a comment\n", 1<<17/22)
	head += strings.Repeat(";", 1<<17-len(head)-1) + "\n"
	one := []byte(tarred(t, entry{name: "log", text: head}))
	h := one[:512]
	h[156] = 'S'
	octal := func(at int, n int64) { copy(h[at:], fmt.Sprintf("%011o\x00", n)) }
	octal(386, 0) // the first piece: where, and how long
	octal(386+12, int64(len(head)))
	octal(386+24, size) // the end
	octal(386+36, 0)
	copy(h[483:], base256(size))
	copy(h[257:], "ustar  \x00")
	copy(h[386+24:], base256(size))
	copy(h[148:], "        ")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return string(one)
}

func base256(n int64) []byte {
	b := make([]byte, 12)
	binary.BigEndian.PutUint64(b[4:], uint64(n))
	b[0] = 0x80
	return b
}

// allocatedBy is how many bytes a function allocates.
func allocatedBy(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// xzBlocks is xz data of so many blocks, each with a declared dictionary and a few bytes.
func xzBlocks(blocks int, dictionary byte) string {
	sum := func(b []byte) []byte { return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(b)) }
	out := append([]byte("\xfd7zXZ\x00"), 0, 1)
	out = append(out, sum(out[6:])...)
	var index []byte
	for range blocks {
		head := []byte{2, 0, 0x21, 1, dictionary, 0, 0, 0}
		out = append(append(out, head...), sum(head)...)
		text := []byte("; a\n")
		body := append([]byte{1, 0, byte(len(text) - 1)}, text...)
		body = append(body, 0)
		out = append(append(out, body...), sum(text)...) // 8 bytes, so no padding
		index = append(index, 12+8+4, byte(len(text)))
	}
	index = append(binary.AppendUvarint([]byte{0}, uint64(blocks)), index...)
	for len(index)%4 != 0 {
		index = append(index, 0)
	}
	out = append(append(out, index...), sum(index)...)
	foot := append(binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4)), 0, 1)
	out = append(append(out, sum(foot)...), foot...)
	return string(append(out, "YZ"...))
}

// TestDeclaredDictionaries: xz data of half a kilobyte says that it needs dictionaries of
// gigabytes. It is refused before there are any.
func TestDeclaredDictionaries(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		allow   int64
		found   string
		most    uint64
	}{
		"4 GiB once":                {xzBlocks(1, 40), 0, "a dictionary of more than 64 MiB", 4 << 20},
		"1.5 GiB in 20 blocks":      {xzBlocks(20, 37), 0, "a dictionary of more than 64 MiB", 4 << 20},
		"96 MiB":                    {xzBlocks(1, 29), 0, "a dictionary of more than 64 MiB", 4 << 20},
		"64 MiB in 10,000 blocks":   {xzBlocks(10_000, 28), 0, "a header without rows", 80 << 20},
		"allowed":                   {xzBlocks(10, 29), 96 << 20, "a header without rows", 120 << 20},
		"not enough":                {xzBlocks(10, 30), 96 << 20, "a dictionary of more than 96 MiB", 4 << 20},
		"in the second of two logs": {xzed(t, tiny) + xzBlocks(1, 40), 0, "a dictionary of more than 64 MiB", 20 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			path := save(t, "log.swf.xz", c.content)
			dir := t.TempDir()
			grown := allocatedBy(func() {
				_, err := Detect(path, Options{XZDictionary: c.allow})
				if err == nil {
					_, err = Import([]string{path}, filepath.Join(dir, "out.trace"), Options{XZDictionary: c.allow})
				}
				var data *traces.DataError
				require.ErrorAs(t, err, &data)
				require.ErrorContains(t, err, c.found)
			})
			require.Empty(t, inventory(t, dir))
			require.Less(t, grown, 3*c.most, "a reader for each of the passes")
		})
	}
}

// TestArchiveOfAPipe leaves no copy of what comes through a pipe, also where its first member
// is no log.
func TestArchiveOfAPipe(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		ok      bool
	}{
		"notes first": {tarred(t, entry{name: "README", text: "notes\n"}, entry{name: "log", text: tiny}), true},
		"notes alone": {tarred(t, entry{name: "README", text: "notes\n"}), false},
		"cut":         {tarred(t, entry{name: "log", text: tiny})[:700], false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			path := filepath.Join(t.TempDir(), "pipe")
			require.NoError(t, syscall.Mkfifo(path, 0o600))
			go func() {
				_ = os.WriteFile(path, []byte(c.content), 0o600) // the open below fails if this does
			}()
			_, err := Import([]string{path}, filepath.Join(t.TempDir(), "a.trace"), Options{})
			require.Equal(t, c.ok, err == nil, "%v", err)
			require.Empty(t, inventory(t, os.TempDir()))
		})
	}
}

// TestStopInAnArchive gives the error of the watcher and not one about the archive.
func TestStopInAnArchive(t *testing.T) {
	path := save(t, "a.tar.gz", gz(t, tarred(t, entry{name: "log", text: strings.Repeat(tiny, 3)})))
	stop := errors.New("enough")
	_, err := Import([]string{path}, filepath.Join(t.TempDir(), "a.trace"), Options{Watch: func(int64, int64) error { return stop }})
	require.ErrorIs(t, err, stop)
	var data *traces.DataError
	require.False(t, errors.As(err, &data))
}

// FuzzArchive opens any archive: it is refused with a reason, or each member is read.
func FuzzArchive(f *testing.F) {
	whole := tarred(f, entry{name: "README", text: "notes\n"}, entry{name: "log", text: tiny}, entry{name: "more", text: tiny})
	f.Add([]byte(whole))
	f.Add([]byte(whole[:1600]))
	f.Add([]byte(gz(f, whole)))
	f.Add([]byte(xzed(f, whole)))
	f.Add([]byte(sparse(f, 1<<40)))
	f.Add([]byte(xzBlocks(3, 28)))
	f.Add([]byte(tarred(f, entry{name: strings.Repeat("n", 300), text: tiny}, entry{name: "d", kind: tar.TypeDir})))
	path := filepath.Join(f.TempDir(), "a")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		in, err := open([]string{path}, Options{XZDictionary: 1 << 20})
		if err != nil {
			return
		}
		defer in.close()
		for _, file := range in.files(traces.BadRows{}) {
			r, err := file.Open()
			if err != nil {
				continue
			}
			_, _ = io.Copy(io.Discard, io.LimitReader(r, 1<<20)) // whatever it says
			require.NoError(t, r.Close())
		}
	})
}
