package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"orrery/reports/page"
)

// buildVersion may be set by the linker, for a release.
var buildVersion string

// Version is the version of the program: that of the release, of the module, or
// "devel" in a working tree.
func Version() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// VersionSource says where the version comes from.
func VersionSource() string {
	if buildVersion != "" {
		return "release build"
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return "module and commit"
	}
	return "working tree, and the build knows no commit"
}

// Revision is the commit that was built, with "+changes" when the working tree
// was not clean; "" when the build does not say.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + changed
}

// Made says in a page what made it, and when: SOURCE_DATE_EPOCH, in seconds since 1970,
// stands for the clock, as builds that are to be repeated have it.
func (app *App) Made() page.Made {
	now := time.Now()
	if sec, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		now = time.Unix(sec, 0)
	}
	return page.Made{Version: Version(), Command: page.CommandLine(app.Args), Date: now.UTC().Format(time.RFC3339)}
}

// Host returns the content of host.json: what the trace was called, where the replay ran and how long it
// took. It stays out of everything that is compared.
func (app *App) Host(begin time.Time, trace string) func() any {
	return func() any {
		name, err := os.Hostname()
		if err != nil {
			name = ""
		}
		return map[string]any{
			"started":      begin.UTC().Format(time.RFC3339),
			"wall_seconds": time.Since(begin).Seconds(),
			"host":         name,
			"system":       runtime.GOOS + "/" + runtime.GOARCH,
			"cpus":         runtime.NumCPU(),
			"go":           runtime.Version(),
			"revision":     Revision(),
			"arguments":    app.Args,
			"trace":        trace,
		}
	}
}
