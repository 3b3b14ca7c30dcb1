package naive_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws forty worlds a test instead of a hundred, unless -rapid.checks says how many. Each run draws others.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "rapid.checks" })
	if !told {
		if err := flag.Set("rapid.checks", "40"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
