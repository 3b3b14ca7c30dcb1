package agent

import "syscall"

// synced says whether the system takes its clock to be synchronised.
func synced() string {
	var t syscall.Timex // modes 0: read only
	state, err := syscall.Adjtimex(&t)
	switch {
	case err != nil:
		return "unknown"
	case state == 5: // TIME_ERROR
		return "no"
	}
	return "yes"
}
