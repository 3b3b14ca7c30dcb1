package docs_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/scheduler/score"
)

// Lists and figures of the documents are compared with the code: with values
// where packages export them, with the source text where they do not, so that no
// test here needs more than the vocabulary.

// section is what stands below the first heading of that text, up to the next of
// the same rank or a higher one.
func section(t *testing.T, doc, title string) string {
	t.Helper()
	text, rank := documents(t)[doc], 0
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		hashes := len(line) - len(strings.TrimLeft(line, "#"))
		if hashes > 0 && !fenced {
			if rank > 0 && hashes <= rank {
				break
			}
			if rank == 0 && strings.TrimSpace(line[hashes:]) == title {
				rank = hashes
				continue
			}
		}
		if rank > 0 {
			b.WriteString(line)
		}
	}
	require.NotZero(t, rank, "%s has no heading %q", doc, title)
	return b.String()
}

// rows are the cells of the tables in a text, without their heads.
func rows(text string) (all [][]string) {
	head := true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			head = true
			continue
		}
		if strings.HasPrefix(line, "|---") {
			head = false
			continue
		}
		if head {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}

var code = regexp.MustCompile("`([^`]+)`")

// quoted are the words in code spans of a text, in order.
func quoted(text string) (words []string) {
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		words = append(words, m[1])
	}
	return words
}

// firstCells are the words in code spans of the first cells of all tables.
func firstCells(text string) (words []string) {
	for _, r := range rows(text) {
		words = append(words, quoted(r[0])...)
	}
	return words
}

func source(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../" + path)
	require.NoError(t, err)
	return string(text)
}

// The table of packages has those of the table of imports, which is compared
// with the tree by tools/detlint.
func TestPackagesAreInTheTable(t *testing.T) {
	var want []string
	for file, text := range sources(t) {
		if strings.HasPrefix(file, "tools/detlint/") && !strings.HasSuffix(file, "_test.go") {
			for _, m := range regexp.MustCompile(`(?m)^\t\{dir: "([^"]+)"`).FindAllStringSubmatch(text, -1) {
				want = append(want, m[1])
			}
		}
	}
	require.ElementsMatch(t, want, firstCells(section(t, "docs/ARCHITECTURE.md", "Packages")))
}

// reasons are all reasons of model by their spelling, with what the comment beside
// the constant says.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	all := spelled(func(i uint8) string { return model.Reason(i).String() })
	comments := regexp.MustCompile(`(?m)^\tReason\w+(?:\s+Reason = iota)?(?:\s+// (.*))?$`).FindAllStringSubmatch(source(t, "scheduler/model/model.go"), -1)
	require.Len(t, comments, len(all))
	says := map[string]string{}
	for i, r := range all {
		says[r] = comments[i][1]
	}
	delete(says, "")
	return says
}

// beginning are the reasons of which the comment begins so.
func beginning(says map[string]string, prefix string) (words []string) {
	for _, r := range slices.Sorted(maps.Keys(says)) {
		if strings.HasPrefix(says[r], prefix) {
			words = append(words, r)
		}
	}
	return words
}

// The table of reasons has each reason once.
func TestReasonsAreDocumented(t *testing.T) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(reasons(t))), firstCells(section(t, "docs/RESULT-FORMAT.md", "Reasons")))
}

// The page on refusals has each reason for which only a proposal is refused, and
// no word that is none.
func TestRefusalReasons(t *testing.T) {
	says, have := reasons(t), firstCells(section(t, "docs/FLOW-PROPOSAL.md", "Reasons of a refusal"))
	require.Subset(t, have, beginning(says, "refused: "))
	require.Subset(t, slices.Collect(maps.Keys(says)), have)
	// Those the quorum of a site names in its source, and no others.
	var named []string
	for file, text := range sources(t) {
		if strings.HasPrefix(file, "scheduler/quorum/") && !strings.HasSuffix(file, "_test.go") {
			for _, m := range regexp.MustCompile(`model\.Reason(\w+)`).FindAllStringSubmatch(text, -1) {
				named = append(named, upper(m[1]))
			}
		}
	}
	slices.Sort(named)
	named = slices.DeleteFunc(slices.Compact(named), func(r string) bool { return r == "NONE" || r == "PREEMPTED" || r == "RECLAIMED" })
	require.ElementsMatch(t, named, have)
}

// upper is the spelling in files of the name of a constant: NodesTaken, NODES_TAKEN.
func upper(name string) string {
	return strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_${2}"))
}

