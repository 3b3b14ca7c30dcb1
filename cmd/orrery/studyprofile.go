package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/profiles"
	"orrery/reports"
	"orrery/sim/experiment"
	"orrery/sim/plan"
	"orrery/sim/stat"
	"orrery/sim/sweep"
)

func (m *Main) studyProfileCommand() *cobra.Command {
	var out, vcluster string
	var force bool
	cmd := &cobra.Command{
		Use:   "profile STUDY POINT",
		Short: "Write the profile of a point",
		Long: `Write the profile under which a point of STUDY was replayed, for orrery replay
--profile, and for orrery profiles to-slurm where its order is multifactor. POINT is
the id or the name of a point, or a task as orrery study materialize has it.
Of a site with several vClusters that have other profiles, name one. Of a plain
cluster the profile has its order and its backfilling.

Exit codes: 0 written, 1 failed, 2 usage, 3 no study, no such point or a damaged
one.`,
		Example: `  orrery study profile study 2 --out profile.yaml
  orrery study profile study 2 --vcluster default`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: oneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := mayWrite("--out", out, force); err != nil {
				return err
			}
			s, err := openStudy(args[0], "")
			if err != nil {
				return err
			}
			if err := ours(s); err != nil {
				return err
			}
			_, t, err := taskOf(s, args[1])
			if err != nil {
				return err
			}
			p, err := profileIn(&t.Spec, vcluster)
			if err != nil {
				return err
			}
			if len(t.Spec.Site) == 0 && p.Backfill == "conservative" {
				m.say("a profile reserves definite nodes where a plain cluster counts processors, so its schedules differ from those of the point: orrery replay --order %s --backfill %s has these", p.Order, p.Backfill)
			}
			p.Name, p.Source = "point-"+path.Base(args[1]), "the study "+filepath.Base(s.Dir())+", "+args[1]
			return m.create(out, writing(p.YAML()))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write; without it standard output")
	cmd.Flags().StringVar(&vcluster, "vcluster", "", "the vCluster `NAME` of a site")
	forceFlag(cmd, &force)
	onlyOnce(cmd.Flags())
	return cmd
}

// profileIn is the profile of a vCluster of a run, "" for the one that there is, or that
// all have. A plain cluster has its order and its backfilling.
func profileIn(spec *plan.Spec, vcluster string) (*profiles.Profile, error) {
	if len(spec.Site) == 0 {
		p := profiles.Default()
		p.Order, p.Backfill = or(spec.Order, "fcfs"), or(spec.Backfill, p.Backfill)
		p.Depth = int32(spec.Depth)
		if err := p.Validate(); err != nil {
			return nil, input(fmt.Errorf("the point has no profile of its own, and its order is none of a profile: %w", err))
		}
		return &p, nil
	}
	c, err := profiles.ParseCluster("the study", spec.Site)
	if err != nil {
		return nil, input(err)
	}
	var found *profiles.Profile
	for i := range c.VClusters {
		v := &c.VClusters[i]
		p := v.Profile.Inline
		if p == nil || vcluster != "" && v.Name != vcluster {
			continue
		}
		if found != nil && len(profiles.Diff(found, p)) > 0 {
			return nil, usagef("the vClusters of the site have several profiles: name one with --vcluster (%s)", strings.Join(vclusterNames(c), ", "))
		}
		found = p
	}
	if found == nil {
		return nil, usagef("the site has no vCluster %s with a profile: it has %s", vcluster, strings.Join(vclusterNames(c), ", "))
	}
	return found, nil
}

// pointProfile is a profile of a point: of a vCluster of a site with several, "" for the
// one that there is.
type pointProfile struct {
	vcluster string
	slurm    bool // it can be expressed in slurm.conf
}

// pointProfiles are those of a run. Of a site with several vClusters each is named, for
// they may have others.
func pointProfiles(spec *plan.Spec) []pointProfile {
	if len(spec.Site) > 0 {
		c, err := profiles.ParseCluster("the study", spec.Site)
		if err != nil {
			return nil
		}
		var out []pointProfile
		for i := range c.VClusters {
			if p := c.VClusters[i].Profile.Inline; p != nil {
				out = append(out, pointProfile{c.VClusters[i].Name, p.Order == multifactor})
			}
		}
		if len(out) == 1 {
			out[0].vcluster = ""
		}
		return out
	}
	p, err := profileIn(spec, "")
	if err != nil {
		return nil
	}
	return []pointProfile{{slurm: p.Order == multifactor}}
}

// multifactor is the order that Slurm has.
const multifactor = "multifactor"

// pointCommands are what makes the run and the profiles of a point, in the folder of the
// page.
func pointCommands(study, point string, of []pointProfile) []string {
	out := []string{"orrery study materialize " + study + " " + point}
	for _, p := range of {
		file, which := "profile.yaml", ""
		if p.vcluster != "" {
			file, which = "profile-"+p.vcluster+".yaml", " --vcluster "+p.vcluster
		}
		out = append(out, "orrery study profile "+study+" "+point+which+" --out "+file)
		if p.slurm {
			out = append(out, "orrery profiles to-slurm "+file)
		}
	}
	return out
}

// runPage is the page of the run of a task where there is one, as a path from the folder
// of the page of the study: below is where the study lies in that.
func runPage(dir, below, id string) string {
	link := path.Join(below, "runs", id[:12], reports.FileHTML)
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(link))); err != nil {
		return ""
	}
	return link
}

// notTold is the verdict on a point whose interval holds 0.
const notTold = "no evidence of a difference"

// behind says how a row of a sweep stands to the first one, by its interval.
func behind(r *experiment.Row, c *experiment.Column) string {
	switch {
	case !r.Behind.Known():
		return ""
	case c.Maximise && r.Behind.High < 0, !c.Maximise && r.Behind.Low > 0:
		return stat.Worse.String()
	case c.Maximise && r.Behind.Low > 0, !c.Maximise && r.Behind.High < 0:
		return stat.Better.String()
	}
	return notTold
}

// studyProfiles are the profiles of the points of a study: those of the first, and where
// the order is a setting, Slurm can express those of the points that have its order.
func studyProfiles(s *sweep.Study, p *experiment.Plan) func(q *experiment.Point) []pointProfile {
	var first []pointProfile
	if len(p.Points) > 0 && len(p.Points[0].Tasks) > 0 {
		if _, t, err := taskOf(s, p.Points[0].Tasks[0]); err == nil {
			first = pointProfiles(&t.Spec)
		}
	}
	if len(first) == 0 { // a plain cluster of another order may have points of one that a profile has
		first = []pointProfile{{}}
	}
	at := slices.IndexFunc(p.Parameters, func(x experiment.Parameter) bool { return x.Name == "order" })
	return func(q *experiment.Point) []pointProfile {
		out := slices.Clone(first)
		for i := range out {
			if at >= 0 && q.Values[at] != "" {
				out[i].slurm = q.Values[at] == multifactor
			}
		}
		return out
	}
}
