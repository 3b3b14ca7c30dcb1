package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRootKeepsWithin tries each way of writing below a link to another folder, and below a
// folder that another one took the place of.
func TestRootKeepsWithin(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	root, err := OpenRoot(dir+"/", Anyone)
	require.NoError(t, err)
	defer root.Close()
	in := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
	require.NoError(t, os.Symlink(outside, in("link")))
	require.NoError(t, root.WriteFile(in("whole"), []byte("1")))
	for name, do := range map[string]func() error{
		"write":   func() error { return root.WriteFile(in("link", "x"), []byte("1")) },
		"create":  func() error { _, err := root.NewFile(in("link", "x")); return err },
		"move":    func() error { return root.Move(in("whole"), in("link", "x")) },
		"scratch": func() error { _, err := root.Scratch(in("link"), ".partial-"); return err },
		"folder":  func() error { return root.Folder(in("link", "x")) },
		"folders": func() error { return root.Folders(in("link", "x", "y")) },
		"below":   func() error { _, err := root.Below(in("link")); return err },
		"delete":  func() error { return root.Delete(in("link", "x")) },
		"log":     func() error { _, err := root.Log(in("link", "x")); return err },
		"link":    func() error { return root.Link(in("whole"), in("link", "x")) },
		"above":   func() error { return root.WriteFile(filepath.Join(dir, "..", "x"), nil) },
	} {
		require.Error(t, do(), name)
	}
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, root.Delete(in("link")), "the link itself")
	require.NoFileExists(t, in("link"))

	below, err := root.Below(in("a", "b"))
	require.NoError(t, err)
	defer below.Close()
	require.NoError(t, os.Rename(in("a"), in("moved")))
	require.NoError(t, os.Symlink(outside, in("a")))
	require.NoError(t, below.WriteFile(in("a", "b", "x"), []byte("1")))
	require.FileExists(t, in("moved", "b", "x"))
	left, err = os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestRootHere is a folder that is named by a dot.
func TestRootHere(t *testing.T) {
	t.Chdir(t.TempDir())
	root, err := OpenRoot(".")
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.Folder("a"))
	require.NoError(t, root.WriteFile(filepath.Join("a", "x"), []byte("1")))
	require.Error(t, root.WriteFile(filepath.Join("..", "x"), nil))
	text, err := root.ReadFile("a/x")
	require.NoError(t, err)
	require.Equal(t, "1", string(text))
}

// TestTidy leaves what is at work, and what is of other files.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".x.json.partial-1-1", ".x.json.partial-1-2-old", ".y.json.partial-1-1", ".x.json.partial-mine", "x.json.partial-1-1"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		require.NoError(t, os.Chtimes(path, old, old))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".x.json.partial-2-1"), []byte("at work"), 0o600))
	folder := filepath.Join(dir, ".x.json.partial-3-1")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "new"), nil, 0o600))
	require.NoError(t, os.Chtimes(folder, old, old))
	require.NoError(t, WriteFile(filepath.Join(dir, "x.json"), []byte("1")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{".x.json.partial-2-1", ".x.json.partial-3-1", ".x.json.partial-mine", ".y.json.partial-1-1", "x.json", "x.json.partial-1-1"}, names)
}
