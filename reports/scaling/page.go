package scaling

import (
	_ "embed" // the page
	"html/template"

	"orrery/reports/page"
	"orrery/sim/scaling"
)

//go:embed assets/page.html
var pageHTML string

var pageTemplate = page.Template("scaling", pageHTML)

// pageContent is what assets/page.html shows. It has no script.
type pageContent struct {
	Name        string
	Description string
	Policy      string // of security
	Made        page.Made
	Style       template.CSS
	Summary     []string
	Table       page.Table
	Against     page.Table
	Response    page.Table // without rows where the demand has no step
	Onset       string
	First       string
	Figures     []page.Figure
	Guards      page.Table
	Decisions   page.Table
	Machines    bool
	Left        bool // the page has not all decisions
}

// pageDecisions is how many decisions of each policy a page has.
const pageDecisions = 60

// Write writes a comparison of scaling policies into dir, which is made when it is
// missing: report.html (one page that opens without a network) and figures/*.svg and *.png,
// and the other files, replacing older ones: all of them or none.
func Write(dir string, c *scaling.Comparison, made page.Made, others ...page.File) error {
	drawn := figures(c)
	p := pageContent{
		Name: c.Name, Description: c.Description, Made: made, Style: template.CSS(page.CSS), Summary: page.Unbroken(About(c)), // our own files
		Policy: "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
		Table:  page.TableOf(PolicyTable(c)), Against: page.Coloured(AgainstTable(c)), First: c.Policies[0].Name,
		Guards: page.TableOf(GuardTable(c)), Decisions: page.TableOf(DecisionTable(c, pageDecisions)),
	}
	if t := ResponseTable(c); t != nil {
		p.Response, p.Onset = page.TableOf(t), OnsetText(c)
	}
	for i := range c.Policies {
		p.Left = p.Left || len(c.Policies[i].Decisions) > pageDecisions
	}
	p.Machines = c.Machines != nil
	var err error
	if p.Figures, err = page.InlineAll(drawn); err != nil {
		return err
	}
	return page.Write(dir, drawn, append([]page.File{page.Filled(pageTemplate, p)}, others...)...)
}
