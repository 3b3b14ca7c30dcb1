package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/internal/disk"
)

func TestCreateAndOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "study")
	about := json.RawMessage(`{"trace":"kth"}`)
	_, err := Create(dir, Options{Binary: toyBinary, About: about})
	require.NoError(t, err)
	s, err := Open(dir, toyBinary)
	require.NoError(t, err)
	require.Equal(t, defaultLease, s.Lease())
	require.JSONEq(t, string(about), string(s.About()))

	_, err = Create(dir, Options{Binary: toyBinary})
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = Open(dir, "other")
	var mixed *MixedError
	require.ErrorAs(t, err, &mixed)
	require.Contains(t, err.Error(), "does not mix builds")

	read, err := Open(dir, "")
	require.NoError(t, err)
	_, _, err = read.Add(toys(1, toy{}))
	require.ErrorContains(t, err, "opened for reading")
	_, err = Local{NewWorker: toyWorker}.Start(context.Background(), read)
	require.ErrorContains(t, err, "opened for reading")
}

func TestRefusals(t *testing.T) {
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600))
	old := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(old, "study.json"), []byte(`{"format": 99}`), 0o600))
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "study.json"), []byte(`{"form`), 0o600))
	leaseless := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(leaseless, "study.json"), []byte(`{"format": 1}`), 0o600))
	create := func(dir string, o Options) error { _, err := Create(dir, o); return err }
	open := func(dir string) error { _, err := Open(dir, ""); return err }
	for _, c := range []struct {
		err  error
		says string
	}{
		{create(full, Options{Binary: "b"}), "holds thesis.tex and is no study"},
		{create(t.TempDir(), Options{}), "no digest of the binary"},
		{create(t.TempDir(), Options{Binary: "b", Lease: time.Millisecond}), "lease of 1ms, want 200ms to 1h"},
		{open(t.TempDir()), "no study is there"},
		{open(old), "found format 99, this program reads 1"},
		{open(broken), "damaged"},
		{open(leaseless), "found a lease of 0s"},
	} {
		require.ErrorContains(t, c.err, c.says)
	}
}

func TestAddNamesTasksByTheirSpecs(t *testing.T) {
	s := study(t, 0)
	numbers, added, err := s.Add([][]byte{toy{N: 1}.spec(), toy{N: 2}.spec(), toy{N: 1}.spec()})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 0}, numbers)
	require.Equal(t, 2, added)
	numbers, added, err = s.Add([][]byte{toy{N: 3}.spec(), toy{N: 2}.spec(), {}})
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 3}, numbers)
	require.Equal(t, 2, added)

	again := reopened(t, s)
	require.Equal(t, 4, again.Len())
	for n, want := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, ``} {
		spec, err := again.Spec(n)
		require.NoError(t, err)
		require.Equal(t, want, string(spec))
		found, ok := again.index[DigestOf(spec)]
		require.True(t, ok)
		require.Equal(t, n, found)
	}
}

// TestAddTogether adds overlapping specs from several programs at once.
func TestAddTogether(t *testing.T) {
	s := study(t, 0)
	const programs, each = 8, 40
	var all sync.WaitGroup
	counts := make([]int, programs)
	for p := range programs {
		all.Go(func() {
			mine, err := Open(s.Dir(), toyBinary)
			if err != nil {
				return
			}
			for i := range each / 4 {
				if _, added, err := mine.Add(toys(p+4*i+4, toy{})); err == nil {
					counts[p] += added
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, s.Reload())
	total := 0
	for _, n := range counts {
		total += n
	}
	require.Equal(t, programs-1+each, s.Len())
	require.Equal(t, s.Len(), total, "each task was new to exactly one program")
	for n := range s.Len() {
		_, err := s.Spec(n)
		require.NoError(t, err)
	}
}

func TestDamagedSpecs(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(string) string
		says   string
	}{
		"cut":      {func(text string) string { return text[:len(text)-3] }, "bytes, want"},
		"headless": {func(string) string { return "{" }, "found no header"},
		"garbled":  {func(text string) string { return "x" + text }, "damaged header"},
		"moved":    {func(text string) string { return strings.Replace(text, `"first":0`, `"first":7`, 1) }, "first task 7"},
		"renamed":  {func(text string) string { return strings.Replace(text, `"sha256":"`, `"sha256":"zz`, 1) }, "damaged entry for task 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := study(t, 0, toys(3, toy{})...)
			text, err := os.ReadFile(s.packPath(0))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(s.packPath(0), []byte(c.damage(string(text))), 0o600))
			_, err = Open(s.Dir(), toyBinary)
			var data *DataError
			require.ErrorAs(t, err, &data)
			require.Contains(t, err.Error(), c.says)
		})
	}
	s := study(t, 0, toys(3, toy{})...)
	text, err := os.ReadFile(s.packPath(0))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.packPath(0), []byte(strings.Replace(string(text), `{"n":1}`, `{"n":5}`, 1)), 0o600))
	_, err = s.Spec(1)
	require.ErrorContains(t, err, "does not have its digest")
}

