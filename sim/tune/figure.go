package tune

import (
	"fmt"
	"math"
	"strconv"
)

// figure writes a number in four digits.
func figure(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "–"
	case math.Abs(x) >= 1000:
		return strconv.FormatFloat(math.Round(x), 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// percent writes a part with its sign.
func percent(n Number) string {
	if !n.Known() {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*float64(n))
}
