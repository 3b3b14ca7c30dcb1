//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// Lock opens a file, which is made where it is missing, and holds it until it is closed or the process
// ends. It fails at once when another process holds it.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
