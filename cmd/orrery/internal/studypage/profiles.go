package studypage

import (
	"cmp"
	"os"
	"path"
	"path/filepath"

	"orrery/profiles"
	"orrery/reports/page"
	"orrery/sim/plan"
)

// Plain is the profile of a run of a plain cluster: its order and its backfilling. It fails
// where no profile has that order.
func Plain(spec *plan.Spec) (*profiles.Profile, error) {
	p := profiles.Default()
	p.Order, p.Backfill = cmp.Or(spec.Order, "fcfs"), cmp.Or(spec.Backfill, p.Backfill)
	p.Depth = int32(spec.Depth)
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &p, nil
}

// Profile is a profile of a point: of a vCluster of a site with several, "" for the
// one that there is.
type Profile struct {
	VCluster string
	Slurm    bool // it can be expressed in slurm.conf
}

// Files are the files of a point that orrery study writes.
type Files struct {
	Cluster  bool // the site with all that was set in it
	Profiles []Profile
}

// FilesOf are those of a run.
func FilesOf(spec *plan.Spec) Files {
	return Files{Cluster: len(spec.Site) > 0, Profiles: Profiles(spec)}
}

// Profiles are those of a run. Of a site with several vClusters each is named, for
// they may have others.
func Profiles(spec *plan.Spec) []Profile {
	if len(spec.Site) > 0 {
		c, err := profiles.ParseSite("the study", spec.Site)
		if err != nil {
			return nil
		}
		var out []Profile
		for i := range c.VClusters {
			if p := c.VClusters[i].Profile.Inline; p != nil {
				out = append(out, Profile{c.VClusters[i].Name, p.Order == Multifactor})
			}
		}
		if len(out) == 1 {
			out[0].VCluster = ""
		}
		return out
	}
	p, err := Plain(spec)
	if err != nil {
		return nil
	}
	return []Profile{{Slurm: p.Order == Multifactor}}
}

// Multifactor is the order that Slurm has.
const Multifactor = "multifactor"

// Commands are what makes the run, the cluster file and the profiles of a point, in the
// folder of the page.
func Commands(study, point string, of Files) []string {
	out := []string{"orrery study materialize " + study + " " + point}
	if of.Cluster {
		out = append(out, "orrery study cluster "+study+" "+point+" --out cluster.yaml")
	}
	for _, p := range of.Profiles {
		file, which := "profile.yaml", ""
		if p.VCluster != "" {
			file, which = "profile-"+p.VCluster+".yaml", " --vcluster "+p.VCluster
		}
		out = append(out, "orrery study profile "+study+" "+point+which+" --out "+file)
		if p.Slurm {
			out = append(out, "orrery profiles to-slurm "+file)
		}
	}
	return out
}

// RunPage is the page of the run of a task where there is one, as a path from the folder
// of the page of the study: below is where the study lies in that.
func RunPage(dir, below, id string) string {
	link := path.Join(below, "runs", id[:12], page.FileHTML)
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(link))); err != nil {
		return ""
	}
	return link
}
