package importer

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"orrery/tools/refdata"
	"orrery/traces"
)

// publicFolders hold the public files that are imported, or refused with a reason.
var publicFolders = []string{"swf", "gpu", "slurm", "workflow", "service", "energy", "failure", "oracle"}

// notData are public files, by the ends of their names or by parts of their paths, of which there is nothing to import, and why.
var notData = []struct{ part, why string }{
	{".md", "found text in Markdown"}, {"worldcup98/README.md", "Markdown"}, {"web-service-datasets/README.md", "found the line"}, {".README", "found the line"}, {"faq.html", "found the line"}, {"schema.txt", "Markdown"},
	{"v2017__schema.csv", "known formats"}, {"reference__preprocessed_150.tar.gz", "a pointer of Git LFS"}, {".header", ""}, {"xdmod-shredder-unit/", "found JSON"},
	{"rivos-exporter/", ""}, {"vpenso-exporter/", "found the line"},
	{".machines", ""}, {"slurmsim-jobs500.swf", "';'"}, {"cluster_summary.csv", ""}, {"openb_pod_list_multigpu50", "pods without times"}, {"simulation_throughputs", "a table of speeds and no jobs"},
	{"Earth_", ""}, {"timeseries.csv.gz", ""}, {"tiresias/cluster_spec.csv", ""}, {"tiresias/n", ""}, {"micro_jobs500org", ""}, {"non-ended-job-state.log", "all dropped; not-ended: 2"},
	{"unknown-job-state.log", "all dropped; unknown-state: 2"}, {"wtf/shell/workflows/", ""}, {"generic_information.json", "JSON"},
	{"basemodel_update", ""}, {"data_trace_processed", ""}, {"pod_gpu_duty", ""}, {"qps.tar", ""}, {"queue_size", ""}, {"GoogleClusteData", ""}, {"example__durations", "durations of functions and no invocations"},
	{"example__memory", ""}, {"bitbrains", ""}, {"swim-facebook", ""}, {"laurabejder/", "prices of several areas"}, {"disk-alpine", ""}, {"component.tab", "the table of events"}, {"creator.tab", ""}, {"node.tab", ""},
	{"platform.tab", ""}, {"loghub/", ""}, {"job_id_mapping.csv", ""}, {"cqsim-redux/", ""},
}

// TestPublicFiles imports every public file, under its name and as x, or finds it refused for the reason that is
// listed; the rows read are as many as an independent count says.
func TestPublicFiles(t *testing.T) {
	root := refdata.Path(t, "traces")
	read := 0
	for _, folder := range publicFolders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			require.NoError(t, err)
			if testing.Short() && d.Type().IsRegular() {
				st, err := d.Info()
				require.NoError(t, err)
				if st.Size() > 300_000 {
					return nil
				}
			}
			if why, refused := refusal(name); refused {
				_, _, err := importPublic(t, path)
				var data *traces.DataError
				if assert.ErrorAs(t, err, &data, name) {
					assert.ErrorContains(t, err, why, name)
				}
				t.Logf("%s: refused: %.150s", name, strings.ReplaceAll(err.Error(), root, ""))
				return nil
			}
			of, report, err := importPublic(t, path)
			if !assert.NoError(t, err, name) {
				return nil
			}
			x := filepath.Join(t.TempDir(), "x")
			require.NoError(t, os.Symlink(path, x))
			as, err := Detect(x, Options{})
			require.NoError(t, err)
			require.Equal(t, of, as, "%s as x", name)
			assert.EqualValues(t, independent(t, path, of), report.Read, name)
			t.Logf("%s: %s, read %d, kept %d; dropped %s", name, of, report.Read, report.Kept, counts(report.Dropped))
			read++
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, read, 40)
}

func refusal(name string) (string, bool) {
	for i := len(notData) - 1; i >= 0; i-- {
		n := notData[i]
		if strings.Contains(n.part, ".md") || strings.HasPrefix(n.part, ".") {
			if strings.HasSuffix(name, n.part) {
				return n.why, true
			}
		} else if strings.Contains(name, n.part) && !(n.part == "xdmod-shredder-unit/" && strings.Contains(name, "/input/")) {
			return n.why, true
		}
	}
	return "", false
}

