//go:build !linux || !cgo || nonvml

package nvml

import "orrery/capture"

// Built says whether this program can load the library.
const Built = false

// Open refuses: see ErrNotBuilt.
func Open(string) (capture.Source, error) { return nil, ErrNotBuilt }
