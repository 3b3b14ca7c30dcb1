package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/traces/importer"
)

// staleAfter is how long a half-written import must not have changed to count as left by a
// process that was killed; one at work writes all the time.
const staleAfter = time.Hour

func (m *Main) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show or clean the cache of imported logs",
		Long: `Look at the cache of imported logs, which is orrery/imports in the cache directory of
the user ($XDG_CACHE_HOME). It may be removed at any time: logs are imported again.

Exit codes: 0 done, else those of the verbs below.`,
		Example: `  orrery cache info
  orrery cache clean --all`,
		Args: cobra.ArbitraryArgs,
		RunE: group,
	}
	cmd.AddCommand(m.cacheInfoCommand(), m.cacheCleanCommand())
	return cmd
}

func (m *Main) cacheInfoCommand() *cobra.Command {
	var print *printer
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Count the imports in the cache",
		Long: `Count the imports in the cache, their bytes, and what killed processes have left.

Exit codes: 0 counted, 1 failed, 2 usage.`,
		Example:           "  orrery cache info\n  orrery cache info -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			c, err := lookIntoCache(time.Now(), true)
			if err != nil {
				return err
			}
			t := doc.New("what", "value")
			t.Row("directory", c.dir)
			t.Row("imports", len(c.imports))
			t.Row("bytes", doc.Quantity(plot.Count(c.bytes), c.bytes))
			t.Row("left by killed processes", len(c.litter))
			return print.table(t)
		},
	}
	print = m.printFlag(cmd)
	return cmd
}

func (m *Main) cacheCleanCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed processes have left in the cache, or all of it",
		Long: `Remove half-written imports that have not changed for an hour, with --all all
imports too. What a process reads at this moment stays readable to it.

Exit codes: 0 removed, 1 failed, 2 usage.`,
		Example:           "  orrery cache clean\n  orrery cache clean --all",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			c, err := lookIntoCache(time.Now(), all)
			if err != nil {
				return err
			}
			gone := append(c.litter, c.imports...)
			for _, path := range gone {
				if err := disk.Delete(path); err != nil {
					return err
				}
			}
			m.say("removed %s of %s", table.Counted(len(gone), "import"), c.dir)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all imports")
	return cmd
}

// cacheContent is what the cache of imports holds.
type cacheContent struct {
	dir             string
	imports, litter []string // paths
	bytes           int64
}

// lookIntoCache lists the cache; half-written imports that may be at work are in no list,
// and whole ones only where they are asked for.
func lookIntoCache(now time.Time, whole bool) (c cacheContent, err error) {
	if c.dir, err = importer.CacheDir(importer.Options{}); err != nil {
		return c, err
	}
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	for _, e := range entries {
		path, half := filepath.Join(c.dir, e.Name()), strings.HasPrefix(e.Name(), ".")
		if !half && !whole {
			continue
		}
		bytes, changed := sizeOf(path)
		switch {
		case !half:
			c.imports = append(c.imports, path)
		case now.Sub(changed) > staleAfter:
			c.litter = append(c.litter, path)
		}
		c.bytes += bytes
	}
	return c, err
}

// sizeOf is how many bytes lie below a path, and when the last of it changed. What cannot
// be looked at counts for nothing.
func sizeOf(path string) (bytes int64, changed time.Time) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if info, err := e.Info(); err == nil {
			if bytes += info.Size(); info.ModTime().After(changed) {
				changed = info.ModTime()
			}
		}
		return nil
	})
	return bytes, changed
}

// tidyCache removes what killed processes have left in the cache. That it fails has no
// consequence for what is being done.
func tidyCache() {
	c, err := lookIntoCache(time.Now(), false)
	if err != nil {
		return
	}
	for _, path := range c.litter {
		_ = disk.Delete(path) // the next import tries again
	}
}
