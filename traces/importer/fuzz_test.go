package importer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/internal/disk"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// One target for each format; TestEveryFormatIsFuzzed holds the list.

func FuzzImportAcme(f *testing.F)               { fuzzFormat(f, "acme") }
func FuzzImportAlibaba2017(f *testing.F)        { fuzzFormat(f, "alibaba-2017") }
func FuzzImportAlibaba2018(f *testing.F)        { fuzzFormat(f, "alibaba-2018") }
func FuzzImportAlibabaDlrm(f *testing.F)        { fuzzFormat(f, "alibaba-dlrm") }
func FuzzImportAlibabaGenai(f *testing.F)       { fuzzFormat(f, "alibaba-genai") }
func FuzzImportAlibabaSpotNodes(f *testing.F)   { fuzzFormat(f, "alibaba-spot-nodes") }
func FuzzImportAlibabaSpot(f *testing.F)        { fuzzFormat(f, "alibaba-spot") }
func FuzzImportAzureFunctions2019(f *testing.F) { fuzzFormat(f, "azure-functions-2019") }
func FuzzImportAzureFunctions2021(f *testing.F) { fuzzFormat(f, "azure-functions-2021") }
func FuzzImportAzureLlm(f *testing.F)           { fuzzFormat(f, "azure-llm") }
func FuzzImportBatsimJobs(f *testing.F)         { fuzzFormat(f, "batsim-jobs") }
func FuzzImportBatsim(f *testing.F)             { fuzzFormat(f, "batsim") }
func FuzzImportChronus(f *testing.F)            { fuzzFormat(f, "chronus") }
func FuzzImportCobalt(f *testing.F)             { fuzzFormat(f, "cobalt") }
func FuzzImportDax(f *testing.F)                { fuzzFormat(f, "dax") }
func FuzzImportElasticflow(f *testing.F)        { fuzzFormat(f, "elasticflow") }
func FuzzImportElectricityMaps(f *testing.F)    { fuzzFormat(f, "electricity-maps") }
func FuzzImportEntsoe(f *testing.F)             { fuzzFormat(f, "entsoe") }
func FuzzImportEpftoolbox(f *testing.F)         { fuzzFormat(f, "epftoolbox") }
func FuzzImportFta(f *testing.F)                { fuzzFormat(f, "fta") }
func FuzzImportGaia(f *testing.F)               { fuzzFormat(f, "gaia") }
func FuzzImportGavel(f *testing.F)              { fuzzFormat(f, "gavel") }
func FuzzImportGwf(f *testing.F)                { fuzzFormat(f, "gwf") }
func FuzzImportHelios(f *testing.F)             { fuzzFormat(f, "helios") }
func FuzzImportLanl(f *testing.F)               { fuzzFormat(f, "lanl") }
func FuzzImportLetsWaitAwhile(f *testing.F)     { fuzzFormat(f, "lets-wait-awhile") }
func FuzzImportLsf(f *testing.F)                { fuzzFormat(f, "lsf") }
func FuzzImportMooncake(f *testing.F)           { fuzzFormat(f, "mooncake") }
func FuzzImportOar(f *testing.F)                { fuzzFormat(f, "oar") }
func FuzzImportOpenb(f *testing.F)              { fuzzFormat(f, "openb") }
func FuzzImportOpendcCarbon(f *testing.F)       { fuzzFormat(f, "opendc-carbon") }
func FuzzImportOpendc(f *testing.F)             { fuzzFormat(f, "opendc") }
func FuzzImportPaiMachines(f *testing.F)        { fuzzFormat(f, "pai-machines") }
func FuzzImportPaiTasks(f *testing.F)           { fuzzFormat(f, "pai-tasks") }
func FuzzImportPbs(f *testing.F)                { fuzzFormat(f, "pbs") }
func FuzzImportPerSecond(f *testing.F)          { fuzzFormat(f, "per-second") }
func FuzzImportPhillyJson(f *testing.F)         { fuzzFormat(f, "philly-json") }
func FuzzImportPhillyMachines(f *testing.F)     { fuzzFormat(f, "philly-machines") }
func FuzzImportPhilly(f *testing.F)             { fuzzFormat(f, "philly") }
func FuzzImportSacctJson(f *testing.F)          { fuzzFormat(f, "sacct-json") }
func FuzzImportSacct(f *testing.F)              { fuzzFormat(f, "sacct") }
func FuzzImportSge(f *testing.F)                { fuzzFormat(f, "sge") }
func FuzzImportSia(f *testing.F)                { fuzzFormat(f, "sia") }
func FuzzImportSlurmSimulatorJobs(f *testing.F) { fuzzFormat(f, "slurm-simulator-jobs") }
func FuzzImportSlurmSimulator(f *testing.F)     { fuzzFormat(f, "slurm-simulator") }
func FuzzImportSlurmdbd(f *testing.F)           { fuzzFormat(f, "slurmdbd") }
func FuzzImportSteam(f *testing.F)              { fuzzFormat(f, "steam") }
func FuzzImportSwf(f *testing.F)                { fuzzFormat(f, "swf") }
func FuzzImportTiresias(f *testing.F)           { fuzzFormat(f, "tiresias") }
func FuzzImportTitanGpus(f *testing.F)          { fuzzFormat(f, "titan-gpus") }
func FuzzImportUsCarbon(f *testing.F)           { fuzzFormat(f, "us-carbon") }
func FuzzImportWfformat(f *testing.F)           { fuzzFormat(f, "wfformat") }
func FuzzImportWorldcup98(f *testing.F)         { fuzzFormat(f, "worldcup98") }
func FuzzImportWtf(f *testing.F)                { fuzzFormat(f, "wtf") }

