package verify

import (
	"os/exec"
	"syscall"
)

// endWithParent has the process terminated when this one is gone, however it ended.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
