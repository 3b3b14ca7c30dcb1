package table

import (
	"fmt"
	"math"

	"orrery/scheduler/model"
)

// Counted is a number of things in words: 1 job, 2 jobs.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Span writes seconds like 2d03:15:07, with hundredths below a minute.
func Span(seconds float64) string {
	step := model.Second
	if math.Abs(seconds) < 60 {
		step = 10 * model.Millisecond
	}
	return (model.Duration(math.Round(seconds*float64(model.Second)/float64(step))) * step).String()
}
