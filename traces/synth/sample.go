package synth

import (
	_ "embed" // the sample
)

// sample.parquet is 2,000 jobs in three weeks on 128 processors, made by this
// package; the recipe is in the file's metadata and in the test that makes it.
//
//go:generate go test -run TestSampleIsCurrent . -args -write-sample
//go:embed sample.parquet
var sampleTable []byte

// Sample is the bytes of a small trace, one Parquet table of jobs, with enough
// load that jobs queue. The caller must not change them.
func Sample() []byte { return sampleTable }
