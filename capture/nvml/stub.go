//go:build !linux || !cgo || nonvml

package nvml

import "orrery/capture"

// Open refuses: see ErrNotBuilt.
func Open(string) (capture.Source, error) { return nil, ErrNotBuilt }
