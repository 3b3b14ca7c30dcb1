package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// source is one parsed Go file of the repository.
type source struct {
	path  string // relative to the module root, with slashes
	file  *ast.File
	lines int
	test  bool
	built bool // part of the build on this machine, by name and build tags
}

// repository is every Go file below the module root, by folder. The files are
// read in this process, not by a tool that it starts, so that the go command
// knows what a cached result of this test depends on.
type repository struct {
	root    string // absolute
	module  string // its path
	fset    *token.FileSet
	folders map[string][]*source
	checked map[string]*pass // by folder: type-checked so far
	outside types.Importer
}

// open parses the Go files of the module that holds dir.
func open(dir string) (*repository, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	line, _, _ := strings.Cut(string(mod), "\n")
	r := &repository{
		root: root, module: strings.TrimPrefix(line, "module "),
		fset: token.NewFileSet(), folders: map[string][]*source{}, checked: map[string]*pass{},
	}
	return r, filepath.WalkDir(root, r.visit)
}

func (r *repository) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(r.root, name)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	if entry.IsDir() {
		base := entry.Name()
		hidden := strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "node_modules"
		if rel != "." && (hidden || base == "testdata") {
			return fs.SkipDir
		}
		return nil
	}
	if !strings.HasSuffix(rel, ".go") {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(r.fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	built, err := build.Default.MatchFile(filepath.Split(name))
	if err != nil {
		return err
	}
	dir := path.Dir(rel)
	r.folders[dir] = append(r.folders[dir], &source{
		path: rel, file: file, lines: bytes.Count(text, []byte("\n")),
		test: strings.HasSuffix(rel, "_test.go"), built: built,
	})
	return nil
}

// packages lists the folders that hold a package, tests aside, in order.
func (r *repository) packages() []string {
	var dirs []string
	for _, dir := range slices.Sorted(maps.Keys(r.folders)) {
		if slices.ContainsFunc(r.folders[dir], func(s *source) bool { return !s.test }) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// imports lists what the files of a folder import, tests aside, whether or not
// they are built on this machine.
func (r *repository) imports(dir string) []string {
	set := map[string]bool{}
	for _, s := range r.folders[dir] {
		if s.test {
			continue
		}
		for _, spec := range s.file.Imports {
			set[importPath(spec)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func importPath(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return name
}

// inside says whether an import path belongs to this module, and in which
// folder.
func (r *repository) inside(path string) (dir string, ok bool) {
	if path == r.module {
		return ".", true
	}
	return strings.CutPrefix(path, r.module+"/")
}

// check type-checks the package in a folder; packages of other modules come
// from the compiler's export data.
func (r *repository) check(dir string) (*pass, error) {
	if p := r.checked[dir]; p != nil {
		return p, nil
	}
	p := &pass{fset: r.fset, info: newInfo()}
	for _, s := range r.folders[dir] {
		if s.built && !s.test {
			p.files = append(p.files, s.file)
		}
	}
	conf := types.Config{Importer: r, Sizes: types.SizesFor("gc", "amd64")}
	var err error
	if p.types, err = conf.Check(r.module+"/"+dir, r.fset, p.files, p.info); err != nil {
		return nil, fmt.Errorf("type-check %s: %w", dir, err)
	}
	r.checked[dir] = p
	return p, nil
}

// Import makes a repository the types.Importer of its own packages.
func (r *repository) Import(path string) (*types.Package, error) {
	if dir, ok := r.inside(path); ok {
		p, err := r.check(dir)
		if err != nil {
			return nil, err
		}
		return p.types, nil
	}
	return r.outside.Import(path)
}

// prepare compiles, or finds in the build cache, what the packages of the
// folders need from other modules and the standard library.
func (r *repository) prepare(dirs []string) error {
	need, seen := map[string]bool{}, map[string]bool{}
	var collect func(dir string)
	collect = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		for _, path := range r.imports(dir) {
			if below, ok := r.inside(path); ok {
				collect(below)
			} else if path != "unsafe" {
				need[path] = true
			}
		}
	}
	for _, dir := range dirs {
		collect(dir)
	}
	imp, err := exportData(r.root, r.fset, slices.Sorted(maps.Keys(need)))
	r.outside = imp
	return err
}

// exportData returns an importer of the packages and of all they depend on.
func exportData(dir string, fset *token.FileSet, packages []string) (types.Importer, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}\t{{.Export}}{{end}}", "--"}
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the export data: %w\n%s", err, stderr.String())
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(files[path])
	}
	return importer.ForCompiler(fset, "gc", lookup), nil
}
