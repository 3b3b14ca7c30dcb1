package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// figure is a number that a document states and a package has as a constant or a
// default. Each pattern has one group, the number; blanks in the document are one
// space, so that lines may be broken anywhere.
type figure struct{ doc, stated, folder, has string }

var figures = []figure{
	{"TUNE", `parts of equal numbers of jobs \((\d+)\)`, "sim/tune", `\bWindows: (\d+),`},
	{"TUNE", `would hold less than (\d+) jobs`, "sim/tune", `leastJobs\s+= (\d+)`},
	{"TUNE", `does not make (\d+) windows`, "sim/tune", `leastWindows\s+= (\d+)`},
	{"TUNE", `jittered by up to a minute, (\d+) times each`, "sim/tune", `\bReplicas: (\d+),`},
	{"TUNE", `The (\w+) most promising of these`, "sim/advice", `Finalists\s+= (\d+)`},
	{"TUNE", "`--points` points of a search \\((\\d+)\\)", "sim/tune", `\bTrials: (\d+),`},
	{"TUNE", `is spent \((\d+) million`, "sim/tune", `\bBudget: (\d+)_000_000,`},
	{"TUNE", "`--sobol` points at most \\((\\d+)\\)", "sim/tune", `\bPoints: (\d+),`},
	{"TUNE", `never fewer than (\d+)\.`, "sim/tune", `const \w+Rows = (\d+)`},
	{"TUNE", "\\((\\d+) for \\[`bayes`\\]", "sim/tune", `bayesBatch = (\d+)`},
	{"TUNE", `grids of (\d+) by \d`, "sim/tune", `\bside\s+= (\d+)`},
	{"TUNE", `of the (\w+) settings with the largest indices`, "sim/tune", `\w+Together\s+= (\d+)`},
	{"TUNE", `divided by it, and (\w+) replicas`, "sim/tune", `loadReplicas = (\d+)`},
	{"GATE-FORMAT", `1\. (\d+) seeds\.`, "sim/gate", `firstReplicas = (\d+)`},
	{"GATE-FORMAT", `2\. (\d+) seeds, and`, "sim/gate", `(?:least|min)Replicas\s+= (\d+)`},
	{"GATE-FORMAT", `is found in (\d) of 10 cases`, "sim/gate", `plannedPower = 0\.(\d)`},
	{"GATE-FORMAT", `it finds in (\d) of 10 cases`, "sim/gate", `statedPower  = 0\.(\d)`},
	{"GATE-FORMAT", `Windows with fewer than (\d+) jobs are left out`, "sim/task", `(?:Least|Min)Jobs = (\d+)`},
	{"GATE-FORMAT", `first instant at which (\d+) %`, "sim/gate", `fullFrom = (\d+)`},
	{"GATE-FORMAT", `their lender ended within (\d+) min`, "sim/gate", `usualSoon = (\d+) \* model\.Minute`},
	{"EXPERIMENT-FORMAT", `An experiment has ([\d,]+) tasks at most`, "sim/experiment", `const \w+Tasks = ([\d_]+)`},
	{"EXPERIMENT-FORMAT", `A window with fewer than (\d+) jobs`, "sim/task", `(?:Least|Min)Jobs = (\d+)`},
	{"FIDELITY", `replays \((\d+)\)`, "cmd/orrery", `"draws", (\d+)`},
	{"FIDELITY", `Below (\d+) jobs there is no verdict`, "sim/fidelity", `enoughJobs = (\d+)`},
	{"FIDELITY", `Waits of at most (\d) s on both`, "sim/fidelity", `noticedWait = (\d)`},
	{"FIDELITY", `Fewer than (\d) jobs have none`, "sim/fidelity", `leastRanked = (\d)`},
	{"FIDELITY", "`by_user` the (\\d+) names", "sim/fidelity", `mostGroups = (\d+)`},
	{"FIDELITY", `among themselves, less 0\.(\d+)`, "sim/fidelity", `orderBelowRuns\s+= 0\.(\d+)`},
	{"REPORTS", `of more than ([\d,]+) jobs it has`, "reports/plot", `mostWaitPairs = (\d+)`},
	{"REPORTS", `A sweep over at least (\w+) windows`, "sim/experiment", `(?:Least|Min)Windows = (\d+)`},
	{"STATISTICS", `fewer than (\d+) windows, or the change`, "sim/stat", `(?i:least|min)Windows = (\d+)`},
	{"STATISTICS", `at least 2 and at most (\d+)`, "sim/stat", `\w+Cosines = (\d+)`},
	{"STATISTICS", `of equal length: (\d+) of them`, "sim/paired", `UsualWindows\s+= (\d+)`},
	{"STATISTICS", `or hold fewer than (\d+) jobs`, "sim/paired", `(?:least|min)Jobs\w+ = (\d+)`},
	{"STUDY-FORMAT", `A pack holds up to ([\d,]+) specs`, "sim/sweep", `maxPackTasks = (\d+)`},
	{"STUDY-FORMAT", `of what was added at once, from 1 to (\d+)`, "sim/sweep", `maxChunk\s+= (\d+)`},
	{"STUDY-FORMAT", `\| (\w+) tries came to nothing`, "sim/sweep", `maxAttempts = (\d+)`},
	{"STUDY-FORMAT", `up to (\w+) results that were on their way`, "sim/sweep", `lineLength = (\d+)`},
	{"FLOW-STUDY", `a chunk of up to (\d+) consecutive`, "sim/sweep", `maxChunk\s+= (\d+)`},
	{"FLOW-STUDY", `: (\w+) tries came to nothing`, "sim/sweep", `maxAttempts = (\d+)`},
	{"SEARCH", `a standard deviation of 0\.(\d) of each box`, "sim/search", `cmaStep = 0\.(\d)`},
	{"SEARCH", `Beyond (\d+) results the models take`, "sim/search", `modelPoints\s+= (\d+)`},
	{"SEARCH", `from (\d+) points that lie apart`, "sim/search", `climbs\s+= (\d+)`},
	{"SEARCH", `the best of (\d+) scrambled Sobol points`, "sim/search", `\bwide\s+= (\d+)`},
	{"SEARCH", `scrambled Sobol points and (\d+) around the best`, "sim/search", `nearBest\s+= (\d+)`},
	{"SCHEDULING", `A window of at most (\d+) ticks is exact`, "scheduler/quota", `const buckets = (\d+)`},
	{"HARDWARE", `below 0\.(\d) of the draw the band is at least`, "hwmodel", `DeepCap = 0\.(\d)`},
	{"HARDWARE", `the band is at least ±0\.(\d+)`, "hwmodel/fit", `betweenCards = 0\.(\d+)`},
	{"SCHEDULING", `value > cost, examined every (\d+) s`, "sim/world", `Every = (\d+) \* model\.Second`},
}

