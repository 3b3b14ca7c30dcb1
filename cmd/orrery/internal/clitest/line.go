package clitest

import (
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/app"
	"orrery/cmd/orrery/internal/cli"
)

// WordsOf divides a line into words; some stand in double quotes.
func WordsOf(line string) []string {
	var args []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			args = append(args, part)
			continue
		}
		args = append(args, strings.Fields(part)...)
	}
	return args
}

// EveryVerb calls visit with each command that can be run, and the words that call it.
func EveryVerb(visit func(cmd *cobra.Command, words []string)) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.HasParent() && cmd.Runnable() {
			visit(cmd, strings.Fields(cmd.CommandPath())[1:])
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	root, _ := app.Root(cli.New())
	walk(root)
}