// importPublic imports a file, with a zone where it asks for one.
func importPublic(t *testing.T, path string) (Format, traces.Report, error) {
	t.Helper()
	of, err := Detect(path, Options{})
	if err != nil {
		return of, traces.Report{}, err
	}
	out := filepath.Join(t.TempDir(), "x.trace")
	report, err := Import([]string{path}, out, Options{})
	var data *traces.DataError
	if errors.As(err, &data) && data.Expected == "an instant with its zone" {
		report, err = Import([]string{path}, out, Options{Zone: time.UTC})
	}
	if err == nil {
		require.True(t, report.Balanced())
		require.NoError(t, os.RemoveAll(out))
	}
	return of, report, err
}

// independent counts the rows of a file as a shell would: lines that are no header and no
// comment, occurrences of a key in JSON, cells where each is a sample.
func independent(t *testing.T, path string, of Format) int {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var in io.Reader = f
	switch {
	case strings.HasSuffix(path, ".tar.gz"): // 512 bytes of header, and zeros behind the rows
		in, err = gzip.NewReader(f)
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, in, 512)
	case strings.HasSuffix(path, ".gz"):
		in, err = gzip.NewReader(f)
	case strings.HasSuffix(path, ".xz"):
		in, err = xz.NewReader(bufio.NewReader(f))
	case strings.HasSuffix(path, ".tbz2"):
		in = bzip2.NewReader(f)
		_, err = io.CopyN(io.Discard, in, 512)
	}
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	all := strings.TrimRight(strings.TrimPrefix(string(text), "\ufeff"), "\x00\r\n")
	lines := strings.Split(all, "\n")
	rows, blank := 0, 0
	for _, l := range lines {
		switch l = strings.TrimSpace(l); {
		case l == "":
			blank++
		case l[0] != '#' && l[0] != ';':
			rows++
		}
	}
	data := lines[1:]
	switch of {
	case "swf", "pbs", "cobalt", "sge", "lsf", "gavel", "pai-machines", "mooncake", "slurm-simulator":
		return rows
	case "sacct":
		n := 0
		for _, l := range lines {
			if strings.HasPrefix(l, "JobID|") || strings.HasPrefix(l, "Account|") {
				continue
			}
			n += tasksOf(t, l)
		}
		return n
	case "oar":
		return strings.Count(all, `"submission_time"`)
	case "batsim":
		return strings.Count(all, `"subtime"`)
	case "wfformat":
		tasks := strings.Count(all, `"parents"`)
		return tasks + parents(all)
	case "dax":
		return strings.Count(all, "<job ") + strings.Count(all, "<parent ")
	case "gwf":
		n := 0
		for _, l := range data {
			n += 1 + len(strings.Fields(l[strings.LastIndexByte(l, ',')+1:]))
		}
		return n
	case "wtf": // tasks and parents, as DuckDB counts them
		return map[bool]int{true: 10208 + 6805, false: 460 + 1520}[strings.Contains(path, "shell")]
	case "opendc-carbon": // as DuckDB counts them
		return 35064
	case "alibaba-2018":
		n := 0
		for _, l := range data {
			name, _, _ := strings.Cut(l, ",")
			n++
			if !strings.HasPrefix(name, "task_") && name != "MergeTask" {
				n += strings.Count(name, "_")
			}
		}
		return n
	case "azure-functions-2019":
		return (rows - 1) * 1440
	case "steam":
		n := 0
		for _, l := range data {
			for _, cell := range strings.Split(strings.TrimSpace(l), ",")[1:] {
				if cell != "" {
					n++
				}
			}
		}
		return n
	case "per-second":
		return len(strings.Fields(all))
	case "lanl":
		return 2 * (rows - 1)
	case "fta":
		n := 0
		for _, l := range data {
			n++
			if strings.Fields(l)[5] == "0" {
				n++
			}
		}
		return n
	}
	return len(lines) - 1 - blank
}

// tasksOf is how many jobs a line of sacct stands for, unless its job had not ended.
func tasksOf(t *testing.T, line string) int {
	t.Helper()
	_, list, ok := strings.Cut(line, "_[")
	if !ok || strings.HasPrefix(line, "account") {
		return 1
	}
	list, _, _ = strings.Cut(list, "]")
	n := 0
	for _, term := range strings.Split(list, ",") {
		from, to, ranged := strings.Cut(term, "-")
		if n++; ranged {
			n += int(whole(t, to) - whole(t, from))
		}
	}
	return n
}

// parents counts the texts in lists of parents.
func parents(all string) int {
	n := 0
	for {
		_, rest, ok := strings.Cut(all, `"parents"`)
		if !ok {
			return n
		}
		list, after, _ := strings.Cut(rest, "]")
		n += strings.Count(list, `"`) / 2
		all = after
	}
}
