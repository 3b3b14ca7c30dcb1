package main

import (
	"orrery/sim/plan"
	"orrery/sim/task"
	"orrery/tools/internal/logfile"
	"orrery/traces"
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
	set, err := logfile.Read(path)
	if err != nil {
		return nil, err
	}
	l := &wholeLog{set: set, runner: task.NewRunner(nil)}
	l.rows, err = l.runner.Add(set)
	return l, err
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
