//go:build !unix

package disk

import "os"

// Lock opens a file, which is made where it is missing; files are not locked here.
func Lock(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) }
