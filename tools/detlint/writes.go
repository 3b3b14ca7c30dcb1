package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// osWrites are the functions of os by which files are written, moved or removed by path.
var osWrites = []string{"Create", "CreateTemp", "WriteFile", "Mkdir", "MkdirAll", "MkdirTemp", "OpenFile", "Rename", "Remove", "RemoveAll", "Symlink", "Link", "Truncate", "Chmod",
	"Chtimes", "OpenRoot"}

// mayWrite are the files outside internal/disk that call them, each with why what it writes
// needs not be whole, or is none of the results.
var mayWrite = map[string]string{
	"capture/agent/live.go":                  "the live file is written over in place, within a root of its own",
	"capture/scripted/scripted.go":           "a source of tests, in a temporary folder",
	"cmd/orrery/internal/formats/formats.go": "the sample, in the folder for temporary files",
	"cmd/orrery/internal/gate/gate.go":       "the step summary, which others append to as well",
	"cmd/orrery/internal/logfile/trace.go":   "a copy of standard input, in the folder for temporary files",
	"cmd/orrery/internal/looks/looks.go":     "the ledger of looks, which is appended to and synced under a lock",
	"cmd/orrery/internal/tune/tune.go":       "removes what an earlier tune left",
	"cmd/orrery/internal/verify/verify.go":   "two runs to compare, in the folder for temporary files",
	"cmd/orrery/internal/cli/write.go":       "a device or a pipe, which is written to as it stands",
	"sim/record/writer.go":                   "removes empty folders that it has made",
	"sim/sweep/doctor.go":                    "tries what the file system does",
	"traces/importer/archive.go":             "a copy of a pipe, in the folder for temporary files",
	"traces/importer/detect.go":              "a copy of a pipe, in the folder for temporary files",
	"traces/importer/format/sort.go":         "runs of sorted rows, in the folder for temporary files",
	"traces/importer/open.go":                "an import without a cache, in the folder for temporary files",
}

// rooted are the packages that write several files below a folder: through a Root of
// internal/disk alone, so that no link in that folder leads out of it.
var rooted = []string{"sim/record", "sim/sweep", "traces", "reports/page"}

// byPath are the functions of internal/disk that follow links.
var byPath = []string{"NewFile", "Replace", "WriteFile", "Move", "Delete", "Scratch", "SyncFile", "SyncFolder"}

// strayWrites reports files that write past internal/disk, or past the root that is to hold
// them, and rows of the table that are not needed.
func (r *repository) strayWrites() []Finding {
	var found []Finding
	used := map[string]bool{}
	for _, dir := range r.packages() {
		if dir == "internal/disk" || dir == "internal/doctest" || dir == "cmd/orrery/internal/clitest" || strings.HasPrefix(dir, "tools/") {
			continue
		}
		for _, s := range r.folders[dir] {
			if s.test {
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				from, ok := sel.X.(*ast.Ident)
				if !ok {
					return true
				}
				switch {
				case from.Name == "os" && slices.Contains(osWrites, sel.Sel.Name):
					used[s.path] = true
					if mayWrite[s.path] == "" {
						found = append(found, Finding{r.fset.Position(n.Pos()), "writes",
							fmt.Sprintf("os.%s: write through internal/disk, whole or not at all, or say in mayWrite why not", sel.Sel.Name)})
					}
				case from.Name == "disk" && s.path != "sim/sweep/doctor.go" && slices.Contains(rooted, dir) && slices.Contains(byPath, sel.Sel.Name):
					found = append(found, Finding{r.fset.Position(n.Pos()), "writes",
						fmt.Sprintf("disk.%s follows links: write through the Root of the folder", sel.Sel.Name)})
				}
				return true
			})
		}
	}
	for path := range mayWrite { //detlint:ordered each is a finding of its own, in a test
		if !used[path] {
			found = append(found, Finding{What: path + " no longer needs its row in mayWrite", Rule: "writes"})
		}
	}
	return found
}
