package task

import (
	"context"
	"fmt"

	"orrery/sim/workerpool"
)

// Evaluate computes tasks with so many workers and gives their results by index. The first
// error in the order of the tasks is returned; the results before it are there.
func Evaluate(ctx context.Context, r *Runner, tasks []Task, workers int) ([]Result, error) {
	out := make([]Result, len(tasks))
	failed, err := workerpool.Each(ctx, len(tasks), workers, nil, func() func(context.Context, int) error {
		run := r.Worker()
		return func(ctx context.Context, i int) error {
			text, err := run(ctx, tasks[i].JSON())
			if err == nil {
				out[i], err = ParseResult(text)
			}
			return err
		}
	})
	if failed >= 0 {
		err = fmt.Errorf("task %d of %d: %w", failed+1, len(tasks), err)
	}
	return out, err
}
