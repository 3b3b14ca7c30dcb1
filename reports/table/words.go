package table

import (
	"fmt"
	"math"
	"strings"

	"orrery/scheduler/model"
)

// Counted is a number of things in words: 1 job, 2 jobs, 2 policies.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	many := what + "s"
	if stem, ok := strings.CutSuffix(what, "y"); ok && !endsInVowel(stem) {
		many = stem + "ies"
	}
	return fmt.Sprintf("%d %s", n, many)
}

// endsInVowel tells a day, of which there are days, from a policy.
func endsInVowel(word string) bool {
	return word != "" && strings.Contains("aeiou", word[len(word)-1:])
}

// Span writes seconds like 2d03:15:07, with hundredths below a minute.
func Span(seconds float64) string {
	step := model.Second
	if math.Abs(seconds) < 60 {
		step = 10 * model.Millisecond
	}
	return (model.Duration(math.Round(seconds*float64(model.Second)/float64(step))) * step).String()
}
