package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"orrery/internal/disk"
	"orrery/traces"
)

// The cache is a directory with one directory for each import, named by the
// SHA-256 of the raw files, the options that change what is made of them, and the
// versions of what made it. An entry is a whole bundle with a label. It is made
// beside its place and renamed when it is whole, so processes that import the
// same log at once meet either none or a whole one. Each open compares the
// tables with the digests in the entry's label; one that differs is made again.
const (
	entryTable = "jobs.parquet"
	entryLabel = "label.json"
)

// reportVersion is raised whenever an import reports more than before.
const reportVersion = 3

// label is what an entry says about itself.
type label struct {
	Tables map[string]string `json:"tables"`           // SHA-256 of the bytes of each, by its file name
	SHA256 string            `json:"sha256,omitempty"` // of the table of jobs, in entries of earlier builds
	Report traces.Report     `json:"report"`
}

// cacheKey names the entry of raw files.
func (in *inputs) cacheKey(opts Options) (string, error) {
	var sums []string
	of := map[string]string{} // of each file once, however many members of an archive it has
	for _, f := range in.list {
		if of[f.path] == "" {
			sum, err := digest(f.path)
			if err != nil {
				return "", err
			}
			of[f.path] = sum
		}
		sums = append(sums, of[f.path])
	}
	key := sums[0]
	zone := ""
	if opts.Zone != nil {
		zone = opts.Zone.String()
	}
	mapping := ""
	if opts.Columns != nil {
		mapping = opts.Columns.String()
	}
	if len(sums) > 1 || zone+opts.Service+mapping != "" || opts.Sequence {
		all := sha256.New()
		for _, s := range sums {
			fmt.Fprintf(all, "file %s\n", s)
		}
		fmt.Fprintf(all, "zone %q\nservice %q\nmapping %q\n", zone, opts.Service, mapping)
		if opts.Sequence {
			fmt.Fprintln(all, "sequence")
		}
		key = hex.EncodeToString(all.Sum(nil))
	}
	return fmt.Sprintf("%s-%s%d-schema%d-report%d", key, in.raw.Name, in.raw.Version, traces.SchemaVersion, reportVersion), nil
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
	if l.Tables == nil && l.SHA256 != "" {
		l.Tables = map[string]string{entryTable: l.SHA256}
	}
	names := slices.Sorted(maps.Keys(l.Tables))
	if len(names) == 0 {
		return l, fmt.Errorf("the cached import %s has no tables", dir)
	}
	for _, name := range names {
		sum, err := digest(filepath.Join(dir, filepath.Base(name)))
		if err == nil && sum != l.Tables[name] {
			err = fmt.Errorf("the cached import %s was altered", dir)
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// table is what of an entry is opened: the table of jobs where it is the only one,
// else the directory.
func (l *label) table(dir string) string {
	if _, jobs := l.Tables[entryTable]; jobs && len(l.Tables) == 1 {
		return filepath.Join(dir, entryTable)
	}
	return dir
}

// makeEntry imports the files into a new directory under root, whose name begins
// with prefix.
func (in *inputs) makeEntry(root, prefix string, opts Options) (dir string, l label, err error) {
	made, err := disk.Scratch(root, prefix)
	if err != nil {
		return "", l, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, disk.Delete(made))
		}
	}()
	bundle := filepath.Join(made, "made.trace")
	if l.Report, err = in.importTo(bundle, opts); err != nil {
		return "", l, err
	}
	tables, err := os.ReadDir(bundle)
	if err != nil {
		return "", l, err
	}
	l.Tables = map[string]string{}
	for _, t := range tables {
		if err := disk.Move(filepath.Join(bundle, t.Name()), filepath.Join(made, t.Name())); err != nil {
			return "", l, err
		}
		if l.Tables[t.Name()], err = digest(filepath.Join(made, t.Name())); err != nil {
			return "", l, err
		}
	}
	if err := disk.Delete(bundle); err != nil {
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