// A candidate's reasons in a pass are all reasons for which a job in the queue
// waits, in the diagram and in the table of conditions.
func TestPassReasons(t *testing.T) {
	says := reasons(t)
	want := beginning(says, "waits: ")
	want = append(want, "MIN_SCORE") // its comment says no more than that
	var have []string
	word := regexp.MustCompile(`\b[A-Z]+(?:_[A-Z]+)*\b`)
	for a, label := range diagrams(t, "docs/FLOW-PASS.md")[1] {
		for _, w := range word.FindAllString(a.from+" "+a.to+" "+label, -1) {
			if _, known := says[w]; known {
				have = append(have, w)
			}
		}
	}
	slices.Sort(have)
	require.ElementsMatch(t, want, slices.Compact(have))

	var table []string
	for _, r := range rows(section(t, "docs/FLOW-JOB.md", "While it waits")) {
		table = append(table, quoted(r[1])...)
	}
	require.ElementsMatch(t, want, table)
}

func factKinds() []string { return spelled(func(i uint8) string { return model.FactKind(i).String() }) }

// The kinds of proposals are all in the table, each with a fact that there is.
func TestProposalKinds(t *testing.T) {
	kinds := spelled(func(i uint8) string { return model.ProposalKind(i).String() })
	table := rows(section(t, "docs/FLOW-PROPOSAL.md", "Kinds"))
	comments := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)\tPropose(\w+)(?: ProposalKind = iota)?\n`).FindAllStringSubmatchIndex(source(t, "scheduler/model/model.go"), -1) {
		text := source(t, "scheduler/model/model.go")
		above := text[:m[0]]
		above = above[strings.LastIndex(above, "Answer:"):]
		comments[strings.ToLower(text[m[2]:m[3]])] = strings.ToLower(regexp.MustCompile(`Fact(\w+)`).FindStringSubmatch(above)[1])
	}
	require.Len(t, comments, len(kinds))
	require.Len(t, table, len(kinds))
	for i, r := range table {
		require.Equal(t, "`"+kinds[i]+"`", r[0])
		require.Equal(t, "`"+comments[kinds[i]]+"`", r[2])
		require.Contains(t, factKinds(), strings.Trim(r[2], "`"))
	}
}

// The facts that the life of a job names are facts.
func TestFactsOfALife(t *testing.T) {
	n := 0
	for _, r := range rows(section(t, "docs/FLOW-JOB.md", "Steps")) {
		if len(r) > 3 {
			for _, w := range quoted(r[3]) {
				require.Contains(t, factKinds(), w)
				n++
			}
		}
	}
	require.GreaterOrEqual(t, n, 8)
}

// The kinds of journal records are in both pages on studies.
func TestJournalKinds(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^\tnote\w+\s*= "(\w+)"`).FindAllStringSubmatch(source(t, "sim/sweep/journal.go"), -1) {
		want = append(want, m[1])
	}
	require.Greater(t, len(want), 15)
	require.ElementsMatch(t, want, firstCells(section(t, "docs/STUDY-FORMAT.md", "Journals")))

	var labels strings.Builder
	for _, d := range diagrams(t, "docs/FLOW-STUDY.md") {
		for _, label := range d {
			label, _, _ = strings.Cut(label, ", next") // which generation it is
			if !strings.Contains(label, " a ") && !strings.Contains(label, "by hand") && !strings.Contains(label, " an ") {
				labels.WriteString(label + " ")
			}
		}
	}
	var have []string
	for _, w := range regexp.MustCompile(`\w+`).FindAllString(labels.String(), -1) {
		if slices.Contains(want, w) {
			have = append(have, w)
		}
	}
	have = append(have, firstCells(section(t, "docs/FLOW-STUDY.md", "Processes"))...)
	slices.Sort(have)
	require.ElementsMatch(t, want, slices.Compact(have))
}

// The order of one instant is that of the ranks of events.
func TestOrderOfOneInstant(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^\tRank\w+(?:\s+Rank = iota)?\s+// (.*)$`).FindAllStringSubmatch(source(t, "sim/des/queue.go"), -1) {
		want = append(want, m[1])
	}
	require.Len(t, want, 14)
	text := section(t, "docs/ARCHITECTURE.md", "The order of one instant")
	for i, w := range want {
		require.Contains(t, text, fmt.Sprintf("\n%d. %s\n", i+1, w))
	}
}

