// Package refdata finds the logs and oracle schedules that the larger tests
// read and that do not live in the repository. It knows where the folder may
// be and nothing of what is in it.
package refdata

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const (
	// EnvDir names the folder that holds the data. It defaults to "shared"
	// beside the module root; a relative path counts from the module root.
	EnvDir = "ORRERY_DATA"
	// EnvRequire, when "1", turns the skip of a test whose data is absent into
	// a failure. The continuous checks set it: a green run there means that the
	// data was read.
	EnvRequire = "ORRERY_REQUIRE_DATA"
)

// Path returns the absolute path of a file or folder of the data folder, whose
// elements are joined. It skips the test when the folder is absent and fails
// it instead when EnvRequire is "1". A folder that is there but lacks the
// element always fails the test: a misspelt name must not look like absence.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := dataDir(root, os.Getenv(EnvDir))
	absent, err := check(dir, elem)
	switch {
	case err == nil:
	case absent && os.Getenv(EnvRequire) != "1":
		t.Skipf("skipped, since this test reads data from outside the repository: %v", err)
	default:
		t.Fatal(err)
	}
	return filepath.Join(dir, filepath.Join(elem...))
}

// dataDir resolves the folder from the value of EnvDir.
func dataDir(root, env string) string {
	switch {
	case env == "":
		return filepath.Join(filepath.Dir(root), "shared")
	case filepath.IsAbs(env):
		return filepath.Clean(env)
	}
	return filepath.Join(root, env)
}

// check says what is wrong with dir, and whether it is that the whole folder is
// absent.
func check(dir string, elem []string) (absent bool, err error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, fmt.Errorf("no data folder %s: set %s to the folder that holds the logs", dir, EnvDir)
	case err != nil:
		return false, fmt.Errorf("look for the data folder: %w", err)
	case !info.IsDir():
		return false, fmt.Errorf("%s is not a folder: set %s to the folder that holds the logs", dir, EnvDir)
	}
	name := filepath.Join(elem...)
	if !filepath.IsLocal(name) && name != "" {
		return false, fmt.Errorf("test data %q leaves the data folder: name it relative to %s", name, dir)
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		return false, fmt.Errorf("the data folder lacks %s: %w", name, err)
	}
	return false, nil
}

// moduleRoot walks up from the working directory, which is the package's own
// folder in a test, to the folder that holds go.mod.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module root: %w", err)
	}
	for dir := start; ; {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above %s: run the test inside the module", start)
		}
		dir = up
	}
}
