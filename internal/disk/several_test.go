package disk

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// smallDisk is a disk with room for so many bytes.
type smallDisk struct{ room int }

func (d *smallDisk) take(s *Step, do func() error) error {
	if s.Kind == Write {
		if d.room -= len(s.Data); d.room < 0 {
			return syscall.ENOSPC
		}
	}
	return do()
}

// tree are the files and folders below dir, and what files hold.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			out[path] = "a folder"
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	}))
	return out
}

// TestReplaceAllOnAFullDisk: with room for some of the files, wherever it ends, there is what was
// there before; with room for all, all are.
func TestReplaceAllOnAFullDisk(t *testing.T) {
	for _, before := range []bool{false, true} {
		for room := range 12 {
			dir := t.TempDir()
			out := filepath.Join(dir, "a", "out")
			files := []Content{{filepath.Join(out, "figures", "x.svg"), []byte("1234")}, {filepath.Join(out, "report.html"), []byte("5678")}, {filepath.Join(out, "result.json"), []byte("90")}}
			if before {
				require.NoError(t, Folder(filepath.Join(out, "figures")))
				for _, f := range files {
					require.NoError(t, os.WriteFile(f.Path, []byte("old"), 0o600))
				}
			}
			was := tree(t, dir)
			disk := &smallDisk{room}
			restore := Through(disk.take)
			err := ReplaceAll(out, files)
			restore()
			if room < 10 {
				require.ErrorIs(t, err, syscall.ENOSPC)
				require.Equal(t, was, tree(t, dir), "room for %d bytes", room)
				continue
			}
			require.NoError(t, err)
			for path, text := range tree(t, dir) {
				require.False(t, strings.Contains(path, partial), path)
				require.NotEqual(t, "old", text)
			}
			for _, f := range files {
				text, err := os.ReadFile(f.Path)
				require.NoError(t, err)
				require.Equal(t, f.Bytes, text)
			}
		}
	}
}
