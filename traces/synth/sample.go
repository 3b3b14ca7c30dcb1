package synth

import (
	_ "embed" // the sample
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"orrery/traces"
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

// OpenSample opens Sample as a source, by way of a temporary file that closing
// the source removes.
func OpenSample() (src traces.Source, err error) {
	dir, err := os.MkdirTemp("", "orrery-sample-*")
	if err != nil {
		return nil, fmt.Errorf("opening the embedded sample: %w", err)
	}
	s := &sampleSource{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("opening the embedded sample: %w", err), s.Close())
		}
	}()
	path := filepath.Join(dir, "sample.parquet")
	if err = os.WriteFile(path, sampleTable, 0o600); err != nil {
		return nil, err
	}
	if s.bundle, err = traces.Open(path); err != nil {
		return nil, err
	}
	if s.Source, err = s.bundle.Jobs(); err != nil {
		return nil, err
	}
	return s, nil
}

// sampleSource is a source that removes its file.
type sampleSource struct {
	traces.Source
	bundle *traces.Bundle
	dir    string
}

// Close implements traces.Source.
func (s *sampleSource) Close() error {
	var err error
	if s.Source != nil {
		err = s.Source.Close()
	}
	if s.bundle != nil {
		err = errors.Join(err, s.bundle.Close())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
