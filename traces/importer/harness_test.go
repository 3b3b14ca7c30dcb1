package importer

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/internal/disk"
	"orrery/internal/doctest"
	"orrery/scheduler/model"
	"orrery/traces"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fixtures are the hand-made files of the formats: NAME.WHAT, NAME being that of the
// format.
func fixtures(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "formats", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// formatName is that of the format that a fixture is of.
func formatName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// Every format has a fixture, and every fixture is of the format that its name says.
func TestEveryFormatHasAFixture(t *testing.T) {
	have := map[string]bool{}
	for _, path := range fixtures(t) {
		of, err := Detect(path, Options{})
		require.NoError(t, err, path)
		require.Equal(t, formatName(path), string(of), path)
		have[formatName(path)] = true
	}
	for _, f := range formats {
		require.True(t, have[f.Name], "format %s has no fixture in testdata/formats", f.Name)
	}
}

// tryImport imports a file, with a zone where it asks for one.
func tryImport(t testing.TB, out string, paths ...string) (traces.Report, error) {
	t.Helper()
	report, err := Import(paths, out, Options{})
	var data *traces.DataError
	if errors.As(err, &data) && data.Expected == "an instant with its zone" {
		report, err = Import(paths, out, Options{Zone: zoneOf(t, "Europe/Berlin")})
	}
	return report, err
}

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return zone
}

// golden is everything that an import of a fixture says: its rows, column by column, and its
// account.
func golden(t *testing.T, path string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "x.trace")
	report, err := tryImport(t, out, path)
	require.NoError(t, err, path)
	valid, err := traces.Validate(out)
	require.NoError(t, err)
	require.Equal(t, report.Kept, valid.Kept)
	b, err := traces.Open(out)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	var s strings.Builder
	fmt.Fprintf(&s, "== %s: %s\n", filepath.Base(path), report.Format)
	info := b.Info()
	epoch := "not known"
	if info.EpochKnown {
		epoch = time.UnixMicro(int64(info.Epoch)).UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(&s, "epoch %s, zone %q, nodes %d, procs %d\n", epoch, info.TimeZone, info.MaxNodes, info.MaxProcs)
	for _, table := range traces.TableNames() {
		columns := traces.Columns(table)
		rows := 0
		for row, err := range b.Values(table) {
			require.NoError(t, err)
			if rows++; rows > 10 {
				continue
			}
			s.WriteString(table)
			for i, v := range row {
				if !v.Null && !(columns[i].Name == "kind" && v.Text == "bounded") {
					fmt.Fprintf(&s, " %s=%s", columns[i].Name, spelled(columns[i], v))
				}
			}
			s.WriteByte('\n')
		}
	}
	for i := range report.Tables {
		r := &report.Tables[i]
		fmt.Fprintf(&s, "%s: read %d, kept %d; dropped %s; repaired %s\n", r.Table, r.Read, r.Kept, counts(r.Dropped), counts(r.Repaired))
	}
	s.WriteString(measuredOf(report.Tables))
	require.Equal(t, remeasured(t, b, report.Tables), report.Tables, path)
	var kept traces.Report
	require.NoError(t, json.Unmarshal([]byte(b.Meta().Import), &kept))
	require.Equal(t, measuredOf(report.Tables), measuredOf(kept.Tables), "what the bundle keeps of %s", path)
	for _, a := range report.Assumed {
		fmt.Fprintf(&s, "assumed %s: %s\n", a.What, a.Value)
	}
	return s.String()
}

// spelled is a value as the golden file has it: instants and spans in seconds.
func spelled(c traces.Column, v traces.Value) string {
	switch {
	case c.Type == traces.String:
		return fmt.Sprintf("%q", v.Text)
	case c.Type == traces.Double:
		return fmt.Sprintf("%g", v.Real())
	case c.Unit == "µs":
		return fmt.Sprintf("%gs", float64(v.Number)/1e6)
	}
	return fmt.Sprint(v.Number)
}

// measuredOf is what a report says of the instants and of the use of its tables.
func measuredOf(tables []traces.TableReport) (text string) {
	for i := range tables {
		r := &tables[i]
		if r.FirstUS != nil {
			text += fmt.Sprintf("%s: from %gs to %gs; %s\n", r.Table, float64(*r.FirstUS)/1e6, float64(*r.LastUS)/1e6, r.Times)
		}
		for _, u := range r.Use {
			text += fmt.Sprintf("%s: at most %g %s of %d\n", r.Table, u.Peak, u.What, u.Stated)
		}
		if q := r.Requests; q != nil {
			text += fmt.Sprintf("%s: %d of %d exceeded, %d without\n", r.Table, q.Exceeded, q.Jobs, q.Without)
		}
	}
	return text
}

