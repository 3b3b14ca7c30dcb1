package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/sim/plan"
	"orrery/tools/refdata"
	"orrery/traces"
	"orrery/traces/importer"
)

// envLong, when "1", replays whole logs under every policy: about an hour.
const envLong = "ORRERY_LONG"

// first is a copy of m with its first n rows.
func (m *memory) first(n int) *memory {
	out := *m
	out.all = traces.Batch{}
	add(&out.all, &m.all, min(n, m.all.Len()))
	out.info.Rows = int64(out.all.Len())
	return &out
}

// add appends the first n rows of b to dst.
func add(dst, b *traces.Batch, n int) {
	part := b.Slice(0, n)
	dst.Append(&part)
}

// imported reads the first rows of a raw log.
func imported(t *testing.T, path string, rows int) *memory {
	src, _, err := importer.OpenAny([]string{path}, importer.Options{CacheDir: t.TempDir()})
	require.NoError(t, err)
	defer src.Close()
	m := &memory{info: src.Info(), size: 1000}
	var b traces.Batch
	for m.all.Len() < rows {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		add(&m.all, &b, min(b.Len(), rows-m.all.Len()))
	}
	m.info.Rows = int64(m.all.Len())
	return m
}

// whole is more rows than any log has.
const whole = 1 << 30

// logSpecs are the policies that a log is replayed under, with the number of
// rows for which the naive implementation is quick enough.
func logSpecs() map[string]struct {
	spec plan.Spec
	rows int
} {
	out := map[string]struct {
		spec plan.Spec
		rows int
	}{}
	add := func(rows int, s plan.Spec) {
		s.Semantics = plan.Semantics
		out[fmt.Sprintf("%s/%s/%d/%s/cycle%d", cmp.Or(s.Order, "fcfs"), cmp.Or(s.Backfill, "easy"), s.Depth, cmp.Or(s.EventOrder, "batch"), s.Cycle/model.Second)] = struct {
			spec plan.Spec
			rows int
		}{s, rows}
	}
	for _, b := range order.BackfillNames() {
		for _, o := range order.Names() {
			add(250, plan.Spec{Order: o, Backfill: b})
		}
		rows := whole
		if b == "conservative" {
			rows = 800
		}
		add(rows, plan.Spec{Backfill: b})
		add(rows, plan.Spec{Backfill: b, EventOrder: "sequential"})
		for _, cycle := range []model.Duration{1, 5, 30} {
			rows := 60
			if b == "easy" && cycle == 30 {
				rows = whole
			}
			add(rows, plan.Spec{Backfill: b, Cycle: cycle * model.Second})
			add(60, plan.Spec{Order: "wfp3", Backfill: b, Cycle: cycle * model.Second, Phase: cycle * model.Second / 3})
		}
	}
	add(whole, plan.Spec{Order: "sjf"})
	add(500, plan.Spec{Backfill: "conservative", Depth: 10})
	add(500, plan.Spec{Order: "wfp3", Backfill: "conservative", Depth: 5})
	return out
}

// TestAgainstNaiveOnOracleLogs holds the core against the naive implementation on the three normalised
// logs under every combination of policies.
func TestAgainstNaiveOnOracleLogs(t *testing.T) {
	for _, log := range oracleLogs {
		m := normalised(t, refdata.Path(t, "oracle/swf-norm/"+log.name+".swf.gz"), log.procs)
		for name, c := range logSpecs() {
			rows := c.rows
			if rows == whole && os.Getenv(envLong) != "1" {
				rows = 10_000
			}
			switch {
			case os.Getenv(envLong) == "1" && c.spec.Cycle == 0:
				rows = whole
			case testing.Short():
				rows = min(rows, 1000) / 5
			}
			t.Run(log.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				res := requireNaive(t, m.first(rows), c.spec, Options{})
				if res != nil && c.spec.Cycle > 0 {
					_, all, err := runCore(m.first(rows), c.spec, Options{EveryCycle: true})
					require.NoError(t, err)
					require.Equal(t, all.Fingerprint, res.Fingerprint, "with and without the skipping of cycles")
				}
			})
		}
	}
}

// TestSkippedCyclesOnWholeLogs: replaying with every tick of the cycle and with
// the empty ones skipped gives the same log of facts and proposals.
func TestSkippedCyclesOnWholeLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of ticks: not with -short")
	}
	for _, log := range oracleLogs {
		m := normalised(t, refdata.Path(t, "oracle/swf-norm/"+log.name+".swf.gz"), log.procs)
		for _, order := range []string{"fcfs", "wfp3"} {
			for _, cycle := range []model.Duration{1, 5, 30} {
				if order == "wfp3" && cycle == 1 && os.Getenv(envLong) != "1" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", log.name, order, cycle), func(t *testing.T) {
					t.Parallel()
					spec := plan.Spec{Semantics: plan.Semantics, Order: order, Cycle: cycle * model.Second}
					skipping, err := Run(context.Background(), spec, m.open, Options{})
					require.NoError(t, err)
					every, err := Run(context.Background(), spec, m.open, Options{EveryCycle: true})
					require.NoError(t, err)
					require.Equal(t, every.Fingerprint, skipping.Fingerprint)
					require.Less(t, skipping.Work.Cycles, every.Work.Cycles)
				})
			}
		}
	}
}

// TestAgainstNaiveOnRawLogs does it on real logs as they are, awkward rows included.
func TestAgainstNaiveOnRawLogs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file string
		rows int
	}{{"KTH-SP2-1996-2.1-cln.swf.gz", 1500}, {"SDSC-SP2-1998-4.2-cln.swf.gz", 1500}, {"CEA-Curie-2011-2.1-cln.swf.gz", 60}} {
		if testing.Short() {
			if c.rows /= 10; c.rows < 100 {
				continue // the import alone takes a while
			}
		}
		m := imported(t, refdata.Path(t, "traces/swf/"+c.file), c.rows)
		for _, s := range []plan.Spec{{}, {EventOrder: "sequential"}, {Backfill: "conservative"}, {Order: "wfp3"}, {Overrun: "extend"}, {QuorumLatency: 7 * model.Second}} {
			s.Semantics = plan.Semantics
			t.Run(fmt.Sprintf("%s/%s", c.file, s.JSON()), func(t *testing.T) {
				requireNaive(t, m, s, Options{})
			})
		}
	}
}
