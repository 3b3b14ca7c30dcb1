package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"orrery/profiles"
	"orrery/reports/table"
)

func (m *Main) schemaCommand() *cobra.Command {
	var out string
	var force bool
	kinds := kindWords()
	cmd := &cobra.Command{
		Use:   "schema FILE-KIND",
		Short: "Print the JSON Schema of a kind of file, for editors",
		Long: `Print the JSON Schema (draft 2020-12) of a kind of file: cluster, profile, experiment,
gate, scaling or scenario, with what each key means, its unit, its range, its default
and the words that it may be. Editors that know YAML schemas complete and check files by it: begin a file
with

    # yaml-language-server: $schema=cluster.schema.json

What keys ask of each other is in words only: 'orrery lint' checks that too.

Exit codes: 0 printed, 1 failed, 2 no such kind of file.`,
		Example: `  orrery schema cluster --out cluster.schema.json
  orrery schema experiment`,
		Args:              oneKind(kinds),
		ValidArgsFunction: cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := profiles.JSONSchema(profiles.Kind(args[0]))
			if err != nil {
				return usagef("%v", err)
			}
			if err := mayWrite("--out", out, force); err != nil {
				return err
			}
			return m.create(out, writing(text))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write; standard output without it")
	forceFlag(cmd, &force)
	return cmd
}

// oneKind wants one word, a kind of file.
func oneKind(kinds []string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s given: want one kind of file, %s", table.Counted(len(args), "word"), oneOf(kinds))
		}
		return nil
	}
}
