package studies

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/settings"
	"orrery/cmd/orrery/internal/studypage"
	"orrery/profiles"
	"orrery/sim/experiment"
	"orrery/sim/plan"
	"orrery/sim/sweep"
	"orrery/sim/task"
)

func studyProfileCommand(app *cli.App) *cobra.Command {
	var out, vcluster string
	var force bool
	cmd := &cobra.Command{
		Use:   "profile STUDY POINT",
		Short: "Write the profile of a point",
		Long: `Write the profile under which a point of STUDY was replayed, for orrery replay
--profile, and for orrery profiles to-slurm where its order is multifactor. POINT is
the id or the name of a point, or a task as orrery study materialize has it.
Of a site with several vClusters that have other profiles, name one. Of a plain
cluster the profile has its order and its backfilling. What else was set in a site,
such as policies of services, stands in its cluster file: orrery study cluster.

Exit codes: 0 written, 1 failed, 2 usage, 3 no study, no such point or a damaged
one.`,
		Example: `  orrery study profile study 2 --out profile.yaml
  orrery study profile study 2 --vcluster default`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: cli.OneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			s, t, err := pointToWrite(app, args[0], args[1], out, force)
			if err != nil {
				return err
			}
			p, err := profileIn(&t.Spec, vcluster)
			if err != nil {
				return err
			}
			if len(t.Spec.Site) == 0 && p.Backfill == "conservative" {
				app.Say("a profile reserves definite nodes where a plain cluster counts processors, so its schedules differ from those of the point: orrery replay --order %s --backfill %s has these", p.Order, p.Backfill)
			}
			p.Name, p.Source = "point-"+path.Base(args[1]), "the study "+filepath.Base(s.Dir())+", "+args[1]
			return app.Create(out, cli.Writing(p.YAML()))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write; without it standard output")
	cmd.Flags().StringVar(&vcluster, "vcluster", "", "the vCluster `NAME` of a site")
	cli.ForceFlag(cmd, &force)
	cli.OnlyOnce(cmd.Flags())
	return cmd
}

// pointToWrite is a point of a study of which a file is to be made at out, as its first task.
func pointToWrite(app *cli.App, study, point, out string, force bool) (s *sweep.Study, t task.Task, err error) {
	if err = cli.MayWrite("--out", out, force); err != nil {
		return nil, t, err
	}
	if s, err = formats.OpenStudy(app, study, ""); err != nil {
		return nil, t, err
	}
	if err = formats.Understood(s); err != nil {
		return nil, t, err
	}
	formats.WarnOfStudy(app, s, false)
	_, t, err = taskOf(s, point)
	return s, t, err
}

// profileIn is the profile of a vCluster of a run, "" for the one that there is, or that
// all have. A plain cluster has its order and its backfilling.
func profileIn(spec *plan.Spec, vcluster string) (*profiles.Profile, error) {
	if len(spec.Site) == 0 {
		p, err := studypage.Plain(spec)
		if err != nil {
			return nil, cli.BadInput(fmt.Errorf("the point has no profile of its own, and its order is none of a profile: %w", err))
		}
		return p, nil
	}
	c, err := profiles.ParseSite("the study", spec.Site)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	var found *profiles.Profile
	for i := range c.VClusters {
		v := &c.VClusters[i]
		p := v.Profile.Inline
		if p == nil || vcluster != "" && v.Name != vcluster {
			continue
		}
		if found != nil && len(profiles.Diff(found, p)) > 0 {
			return nil, cli.Usagef("the vClusters of the site have several profiles: name one with --vcluster (%s)", strings.Join(settings.VClusterNames(c), ", "))
		}
		found = p
	}
	if found == nil {
		return nil, cli.Usagef("the site has no vCluster %s with a profile: it has %s", vcluster, strings.Join(settings.VClusterNames(c), ", "))
	}
	return found, nil
}

// studyFiles are the files of the points of a study: those of the first, and where the
// order is a setting, Slurm can express those of the points that have its order.
func studyFiles(s *sweep.Study, p *experiment.Plan) func(q *experiment.Point) studypage.Files {
	var first studypage.Files
	if len(p.Points) > 0 && len(p.Points[0].Tasks) > 0 {
		if _, t, err := taskOf(s, p.Points[0].Tasks[0]); err == nil {
			first = studypage.FilesOf(&t.Spec)
		}
	}
	if len(first.Profiles) == 0 { // a plain cluster of another order may have points of one that a profile has
		first.Profiles = []studypage.Profile{{}}
	}
	at := slices.IndexFunc(p.Parameters, func(x experiment.Parameter) bool { return x.Name == "order" })
	return func(q *experiment.Point) studypage.Files {
		out := studypage.Files{Cluster: first.Cluster, Profiles: slices.Clone(first.Profiles)}
		for i := range out.Profiles {
			if at >= 0 && q.Values[at] != "" {
				out.Profiles[i].Slurm = q.Values[at] == studypage.Multifactor
			}
		}
		return out
	}
}

func studyClusterCommand(app *cli.App) *cobra.Command {
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
		ValidArgsFunction: cli.OneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			s, t, err := pointToWrite(app, args[0], args[1], out, force)
			if err != nil {
				return err
			}
			if len(t.Spec.Site) == 0 {
				return cli.Usagef("%s was replayed on a plain cluster, which has no cluster file: orrery study profile %s %s writes its profile", args[1], args[0], args[1])
			}
			c, err := profiles.ParseSite(filepath.Base(s.Dir()), t.Spec.Site)
			if err != nil {
				return cli.BadInput(fmt.Errorf("the site of %s: %w", path.Base(args[1]), err))
			}
			return app.Create(out, cli.Writing(c.YAML()))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write; without it standard output")
	cli.ForceFlag(cmd, &force)
	cli.OnlyOnce(cmd.Flags())
	return cmd
}
