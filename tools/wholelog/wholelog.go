// Package wholelog reads logs for the tools that measure on them. It must not know
// what they measure.
package wholelog

import (
	"orrery/sim/plan"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/transform"
)

// Read imports a log of any format into memory.
func Read(path string) (*transform.Set, error) {
	src, opened, err := importer.OpenAny(path, importer.Options{})
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

// Log is a log that tasks replay.
type Log struct {
	Set    *transform.Set
	Runner *task.Runner // that has the log
	rows   *traces.Memory
}

// Open imports a log of any format for replays of it.
func Open(path string) (*Log, error) {
	set, err := Read(path)
	if err != nil {
		return nil, err
	}
	l := &Log{Set: set, Runner: task.NewRunner(nil)}
	l.rows, err = l.Runner.Add(set)
	return l, err
}

// Bind is a spec of a replay of the log.
func (l *Log) Bind(spec plan.Spec) (plan.Spec, error) {
	src, err := l.rows.Open()
	if err != nil {
		return spec, err
	}
	defer src.Close()
	return spec.Bind(src)
}
