package site

import (
	"math/bits"

	"orrery/scheduler/model"
)

// byClass counts jobs by class.
type byClass struct {
	of  [model.SensitiveClass + 1]int32
	any uint // a bit for each class of which there are jobs
}

func (b *byClass) add(class, sign int32) {
	class = max(0, min(class, model.SensitiveClass))
	if b.of[class] += sign; b.of[class] > 0 {
		b.any |= 1 << class
	} else {
		b.any &^= 1 << class
	}
}

// least is the lowest class of which there are jobs, above all classes without any.
func (b *byClass) least() int32 { return int32(bits.TrailingZeros(b.any)) }

// most is the highest class of which there are jobs, -1 without any.
func (b *byClass) most() int32 { return int32(bits.Len(b.any)) - 1 }