// TestCommitOnce lets many writers commit to one name.
func TestCommitOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "result")
	root, err := disk.OpenRoot(dir)
	require.NoError(t, err)
	const writers = 32
	firsts := make([]bool, writers)
	errs := make([]error, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { firsts[w], errs[w] = commit(root, path, []byte(fmt.Sprint(w)), fmt.Sprint("w", w)) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for w, first := range firsts {
		require.Equal(t, string(text) == fmt.Sprint(w), first)
	}
	left, err := root.Names(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, []string{"result"}, left)
}

// TestCommitAfterALostReply: the link is there, but its maker was told that the
// name is taken. And a name beside that is left over is never written over.
func TestCommitAfterALostReply(t *testing.T) {
	dir := t.TempDir()
	root, err := disk.OpenRoot(dir)
	require.NoError(t, err)
	beside, path := filepath.Join(dir, ".r.w"), filepath.Join(dir, "r")
	require.NoError(t, os.WriteFile(beside, []byte("mine"), 0o600))
	require.NoError(t, os.Link(beside, path))
	first, err := linkOnce(root, beside, path)
	require.NoError(t, err)
	require.True(t, first)

	require.NoError(t, os.Link(path, beside))
	first, err = commit(root, path, []byte("another"), "w")
	require.NoError(t, err)
	require.False(t, first)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
}

func TestTransient(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "no"))
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("any"), false},
		{missing, true},
		{fmt.Errorf("around: %w", missing), true},
		{context.DeadlineExceeded, true},
	} {
		require.Equal(t, c.want, transient(c.err), c.err)
	}
}

// TestLinksInAStudy puts a link to a file outside in each place where a worker reads, creates
// or appends: it refuses, or does without, and the file stays as it was.
func TestLinksInAStudy(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "precious")
	for _, row := range []struct{ place, why string }{
		{"claims/000000.1", "a symbolic link"}, {"claims/000000.done", ""}, {"clock", ""}, {"journal", "a symbolic link"}, {"results", "a symbolic link"},
		{"results/RR", "a symbolic link"}, {"results/RR/RESULT.json", "a symbolic link"}, {"specs/000000.jsonl", "a symbolic link"}, {"study.json", "a symbolic link"},
		{"failures", "a symbolic link"}, {"claims", "a symbolic link"},
	} {
		require.NoError(t, os.WriteFile(outside, []byte("precious"), 0o600))
		dir := filepath.Join(t.TempDir(), "study")
		s, err := Create(dir, Options{Binary: "b", Lease: MinLease})
		require.NoError(t, err)
		_, _, err = s.Add(toys(1, toy{}))
		require.NoError(t, err)
		digest := s.Digest(0).String()
		path := filepath.Join(dir, strings.NewReplacer("RR", digest[:2], "RESULT", digest).Replace(row.place))
		target := outside
		if !strings.Contains(filepath.Base(path), ".") { // a folder
			target = filepath.Dir(outside)
		}
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.Symlink(target, path))
		err = func() error {
			s, err := Open(dir, "b")
			if err != nil {
				return err
			}
			if err = Complete(context.Background(), Local{Workers: 1, NewWorker: toyWorker}, s); err == nil {
				_, _, err = s.Outcome(s.Digest(0))
			}
			return err
		}()
		if row.why != "" {
			require.ErrorContains(t, err, row.why, row.place)
			var data *DataError
			require.ErrorAs(t, err, &data, row.place)
		}
		text, err := os.ReadFile(outside)
		require.NoError(t, err)
		require.Equal(t, "precious", string(text), row.place)
		entries, err := os.ReadDir(filepath.Dir(outside))
		require.NoError(t, err)
		require.Len(t, entries, 1, "%s: nothing is created outside", row.place)
	}
}

// TestForeignOwner refuses what belongs to another user, unless that one is named.
func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := filepath.Join(t.TempDir(), "study")
	_, err := Create(dir, Options{Binary: "b"})
	require.NoError(t, err)
	require.NoError(t, os.Chown(filepath.Join(dir, "study.json"), 4242, -1))
	_, err = Open(dir, "")
	require.ErrorContains(t, err, "study.json: it belongs to user 4242; give --trust-owner 4242 if that is one of yours")
	_, err = Open(dir, "", 4242)
	require.NoError(t, err)
}

// TestBinaryOfTheRunningImage: the digest is that of the image that runs, also once another
// program has been put in its place.
func TestBinaryOfTheRunningImage(t *testing.T) {
	if _, err := os.Stat(selfImage); err != nil {
		t.Skip("no " + selfImage)
	}
	before, err := BinaryDigest()
	require.NoError(t, err)
	path, err := os.Executable()
	require.NoError(t, err)
	aside := path + ".aside"
	require.NoError(t, os.Rename(path, aside))
	defer func() { require.NoError(t, os.Rename(aside, path)) }()
	require.NoError(t, os.WriteFile(path, []byte("another"), 0o700))
	after, err := BinaryDigest()
	require.NoError(t, err)
	require.Equal(t, before, after)
}
