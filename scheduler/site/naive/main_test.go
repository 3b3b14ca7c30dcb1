package naive_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws fewer worlds than rapid does by itself, unless -rapid.checks says how many: 40, or 100 in long runs. Each run
// draws others.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "rapid.checks" })
	if !told && os.Getenv("ORRERY_LONG") != "1" {
		if err := flag.Set("rapid.checks", "40"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
