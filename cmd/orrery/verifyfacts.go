package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"orrery/reports/plot"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/verify"
)

// parity feeds the log of a run to a fresh core.
func (v *verifyVerb) parity(ctx context.Context, args []string) error {
	switch {
	case v.against != "" || v.keep != "":
		return usagef("--facts replays nothing: leave out --against and --out")
	case len(args) == 0 || !isRun(args[0]):
		return usagef("--facts needs a run directory: give a RUN that was written with --facts, and the LOG that it is of")
	}
	dir := args[0]
	spec, err := v.specOf(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, record.TableFacts+".parquet")); err != nil {
		return input(fmt.Errorf("%w: replay once more with --facts to have the log", err))
	}
	t, err := v.m.openTrace(ctx, args[1:], v.quiet)
	if err != nil {
		return err
	}
	defer t.close()
	if spec, err = spec.Bind(t); err != nil {
		return err
	}
	prep, err := plan.Prepare(spec)
	if err != nil {
		return err
	}
	src, err := t.open()
	if err != nil {
		return err
	}
	defer src.Close()
	p, err := prep.Resolve(src)
	if err != nil {
		return err
	}
	found, err := verify.Facts(&p, src.Info().Rows, record.ReadLog(dir))
	if bad := (*verify.LogError)(nil); errors.As(err, &bad) {
		return input(fmt.Errorf("%s: %w; replay once more with --facts to write it anew", filepath.Join(dir, record.TableFacts+".parquet"), err))
	}
	if err != nil {
		return err
	}
	return v.showParity(dir, found)
}

// showParity prints what was compared and the first plan that differs.
func (v *verifyVerb) showParity(dir string, found *verify.Parity) error {
	if d := found.Differs; d != nil {
		path := filepath.Join(dir, record.FileRun)
		info, err := os.ReadFile(path)
		if err != nil {
			return input(err)
		}
		names, err := record.ReadNodeNames(info, path)
		if err != nil {
			return input(err)
		}
		for _, e := range []*verify.Event{d.Log, d.Core} {
			if e != nil {
				e.Nodes = names.Of(e.Nodes)
			}
		}
	}
	if v.print.json() {
		if err := v.print.document(found); err != nil {
			return err
		}
	}
	if found.Differs != nil {
		return &codedError{exitMismatch, errors.New(found.Differs.String())}
	}
	if !v.quiet && !v.print.json() {
		fmt.Fprintf(v.m.Stdout, "every plan is the same: %s facts, %s passes and %s proposals; fingerprint %s\n",
			plot.Count(found.Facts), plot.Count(found.Passes), plot.Count(found.Proposals), found.Fingerprint)
	}
	return nil
}
