package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReplace holds that a file is replaced whole or not at all, and follows the umask.
func TestReplace(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "x.json")
	require.NoError(t, WriteFile(path, []byte("1\n")))
	require.NoError(t, WriteFile(path, []byte("2\n")))
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), st.Mode())
	full := errors.New("full")
	err = Replace(path, func(w io.Writer) error {
		_, err := w.Write([]byte("3"))
		return errors.Join(err, full)
	})
	require.ErrorIs(t, err, full)
	got, err := ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "2\n", string(got))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.ErrorContains(t, WriteFile(filepath.Join(path, "below"), nil), "writing "+filepath.Join(path, "below"))
}

// TestNoFile refuses what is no file at once: a pipe that is opened in the plain way is
// waited for.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, is := range map[string]string{pipe: "a named pipe", dir: "a directory", os.DevNull: "a device"} {
		_, err := ReadFile(path)
		var other *NotFileError
		require.ErrorAs(t, err, &other)
		require.ErrorContains(t, err, path+": found "+is+", want a file")
		if is != "a directory" {
			_, err = OpenRoot(path)
			require.ErrorIs(t, err, syscall.ENOTDIR)
		}
	}
	large := filepath.Join(dir, "large")
	require.NoError(t, os.WriteFile(large, nil, 0o600))
	require.NoError(t, os.Truncate(large, MostWhole+1)) // takes no room
	_, err := ReadFile(large)
	var size *LargeError
	require.ErrorAs(t, err, &size)
	root, err := OpenRoot(dir)
	require.NoError(t, err)
	_, err = root.ReadFile(large)
	require.ErrorAs(t, err, &size)
}

// TestOrder holds that a name is on the disk after the content, and the folder last.
func TestOrder(t *testing.T) {
	var kinds []Kind
	restore := Through(func(s *Step, do func() error) error {
		kinds = append(kinds, s.Kind)
		return do()
	})
	defer restore()
	require.NoError(t, Folder(filepath.Join(t.TempDir(), "a", "b")))
	require.Equal(t, []Kind{Mkdir, SyncDir, Mkdir, SyncDir}, kinds)
	kinds = nil
	require.NoError(t, WriteFile(filepath.Join(t.TempDir(), "x"), []byte("1")))
	require.Equal(t, []Kind{Create, Write, Sync, Rename, SyncDir}, kinds)
}
