package record

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"orrery/internal/disk"
)

// RunVersion is that of run.json, raised whenever old readers would misread it or a
// directory that it describes. Since 2 it holds the digests of the files beside it.
const RunVersion = 2

// Keys of run.json that say what the directory holds.
const (
	keyFiles  = "files"  // the SHA-256 of each file beside it that is a function of the spec
	KeyDigest = "digest" // the SHA-256 of run.json without this key
)

// manifest is what run.json says of the files beside it.
type manifest struct {
	dir   string
	info  []byte            // run.json
	spec  string            // the id of the spec, "" where it says none
	files map[string]string // nil of version 1, which had no digests
	sound map[string]fs.FileInfo
}

// withManifest is run.json with the digests of the files beside it and its own. What is
// no object stays as it is.
func withManifest(document []byte, written map[string]string) ([]byte, error) {
	tree, err := treeOf(document)
	if err != nil || tree == nil {
		return document, err
	}
	files := maps.Clone(written)
	maps.DeleteFunc(files, func(name, _ string) bool { return name == FileHost || name == FileRun })
	tree[keyFiles] = files
	if document, err = AppendJSON(nil, tree); err != nil {
		return nil, err
	}
	tree[KeyDigest] = digestOf(document)
	return AppendJSON(nil, tree)
}

// treeOf decodes an object, nil for anything else.
func treeOf(document []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber() // keeps the spelling
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	object, _ := tree.(map[string]any)
	return object, nil
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// readManifest reads and checks run.json. Where there is none, errors.Is(err,
// fs.ErrNotExist) holds.
func readManifest(dir string) (*manifest, error) {
	path := filepath.Join(dir, FileRun)
	info, err := disk.ReadFile(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, &DataError{File: dir, Row: -1, Found: NoRun, Expected: "the directory of a finished run", Mend: "name a directory written by orrery replay --out"}
	}
	if err != nil {
		return nil, notFile(err)
	}
	m := &manifest{dir: dir, info: info, sound: map[string]fs.FileInfo{}}
	tree, err := treeOf(info)
	if err != nil || !json.Valid(info) {
		return nil, &DataError{File: path, Row: -1, Found: "text that is not JSON", Expected: "a JSON object", Mend: mendReplay}
	}
	m.spec, _ = tree["spec_id"].(string)
	return m, m.take(path, tree)
}

// manifestOf is readManifest, which says nothing of a directory without run.json.
func manifestOf(dir string) (*manifest, error) {
	m, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &manifest{dir: dir}, nil
	}
	return m, err
}

// take checks run.json against its own digest, and takes those of the files.
func (m *manifest) take(path string, tree map[string]any) error {
	version, said := tree["schema"]
	text := fmt.Sprint(version)
	switch files, _ := tree[keyFiles].(map[string]any); {
	case said && text == "1", !said && files == nil:
		return nil // of before there were digests, or a document that says nothing
	case said && text != fmt.Sprint(RunVersion):
		return &DataError{File: path, Row: -1, Column: "schema", Found: "version " + text, Expected: fmt.Sprintf("1 or %d", RunVersion),
			Mend: "use the version of orrery that wrote it, or " + mendReplay, Schema: text}
	default:
		m.files = map[string]string{}
		for name, digest := range files { //detlint:ordered a map is made of a map
			m.files[name], _ = digest.(string)
		}
	}
	digest, _ := tree[KeyDigest].(string)
	whole, err := AppendJSON(nil, tree)
	if err != nil {
		return err
	}
	delete(tree, KeyDigest)
	rest, err := AppendJSON(nil, tree)
	if err != nil {
		return err
	}
	if found := digestOf(rest); digest != found || !bytes.Equal(whole, m.info) {
		return altered(path, found, cmp.Or(digest, "a digest"))
	}
	return nil
}

func altered(path, found, want string) *DataError {
	return &DataError{File: path, Row: -1, Found: fmt.Sprintf("content with the SHA-256 %.16s…", found), Expected: fmt.Sprintf("%.16s…, as %s says", want, FileRun),
		Mend: "it was altered after it was written: " + mendReplay}
}

// lists says whether the directory is to hold a file.
func (m *manifest) lists(name string) bool { return m.files[name] != "" }

// open opens a file of the directory for reading and checks its digest, once as long as
// the file is the same.
func (m *manifest) open(name string) (*os.File, error) {
	path := filepath.Join(m.dir, name)
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) && m.lists(name) {
		return nil, &DataError{File: path, Row: -1, Found: "no such file", Expected: "one, for " + FileRun + " lists it", Mend: mendReplay}
	}
	if err != nil {
		return nil, notFile(err)
	}
	if err := m.check(f, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (m *manifest) check(f *os.File, name string) error {
	if m.files == nil {
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if before := m.sound[name]; before != nil && os.SameFile(before, st) && before.ModTime().Equal(st.ModTime()) && before.Size() == st.Size() {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, st.Size())); err != nil {
		return err
	}
	path, found := filepath.Join(m.dir, name), hex.EncodeToString(sum.Sum(nil))
	switch want := m.files[name]; {
	case want == "":
		return &DataError{File: path, Row: -1, Found: "a file that " + FileRun + " does not list", Expected: "the files of one run", Mend: mendReplay}
	case want != found:
		return altered(path, found, want)
	}
	m.sound[name] = st
	return nil
}

// read reads a document of the directory whole.
func (m *manifest) read(name string) ([]byte, error) {
	f, err := m.open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	return text, errors.Join(err, f.Close())
}

// notFile makes a pipe or a directory in the place of a file, and one that is too large, a
// complaint about the content.
func notFile(err error) error {
	var large *disk.LargeError
	if errors.As(err, &large) {
		return &DataError{File: large.Path, Row: -1, Found: fmt.Sprintf("a file of %d bytes", large.Size), Expected: fmt.Sprintf("at most %d", disk.MostWhole), Mend: mendReplay}
	}
	var other *disk.NotFileError
	if !errors.As(err, &other) {
		return err
	}
	return &DataError{File: other.Path, Row: -1, Found: other.Kind(), Expected: "a file", Mend: mendReplay}
}

// Check compares every file of the run directory dir with the digest that run.json has of
// it, and the spec that its tables name with that of the run. It returns the names of the
// files it has compared, none of a run of before there were digests.
func Check(dir string) ([]string, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(m.files))
	for _, name := range names {
		f, err := m.open(name)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	for _, table := range Tables() {
		t, err := openTable(m, table)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = t.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}