// listed are the words that a key may have, as the page on profiles lists them,
// which the package profiles compares with its keys.
func listed(t *testing.T, key string) (words []string) {
	t.Helper()
	for _, r := range rows(documents(t)["docs/PROFILE-FORMAT.md"]) {
		if r[0] == "`"+key+"`" {
			words = quoted(r[1])
		}
	}
	require.NotEmpty(t, words, key)
	return words
}

// README names queue orders that there are, says where the others are, and lists every way of
// backfilling.
func TestReadmeNamesTheOrders(t *testing.T) {
	cell := func(name string) string {
		for _, r := range rows(section(t, "README.md", "What it can do")) {
			if r[0] == name {
				return r[1]
			}
		}
		t.Fatalf("README.md has no row %s", name)
		return ""
	}
	var have []string
	for _, r := range rows(section(t, "docs/PROFILE-FORMAT.md", "Orders")) {
		have = append(have, quoted(r[0])...)
	}
	require.Greater(t, len(have), 10)
	named, rest, found := strings.Cut(cell("queue orders"), " and all others of ")
	require.True(t, found)
	require.Subset(t, have, strings.Split(named, ", "))
	require.Contains(t, rest, "](docs/PROFILE-FORMAT.md#orders)")
	for _, b := range listed(t, "backfill") {
		require.Contains(t, strings.Split(cell("backfilling"), ", "), b)
	}
}

// TestFewFilesListTheOrders: one with another queue order changes these, and no other list of them.
func TestFewFilesListTheOrders(t *testing.T) {
	var orders []*regexp.Regexp
	for _, r := range rows(section(t, "docs/PROFILE-FORMAT.md", "Orders")) {
		for _, name := range quoted(r[0]) {
			orders = append(orders, regexp.MustCompile(`(?:^|[^\w-])`+name+`(?:$|[^\w-])`))
		}
	}
	require.Greater(t, len(orders), 10)
	texts := sources(t)
	maps.Copy(texts, documents(t))
	var lists []string
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		n := 0
		for _, order := range orders {
			if order.MatchString(texts[path]) {
				n++
			}
		}
		if 2*n > len(orders) {
			lists = append(lists, path)
		}
	}
	require.Equal(t, []string{"docs/PROFILE-FORMAT.md", "scheduler/order/order.go", "scheduler/order/ordertest/ordertest.go", "sim/watch/order.go"}, lists,
		"more than half of the orders are named: take them from order.Names()")
}

// The glossary has each term once, in alphabetical order, with a meaning and a
// page that uses it.
func TestGlossary(t *testing.T) {
	before := ""
	table := rows(documents(t)["docs/GLOSSARY.md"])
	for _, r := range table {
		require.Len(t, r, 4, r)
		term, ok := strings.CutPrefix(strings.ToLower(r[0]), "**")
		require.True(t, ok, r[0])
		term = strings.TrimSuffix(term, "**")
		require.Less(t, before, term, "terms ascend")
		require.NotEmpty(t, r[1], term)
		require.Contains(t, r[3], "](", term)
		before = term
	}
	require.Greater(t, len(table), 80)
}

// defaults are those of the keys of profiles and cluster files as their pages list
// them, which the package profiles compares with its keys.
func defaults(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, doc := range []string{"docs/PROFILE-FORMAT.md", "docs/CLUSTER-FORMAT.md"} {
		for _, r := range rows(documents(t)[doc]) {
			if len(r) > 2 && len(quoted(r[2])) == 1 {
				all[strings.Trim(r[0], "`")] = strings.Trim(r[2], "`")
			}
		}
	}
	return all
}

