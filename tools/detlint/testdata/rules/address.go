// Package address shows where things lie in memory.
package address

import (
	"fmt"
	"unsafe" // want address
)

func wrong(x *int) string {
	_ = unsafe.Pointer(x)
	return fmt.Sprintf("%p", x) // want address
}

func right(x *int) string { return fmt.Sprintf("%d", *x) + "%p" }
