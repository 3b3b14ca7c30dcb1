// Package outside reads what its arguments do not name.
package outside

import (
	"net/http" // want outside
	"os"       // want outside
	"path"
	"path/filepath"
	"runtime" // want outside
	"time"
)

func wrong() (string, int) {
	return os.Getenv("HOME") + http.MethodGet, runtime.NumCPU()
}

func disk() error {
	_, err := time.LoadLocation("Europe/Oslo")        // want outside
	if _, err := filepath.Glob("*.swf"); err != nil { // want outside
		return err
	}
	return err
}

func right(name string) string { return path.Base(filepath.Clean(name)) }
