//go:build linux && cgo && !nonvml

package nvml

import (
	"math"

	"orrery/traces"
)

// counter32 makes one that goes on of a counter of the driver that begins anew at 2^32. It knows no more than one such beginning between two
// readings: of what was counted in between, multiples of 2^32 beyond that are lost.
type counter32 struct {
	last int64 // as the driver has it
	base int64 // a multiple of 2^32
}

// extend adds what was counted before. A counter that was larger than 32 bits and is less now began anew of itself, and stays as it is.
func (c *counter32) extend(v *traces.Opt[int64]) {
	if !v.OK || v.V < 0 {
		return
	}
	if v.V < c.last && c.last <= math.MaxUint32 {
		c.base += 1 << 32
	}
	c.last = v.V
	v.V += c.base
}
