package metric

import (
	"math/bits"
	"strconv"
)

// Sizes are classes of jobs by the units that they ask for, each up to a power of
// four.
const Sizes = 17

// SizeOf is the class of a job that asks for so many units.
func SizeOf(units int32) int {
	if units <= 1 {
		return 0
	}
	return (bits.Len32(uint32(units-1)) + 1) / 2
}

// SizeName is "1", "2-4", "5-16" and so on.
func SizeName(class int) string {
	if class == 0 {
		return "1"
	}
	return strconv.FormatInt(1<<(2*(class-1))+1, 10) + "-" + strconv.FormatInt(1<<(2*class), 10)
}
