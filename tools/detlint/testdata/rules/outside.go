// Package outside reads what its arguments do not name.
package outside

import (
	"net/http" // want outside
	"os"       // want outside
	"path"
	"runtime" // want outside
)

func wrong() (string, int) {
	return os.Getenv("HOME") + http.MethodGet, runtime.NumCPU()
}

func right(name string) string { return path.Base(name) }
