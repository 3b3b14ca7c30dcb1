package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"orrery/internal/disk"
	"orrery/profiles"
	"orrery/sim/gate"
	"orrery/traces/transform"
)

// besideFiles are the files that a gate file names, relative to its folder.
type besideFiles struct {
	dir    string
	opener *opener
}

// beside is a path relative to a folder.
func beside(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Trace implements gate.Files.
func (b *besideFiles) Trace(ctx context.Context, path string) (*transform.Set, error) {
	return b.opener.open(ctx, beside(b.dir, path))
}

// Cluster implements gate.Files.
func (b *besideFiles) Cluster(path string, use []string) (*profiles.Cluster, error) {
	if !slices.Contains(profiles.ClusterNames(), path) {
		path = beside(b.dir, path)
	}
	c, err := profiles.LoadCluster(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noFile(path, path, "a cluster file", profiles.ClusterNames()...)
	}
	if err != nil {
		return nil, err
	}
	var flags []string
	for _, u := range use {
		vcluster, name, one := strings.Cut(u, "=")
		if !one {
			vcluster, name = "", u
		}
		if !slices.Contains(profiles.Names(), name) {
			name = beside(b.dir, name)
		}
		if one {
			name = vcluster + "=" + name
		}
		flags = append(flags, name)
	}
	return c, override(c, flags)
}

// Scenario implements gate.Files.
func (b *besideFiles) Scenario(path string) (*profiles.Scenario, error) {
	s, err := profiles.LoadScenario(beside(b.dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s: want a scenario, by its path from the folder of this file, or %s", beside(b.dir, path), profiles.NoScenario)
	}
	return s, err
}

// ownFiles are those of the gate that is part of the program.
type ownFiles struct{}

// Trace implements gate.Files: that gate has no traces.
func (ownFiles) Trace(context.Context, string) (*transform.Set, error) {
	return nil, errors.New("the gate of the program names a trace, but has none")
}

// Cluster implements gate.Files.
func (ownFiles) Cluster(path string, use []string) (*profiles.Cluster, error) {
	text, err := fs.ReadFile(gate.Builtin(), path)
	if err != nil {
		return nil, err
	}
	c, err := profiles.ParseCluster(path, text)
	if err != nil {
		return nil, err
	}
	if err := c.Inline("."); err != nil {
		return nil, err
	}
	return c, override(c, use)
}

// Scenario implements gate.Files: that gate has no scenarios.
func (ownFiles) Scenario(string) (*profiles.Scenario, error) {
	return nil, errors.New("the gate of the program names a scenario, but has none")
}

// copyOut writes the files of the gate of the program, and overwrites none but with
// --force.
func (v *gateVerb) copyOut() error {
	entries, err := fs.ReadDir(gate.Builtin(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := mayHold("--out", v.write, e.Name(), v.force); err != nil {
			return err
		}
	}
	if err := disk.Folder(v.write); err != nil {
		return err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(gate.Builtin(), e.Name())
		if err != nil {
			return err
		}
		if err := v.m.create(filepath.Join(v.write, e.Name()), writing(text)); err != nil {
			return err
		}
	}
	v.remark("wrote %d files\nNext: orrery gate %s", len(entries), quoted(filepath.Join(v.write, gate.BuiltinFile)))
	return nil
}

// provenance fills in what was not given: who, by git or by the system, the
// commit of the folder, now, and the version of the program.
func (m *Main) provenance(ctx context.Context, p gate.Provenance, dir string) gate.Provenance {
	git := func(args ...string) string {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil { // no git, or no repository: then there is nothing to say
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	p.Reason = strings.TrimSpace(p.Reason)
	p.By = cmp.Or(p.By, cmp.Or(git("config", "user.name"), m.Getenv("USER")))
	p.At, p.Version, p.Commit = time.Now().UTC().Format(time.RFC3339), version(), git("rev-parse", "HEAD")
	return p
}
