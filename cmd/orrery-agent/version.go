package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"orrery/capture/nvml"
	"orrery/traces"
)

// buildVersion may be set by the linker, for a release.
var buildVersion string

// version is one line: the version, the commit, and what this program can measure.
func version() string {
	name, commit := buildVersion, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if name == "" && info.Main.Version != "(devel)" {
			name = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value + commit
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += "+changes"
			}
		}
	}
	if name == "" {
		name = "devel"
	}
	with := "with NVML"
	if !nvml.Built {
		with = "without NVML"
	}
	if commit != "" {
		name += " " + commit
	}
	return fmt.Sprintf("orrery-agent %s, %s, trace schema %d, %s %s/%s\n", name, with, traces.SchemaVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
