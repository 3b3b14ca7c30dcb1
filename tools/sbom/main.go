// Command sbom writes the software bill of materials of Go binaries, from what the
// linker stored in them: CycloneDX 1.6 JSON, beside each binary as NAME.cdx.json. It
// knows modules and versions; licences are in docs/DEPENDENCIES.md.
//
//	go run ./tools/sbom -version v1.2.3 dist/orrery-linux-amd64...
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func main() {
	version := flag.String("version", "", "of the release; without it that of the module")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: sbom [-version VERSION] BINARY...")
		os.Exit(2)
	}
	var err error
	for _, path := range flag.Args() {
		err = errors.Join(err, write(path, *version))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(path, version string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	if version != "" {
		info.Main.Version = version
	}
	text, err := json.MarshalIndent(billOf(filepath.Base(path), info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path+".cdx.json", append(text, '\n'), 0o644)
}

// bill is a CycloneDX document. It has no time and no random serial number, so the same
// binary gives the same bytes.
type bill struct {
	Format     string       `json:"bomFormat"`
	Spec       string       `json:"specVersion"`
	Version    int          `json:"version"`
	Metadata   metadata     `json:"metadata"`
	Components []component  `json:"components"`
	Depends    []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// billOf lists the modules of a binary, the Go standard library among them.
func billOf(name string, info *debug.BuildInfo) bill {
	main := component{Type: "application", Ref: info.Main.Path, Name: name, Version: info.Main.Version}
	for _, s := range info.Settings {
		if s.Value != "" && (strings.HasPrefix(s.Key, "vcs") || s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" || s.Key == "-tags" || s.Key == "-trimpath") {
			main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
		}
	}
	out := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{main}}
	add := func(c component) {
		out.Components = append(out.Components, c)
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	add(component{Type: "library", Ref: "pkg:golang/std@" + version, Name: "std", Version: version, PURL: "pkg:golang/std@" + version})
	for _, m := range info.Deps {
		add(moduleOf(m))
	}
	all := dependency{Ref: main.Ref, On: []string{}}
	for _, c := range out.Components {
		all.On = append(all.On, c.Ref)
	}
	out.Depends = []dependency{all}
	return out
}

// moduleOf is a module; one that is replaced by a folder says so, and has no package URL,
// for it is not the module of that name.
func moduleOf(m *debug.Module) component {
	c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
	c.Ref = c.PURL
	if m.Sum != "" {
		c.Properties = append(c.Properties, property{"go:sum", m.Sum})
	}
	if m.Replace != nil {
		c.PURL = ""
		c.Ref = m.Path + " => " + m.Replace.Path
		c.Properties = append(c.Properties, property{"go:replace", m.Replace.Path})
	}
	return c
}