// remeasured works out what is measured of the tables of a bundle from its rows, with all of them in memory.
func remeasured(t *testing.T, b *traces.Bundle, tables []traces.TableReport) []traces.TableReport {
	t.Helper()
	out := slices.Clone(tables)
	for i := range out {
		r := &out[i]
		instants := instantsOf(t, b, r.Table)
		r.FirstUS, r.LastUS, r.Use, r.Requests = nil, nil, nil, nil
		if len(instants) > 0 {
			first, last := slices.Min(instants), slices.Max(instants)
			r.FirstUS, r.LastUS = &first, &last
		}
		if r.Table == "jobs" {
			r.Use, r.Requests = usedAndAsked(t, b)
		}
	}
	return out
}

// instantsOf are those that the rows of a table state, µs since 1970 or the zero of the source.
func instantsOf(t *testing.T, b *traces.Bundle, table string) (out []int64) {
	t.Helper()
	for row, err := range b.Values(table) {
		require.NoError(t, err)
		width := int64(0)
		for i, c := range traces.Columns(table) {
			if c.Name == "width" && table == "load" {
				width = row[i].Number
			}
		}
		for i, c := range traces.Columns(table) {
			if !row[i].Null && slices.Contains([]string{"submit", "start", "end", "cancelled_at", "time"}, c.Name) {
				at := row[i].Number + int64(b.Info().Epoch)
				out = append(out, at, at+width)
			}
		}
	}
	return out
}

// usedAndAsked adds up at each instant at which a job starts what all jobs hold that run then.
func usedAndAsked(t *testing.T, b *traces.Bundle) (use []traces.Use, asked *traces.Requests) {
	t.Helper()
	asked = &traces.Requests{}
	jobs := jobsOf(t, b)
	ends := func(j *traces.Job) (model.Time, bool) {
		if j.End.OK {
			return j.End.V, j.Start.OK
		}
		return j.Start.V.Add(j.Runtime.V), j.Start.OK && j.Runtime.OK
	}
	var most [3]float64
	for i := range jobs {
		j := &jobs[i]
		if j.Runtime.OK && j.Walltime.V > 0 {
			asked.Jobs++
			if j.Runtime.V > j.Walltime.V {
				asked.Exceeded++
			}
		}
		var at [3]float64
		for k := range jobs {
			of := &jobs[k]
			end, ran := ends(of)
			if _, counts := ends(j); !counts || !ran || of.Start.V > j.Start.V || end <= j.Start.V {
				continue
			}
			n := float64(max(of.NodesMin.V, 1))
			at[0] += float64(cmp.Or(of.ProcsAllocated, of.ProcsRequested, traces.Some(of.CPUsPerNode.V*int32(n))).V)
			at[1] += float64(of.NodesMin.V)
			gpus := float64(cmp.Or(of.GPUsTotal, traces.Some(of.GPUsPerNode.V*int32(n))).V)
			if of.GPUMilli.OK {
				gpus = max(gpus, 1) * float64(of.GPUMilli.V) / 1000
			}
			at[2] += gpus
		}
		for u := range most {
			most[u] = max(most[u], at[u])
		}
	}
	info := b.Info()
	stated := [3]int64{int64(info.MaxProcs), int64(info.MaxNodes), 0}
	for _, n := range b.Nodes() {
		stated[2] += int64(n.GPUs)
	}
	for u, what := range []string{"processors", "nodes", "GPUs"} {
		if most[u] > 0 {
			use = append(use, traces.Use{What: what, Peak: most[u], Stated: stated[u]})
		}
	}
	if asked.Without = int64(len(jobs)) - asked.Jobs; asked.Jobs > 0 {
		asked.Share = float64(asked.Exceeded) / float64(asked.Jobs)
	}
	return use, asked
}

// Every row of every fixture, against a golden file that was read by a person. -update
// writes it anew.
func TestRowsOfFixtures(t *testing.T) {
	var all strings.Builder
	for _, path := range fixtures(t) {
		all.WriteString(golden(t, path))
		all.WriteByte('\n')
	}
	name := filepath.Join("testdata", "formats.golden")
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(all.String()), 0o600))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), all.String())
}

// hashOf is the content hash of an import.
func hashOf(t *testing.T, paths ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "x.trace")
	_, err := tryImport(t, out, paths...)
	require.NoError(t, err, paths)
	b, err := traces.Open(out)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	return b.Info().Hash
}

// What a file is called, how it is compressed and where the computer stands changes
// nothing.
func TestFixturesByAnyName(t *testing.T) {
	local := time.Local //nolint:gosmopolitan // that of the computer is what is varied
	defer func() { time.Local = local }()
	for _, path := range fixtures(t) {
		time.Local = time.UTC
		want := hashOf(t, path)
		time.Local = zoneOf(t, "Asia/Tokyo")
		require.Equal(t, want, hashOf(t, path), path)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		x := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.WriteFile(x, text, 0o600))
		require.Equal(t, want, hashOf(t, x), path)
		if bytes.HasPrefix(text, []byte("PAR1")) {
			continue // is compressed in itself
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err = w.Write(text)
		require.NoError(t, errors.Join(err, w.Close()))
		require.NoError(t, os.WriteFile(x, packed.Bytes(), 0o600))
		require.Equal(t, want, hashOf(t, x), path)
	}
}