// fuzzFormat feeds one format with anything, whatever the content is taken for.
func fuzzFormat(f *testing.F, name string) {
	i := slices.IndexFunc(formats, func(f *format.Format) bool { return f.Name == name })
	if i < 0 {
		f.Fatalf("no format %s", name)
	}
	var all [][]byte
	for _, path := range fixtures(f) {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if formatName(path) == name {
			f.Add(text)
			all = append(all, text)
		}
	}
	if formats[i].Files > 1 {
		for _, more := range beside[name] {
			all = append(all, []byte(more))
		}
		f.Add(bytes.Join(all, between))
	}
	berlin := zoneOf(f, "Europe/Berlin")
	f.Cleanup(disk.Through(unsynced))
	f.Fuzz(func(t *testing.T, text []byte) {
		before := allocated()
		texts := [][]byte{text}
		if formats[i].Files > 1 {
			texts = bytes.SplitN(text, between, min(formats[i].Files, 3))
		}
		importTexts(t, formats[i], texts, berlin)
		if n := allocated() - before; n > mostAllocated {
			t.Fatalf("%d bytes of memory for an input of %d", n, len(text))
		}
	})
}

// between stands between the files of an input where a format takes several.
var between = []byte{0}

// beside are files that a format takes beside those of its fixtures.
var beside = map[string][]string{
	"azure-functions-2019": {"HashOwner,HashApp,HashFunction,Average,Count,percentile_Average_50\no1,a1,f1,20.5,6,20\no1,a1,f2,,4,3\n"},
	"gavel":                {`{"v100": {"('ResNet-50 (batch size 64)', 1)": {"null": 2.5, "('A', 1)": [1, 2]}}, "k80": {"('LM (batch size 5)', 2)": {"null": 1}}}`},
}