// The figures of the page on scheduling are the defaults of the keys beside them,
// or the constants of the packages.
func TestFiguresOfScheduling(t *testing.T) {
	keys, fixed := defaults(t), map[string]string{}
	for _, r := range rows(section(t, "docs/SCHEDULING.md", "Numbers")) {
		require.Len(t, r, 3, r)
		if r[2] == "" {
			fixed[r[0]] = r[1]
			continue
		}
		require.Equal(t, keys[strings.Trim(r[2], "`")], r[1], r[0])
	}
	number := func(name string) model.Fixed {
		x, err := strconv.ParseFloat(fixed[name], 64)
		require.NoError(t, err, name)
		return model.FixedOf(x)
	}
	span := func(name string) model.Duration {
		d, err := time.ParseDuration(fixed[name])
		require.NoError(t, err, name)
		return model.Duration(d.Microseconds())
	}

	free, most, least := number("budget used up to which the penalty is 1"), number("budget used from which it is the least"), number("least penalty")
	small := model.Ratio(1, 100) // the curve is flat where it begins and ends
	require.Equal(t, model.One, score.Penalty(free))
	require.Less(t, score.Penalty(free+small), model.One)
	require.Equal(t, least, score.Penalty(most))
	require.Greater(t, score.Penalty(most-small), least)

	auto, sensitive := preempt.PolicyOf(model.CheckpointAuto, false), preempt.PolicyOf(model.CheckpointAuto, true)
	require.Equal(t, auto.Min, span("least time between automatic checkpoints"))
	require.Equal(t, auto.Max, span("longest time between them"))
	require.Equal(t, sensitive.Min, span("least, of sensitive work"))
	require.Equal(t, sensitive.Max, span("longest, of sensitive work"))

	value := preempt.DefaultCheckpointConfig()
	require.Equal(t, value.Price, number("price of one GiB of checkpoint, in GPU-seconds"))
	require.Equal(t, value.PFail, number("probability that a job fails before its next checkpoint"))
	require.Equal(t, value.Urgency, model.Duration(number("worth of one waiting job of a higher class, in GPU-seconds").Float())*model.Second)
	require.Equal(t, value.BacklogScale, model.Duration(number("worth of a full backlog on each node, in GPU-seconds").Float())*model.Second)
	require.Len(t, fixed, 11)
}

// Reasons that the page on scheduling names are reasons, and those of its tests are
// all for which a candidate waits.
func TestReasonsOfScheduling(t *testing.T) {
	says, known := reasons(t), map[string]bool{}
	for _, w := range quoted(documents(t)["docs/SCHEDULING.md"]) {
		if _, ok := says[w]; ok {
			known[w] = true
			continue
		}
		require.NotRegexp(t, `^[A-Z]+_[A-Z_]+$`, w, "no reason")
	}
	for _, w := range append(beginning(says, "waits: "), "MIN_SCORE", "DEPENDENCY_NEVER") {
		require.True(t, known[w], "docs/SCHEDULING.md does not name %s", w)
	}
}

// The table of awkward rows has each rule of the world, in order, with the same
// first word on what is done.
func TestRulesAreDocumented(t *testing.T) {
	lists := regexp.MustCompile(`(?s)rule(Names|Docs) = \[numRules\]string\{\n(.*?)\n\}`)
	have := map[string][]string{}
	for file, text := range sources(t) {
		if strings.HasPrefix(file, "sim/world/") {
			for _, list := range lists.FindAllStringSubmatch(text, -1) {
				for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(list[2], -1) {
					have[list[1]] = append(have[list[1]], m[1])
				}
			}
		}
	}
	names, docs := have["Names"], have["Docs"]
	require.Greater(t, len(names), 15)
	require.Len(t, docs, len(names))
	table := rows(section(t, "docs/RESULT-FORMAT.md", "Rows that needed special handling"))
	require.Len(t, table, len(names))
	for i, r := range table {
		require.Equal(t, "`"+names[i]+"`", r[0])
		done, _, _ := strings.Cut(docs[i], ":")
		require.True(t, strings.HasPrefix(r[1], done+":"), "%s: %s", names[i], docs[i])
	}
}

// The page on facts.parquet names each kind of fact, and the one on runs each
// state in which a job may be recorded.
func TestKindsAndStatesAreDocumented(t *testing.T) {
	require.Subset(t, quoted(section(t, "docs/RESULT-FORMAT.md", "facts.parquet")), factKinds())
	require.Subset(t, quoted(section(t, "docs/RESULT-FORMAT.md", "jobs.parquet")), jobStates())
}

// The exit codes are those of the program, with the beginning of what its help
// says.
func TestExitCodes(t *testing.T) {
	text := source(t, "cmd/orrery/internal/cli/exit.go")
	codes, meanings := map[string]string{}, [][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(Exit\w+)\s+= (\d+)$`).FindAllStringSubmatch(text, -1) {
		codes[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?m)^\t\{(Exit\w+), "([^"]+)"\},$`).FindAllStringSubmatch(text, -1) {
		meanings = append(meanings, []string{codes[m[1]], m[2]})
	}
	table := rows(section(t, "CONTRIBUTING.md", "Exit codes"))
	require.Len(t, table, len(codes))
	require.Len(t, meanings, len(codes))
	for i, r := range table {
		require.Equal(t, meanings[i][0], r[0])
		require.True(t, strings.HasPrefix(meanings[i][1], r[1]), "%s: %s", r[1], meanings[i][1])
	}
}

