package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/app"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestExamplesOfHelp runs every example of every verb as it is written.
func TestExamplesOfHelp(t *testing.T) {
	if testing.Short() {
		t.Skip("makes hundreds of replays, with each verb as the scripts run it: the long tests do")
	}
	clitest.ExampleFolder(t)
	root, _ := app.Root(cli.New())
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		lines := commands(cmd.Example)
		if cmd.Example == "" {
			return
		}
		require.GreaterOrEqual(t, len(lines), 2, "examples of %s", cmd.CommandPath())
		for _, line := range lines {
			t.Run(line, func(t *testing.T) {
				runExample(t, line)
			})
		}
	}
	visit(root)
}

// TestEveryVerbExplainsItself asks for the parts of a help text.
func TestEveryVerbExplainsItself(t *testing.T) {
	root, _ := app.Root(cli.New())
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Runnable() && cmd.HasParent() {
			require.NotEmpty(t, cmd.Short, cmd.CommandPath())
			require.Contains(t, cmd.Long, "Exit codes: 0 ", cmd.CommandPath())
			require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// logsOfReadme are the logs that a reader of README.md is taken to have: fixtures of the
// importers, by name.
var logsOfReadme = map[string]string{
	"sacct.txt": "sacct.named", "accounting.log": "pbs.log", "requests.csv": "azure-llm.csv", "workflow.json": "wfformat.15",
}

const scalingOfReadme = `demand: {trace: requests.trace}
service: {kind: inference, goal: {of: response, limit: 10s}, boot: 2m}
policies:
  - {kind: lattice, max: 12, target: 0.8}
  - {name: by-queue, kind: lattice, max: 12, metric: queue, target: 2}
`

// TestExamplesOfReadme runs the commands of README.md, one after the other in
// one directory, as a reader would.
func TestExamplesOfReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("replays months: the long tests do")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "README.md"))
	if os.IsNotExist(err) {
		t.Skip("there is no README.md")
	}
	require.NoError(t, err)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, fixture := range logsOfReadme {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "traces", "importer", "testdata", "formats", fixture))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scaling.yaml"), []byte(scalingOfReadme), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pods.csv"), []byte(clitest.Pods), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nodes.csv"), []byte(clitest.Nodes), 0o600))
	t.Chdir(dir)
	var lines []string
	for _, block := range fenced(string(text)) {
		lines = append(lines, commands(block)...)
	}
	require.NotEmpty(t, lines)
	for _, line := range lines {
		t.Run(line, func(t *testing.T) { runExample(t, line) })
	}
}

// fenced lists the contents of the blocks fenced as console or sh.
func fenced(markdown string) []string {
	var blocks []string
	inside := false
	for line := range strings.Lines(markdown) {
		switch fence := strings.TrimSpace(line); {
		case !inside && (fence == "```console" || fence == "```sh"):
			inside = true
			blocks = append(blocks, "")
		case inside && fence == "```":
			inside = false
		case inside:
			blocks[len(blocks)-1] += line
		}
	}
	return blocks
}

// commands are the lines that call orrery, with or without a prompt.
func commands(block string) []string {
	var lines []string
	for line := range strings.Lines(block) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		line, _, _ = strings.Cut(line, " #")
		if rest, ok := strings.CutPrefix(line, "go run ./cmd/orrery"); ok {
			line = "orrery" + rest
		}
		if line == "orrery" || strings.HasPrefix(line, "orrery ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// runExample runs a line without a shell: words, and double quotes around some.
func runExample(t *testing.T, line string) {
	words := clitest.WordsOf(line)[1:]
	live := strings.HasPrefix(line, "orrery capture nvml ")
	if strings.HasPrefix(line, "orrery capture slurm ") {
		if live = true; !slices.Contains(words, "--bundle-only") {
			words = append(words, "--once") // it goes on for as long as it is let
		}
	}
	got := clitest.Run(t, words...)
	if live && got.Code == cli.ExitFailed {
		got.Code = 0 // there need be no GPU, and no Slurm, here
	}
	if strings.HasPrefix(line, "orrery tune ") && got.Code == cli.ExitEvidence {
		got.Code = 0 // an answer too: a month may not suffice
	}
	require.Zero(t, got.Code, got.Stderr)
	require.NotContains(t, got.Stderr, "\x1b")
}
