// Package logfile reads workload logs for tools that replay them many times. It must not know
// what they measure.
package logfile

import (
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/transform"
)

// Read imports a log of any format into memory.
func Read(path string) (*transform.Set, error) {
	src, opened, err := importer.OpenAny([]string{path}, importer.Options{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	bundle, err := traces.Open(opened.Table)
	if err != nil {
		return nil, err
	}
	defer bundle.Close()
	set, err := transform.Open(bundle)
	if err != nil {
		return nil, err
	}
	return set.Hold()
}
