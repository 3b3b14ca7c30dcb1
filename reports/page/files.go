package page

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/reports/plot"
)

// File is a file of a page: its name, and what is in it.
type File struct {
	Name string
	Fill func(io.Writer) error
}

// write writes each figure as NAME.svg and NAME.png into the folder of figures of dir, which is
// made when it is missing, and then the files into dir. All is drawn before the first is
// written, and all are on the disk before the first is in its place: an interrupt or a full disk
// finds all there, or, but for an instant, what was there before.
func write(dir string, figures []*plot.Figure, files ...File) error {
	var all []File
	for _, f := range figures {
		all = append(all, File{filepath.Join(DirFigures, f.Name+".svg"), f.WriteSVG}, File{filepath.Join(DirFigures, f.Name+".png"), f.WritePNG})
	}
	all = append(all, files...)
	drawn := make([]bytes.Buffer, len(all))
	for i, f := range all {
		if err := f.Fill(&drawn[i]); err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Join(dir, f.Name), err)
		}
	}
	dir = filepath.Clean(dir)
	contents := make([]disk.Content, len(all))
	for i, f := range all {
		contents[i] = disk.Content{Path: filepath.Join(dir, f.Name), Bytes: drawn[i].Bytes()}
	}
	return disk.ReplaceAll(dir, contents)
}
