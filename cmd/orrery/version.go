package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"orrery/internal/doc"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

// buildVersion may be set by the linker, for a release.
var buildVersion string

// version is the version of the program: that of the release, of the module, or
// "devel" in a working tree.
func version() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// versionSource says where the version comes from.
func versionSource() string {
	if buildVersion != "" {
		return "release build"
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return "module and commit"
	}
	return "working tree, and the build knows no commit"
}

// revision is the commit that was built, with "+changes" when the working tree
// was not clean; "" when the build does not say.
func revision() string {
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

// programVersion is what version -o json prints.
type programVersion struct {
	Version       string `json:"version"`
	Source        string `json:"source"`             // where the version comes from
	Revision      string `json:"revision,omitempty"` // the commit, with +changes where there were some
	Semantics     int    `json:"semantics"`
	TraceSchema   int    `json:"trace_schema"`
	RunSchema     int    `json:"run_schema"`
	MetricsSchema int    `json:"metrics_schema"`
	Go            string `json:"go"`
	System        string `json:"system"`
}

func aboutProgram() programVersion {
	return programVersion{version(), versionSource(), revision(), plan.Semantics, traces.SchemaVersion, record.RunVersion, metric.TableSchema, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

// aboutVerbs are the verbs about the program, its cache and its surroundings.
func aboutVerbs(m *Main) []*cobra.Command {
	return []*cobra.Command{m.doctorCommand(), m.cacheCommand(), m.versionCommand()}
}

func (m *Main) versionCommand() *cobra.Command {
	var print *printer
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program, its formats and its semantics",
		Long: `Print the version of the program, the commit it was built from, and the numbers
that say what it reads and writes. Results of different semantics may schedule
differently and are never mixed. All numbers count from 1.

Exit codes: 0 printed, 2 usage.`,
		Example: `  orrery version
  orrery version -o json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if print.json() {
				return print.document(aboutProgram())
			}
			t := doc.New("what", "value")
			t.Row("orrery", version())
			t.Row("version from", versionSource())
			t.Row("revision", doc.Quantity(cmp.Or(revision(), "unknown"), revision()))
			t.Row("semantics", plan.Semantics)
			t.Row("trace schema", traces.SchemaVersion)
			t.Row("run schema", record.RunVersion)
			t.Row("metrics schema", metric.TableSchema)
			t.Row("go", runtime.Version())
			t.Row("system", runtime.GOOS+"/"+runtime.GOARCH)
			return print.table(t)
		},
	}
	print = m.printFlag(cmd)
	return cmd
}
