//go:build unix

package sweep

import (
	"os/exec"
	"syscall"
)

// ownGroup lets a command and all that it starts be ended together, and keeps
// the terminal's Ctrl-C from them: the executor ends them in order.
// Where the system can do so, the command is ended with the thread that started it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
}

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // it may have ended by now

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
