// Package reports turns finished run directories into what people read: the
// figures, summary.md and report.html of one run, the comparison of two, and
// the comparison of a run with a schedule made elsewhere. It reads results and
// definitions of metrics and must not know how a schedule comes about; it
// measures nothing itself that sim/metric defines.
package reports

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/reports/plot"
)

// Names of what Write puts into a run directory.
const (
	FileHTML     = "report.html"
	FileMarkdown = "summary.md"
	DirFigures   = "figures"
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
		o.Title = r.about.title()
	}
	figures := r.figures()
	if err := writeFigures(filepath.Join(dir, DirFigures), figures...); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, FileMarkdown), func(w io.Writer) error { return r.writeMarkdown(w, o, figures) }); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, FileHTML), func(w io.Writer) error { return r.writeHTML(w, o, figures) })
}

// figures draws the five figures of a run, in the order of the report, and
// those of a site.
func (r *run) figures() []*plot.Figure {
	return append([]*plot.Figure{
		plot.State(r.loads(), r.about.unitWord(), r.clock(), r.steady(), r.shown()),
		plot.WaitCDF(plot.Named{Name: r.about.title(), Waits: &r.waits}),
		plot.SlowdownBySize(&r.slowdowns),
		plot.WaitsByHour(&r.hours),
		r.gantt(),
	}, r.siteFigures()...)
}

// writeFigures writes each figure as NAME.svg and NAME.png into dir, which is
// made when it is missing.
func writeFigures(dir string, figures ...*plot.Figure) error {
	if err := disk.Folder(dir); err != nil {
		return fmt.Errorf("drawing figures: %w", err)
	}
	for _, f := range figures {
		if err := writeFile(filepath.Join(dir, f.Name+".svg"), f.WriteSVG); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, f.Name+".png"), f.WritePNG); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes beside and renames, so that a reader never meets half a
// file.
func writeFile(path string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return disk.WriteFile(path, b.Bytes())
}
