package scaling

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/sim/scaling"
)

// pageDecisions is how many decisions of each policy a page has.
const pageDecisions = 60

const (
	aboutPolicies = "Means over the seeds, with how far their 95 % intervals reach. Missed are requests late or lost; won is the share of the comparisons with the other policies, by the five elasticity metrics."
	aboutNodes    = "Means over the seeds, with how far their 95 % intervals reach. CPU late is CPU time that was done later than it was called for; granted are the compute units that machines had permits for, of those that their agents wanted; θ is how much is lacking and beyond the need, machine by machine; unanswered are requests for permits; pressure is what nodes were asked for and did not have; stayed are migrations that failed. Won is the share of the comparisons with the other policies, by θ and τ."
	aboutResponse = "Of the size that serves: seconds from the step until it first moves in its direction, replicas by which it goes beyond the new need at most, and seconds until it stays where it ends. Means over the seeds in which it moved, with how far their 95 % intervals reach."
)

// Write writes a comparison of scaling policies into dir, which is made when it is
// missing: report.html (one page that opens without a network) and figures/*.svg and *.png,
// and the other files, replacing older ones: all of them or none.
func Write(dir string, c *scaling.Comparison, made page.Made, others ...page.File) error {
	p := page.Page{Made: made, Figures: figures(c), Document: doc.Document{Title: c.Name + ": scaling policies on one service", By: "orrery scale"}}
	p.Head = doc.Shown(doc.Part{Text: c.Description, Role: doc.Lead})
	for _, text := range About(c) {
		p.Head = append(p.Head, doc.Part{Text: text})
	}
	about, of := aboutPolicies, "Those that wanted a change, of the first seed."
	if c.Machines != nil {
		about = aboutNodes
	}
	for i := range c.Policies {
		if len(c.Policies[i].Decisions) > pageDecisions {
			of = "Those that wanted a change, of the first seed. The first of each policy; decisions.csv has all."
		}
	}
	p.Add("policies", "Policies", doc.Part{Text: about}, doc.Show(PolicyTable(c)))
	if t := ResponseTable(c); t != nil {
		p.Add("response", OnsetText(c), doc.Part{Text: aboutResponse}, doc.Show(t)).Link = "Response"
	}
	p.Add("figures", "Side by side", doc.Part{Figures: page.Names(p.Figures)})
	first := c.Policies[0].Name
	p.Add("against", "Against "+first, doc.Say("Differences from %s, paired over the seeds, with 95 %% intervals: each row by itself.", first), doc.Show(AgainstTable(c)))
	p.Add("guards", "Rules and guards", doc.Say("How often each rule fired, and what stopped or trimmed it; of the first seed."), doc.Show(GuardTable(c)))
	decisions := DecisionTable(c, pageDecisions)
	p.Add("decisions", "Decisions", doc.Part{Text: of}, doc.Part{Fold: fmt.Sprintf("%d decisions", decisions.Len()), Parts: []doc.Part{doc.Show(decisions)}})
	return p.Write(dir, others...)
}
