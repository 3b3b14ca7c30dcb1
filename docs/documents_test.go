// Package docs_test holds the documents against the tree: what they name must
// exist, and the numbers of tests that they state must be those of the tests.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// documents are the texts that a reader meets, by path from the root.
func documents(t *testing.T) map[string]string {
	paths, err := filepath.Glob("*.md")
	require.NoError(t, err)
	above, err := filepath.Glob("../*.md")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, path := range append(paths, above...) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		texts[filepath.Join("docs", path)] = string(text)
	}
	return texts
}

// sources are all Go files of the project, by path from the root.
func sources(t *testing.T) map[string]string {
	texts, err := readSources()
	require.NoError(t, err)
	return texts
}

var readSources = sync.OnceValues(func() (map[string]string, error) {
	root := os.DirFS("..")
	texts := map[string]string{}
	return texts, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go"):
			text, err := fs.ReadFile(root, path)
			texts[path] = string(text)
			return err
		}
		return nil
	})
})

var (
	goFile   = regexp.MustCompile("`([a-z0-9][a-z0-9_/]*\\.go)`")
	document = regexp.MustCompile(`\b(docs/[A-Z][A-Z0-9-]*\.md)\b`)
	link     = regexp.MustCompile(`\]\(([^)\s:]*)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	tests    = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)`")
)

// Files, documents and tests that a document names exist; so do the documents
// that a comment names.
func TestWhatIsNamedExists(t *testing.T) {
	texts, code := documents(t), sources(t)
	var all strings.Builder
	for _, text := range code {
		all.WriteString(text)
	}
	for path, text := range texts {
		for _, m := range goFile.FindAllStringSubmatch(text, -1) {
			found := code[m[1]] != ""
			for file := range code {
				found = found || strings.HasSuffix(file, "/"+m[1])
			}
			require.True(t, found, "%s names the file %s", path, m[1])
		}
		for _, m := range tests.FindAllStringSubmatch(text, -1) {
			require.True(t, strings.Contains(all.String(), "func "+m[1]+"("), "%s names the test %s", path, m[1])
		}
	}
	for _, in := range []map[string]string{texts, code} {
		for path, text := range in {
			for _, m := range document.FindAllStringSubmatch(text, -1) {
				require.Contains(t, texts, m[1], "%s names the document %s", path, m[1])
			}
		}
	}
}

// anchors are the headings of a document as GitHub names them in links.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		all[b.String()] = true
	}
	return all
}

// Links lead to files that exist, and to headings that they have.
func TestLinks(t *testing.T) {
	texts, n := documents(t), 0
	for path, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			_, err := os.Stat(filepath.Join("..", target))
			require.NoError(t, err, "%s links to %s", path, m[1])
			if anchor != "" {
				require.True(t, anchors(texts[target])[anchor], "%s links to %s, which has no such heading", path, m[1])
			}
			n++
		}
	}
	require.Greater(t, n, 100)
}

// worlds is how a test of random worlds begins: with -short, usually, and in long runs.
var worlds = regexp.MustCompile(`func (Test\w+)\(t \*testing\.T\) \{\n\tt\.Parallel\(\)\n\tworlds := worldsOf\((\d+), (\d+), (\d+)\)`)

// stated is how a table says the same.
var stated = regexp.MustCompile("([0-9]+)(?: random sites)? \\(([0-9]+) with `-short` ([0-9]+) in long runs\\)")

// The tables state how many random worlds the tests look at.
func TestNumbersOfWorlds(t *testing.T) {
	text, counts := documents(t)["docs/INVARIANTS.md"], 0
	for path, code := range sources(t) {
		for _, m := range worlds.FindAllStringSubmatch(code, -1) {
			for line := range strings.Lines(text) {
				if !strings.Contains(line, "`"+m[1]+"`") || !strings.Contains(line, "-short") {
					continue
				}
				says := stated.FindStringSubmatch(strings.ReplaceAll(line, ",", ""))
				require.NotNil(t, says, line)
				require.Equal(t, []string{m[3], m[2], m[4]}, says[1:], "%s, %s", path, m[1])
				counts++
			}
		}
	}
	require.GreaterOrEqual(t, counts, 3)
}

// TestMeasuredBlocks: a document that promises what was measured has it.
func TestMeasuredBlocks(t *testing.T) {
	blocks := regexp.MustCompile(`(?s)<!-- (?:measured|printed): ([^>]*?) -->(.*?)<!-- end -->`)
	marker := regexp.MustCompile(`<!-- (?:measured|printed): `)
	n := 0
	for name, text := range documents(t) {
		found := blocks.FindAllStringSubmatch(text, -1)
		require.Len(t, found, len(marker.FindAllString(text, -1)), "%s: each block has its end", name)
		for _, m := range found {
			n++
			require.Contains(t, m[2], "\n| ", "%s: the block %q holds no table", name, m[1])
		}
	}
	require.Greater(t, n, 15)
}

// persons are words for people that documents once used of jobs, workers and parts
// of the program.
var persons = regexp.MustCompile(`(?i)\b(?:nobody|everybody|somebody|whoever|whomever|who waits|referee|lets? go)\b`)

// Jobs, nodes, passes and workers are things.
func TestThingsAreNotPersons(t *testing.T) {
	for path, text := range documents(t) {
		require.Empty(t, persons.FindAllString(text, -1), path)
	}
}

// The programs that the long runs start exist.
func TestLongProgramsExist(t *testing.T) {
	text, err := os.ReadFile("../.ci/long")
	require.NoError(t, err)
	names := regexp.MustCompile(`\bgo run (\./[a-z/]+)`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, names)
	for _, m := range names {
		require.DirExists(t, "../"+m[1])
	}
}

// The tests that make long runs by name exist, and each file that asks for ORRERY_LONG
// has one of them at least.
func TestLongTestsExist(t *testing.T) {
	text, err := os.ReadFile("../.ci/long")
	require.NoError(t, err)
	var names []string
	for _, m := range regexp.MustCompile(`\b[a-z]+:(Test[A-Za-z0-9]+)`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	exist := map[string]bool{}
	for path, code := range sources(t) {
		for _, name := range names {
			exist[name] = exist[name] || strings.Contains(code, "\nfunc "+name+"(")
		}
		if !strings.Contains(code, "ORRERY_"+`LONG"`) {
			continue
		}
		known := false
		for _, name := range names {
			known = known || strings.Contains(code, "\nfunc "+name+"(")
		}
		require.True(t, known, "%s asks for ORRERY_LONG, and .ci/long runs none of its tests: %v", path, names)
	}
	for _, name := range names {
		require.True(t, exist[name], "no test %s, which .ci/long names", name)
	}
}
