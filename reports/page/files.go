package page

import (
	"bytes"
	"fmt"
	"html/template"
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

// Filled is the page that a template makes of its content.
func Filled(t *template.Template, content any) File {
	return File{Name: FileHTML, Fill: func(w io.Writer) error {
		if err := t.Execute(w, content); err != nil {
			return fmt.Errorf("filling the page: %w", err)
		}
		return nil
	}}
}

// Write writes each figure as NAME.svg and NAME.png into the folder of figures of dir, which is
// made when it is missing, and then the files into dir. All is drawn before the first is
// written, so that an interrupt finds all there, or, but for an instant, nothing.
func Write(dir string, figures []*plot.Figure, files ...File) error {
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
	if err := disk.Folder(dir); err != nil {
		return fmt.Errorf("drawing figures: %w", err)
	}
	root, err := disk.OpenRoot(dir, disk.Anyone) // nothing outside is written, whatever is linked there
	if err != nil {
		return fmt.Errorf("drawing figures: %w", err)
	}
	defer root.Close()
	if err := root.Folder(filepath.Join(dir, DirFigures)); err != nil {
		return fmt.Errorf("drawing figures: %w", err)
	}
	for i, f := range all {
		if err := root.WriteFile(filepath.Join(dir, f.Name), drawn[i].Bytes()); err != nil {
			return err
		}
	}
	return nil
}
