package main

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"orrery/profiles"
)

func (m *Main) studyClusterCommand() *cobra.Command {
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "cluster STUDY POINT",
		Short: "Write the cluster file of a point",
		Long: `Write the cluster file of the site on which a point of STUDY was replayed, for orrery
replay --cluster: its nodes, its vClusters with their profiles and its services with
their policies, with all that the point sets. POINT is the id or the name of a point, or
a task as orrery study materialize has it. A plain cluster has no such file.

Exit codes: 0 written, 1 failed, 2 usage, 3 no study, no such point or a damaged
one.`,
		Example: `  orrery study cluster study 2 --out point.yaml
  orrery study cluster study 2`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: oneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			s, t, err := m.pointToWrite(args[0], args[1], out, force)
			if err != nil {
				return err
			}
			if len(t.Spec.Site) == 0 {
				return usagef("%s was replayed on a plain cluster, which has no cluster file: orrery study profile %s %s writes its profile", args[1], args[0], args[1])
			}
			c, err := profiles.ParseSite(filepath.Base(s.Dir()), t.Spec.Site)
			if err != nil {
				return input(fmt.Errorf("the site of %s: %w", path.Base(args[1]), err))
			}
			return m.create(out, writing(c.YAML()))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write; without it standard output")
	forceFlag(cmd, &force)
	onlyOnce(cmd.Flags())
	return cmd
}