// importTexts imports files as ones of the format.
func importTexts(t *testing.T, of *format.Format, texts [][]byte, zone *time.Location) {
	t.Helper()
	in, dir := &inputs{}, t.TempDir()
	out := filepath.Join(dir, "x.trace")
	var err error
	for i, text := range texts {
		path := filepath.Join(dir, fmt.Sprint("f", i))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		one := &file{in: in, name: path, path: path}
		in.list = append(in.list, one)
		if err == nil {
			err = one.look()
		}
	}
	if err == nil && of.Parquet {
		_, err = in.list[0].detect(Options{}) // finds the columns
	}
	var report traces.Report
	switch {
	case err == nil && of.Parquet && in.list[0].head.Columns == nil:
		return // no Parquet
	case err == nil:
		in.raw, in.format = of, Format(of.Name)
		o := Options{Sequence: of.Sequenced && len(texts[0])%4 < 2}
		if of.Zoned {
			o.Zone = zone
		}
		if len(texts[0])%2 == 0 { // rows that cannot be read are left out, or refuse the file
			o.BadRows = atMost(t, "100%")
		}
		report, err = in.importTo(out, o)
	}
	sound(t, out, len(texts), report, err)
}

// TestFlippedParquet: a file of which one byte is another is refused or imported, whatever
// the byte claims of lengths and counts.
func TestFlippedParquet(t *testing.T) {
	t.Cleanup(disk.Through(unsynced))
	for _, path := range fixtures(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !bytes.HasPrefix(text, []byte("PAR1")) {
			continue
		}
		step := 10
		if testing.Short() {
			step = 100
		}
		for i := 0; i < len(text); i += step {
			for _, bits := range []byte{0x01, 0x80, 0xff} {
				before := allocated()
				_ = outcome(t, slices.Concat(text[:i], []byte{text[i] ^ bits}, text[i+1:])) // asserts what must hold of either
				require.Less(t, allocated()-before, uint64(mostAllocated), "%s, byte %d", path, i)
			}
		}
	}
}

// TestHostileParquet: what a Parquet file claims to hold and does not is not allocated.
func TestHostileParquet(t *testing.T) {
	for name, text := range map[string]string{
		"a footer of 4 GiB":         "PAR1PAR1\xf0\xff\xff\xffPAR1",
		"a list of 2^30 structures": "PAR1\x29\xfc\x80\x80\x80\x80\x04\x07\x00\x00\x00PAR1",
	} {
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		before := allocated()
		columns, err := format.ParquetColumns(path)
		var data *traces.DataError
		require.ErrorAs(t, err, &data, name)
		require.Empty(t, columns)
		require.Less(t, allocated()-before, uint64(1<<20), name)
	}
}

// unsynced is a disk that is never waited for. With it an input takes milliseconds; without,
// most of its time, and on a busy disk more than the 10 s after which the fuzzer takes an
// input for one that hangs.
func unsynced(s *disk.Step, do func() error) error {
	if s.Kind == disk.Sync || s.Kind == disk.SyncDir {
		return nil
	}
	return do()
}

// mostAllocated bounds all that is allocated for one input, which is a few kB.
const mostAllocated = 64 << 20

// allocated is how many bytes this process ever allocated.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// sound holds for an import of anything: it is refused with a DataError and leaves nothing
// beside the files, or makes a bundle that is valid and accounted for.
func sound(t *testing.T, out string, files int, report traces.Report, err error) {
	t.Helper()
	left, listed := os.ReadDir(filepath.Dir(out))
	if listed != nil {
		t.Fatal(listed)
	}
	if err != nil {
		var data *traces.DataError
		if !errors.As(err, &data) {
			t.Fatalf("refused without a DataError: %v", err)
		}
		if data.File == "" || data.Found == "" {
			t.Fatalf("refused without file or reason: %v", err)
		}
		if len(left) != files {
			t.Fatalf("refused, and left %v: %v", left, err)
		}
		return
	}
	valid, err := traces.Validate(out)
	if err != nil || valid.Kept != report.Kept || !report.Balanced() || len(left) != files+1 {
		t.Fatalf("%v, %+v, %+v, %v", err, valid, report, left)
	}
}
