package conform

import (
	"math"

	"orrery/scheduler/model"
)

// span is a number of seconds in a case.
func span(s float64) model.Duration {
	return model.Duration(math.Round(float64(s * float64(model.Second))))
}

// seconds is an instant in a case.
func seconds(s float64) model.Time { return model.Time(span(s)) }
