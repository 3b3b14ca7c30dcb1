//go:build unix

package agent

import (
	"os"
	"syscall"
)

// lock holds the file until the process ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
