// Package fixedseed makes the tests of a package draw the same inputs in every run, so that
// a change is judged by the same worlds before and after it:
//
//	import _ "orrery/internal/fixedseed"
//
// Others are drawn by go test -rapid.seed=0, which takes the clock, or another number.
package fixedseed

import (
	"flag"

	_ "pgregory.net/rapid" // registers the flag
)

func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
