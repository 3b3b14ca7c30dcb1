package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const code = `package rule

// Old says whether an age is beyond the limit.
func Old(age int) bool {
	if age > 65 {
		return true
	}
	return false
}

func clock() { tick() }

func tick() {}

func idle() { clock() }

func twice(s string) string { return s + s }
`

// module writes a small module below a temporary directory: a folder of the kind that is
// changed, with a test.
func module(t *testing.T, test string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                      "module small\n\ngo 1.24\n",
		"scheduler/rule/rule.go":      code,
		"scheduler/rule/rule_test.go": test,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

func keys(list []*mutant) (out []string) {
	for _, m := range list {
		out = append(out, m.key())
	}
	return out
}

func TestMutantsAreNamedByWhatTheyChange(t *testing.T) {
	all, err := mutants(module(t, "package rule\n"))
	require.NoError(t, err)
	require.Equal(t, []string{
		"scheduler/rule.Old#0: age > 65 -> true || age > 65",
		"scheduler/rule.Old#0: age > 65 -> false && (age > 65)",
		"scheduler/rule.Old#0: > -> >=",
		"scheduler/rule.Old#0: > -> <=",
		"scheduler/rule.Old#0: 65 -> 66",
		"scheduler/rule.clock#0: tick() -> func() { if false { tick() } }()",
		"scheduler/rule.idle#0: clock() -> func() { if false { clock() } }()",
		"scheduler/rule.twice#0: + -> -",
	}, keys(all))
	require.Equal(t, 5, all[0].line)
	require.Equal(t, "scheduler/rule", all[0].tests[0], "its own tests come first")
	drawn := draw(all, options{n: 100, seed: 1})
	require.Len(t, drawn, mostOfOne+3, "few are of one function")
	require.Equal(t, keys(drawn), keys(draw(all, options{n: 100, seed: 1})))
	require.Equal(t, keys(drawn)[:2], keys(draw(all, options{n: 2, seed: 1})))
	require.Len(t, draw(all, options{n: 100, seed: 1, only: "clock"}), 1)
	require.Equal(t, []string{
		"scheduler/rule.Old#0: age > 65 -> true || age > 65", "scheduler/rule.Old#0: age > 65 -> false && (age > 65)",
		"scheduler/rule.Old#0: > -> >=", "scheduler/rule.Old#0: > -> <=",
	}, keys(conditions(all, "Old")))
}

// The lists name code that there is.
func TestListsOfThisModule(t *testing.T) {
	all, err := mutants("../..")
	require.NoError(t, err)
	given, err := readGiven("given.txt", all)
	require.NoError(t, err)
	require.NotEmpty(t, given)
	equivalent, err := readEquivalents("equivalents.txt", all)
	require.NoError(t, err)
	require.NotEmpty(t, equivalent)
}

func TestListsNameMutants(t *testing.T) {
	all, err := mutants(module(t, "package rule\n"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "list.txt")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("# always\nscheduler/rule.Old#0: 65 -> 66\n")
	given, err := readGiven(file, all)
	require.NoError(t, err)
	require.Equal(t, []string{"scheduler/rule.Old#0: 65 -> 66"}, keys(given))
	write("scheduler/rule.Old#0: 66 -> 67\n")
	_, err = readGiven(file, all)
	require.ErrorContains(t, err, "list.txt:1: no mutant")
	write("scheduler/rule.Old#0: 65 -> 66\n")
	_, err = readEquivalents(file, all)
	require.ErrorContains(t, err, "want a mutant, a tab and the reason")
	write("scheduler/rule.Old#0: 65 -> 66\tno age is 66\n")
	why, err := readEquivalents(file, all)
	require.NoError(t, err)
	require.Equal(t, "no age is 66", why["scheduler/rule.Old#0: 65 -> 66"])
	given, err = readGiven(filepath.Join(t.TempDir(), "none"), all)
	require.NoError(t, err)
	require.Empty(t, given)
}

// TestFates has the tests of the small module judge its mutants: they look at 66 and 64,
// and so do not notice a limit that moves to 65 itself.
func TestFates(t *testing.T) {
	root := module(t, "package rule\n\nimport \"testing\"\n\nfunc TestOld(t *testing.T) {\n\tif !Old(66) || Old(64) {\n\t\tt.Fatal()\n\t}\n}\n")
	all, err := mutants(root)
	require.NoError(t, err)
	for _, m := range all {
		m.tests = m.tests[:1]
	}
	kept := filepath.Join(t.TempDir(), "verdicts")
	r := &runner{o: options{workers: 2, limit: time.Minute, keep: kept}, root: root, dir: t.TempDir(), binaries: map[string]*binary{}}
	out, err := r.try(context.Background(), all, map[string]string{all[5].key(): "tick does nothing"})
	require.NoError(t, err)
	fates := map[string]fate{}
	for _, v := range out.verdicts {
		fates[v.key()] = v.fate
	}
	require.Equal(t, map[string]fate{
		"scheduler/rule.Old#0: age > 65 -> true || age > 65":                  killed,
		"scheduler/rule.Old#0: age > 65 -> false && (age > 65)":               killed,
		"scheduler/rule.Old#0: > -> >=":                                       survived,
		"scheduler/rule.Old#0: > -> <=":                                       killed,
		"scheduler/rule.Old#0: 65 -> 66":                                      killed,
		"scheduler/rule.clock#0: tick() -> func() { if false { tick() } }()":  equal,
		"scheduler/rule.idle#0: clock() -> func() { if false { clock() } }()": survived,
		"scheduler/rule.twice#0: + -> -":                                      broken,
	}, fates)
	require.InDelta(t, 4./6, out.part(), 1e-9)
	require.Equal(t, []int{1, 2, 3, 4, 5}, r.binaries["scheduler/rule"].visits, "what is not compiled, or equivalent, is visited by none")
	require.Equal(t, "no test comes there", out.verdicts[6].by)
	var text bytes.Buffer
	out.print(&text)
	require.Contains(t, text.String(), "8 mutants in")
	require.Contains(t, text.String(), "4 killed, 2 survived (66.7 % of those that can be noticed died), 1 equivalent, 1 do not compile")
	require.NoFileExists(t, filepath.Join(root, "overlay.json"))
	left, err := os.ReadFile(filepath.Join(root, "scheduler/rule/rule.go"))
	require.NoError(t, err)
	require.Equal(t, code, string(left), "the tree is as it was")

	known, rest, err := readKept(kept, all)
	require.NoError(t, err)
	require.Equal(t, out.verdicts, known, "a second run tries none of them")
	require.Empty(t, rest)
}

// A loop uses up its share of the CPU, which a test that waits does not.
func TestLoopsEndByTheirShareOfTheCPU(t *testing.T) {
	root := module(t, "package rule\n\nimport \"testing\"\n\nfunc TestOld(t *testing.T) {\n\tfor Old(66) == Old(64) {\n\t}\n}\n")
	all, err := mutants(root)
	require.NoError(t, err)
	r := &runner{o: options{workers: 1, limit: time.Minute}, root: root, dir: t.TempDir(), binaries: map[string]*binary{}}
	m := all[1] // it says of no age that it is old
	m.tests = m.tests[:1]
	unable, err := r.prepare(t.Context(), all[:2], nil)
	require.NoError(t, err)
	b := r.binaries["scheduler/rule"]
	require.NoError(t, r.make(t.Context(), b))
	b.made.Do(func() {})
	require.GreaterOrEqual(t, b.cpu, leastCPU)
	b.cpu = time.Second
	require.Equal(t, verdict{m, killed, "scheduler/rule " + noEnd}, r.one(t.Context(), 1, m, nil, unable))
	name, why := reasonOf("=== RUN\npanic: test timed out after 1s\n")
	require.Equal(t, []string{"", tooLong}, []string{name, why})
}
