package importer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/tools/refdata"
	"orrery/traces"
	"orrery/traces/importer/swf"
)

// publicLogs says what an import makes of each public log: rows read and kept,
// rules with their counts, or why the file is refused.
var publicLogs = map[string]struct {
	read, kept int64
	dropped    string
	repaired   string
	refused    string
}{
	"CEA-Curie-2011-2.1-cln.swf.gz":              {read: 312826, kept: 312807, dropped: "no-processors=19"},
	"HPC2N-2002-2.1-cln.swf.gz":                  {read: 202876, kept: 202876},
	"KTH-SP2-1996-2.1-cln.swf.gz":                {read: 27992, kept: 27992},
	"LCG-cloudsimplus.swf.gz":                    {read: 188041, kept: 188041},
	"LLNL-Atlas-2006-2.1-cln.swf.gz":             {read: 43778, kept: 39207, dropped: "no-processors=4571"},
	"METACENTRUM-2009-2.swf.gz":                  {read: 103656, kept: 103656},
	"NASA-iPSC-1993-3.1-cln.swf.gz":              {read: 18239, kept: 18239},
	"RICC-2010-2.swf.gz":                         {read: 447794, kept: 447794},
	"SDSC-SP2-1998-4.2-cln.swf.gz":               {read: 59715, kept: 59715},
	"lublin_256.swf.gz":                          {read: 10000, kept: 10000},
	"theta-2023-jan-validation-dadyownes.swf.gz": {read: 2849, kept: 2849},
	"wagap-2013-alea.swf.gz":                     {read: 17900, kept: 17898, dropped: "negative-run-time=2"},
	"alea-wagap-2013.swf.machines":               {refused: "it resembles no known format"},
	"slurmsim-jobs500.swf":                       {refused: "line 1: found fields separated by ';'"},
}

// TestPublicLogs imports every file of the folder of public logs.
func TestPublicLogs(t *testing.T) {
	folder := refdata.Path(t, "traces", "swf")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	var expected []string
	for name := range publicLogs {
		expected = append(expected, name)
	}
	require.ElementsMatch(t, expected, names)
	for name, want := range publicLogs {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && want.kept > 100_000 {
				t.Skip("a large log; run without -short")
			}
			dir := t.TempDir()
			out := filepath.Join(dir, "out.parquet")
			report, err := Import([]string{filepath.Join(folder, name)}, out, Options{})
			if want.refused != "" {
				var data *traces.DataError
				require.ErrorAs(t, err, &data)
				require.ErrorContains(t, err, want.refused)
				require.Empty(t, inventory(t, dir))
				return
			}
			require.NoError(t, err)
			require.True(t, report.Balanced())
			require.Equal(t, want.read, report.Read)
			require.Equal(t, want.kept, report.Kept)
			require.Equal(t, want.dropped, counts(report.Dropped))
			require.Equal(t, want.repaired, counts(report.Repaired))
			roundTrip(t, out)
		})
	}
}

func counts(rules []traces.Rule) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "%s=%d ", r.Rule, r.Count)
	}
	return strings.TrimSpace(b.String())
}

// roundTrip exports a trace to SWF and imports that: the content must be the
// same, save what a dialect has beyond the standard's fields.
func roundTrip(t *testing.T, table string) {
	b, err := traces.Open(table)
	require.NoError(t, err)
	defer b.Close()
	log := filepath.Join(t.TempDir(), "again.swf")
	f, err := os.Create(log)
	require.NoError(t, err)
	report, err := swf.Export(f, b.Info(), b.Rows)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	again := filepath.Join(t.TempDir(), "again.parquet")
	second, err := Import([]string{log}, again, Options{})
	require.NoError(t, err)
	require.Equal(t, b.Info().Rows, second.Read)
	require.Equal(t, b.Info().Rows, second.Kept)
	require.Empty(t, second.Repaired)
	c, err := traces.Open(again)
	require.NoError(t, err)
	defer c.Close()
	if len(report.Repaired) == 0 {
		require.Equal(t, b.Info().Hash, c.Info().Hash)
	}
}

// TestExportEqualsLog compares the lines of an exported log, number by number,
// with those of the log it came from, for logs of which no row is mended.
func TestExportEqualsLog(t *testing.T) {
	for _, name := range []string{"KTH-SP2-1996-2.1-cln.swf.gz", "SDSC-SP2-1998-4.2-cln.swf.gz"} {
		path := refdata.Path(t, "traces", "swf", name)
		out := filepath.Join(t.TempDir(), "out.parquet")
		_, err := Import([]string{path}, out, Options{})
		require.NoError(t, err)
		b, err := traces.Open(out)
		require.NoError(t, err)
		var exported bytes.Buffer
		_, err = swf.Export(&exported, b.Info(), b.Rows)
		require.NoError(t, err)
		require.NoError(t, b.Close())
		log, err := open([]string{path}, Options{})
		require.NoError(t, err)
		in, err := log.list[0].content()
		require.NoError(t, err)
		var original bytes.Buffer
		_, err = original.ReadFrom(in)
		require.NoError(t, err)
		require.NoError(t, in.Close())
		require.Equal(t, dataLines(original.String()), dataLines(exported.String()))
	}
}

// dataLines are the lines without comments, blanks made one, and fractions
// without trailing zeros.
func dataLines(text string) []string {
	var lines []string
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, ";") {
			continue
		}
		f := strings.Fields(l)
		for i := range f {
			if strings.Contains(f[i], ".") {
				f[i] = strings.TrimRight(strings.TrimRight(f[i], "0"), ".")
			}
		}
		lines = append(lines, strings.Join(f, " "))
	}
	return lines
}
