package main

import (
	"orrery/sim/plan"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/transform"
)

// wholeLog is a log in memory that tasks replay.
type wholeLog struct {
	set    *transform.Set
	runner *task.Runner // that has the log
	rows   *traces.Memory
}

// openWholeLog imports a log of any format for replays of it.
func openWholeLog(path string) (*wholeLog, error) {
	set, err := readLog(path)
	if err != nil {
		return nil, err
	}
	l := &wholeLog{set: set, runner: task.NewRunner(nil)}
	l.rows, err = l.runner.Add(set)
	return l, err
}

// readLog imports a log of any format into memory.
func readLog(path string) (*transform.Set, error) {
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

// bind is a spec of a replay of the log.
func (l *wholeLog) bind(spec plan.Spec) (plan.Spec, error) {
	src, err := l.rows.Open()
	if err != nil {
		return spec, err
	}
	defer src.Close()
	return spec.Bind(src)
}
