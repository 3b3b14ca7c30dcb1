//go:build unix && !linux

package sweep

import "syscall"

func endWithParent(*syscall.SysProcAttr) {}
