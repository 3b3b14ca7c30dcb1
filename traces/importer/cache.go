package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/traces"
	"orrery/traces/importer/swf"
)

// The cache is a directory with one directory for each import, named by the
// SHA-256 of the raw file and the versions of what made it. An entry is made
// beside its place and renamed when it is whole, so processes that import the
// same log at once meet either none or a whole one. Each open compares the
// table with the digest in the entry's label; one that differs is made again.
const (
	entryTable = "jobs.parquet"
	entryLabel = "label.json"
)

// label is what an entry says about itself.
type label struct {
	SHA256 string        `json:"sha256"` // of the table's bytes
	Report traces.Report `json:"report"`
}

// cacheKey names the entry of a raw log.
func cacheKey(path string) (string, error) {
	sum, err := digest(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s-%s%d-schema%d", sum, swf.Name, swf.Version, traces.SchemaVersion), nil
}

// digest is the SHA-256 of a file, hex.
func digest(path string) (string, error) {
	f, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CacheDir is the directory of the cache, which need not be there.
func CacheDir(opts Options) (string, error) {
	dir := opts.CacheDir
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "orrery")
	}
	return filepath.Join(dir, "imports"), nil
}

// cacheRoot is CacheDir, made if need be.
func cacheRoot(opts Options) (string, error) {
	dir, err := CacheDir(opts)
	if err != nil {
		return "", err
	}
	return dir, disk.Folder(dir)
}

// loadEntry reads the label of an entry and checks the table against it.
func loadEntry(dir string) (label, error) {
	var l label
	text, err := disk.ReadFile(filepath.Join(dir, entryLabel))
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("reading the label of the cached import %s: %w", dir, err)
	}
	sum, err := digest(filepath.Join(dir, entryTable))
	if err == nil && sum != l.SHA256 {
		err = fmt.Errorf("the cached import %s was altered", dir)
	}
	return l, err
}

// makeEntry imports the log into a new directory under root, whose name begins with
// prefix.
func (f *file) makeEntry(root, prefix string, opts Options) (dir string, l label, err error) {
	made, err := disk.Scratch(root, prefix)
	if err != nil {
		return "", l, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, disk.Delete(made))
		}
	}()
	table := filepath.Join(made, entryTable)
	if l.Report, err = f.importTo(table, opts); err != nil {
		return "", l, err
	}
	if l.SHA256, err = digest(table); err != nil {
		return "", l, err
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return "", l, err
	}
	return made, l, disk.WriteFile(filepath.Join(made, entryLabel), append(text, '\n'))
}

// publish renames a new entry into its place. When another process was faster
// its entry stays, if it is sound.
func publish(made, place string) error {
	err := disk.Move(made, place)
	if err == nil {
		return disk.SyncFolder(filepath.Dir(place))
	}
	if _, bad := loadEntry(place); bad == nil {
		return disk.Delete(made)
	}
	aside := made + "-old"
	if moved := disk.Move(place, aside); moved != nil && !errors.Is(moved, os.ErrNotExist) {
		return err
	}
	return errors.Join(disk.Move(made, place), disk.SyncFolder(filepath.Dir(place)), disk.Delete(aside))
}
