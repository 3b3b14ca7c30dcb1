package main

import (
	"context"

	"orrery/traces"
	"orrery/traces/transform"
)

// holdTrace reads a trace into memory, the sample where args name none.
func (m *Main) holdTrace(ctx context.Context, args []string, quiet bool) (*transform.Set, error) {
	t, err := m.openLog(ctx, args, quiet)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if len(args) > 0 {
		m.remark(t, quiet)
	}
	return holdBundle(t.table, t.info.Name)
}

// holdBundle reads a bundle into memory.
func holdBundle(path, name string) (*transform.Set, error) {
	b, err := traces.Open(path)
	if err != nil {
		return nil, input(err)
	}
	defer func() { _ = b.Close() }() // only read
	set, err := transform.Open(b)
	if err != nil {
		return nil, input(err)
	}
	set.Rename(name)
	if set, err = set.Hold(); err != nil {
		return nil, input(err)
	}
	return set, nil
}
