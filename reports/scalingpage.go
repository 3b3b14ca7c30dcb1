package reports

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"path/filepath"

	"orrery/sim/scaling"
)

//go:embed assets/scaling.html
var scalingHTML string

var scalingTemplate = template.Must(template.New("scaling").Funcs(words).Parse(scalingHTML))

// scalingPage is what assets/scaling.html shows. It has no script.
type scalingPage struct {
	Name        string
	Description string
	Policy      string // of security
	Made        Made
	Style       template.CSS
	Summary     []string
	Table       htmlTable
	Against     htmlTable
	First       string
	Figures     []htmlFigure
	Guards      htmlTable
	Decisions   htmlTable
	Left        bool // the page has not all decisions
}

// pageDecisions is how many decisions of each policy a page has.
const pageDecisions = 60

// WriteScaling writes a comparison of scaling policies into dir, which is made when it is
// missing: report.html (one page that opens without a network) and figures/*.svg and *.png,
// replacing older ones.
func WriteScaling(dir string, c *scaling.Comparison, made Made) error {
	figures := scalingFigures(c)
	if err := writeFigures(filepath.Join(dir, DirFigures), figures...); err != nil {
		return err
	}
	p := scalingPage{
		Name: c.Name, Description: c.Description, Made: made, Style: template.CSS(pageCSS + compareCSS), Summary: unbroken(AboutScaling(c)), // our own files
		Policy: "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
		Table:  toHTML(ScalingTable(c)), Against: coloured(AgainstTable(c)), First: c.Policies[0].Name,
		Guards: toHTML(GuardTable(c)), Decisions: toHTML(DecisionTable(c, pageDecisions)),
	}
	for i := range c.Policies {
		p.Left = p.Left || len(c.Policies[i].Decisions) > pageDecisions
	}
	for _, f := range figures {
		h, err := inline(f)
		if err != nil {
			return err
		}
		p.Figures = append(p.Figures, h)
	}
	return writeFile(filepath.Join(dir, FileHTML), func(w io.Writer) error {
		if err := scalingTemplate.Execute(w, p); err != nil {
			return fmt.Errorf("filling the page: %w", err)
		}
		return nil
	})
}
