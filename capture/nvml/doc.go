// Package nvml reads NVIDIA GPUs through the driver's library, libnvidia-ml, which is loaded
// when it is opened: the program starts on a node without a driver, and says so. Each symbol is
// looked up before its first call, since the call of one that an older driver lacks would end the process.
// Without cgo, or with the tag nonvml, Open refuses. The package must not know how often it is
// asked, nor what becomes of the readings.
//
// A program that links it cannot start under LD_BIND_NOW=1 or when linked with -z now: the
// binding has symbols that only the driver resolves. It is therefore linked by orrery-agent alone.
package nvml

import (
	"errors"
	"fmt"
)

// ErrNotBuilt says that this program cannot load the library at all.
var ErrNotBuilt = errors.New("this program was built without NVML: build orrery-agent on Linux with CGO_ENABLED=1 and without the tag nonvml")

// NoDriverError says that the node has no NVIDIA driver that answers.
type NoDriverError struct {
	Library string
	Why     string
}

// Error says what is missing.
func (e *NoDriverError) Error() string {
	return fmt.Sprintf("no NVIDIA driver on this node: %s: %s", e.Library, e.Why)
}

// DefaultLibrary is what the loader of the system looks for.
const DefaultLibrary = "libnvidia-ml.so.1"
