package app_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// jsonRuns are the verbs that print JSON, each as it is called in the directory of
// clitest.ExampleFolder, with the exit code.
var jsonRuns = map[string][]struct {
	line string
	code int
}{
	"compare":           {{"compare before after", 0}, {"compare before after --noise log.swf.gz --replicas 3", 0}, {"compare before after --windows 10", 0}, {"compare run --schedule schedule.csv", 0}},
	"check":             {{"check log.swf.gz month.trace scaling.yaml", 0}},
	"conform":           {{"conform cases", 0}},
	"cache info":        {{"cache info", 0}},
	"capture anonymise": {{"capture anonymise telemetry --key-file key --out anonymous.trace", 0}},
	"calibrate":         {{"calibrate cap --cluster cap/site.yaml --out calibrated.yaml", 0}},
	"capture sample":    {{"capture sample --out another", 0}},
	"capture convert":   {{"capture convert gpus.csv --from smi-csv --node gpu7 --time-zone UTC --out gpu7.trace", 0}},
	"capture inspect":   {{"capture inspect telemetry", 0}, {"capture inspect telemetry --instances", 0}},
	"capture join":      {{"capture join telemetry --jobs month.trace --out measured.trace", 0}},
	"capture merge":     {{"capture merge telemetry --out all.trace", 0}},
	"capture sensor":    {{"capture sensor smi.csv --meter watts.csv --load toggles.csv", 0}, {"capture sensor smi.csv", 0}},
	"capture slurm":     {{"capture slurm --out captured --bundle-only", 0}},
	"scale":             {{"scale scaling.yaml --out scaled", 0}},
	"doctor":            {{"doctor --study .", 0}},
	"explain":           {{"explain run 20", 0}, {"explain --mode-differences", 0}, {"explain sited 20", 0}},
	"fidelity":          {{"fidelity month.trace --procs 8 --draws 3", 0}, {"fidelity month.trace log.swf.gz --procs 8 --draws 3", 0}},
	"fork":              {{"fork before log.swf.gz --at 10m --order sjf --out forked", 0}, {"fork before --counterfactual 20 --out preferred", 0}},
	"gate":              {{"gate builtin", 0}},
	"import":            {{"import log.swf.gz --out imported.trace", 0}},
	"cluster catalogue": {{"cluster catalogue", 0}, {"cluster catalogue h100-sxm", 0}},
	"cluster draw":      {{"cluster draw mine.yaml", 0}},
	"cluster diff":      {{"cluster diff month month-power", 0}},
	"profiles list":     {{"profiles list", 0}}, "profiles show": {{"profiles show hpc-batch", 0}},
	"profiles diff": {{"profiles diff default service", 0}},
	"profiles lint": {{"profiles lint service sensitive", 0}}, "lint": {{"lint service sensitive experiment.yaml", 0}},
	"replay":       {{"replay log.swf.gz", 0}, {"replay log.swf.gz --quorum-jitter 1s --seed 7 --print-config", 0}},
	"report":       {{"report before", 0}},
	"study status": {{"study status study", 0}}, "study table": {{"study table study", 0}},
	"sweep":           {{"sweep experiment.yaml --out study", 0}, {"sweep experiment.yaml --out none --dry-run", 0}, {"sweep experiment.yaml --print-config", 0}},
	"synth":           {{"synth --out made.trace --jobs 100 --quiet", 0}},
	"synth lublin":    {{"synth lublin --out lublin.trace --jobs 100 --quiet", 0}},
	"synth gpu":       {{"synth gpu --out gpu.trace --jobs 100 --quiet", 0}},
	"synth site":      {{"synth site --out site.trace --days 1 --nodes 64 --quiet", 0}},
	"trace head":      {{"trace head month.trace -n 5", 0}},
	"trace stats":     {{"trace stats month.trace", 0}},
	"trace info":      {{"trace info month.trace", 0}, {"trace info window.trace", 0}},
	"trace transform": {{"trace transform month.trace --out stretched.trace --step \"stretch by=2\"", 0}},
	"trace validate":  {{"trace validate month.trace", 0}},
	"tune":            {{"tune --out tuned --windows 20 --profile default --quiet --vary \"weights=wait_time,conformance\" --points 4 --trajectories 2 --sobol 0 --replicas 2 --loads none", cli.ExitEvidence}},
	"verify":          {{"verify log.swf.gz", 0}, {"verify log.swf.gz --invariants", 0}},
	"version":         {{"version", 0}},
}

