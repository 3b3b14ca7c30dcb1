package naive_test

import "flag"

// Forty worlds are drawn in each test instead of a hundred, unless -rapid.checks says how many: most of a test is the naive
// implementation.
func init() {
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
}
