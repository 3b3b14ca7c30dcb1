package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/sim"
	"orrery/sim/record"
	"orrery/sim/verify"
)

// checkedRun is what verify RUN -o json prints.
type checkedRun struct {
	Run         string   `json:"run"`
	Files       []string `json:"files"` // that have the digest that run.json says
	SpecID      string   `json:"spec_id"`
	Fingerprint string   `json:"fingerprint"`
	Replayed    bool     `json:"replayed"` // with LOG: another replay came to the fingerprint
}

// stored checks a run directory against its own digests, and with the log that it is of
// against another replay.
func (v *verifyVerb) stored(ctx context.Context, args []string) error {
	dir := args[0]
	if v.against != "" || v.keep != "" {
		return usagef("%s is a run directory, which is checked as it is: leave out --against and --out", dir)
	}
	if given := v.given(); len(given) > 0 {
		return usagef("%s: the run %s has its settings: leave the flag out", given[0], dir)
	}
	if err := v.m.mayRead(v.quiet, dir); err != nil {
		return err
	}
	files, err := record.Check(dir)
	if err != nil {
		return readError(err)
	}
	r, ok := recorded(dir)
	path := filepath.Join(dir, record.FileRun)
	if !ok {
		return input(fmt.Errorf("%s: found no settings of a run; %s", path, record.MendReplay))
	}
	if len(files) == 0 {
		return input(fmt.Errorf("%s: found run schema %d, whose files have no digests, so that nothing can be checked. To write it anew: %s", path, r.Schema, replayAnew(dir, &r)))
	}
	found := &checkedRun{Run: dir, Files: files, SpecID: r.SpecID, Fingerprint: r.Fingerprint}
	if err := v.ofItsSpec(dir, &r); err != nil {
		return err
	}
	if len(args) > 1 {
		if err := v.again(ctx, &r, dir, args[1:]); err != nil {
			return err
		}
		found.Replayed = true
	}
	return v.showStored(found)
}

// ofItsSpec holds the id of the spec and the log of facts against what run.json says.
func (v *verifyVerb) ofItsSpec(dir string, r *recordedRun) error {
	path := filepath.Join(dir, record.FileRun)
	if r.Spec.Semantics == semanticsFormat.now {
		if id := r.Spec.ID(); id != r.SpecID {
			return input(fmt.Errorf("%s: found the spec_id %s, and its spec has the SHA-256 %s; %s: %s", path, r.SpecID, id, record.MendReplay, replayAnew(dir, r)))
		}
	}
	if there(filepath.Join(dir, record.TableFacts+".parquet")) == nil {
		return nil
	}
	fingerprint, err := verify.Digest(record.ReadLog(dir))
	if err != nil {
		return readError(err)
	}
	return isOfRun(dir, fingerprint)
}

// again replays the settings of the run and compares the digest of all decisions.
func (v *verifyVerb) again(ctx context.Context, r *recordedRun, dir string, args []string) error {
	if err := sameSemantics(dir); err != nil {
		return err
	}
	t, err := v.m.openLog(ctx, args, v.quiet)
	if err != nil {
		return err
	}
	defer t.close()
	spec, err := r.Spec.Bind(t)
	if err != nil {
		return err
	}
	res, err := v.replayed(ctx, spec, t, sim.Options{})
	if err != nil {
		return err
	}
	if res.Fingerprint != r.Fingerprint {
		return coded(exitMismatch, fmt.Errorf("%s: the run has the fingerprint %s, and another replay of %s came to %s", dir, r.Fingerprint, t.label, res.Fingerprint))
	}
	return nil
}

func (v *verifyVerb) showStored(found *checkedRun) error {
	if v.print.json() {
		return v.print.document(found)
	}
	if v.quiet {
		return nil
	}
	list := doc.New("file", "bytes", "result")
	for _, name := range found.Files {
		bytes := int64(0)
		if st, err := os.Stat(filepath.Join(found.Run, name)); err == nil {
			bytes = st.Size()
		}
		list.Row(name, doc.Quantity(plot.Count(bytes), bytes), doc.Cell{Text: "as written", JSON: "as written", Tone: doc.Good})
	}
	if err := v.print.table(list); err != nil {
		return err
	}
	said := []string{"every file has the digest of run.json"}
	if found.Replayed {
		said = append(said, "another replay came to the same decisions")
	}
	fmt.Fprintf(v.m.Stdout, "\n%s; fingerprint %s\n", strings.Join(said, ", and "), found.Fingerprint)
	return nil
}
