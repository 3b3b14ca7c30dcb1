// Package reports turns a finished run directory into what people read: the
// figures, summary.md and report.html. It reads results and definitions of metrics
// and must not know how a schedule comes about; it measures nothing itself that
// sim/metric defines. Packages reports/compare and reports/study draw the pages of
// two runs and of a study.
package reports

import (
	"io"

	"orrery/reports/page"
	"orrery/reports/plot"
)

// Names of what Write puts into a run directory.
const (
	FileMarkdown = "summary.md"
)

// Options of Write.
type Options struct {
	// Title heads the report; empty means the name of the trace.
	Title string
	// MostJobs is the largest number of allocations that the page embeds one by
	// one; with more it embeds their sum by pixels. 0 means 100,000.
	MostJobs int
}

const defaultMostJobs = 100_000

// Write draws the run in dir: figures/*.svg and *.png, summary.md and
// report.html, replacing older ones. The bytes depend on the run alone (and,
// for figures, on the architecture). Cost is two passes over the jobs and
// attempts; memory does not grow with them beyond MostJobs.
//
// Complaints about the content of dir are *record.DataError.
func Write(dir string, o Options) error {
	if o.MostJobs == 0 {
		o.MostJobs = defaultMostJobs
	}
	r, err := load(dir, o.MostJobs)
	if err != nil {
		return err
	}
	defer r.close()
	if o.Title == "" {
		o.Title = r.About.Title()
	}
	figures := r.figures()
	d := r.document(o.Title, figures)
	p, err := r.page(d, figures)
	if err != nil {
		return err
	}
	return p.Write(dir, page.File{Name: FileMarkdown, Fill: func(w io.Writer) error { return page.Markdown(w, d, figures) }})
}

// figures draws the five figures of a run, in the order of the report, and
// those of a site.
func (r *run) figures() []*plot.Figure {
	return append([]*plot.Figure{
		plot.State(r.Loads(), r.About.UnitWord(), r.Clock(), r.steady(), r.shown()),
		plot.WaitCDF(plot.Named{Name: r.About.Title(), Waits: &r.waits}),
		plot.SlowdownBySize(&r.slowdowns),
		plot.WaitsByHour(&r.hours),
		r.gantt(),
	}, r.siteFigures()...)
}
