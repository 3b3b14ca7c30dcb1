package traces_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

func TestValidateAcceptsTheSample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	write(t, path, sample())
	r, err := traces.Validate(path)
	require.NoError(t, err)
	require.EqualValues(t, 6, r.Read, "jobs, dependencies and nodes")
	require.EqualValues(t, 6, r.Kept)
	require.Empty(t, r.Dropped)
}

// Each rule, broken once in an otherwise sound trace.
func TestValidateRules(t *testing.T) {
	long := traces.Some(-model.Second)
	for _, c := range []struct {
		rule, example string
		change        func(*content)
	}{
		{"negative span", "jobs row 2, id 2", func(c *content) { c.jobs[1].Walltime = long }},
		{"start before submission", "jobs row 2, id 2", func(c *content) { c.jobs[1].Start = traces.Some(model.Time(6)) }},
		{"end before start", "jobs row 1, id 1", func(c *content) { c.jobs[0].End = traces.Some(model.Time(4)) }},
		{"end before submission", "jobs row 3, id 3", func(c *content) { c.jobs[2].End = traces.Some(model.Time(4)) }},
		{"cancelled before submission", "jobs row 3, id 3", func(c *content) { c.jobs[2].CancelledAt.V = 1 }},
		{"released before submission", "jobs row 2, id 2", func(c *content) { c.jobs[1].Hold, c.jobs[1].Released = traces.Some(true), traces.Some(model.Time(1)) }},
		{"released without a hold", "jobs row 2, id 2", func(c *content) { c.jobs[1].Hold, c.jobs[1].Released = traces.Some(false), traces.Some(model.Time(99)) }},
		{"nice outside the range of Slurm", "jobs row 1, id 1", func(c *content) { c.jobs[0].Nice = traces.Some(int32(2147483646)) }},
		{"negative count", "jobs row 1, id 1", func(c *content) { c.jobs[0].ProcsRequested.V = -4 }},
		{"nodes_max below nodes_min", "jobs row 1, id 1", func(c *content) {
			c.jobs[0].NodesMin, c.jobs[0].NodesMax = traces.Some(int32(2)), traces.Some(int32(1))
		}},
		{"negative size", "jobs row 1, id 1", func(c *content) { c.jobs[0].Power = traces.Some(int64(-1)) }},
		{"class outside 0 to 10", "jobs row 1, id 1", func(c *content) { c.jobs[0].Class = traces.Some(int32(11)) }},
		{"comm_fraction outside 0 to 1", "jobs row 1, id 1", func(c *content) { c.jobs[0].CommFraction.V = math.NaN() }},
		{"unknown kind", "jobs row 1, id 1", func(c *content) { c.jobs[0].Kind = "batch" }},
		{"unknown topology", "jobs row 1, id 1", func(c *content) { c.jobs[0].Topology = "loose" }},
		{"unknown checkpoint", "jobs row 1, id 1", func(c *content) { c.jobs[0].Checkpoint = "often" }},
		{"text that is not UTF-8", "jobs row 1, id 1", func(c *content) { c.jobs[0].Name = "\xff" }},
		{"mounts or extra is no JSON object", "jobs row 2, id 2", func(c *content) { c.jobs[1].Extra = "[1]" }},
		{"dependency on a job id that is used twice", "deps row 1, 2 on 1", func(c *content) { c.jobs[2].ID = 1 }},
		{"dependency on a job that is not in the trace", "deps row 1, 2 on 9", func(c *content) { c.deps[0].On = 9 }},
		{"dependency of a job on itself", "deps row 1, 2 on 2", func(c *content) { c.deps[0].On = 2 }},
		{"unknown condition of a dependency", "deps row 1, 2 on 1", func(c *content) { c.deps[0].Condition = "maybe" }},
		{"node without a name", "nodes row 2, ", func(c *content) { c.nodes[1].Name = "" }},
		{"node name used twice", "nodes row 2, n0", func(c *content) { c.nodes[1].Name = "n0" }},
		{"negative size of a node", "nodes row 1, n0", func(c *content) { c.nodes[0].CPUs = -1 }},
	} {
		s := sample()
		c.change(s)
		path := filepath.Join(t.TempDir(), "x.trace")
		write(t, path, s)
		r, err := traces.Validate(path)
		require.Equal(t, []traces.Rule{{Rule: c.rule, Count: 1, Example: c.example}}, r.Dropped)
		require.True(t, r.Balanced())
		require.ErrorContains(t, err, `found 1 faulty rows, the first by the rule "`+c.rule+`"`)
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
	}
}