// outcome imports a damaged file: it is refused with a DataError that names it, and leaves nothing
// behind, or it is imported with an account that adds up.
func outcome(t testing.TB, text []byte) error {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "damaged"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(in, text, 0o600))
	require.NoError(t, os.Mkdir(out, 0o700))
	report, err := tryImport(t, filepath.Join(out, "x.trace"), in)
	if err != nil {
		var data *traces.DataError
		require.ErrorAs(t, err, &data, "%q", text)
		require.NotEmpty(t, data.File)
		left, err := os.ReadDir(out)
		require.NoError(t, err)
		require.Empty(t, left)
		return data
	}
	require.True(t, report.Balanced())
	valid, err := traces.Validate(filepath.Join(out, "x.trace"))
	require.NoError(t, err, "%q", text)
	require.Equal(t, report.Kept, valid.Kept)
	return nil
}

// Files that were cut short at any of many bytes.
func TestTruncatedFixtures(t *testing.T) {
	t.Cleanup(disk.Through(unsynced))
	for _, path := range fixtures(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		step := max(len(text)/25, 1) + 1
		if testing.Short() {
			step *= 8
		}
		for n := len(text) - 1; n > 0; n -= step {
			_ = outcome(t, text[:n]) // asserts what must hold of either
		}
	}
}

// tokens are what stands between the separators of any format.
var tokens = regexp.MustCompile(`[^,|;:\s"{}\[\]()=<>+/]+`)

// Files of which one value is another: numbers that are none, words that are unknown. A value that is
// refused is named by its row or line.
func TestFlippedFixtures(t *testing.T) {
	t.Cleanup(disk.Through(unsynced))
	for _, path := range fixtures(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if bytes.HasPrefix(text, []byte("PAR1")) {
			continue // single bytes are flipped by the fuzzer
		}
		all := tokens.FindAllIndex(text, -1)
		begin := bytes.IndexByte(text, '\n')
		if begin > len(text)/2 {
			begin = 0 // one line is all there is
		}
		refused, step := 0, 1+len(all)/25
		for i, at := range all {
			if at[0] < begin && len(all) > 30 || i%step > 0 || testing.Short() && i%8 > 0 {
				continue // names of columns
			}
			for _, value := range []string{"?!", "-7", "\xff"} {
				if err := outcome(t, slices.Concat(text[:at[0]], []byte(value), text[at[1]:])); err != nil {
					refused++
					var data *traces.DataError
					require.ErrorAs(t, err, &data)
					require.True(t, data.Line > 0 || data.Row > 0 || strings.Contains(data.Found, "dropped") || strings.Contains(data.Found, "no list") || data.Column != "", "%s, %q for %q: %v", path, value, text[at[0]:at[1]], err)
				}
			}
		}
		require.True(t, refused > 0 || testing.Short(), path) // few values are tried in short runs
	}
}

// Every format has a fuzz target of its own.
func TestEveryFormatIsFuzzed(t *testing.T) {
	text, err := os.ReadFile("fuzz_test.go")
	require.NoError(t, err)
	for _, f := range formats {
		require.Contains(t, string(text), fmt.Sprintf("fuzzFormat(f, %q)", f.Name))
	}
}

// The document lists every format as the program does; -update writes the list.
func TestDocumentListsTheFormats(t *testing.T) {
	list := "| format | files | becomes | untested | `--time-zone` |\n|---|---|---|---|---|\n"
	for _, f := range formats {
		tables, untested, zone := map[string]bool{}, "", ""
		for _, path := range fixtures(t) {
			if formatName(path) == f.Name {
				for _, table := range tablesOf(t, path) {
					tables[table] = true
				}
			}
		}
		if f.Untested {
			untested = "untested on real rows"
		}
		if f.Zoned {
			zone = "for times without a zone"
		}
		var becomes []string
		for _, table := range traces.TableNames() {
			if tables[table] {
				becomes = append(becomes, table)
			}
		}
		list += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", f.Name, f.What, strings.Join(becomes, ", "), untested, zone)
	}
	doctest.Part{File: filepath.Join("..", "..", "docs", "IMPORT.md"), Begin: "<!-- formats -->\n", End: "<!-- end of formats -->"}.Holds(t, list, *update)
}

// tablesOf are the tables that a fixture becomes.
func tablesOf(t *testing.T, path string) (names []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "x.trace")
	_, err := tryImport(t, out, path)
	require.NoError(t, err)
	b, err := traces.Open(out)
	require.NoError(t, err)
	for _, table := range b.Info().Tables {
		names = append(names, table.Table)
	}
	require.NoError(t, b.Close())
	return names
}