var numerals = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}

// plainNumber is a number without separators, in digits.
func plainNumber(s string) string {
	if i := slices.Index(numerals, s); i >= 0 {
		return strconv.Itoa(i)
	}
	return strings.NewReplacer(",", "", "_", "").Replace(s)
}

// Figures in the text of documents are those of the code.
func TestFigures(t *testing.T) {
	texts, code := documents(t), sources(t)
	blanks := regexp.MustCompile(`\s+`)
	for _, f := range figures {
		said := regexp.MustCompile(f.stated).FindStringSubmatch(blanks.ReplaceAllString(texts["docs/"+f.doc+".md"], " "))
		require.NotNil(t, said, "docs/%s.md does not say %q", f.doc, f.stated)
		found := map[string]bool{}
		for file, text := range code {
			if strings.HasPrefix(file, f.folder+"/") && !strings.HasSuffix(file, "_test.go") {
				for _, m := range regexp.MustCompile(f.has).FindAllStringSubmatch(text, -1) {
					found[plainNumber(m[1])] = true
				}
			}
		}
		require.Equal(t, []string{plainNumber(said[1])}, slices.Sorted(maps.Keys(found)), "docs/%s.md, %q; %s, %q", f.doc, f.stated, f.folder, f.has)
	}
}

// Tuning tries as many profiles as its page says.
func TestBaselinesOfTuning(t *testing.T) {
	said := regexp.MustCompile(`the (\w+) built-in profiles`).FindStringSubmatch(documents(t)["docs/TUNE.md"])
	require.NotNil(t, said)
	found := 0
	for file, text := range sources(t) {
		if m := regexp.MustCompile(`(?m)^var named = \[\]string\{(.*)\}$`).FindStringSubmatch(text); m != nil && strings.HasPrefix(file, "sim/tune/") {
			require.Equal(t, strconv.Itoa(len(strings.Split(m[1], ","))), plainNumber(said[1]))
			found++
		}
	}
	require.Equal(t, 1, found)
}

// The table of methods of search has each method.
func TestMethodsOfSearch(t *testing.T) {
	var want []string
	for _, text := range sources(t) {
		if _, list, ok := strings.Cut(text, "\nvar methods = map[string]func("); ok {
			list, _, _ = strings.Cut(list, "\n}")
			for _, m := range regexp.MustCompile(`(?m)^\t"(\w+)":`).FindAllStringSubmatch(list, -1) {
				want = append(want, m[1])
			}
		}
	}
	require.Len(t, want, 7)
	table := rows(section(t, "docs/SEARCH.md", "Which method"))
	var have []string
	for _, r := range table {
		have = append(have, quoted(r[0])...)
	}
	require.ElementsMatch(t, want, have)
}

// The kinds of events in the page on traces, in that on clusters and in the error
// of a replay are the same.
func TestKindsOfEvents(t *testing.T) {
	var said, followed, without []string
	for line := range strings.Lines(section(t, "docs/TRACE-FORMAT.md", "events")) {
		if list, _, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(list, "- ") && !strings.Contains(list, " a ") {
			if list = strings.TrimPrefix(list, "- "); regexp.MustCompile(`^[a-z_]+(, [a-z_]+)*$`).MatchString(list) {
				said = append(said, strings.Split(list, ", ")...)
			}
		}
	}
	for file, text := range sources(t) {
		if !strings.HasPrefix(file, "sim/world/") {
			continue
		}
		if m := regexp.MustCompile(`"([a-z_, ]+ or quorum_outage), the kinds that a replay follows"`).FindStringSubmatch(text); m != nil {
			followed = strings.Split(strings.Replace(m[1], " or ", ", ", 1), ", ")
		}
		if _, list, ok := strings.Cut(text, " = [...]struct{ Kind, Why string }{"); ok {
			list, _, _ = strings.Cut(list, "\n}")
			for _, m := range regexp.MustCompile(`\{"(\w+)", `).FindAllStringSubmatch(list, -1) {
				without = append(without, m[1])
			}
		}
	}
	require.NotEmpty(t, followed)
	require.ElementsMatch(t, append(followed, without...), said)

	var table, keys []string
	for _, r := range rows(section(t, "docs/CLUSTER-FORMAT.md", "Events")) {
		table = append(table, quoted(r[0])...)
	}
	for _, r := range rows(section(t, "docs/CLUSTER-FORMAT.md", "Keys")) {
		if r[0] == "`events[].kind`" {
			keys = quoted(r[1])
		}
	}
	require.ElementsMatch(t, keys, table)
	require.Subset(t, followed, keys)
}
