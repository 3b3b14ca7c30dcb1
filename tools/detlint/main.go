package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// errUsage is of arguments that are wrong.
var errUsage = errors.New("usage: go run ./tools/detlint -layers [-suggest] [-chain FUNCTION] [DIR...]")

// errLayers is of packages that break the rule of layers.
var errLayers = errors.New("the files of a package are not in their order")

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "detlint:", err)
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case errors.Is(err, errLayers):
		os.Exit(4)
	}
	os.Exit(1)
}

func run(args []string) error {
	flags := flag.NewFlagSet("detlint", flag.ContinueOnError)
	layers := flags.Bool("layers", false, "print the files of packages in their order, and what goes upward")
	suggest := flags.Bool("suggest", false, "print rows for tools/detlint/layertable.go, in an order with fewer upward arrows where one is found")
	chain := flags.String("chain", "", "print the longest chain of calls from this `FUNCTION`, or Type.Method")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if !*layers {
		return errUsage
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	r, err := open(root)
	if err != nil {
		return err
	}
	dirs, err := r.argued(flags.Args())
	if err != nil {
		return err
	}
	if err := r.prepare(dirs); err != nil {
		return err
	}
	for i, dir := range dirs {
		if _, err := r.check(dir); err != nil {
			return err
		}
		if i > 0 {
			fmt.Println()
		}
		switch {
		case *suggest:
			fmt.Print(r.suggested(dir))
		case *chain != "":
			text, err := r.chain(dir, *chain)
			if err != nil {
				return err
			}
			fmt.Print(text)
		default:
			fmt.Print(r.layerReport(dir))
		}
	}
	if *suggest {
		return nil
	}
	checked := slices.DeleteFunc(slices.Clone(layerTable), func(own layered) bool { return !slices.Contains(dirs, own.dir) })
	found := slices.DeleteFunc(r.layers(checked), func(f Finding) bool { return !slices.Contains(dirs, packageOf(f)) })
	for _, f := range found {
		fmt.Fprintln(os.Stderr, f)
	}
	if len(found) > 0 {
		return errLayers
	}
	return nil
}

// packageOf is the folder of the package that a finding of layers is about.
func packageOf(f Finding) string {
	if path.Ext(f.Pos.Filename) == ".go" {
		return path.Dir(f.Pos.Filename)
	}
	return f.Pos.Filename
}

// moduleRoot is the folder with go.mod, at or above the one that the command runs in.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod here or above: run it in the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// argued are the folders of packages that arguments name, from the root of the module; all
// of the table where there are none.
func (r *repository) argued(args []string) (dirs []string, err error) {
	for _, arg := range args {
		abs, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		dir, err := filepath.Rel(r.root, abs)
		if err != nil {
			return nil, err
		}
		if dir = filepath.ToSlash(dir); !slices.Contains(r.packages(), dir) {
			return nil, fmt.Errorf("%w: %s is no folder with a package of this module", errUsage, arg)
		}
		dirs = append(dirs, dir)
	}
	if len(args) == 0 {
		for _, l := range layerTable {
			dirs = append(dirs, l.dir)
		}
	}
	return dirs, nil
}
