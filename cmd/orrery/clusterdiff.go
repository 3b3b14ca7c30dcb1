package main

import (
	"github.com/spf13/cobra"

	"orrery/internal/doc"
	"orrery/profiles"
)

func (m *Main) clusterDiffCommand() *cobra.Command {
	var print *printer
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show where two cluster files differ",
		Long: `Print the keys in which two cluster files differ: + is in B only, - in A only, ~ is
another value. Defaults count as what they are. Entries of a list are paired by their
names. For a key of which the calibration of B tells, its range, what it rests on and
where that is from stand beside it. Names of the files and remarks are no difference.

Exit codes: 0 printed, differences or none, 2 usage or not valid, 3 no such file.`,
		Example: `  orrery cluster diff mine.yaml month
  orrery cluster diff month month-power -o json`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: anyFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := loadCluster("", args[0])
			if err != nil {
				return err
			}
			b, err := loadCluster("", args[1])
			if err != nil {
				return err
			}
			return print.table(diffTable(a, b))
		},
	}
	print = m.printFlag(cmd)
	return cmd
}

func diffTable(a, b *profiles.Cluster) *doc.Table {
	t := doc.New("sign", "key", "before", "after", "range", "n", "of", "from")
	source := map[string]*profiles.Calibrated{}
	for i := range b.Calibration {
		source[b.Calibration[i].Key] = &b.Calibration[i]
	}
	for _, d := range profiles.ClusterDiff(a, b) {
		if c := source[d.Key]; c != nil {
			t.Row(d.Sign(), d.Key, d.Before, d.After, c.Low+" to "+c.High, c.N, c.Of, c.From)
			continue
		}
		t.Row(d.Sign(), d.Key, d.Before, d.After, "", doc.Cell{}, "", "")
	}
	return t
}