// Every exit code that a document states is one.
func TestStatedExitCodes(t *testing.T) {
	known := firstColumn(rows(section(t, "CONTRIBUTING.md", "Exit codes")))
	n := 0
	for name, text := range documents(t) {
		for _, m := range regexp.MustCompile(`(?i)exit(?:s with)? codes? (\d+)`).FindAllStringSubmatch(text, -1) {
			require.Contains(t, known, m[1], "%s: %s", name, m[0])
			n++
		}
	}
	require.GreaterOrEqual(t, n, 8)
}

func firstColumn(table [][]string) (cells []string) {
	for _, r := range table {
		cells = append(cells, r[0])
	}
	return cells
}

// The invariants are numbered from 1 without a gap, and each that the watcher
// reports by number has a row.
func TestInvariantsAreNumbered(t *testing.T) {
	var numbers []string
	for _, r := range rows(documents(t)["docs/INVARIANTS.md"]) {
		if _, err := strconv.Atoi(r[0]); err == nil {
			numbers = append(numbers, r[0])
			require.Equal(t, strconv.Itoa(len(numbers)), r[0])
		}
	}
	reported := map[string]bool{}
	for file, text := range sources(t) {
		if strings.HasPrefix(file, "sim/watch/") && !strings.HasSuffix(file, "_test.go") {
			for _, m := range regexp.MustCompile(`\.fail\((\d+),`).FindAllStringSubmatch(text, -1) {
				require.Contains(t, numbers, m[1], file)
				reported[m[1]] = true
			}
		}
	}
	require.GreaterOrEqual(t, len(reported), 20)
}

// The bounds on files and functions are those that the linter enforces.
func TestBoundsOnSizes(t *testing.T) {
	rules := section(t, "CONTRIBUTING.md", "Rules")
	for name, says := range map[string]string{
		"maxFileLines": "at most %s lines", "maxTestFileLines": "(%s in tests)", "maxFuncLines": "a function at most %s",
	} {
		m := regexp.MustCompile(name + `\s+= (\d+)`).FindStringSubmatch(source(t, "tools/detlint/size.go"))
		require.NotNil(t, m, name)
		require.Contains(t, rules, fmt.Sprintf(says, m[1]))
	}
}

// The verdicts on a queue are those of the package, in the page and the glossary.
func TestVerdicts(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`Verdict = "([A-Z]+)"`).FindAllStringSubmatch(source(t, "sim/metric/table.go"), -1) {
		want = append(want, m[1])
	}
	require.Len(t, want, 4)
	require.ElementsMatch(t, want, firstCells(section(t, "docs/METRICS.md", "Saturation verdict")))
}

// The glossary names all states of jobs and of nodes.
func TestStatesInTheGlossary(t *testing.T) {
	nodes := spelled(func(i uint8) string { return model.NodeState(i).String() })
	for term, want := range map[string][]string{"**job state**": jobStates(), "**node state**": nodes} {
		found := false
		for _, r := range rows(documents(t)["docs/GLOSSARY.md"]) {
			if r[0] == term {
				require.ElementsMatch(t, want, slices.Compact(regexp.MustCompile(`\b[A-Z]{4,}\b`).FindAllString(strings.Replace(r[1], "Only READY", "", 1), -1)))
				found = true
			}
		}
		require.True(t, found, term)
	}
}

// The table of factors has those of the weights, in their order.
func TestFactorsOfScheduling(t *testing.T) {
	var keys []string
	for _, r := range rows(section(t, "docs/PROFILE-FORMAT.md", "Keys")) {
		if key, ok := strings.CutPrefix(strings.Trim(r[0], "`"), "weights."); ok {
			keys = append(keys, strings.ReplaceAll(key, "_", " "))
		}
	}
	require.Len(t, keys, 9)
	table := rows(section(t, "docs/SCHEDULING.md", "Score"))
	require.Len(t, table, len(keys))
	for i, r := range table {
		name, ok := strings.CutPrefix(r[0], fmt.Sprintf("f%d ", i+1))
		require.True(t, ok, r[0])
		require.True(t, strings.HasPrefix(keys[i], name), "%s is %s", r[0], keys[i])
	}
}