// Real logs use job numbers twice; that is noted and no fault.
func TestValidateNotesRepeatedIDs(t *testing.T) {
	s := sample()
	s.deps, s.jobs[2].ID = nil, 1
	path := filepath.Join(t.TempDir(), "x.trace")
	write(t, path, s)
	r, err := traces.Validate(path)
	require.NoError(t, err)
	require.Empty(t, r.Dropped)
	require.Equal(t, []traces.Rule{{Rule: "job id used twice", Count: 1, Example: "id 1"}}, r.Repaired)
}

// A table that was rewritten with other rows but kept its metadata is found by
// the hash, one that was rewritten with the same rows is not.
func TestValidateComparesTheHash(t *testing.T) {
	type job struct {
		ID     *int64 `parquet:"id"`
		Submit *int64 `parquet:"submit"`
		Kind   string `parquet:"kind"`
	}
	rows := []job{{p(int64(1)), p(int64(10)), "bounded"}, {p(int64(2)), p(int64(20)), "bounded"}}
	hash := write(t, filepath.Join(t.TempDir(), "x.trace"), &content{jobs: []traces.Job{{ID: 1, Submit: 10}, {ID: 2, Submit: 20}}})
	keep := forged(map[string]string{"orrery.content": hash})
	_, err := traces.Validate(writeForeign(t, rows, append(keep, parquet.Compression(&parquet.Gzip))...))
	require.NoError(t, err)
	rows[1].Submit = p(int64(21))
	_, err = traces.Validate(writeForeign(t, rows, keep...))
	require.ErrorContains(t, err, "found content with the hash ")
	require.ErrorContains(t, err, "expected "+hash)
	*rows[1].Submit = 9
	_, err = traces.Validate(writeForeign(t, rows, keep...))
	require.ErrorContains(t, err, "row 2, column submit")
}

func TestOpenSaysWhatItFound(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	require.ErrorContains(t, openError(t, file("log.swf", "; Computer: x\n1 0 1")), `found a file that begins with "; Co", expected a Parquet file`)
	require.ErrorContains(t, openError(t, file("empty", "")), `begins with ""`)
	require.ErrorContains(t, openError(t, file("short", "PAR1")), "4 bytes are too few")
	require.ErrorContains(t, openError(t, file("tail", "PAR1"+strings.Repeat("x", 20))), "does not end as a Parquet file")
	require.ErrorContains(t, openError(t, file("footer", "PAR1xxxx\xff\xff\xff\xffPAR1")), "a footer of 4294967295 bytes in a file of 16")
	var damaged *traces.CorruptError
	require.ErrorAs(t, openError(t, file("bad", "PAR1xxxxxxxx\x08\x00\x00\x00PAR1")), &damaged)
	_, err := traces.Open(filepath.Join(dir, "no such"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A table that was lost is missed; the jobs file of a bundle means the bundle.
func TestOpenMissesATable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	write(t, path, sample())
	require.Len(t, read(t, filepath.Join(path, "jobs.parquet")).nodes, 2)
	require.NoError(t, os.Remove(filepath.Join(path, "deps.parquet")))
	require.ErrorContains(t, openError(t, path), "found no deps.parquet, expected the bundle's tables jobs deps nodes")
	bare := filepath.Join(t.TempDir(), "alone.parquet")
	require.NoError(t, os.Rename(filepath.Join(path, "jobs.parquet"), bare))
	require.ErrorContains(t, openError(t, bare), "found no deps.parquet")
}
