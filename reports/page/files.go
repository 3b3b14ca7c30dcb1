package page

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/reports/plot"
)

// WriteFigures writes each figure as NAME.svg and NAME.png into dir, which is
// made when it is missing.
func WriteFigures(dir string, figures ...*plot.Figure) error {
	if err := disk.Folder(dir); err != nil {
		return fmt.Errorf("drawing figures: %w", err)
	}
	for _, f := range figures {
		if err := WriteFile(filepath.Join(dir, f.Name+".svg"), f.WriteSVG); err != nil {
			return err
		}
		if err := WriteFile(filepath.Join(dir, f.Name+".png"), f.WritePNG); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes beside and renames, so that a reader never meets half a
// file.
func WriteFile(path string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return disk.WriteFile(path, b.Bytes())
}
