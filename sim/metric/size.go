package metric

import (
	"math/bits"
	"strconv"

	"orrery/scheduler/model"
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

// Runtimes are classes of jobs by how long they run.
const Runtimes = 4

// runtimes are the classes, each up to before its end.
var runtimes = [Runtimes]struct {
	until model.Duration
	name  string
}{{10 * model.Minute, "0-10m"}, {model.Hour, "10m-1h"}, {6 * model.Hour, "1h-6h"}, {model.Forever, LongRuntime}}

// LongRuntime is the class of the longest jobs: few, with most of the work.
const LongRuntime = "6h+"

// RuntimeOf is the class of a job that runs for so long.
func RuntimeOf(d model.Duration) int {
	for i := range runtimes {
		if d < runtimes[i].until {
			return i
		}
	}
	return Runtimes - 1
}

// RuntimeName is "0-10m", "10m-1h" and so on.
func RuntimeName(class int) string { return runtimes[class].name }