// names are fields whose values may consist of digits: what they hold is a name, a
// unit (1 is none), a setting as it is written, or words beside the numbers that are in
// fields of their own.
var names = regexp.MustCompile(`(^|\.)(user|tenant|group|name|hash|fingerprint|revision|unit|found_text|before|after)$`)

// Texts that should be numbers: bare ones everywhere, and but in settings, which are in
// the spelling of the files, those with a unit too.
var (
	bareNumber = regexp.MustCompile(`^[-+]?[0-9][0-9,]*(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
	withUnit   = regexp.MustCompile(`^[-+]?[0-9][0-9,]*(\.[0-9]*)?([eE][-+]?[0-9]+)? ?(%|s|ms|us|µs|m|min|h|d|jobs|nodes)$`)
	// A span of time, as the tables and as the files write it.
	asSpan = regexp.MustCompile(`^[-+]?(([0-9]+ ?d ?)?[0-9]+:[0-9]{2}:[0-9]{2}(\.[0-9]+)?|([0-9.]+(d|h|m|s|ms)){2,})$`)
)

// TestNumbersAreNumbers: no number in a JSON document is text, on any verb.
func TestNumbersAreNumbers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every verb: the long tests do")
	}
	clitest.ExampleFolder(t)
	require.Zero(t, clitest.Run(t, strings.Fields("replay log.swf.gz --profile default --decisions --quiet --out sited")...).Code)
	require.Zero(t, clitest.Run(t, "trace", "transform", "month.trace", "--out", "window.trace", "--quiet", "--step", "window begin=100s warm=true").Code)
	clitest.EveryVerb(func(cmd *cobra.Command, words []string) {
		f := cmd.Flags().Lookup("format")
		if f == nil || !strings.Contains(f.Value.Type(), "json") {
			return
		}
		runs := jsonRuns[strings.Join(words, " ")]
		require.NotEmpty(t, runs, "%s prints JSON, and no case here runs it", cmd.CommandPath())
		if strings.Contains(f.Value.Type(), "csv") {
			t.Run("csv of "+runs[0].line, func(t *testing.T) {
				line := runs[0].line
				if cmd.Flags().Lookup("force") != nil {
					line += " --force"
				}
				got := clitest.Run(t, append(clitest.WordsOf(line), "-o", "csv")...)
				require.Equal(t, runs[0].code, got.Code, got.Stderr)
				rows, err := csv.NewReader(strings.NewReader(got.Stdout)).ReadAll() // also that they are alike in length
				require.NoError(t, err, got.Stdout)
				require.Greater(t, len(rows), 1, got.Stdout)
			})
		}
		for _, run := range runs {
			t.Run(run.line, func(t *testing.T) {
				line := run.line
				if cmd.Flags().Lookup("force") != nil {
					line += " --force"
				}
				got := clitest.Run(t, append(clitest.WordsOf(line), "-o", "json")...)
				require.Equal(t, run.code, got.Code, got.Stderr)
				var document any
				require.NoError(t, json.Unmarshal([]byte(got.Stdout), &document), got.Stdout)
				textual(t, "", document, strings.HasPrefix(run.line, "profiles show") || strings.Contains(run.line, "--print-config"))
			})
		}
	})
	_, err := os.Stat("none")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// textual reports the numbers below a value that are text.
func textual(t *testing.T, path string, v any, Flags bool) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			textual(t, path+"."+key, x, Flags)
		}
	case []any:
		for _, x := range v {
			textual(t, path, x, Flags)
		}
	case string:
		if (bareNumber.MatchString(v) || !Flags && (withUnit.MatchString(v) || asSpan.MatchString(v))) && !names.MatchString(path) {
			t.Errorf("%s is the text %q, want a number", path, v)
		}
	}
}
